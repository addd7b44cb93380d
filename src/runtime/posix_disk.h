// journal::Disk on one directory of a POSIX file system. sync() is fdatasync of the file, and fsync of the directory
// where the file is new: a file whose name is not durable is not there after a crash. rename() and remove() sync the
// directory as well. The directory is locked (flock) for as long as the object lives: two daemons on one journal would
// tear it. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "journal/disk.h"

namespace photonrail::runtime {

class PosixDisk final : public journal::Disk {
 public:
  // Makes the directory where it is not there. io where it cannot be used, or another process holds it.
  static Result<std::unique_ptr<PosixDisk>> open(const std::string& directory);
  ~PosixDisk() override;
  PosixDisk(const PosixDisk&) = delete;
  PosixDisk& operator=(const PosixDisk&) = delete;

  Result<std::vector<std::string>> list() override;
  Result<std::string> read(const std::string& name) override;
  Status append(const std::string& name, std::string_view bytes) override;
  Status sync(const std::string& name) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status truncate(const std::string& name, std::size_t size) override;
  Status remove(const std::string& name) override;

  // The last `most` bytes of a file; empty where it is not there.
  Result<std::string> tail(const std::string& name, std::size_t most);
  Result<std::size_t> size(const std::string& name);  // 0 where it is not there

 private:
  struct File {
    int descriptor = -1;
    bool name_durable = false;
  };
  explicit PosixDisk(std::string path) : path_(std::move(path)) {}
  Result<File*> file(const std::string& name);
  void forget(const std::string& name);
  Status sync_directory();
  Error error(const std::string& name, const char* what) const;  // of errno

  std::string path_;
  int directory_ = -1, lock_ = -1;
  std::map<std::string, File> files_;  // open for appending
};

}  // namespace photonrail::runtime
