// Disk: the few file operations that the journal and the audit log need, so that the deterministic simulation can lose
// power at any of them. Names are relative to one directory. Implementations: runtime/posix_disk, and MemoryDisk here,
// which forgets or tears what was not synced.
// Thread rule: one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::journal {

class Disk {
 public:
  virtual ~Disk() = default;
  virtual Result<std::vector<std::string>> list() = 0;                       // sorted
  virtual Result<std::string> read(const std::string& name) = 0;
  virtual Status append(const std::string& name, std::string_view bytes) = 0;  // creates the file
  virtual Status sync(const std::string& name) = 0;                          // contents durable on return
  virtual Status rename(const std::string& from, const std::string& to) = 0; // atomic; durable on return
  virtual Status truncate(const std::string& name, std::size_t size) = 0;
  virtual Status remove(const std::string& name) = 0;
};

}  // namespace photonrail::journal
