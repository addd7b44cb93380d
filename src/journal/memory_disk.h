// MemoryDisk: a Disk that forgets. What was appended and not synced may be lost, whole or in part, when the power goes;
// a torn write may leave garbage where the lost bytes would have been. For the deterministic simulation and for tests.
#pragma once

#include <map>
#include <optional>

#include "base/random.h"
#include "journal/disk.h"

namespace photonrail::journal {

class MemoryDisk final : public Disk {
 public:
  Result<std::vector<std::string>> list() override;
  Result<std::string> read(const std::string& name) override;
  Status append(const std::string& name, std::string_view bytes) override;
  Status sync(const std::string& name) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status truncate(const std::string& name, std::size_t size) override;
  Status remove(const std::string& name) override;

  // Power fails: of each file's unsynced bytes a random part stays, and sometimes garbage of a torn sector after it.
  void crash(RandomStream& random);
  // The operation that is `count` calls ahead fails with an io error (0: the next one), once.
  void fail_after(std::uint64_t count) { fails_in_ = count; }
  // One bit of a file turns over.
  void flip_bit(const std::string& name, std::size_t bit);
  std::uint64_t syncs() const { return syncs_; }

 private:
  struct File {
    std::string bytes;
    std::size_t synced = 0;  // bytes that survive a crash
  };
  Status operate(const std::string& what, const std::string& name);

  std::map<std::string, File> files_;
  std::optional<std::uint64_t> fails_in_;
  std::uint64_t syncs_ = 0;
};

}  // namespace photonrail::journal
