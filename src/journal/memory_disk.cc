#include "journal/memory_disk.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::journal {

Status MemoryDisk::operate(const std::string& what, const std::string& name) {
  if (!fails_in_) return {};
  if ((*fails_in_)-- > 0) return {};
  fails_in_.reset();
  return fail(ErrorCode::io, what + " " + name + ": the disk failed");
}

Result<std::vector<std::string>> MemoryDisk::list() {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

Result<std::string> MemoryDisk::read(const std::string& name) {
  PR_TRY(operate("read", name));
  const auto found = files_.find(name);
  if (found == files_.end()) return fail(ErrorCode::io, "read " + name + ": no such file");
  return found->second.bytes;
}

Status MemoryDisk::append(const std::string& name, std::string_view bytes) {
  PR_TRY(operate("append to", name));
  files_[name].bytes.append(bytes);
  return {};
}

Status MemoryDisk::sync(const std::string& name) {
  PR_TRY(operate("sync", name));
  File& file = files_[name];
  file.synced = file.bytes.size();
  ++syncs_;
  return {};
}

Status MemoryDisk::rename(const std::string& from, const std::string& to) {
  PR_TRY(operate("rename", from));
  const auto found = files_.find(from);
  if (found == files_.end()) return fail(ErrorCode::io, "rename " + from + ": no such file");
  files_[to] = std::move(found->second);
  files_.erase(from);
  return {};
}

Status MemoryDisk::truncate(const std::string& name, std::size_t size) {
  PR_TRY(operate("truncate", name));
  File& file = files_[name];
  PR_CHECK(size <= file.bytes.size(), "a file is made longer by truncation");
  file.bytes.resize(size);
  file.synced = std::min(file.synced, size);
  return {};
}

Status MemoryDisk::remove(const std::string& name) {
  PR_TRY(operate("remove", name));
  files_.erase(name);
  return {};
}

void MemoryDisk::crash(RandomStream& random) {
  fails_in_.reset();
  for (auto& [name, file] : files_) {
    const std::size_t pending = file.bytes.size() - file.synced;
    if (pending == 0) continue;
    const std::size_t kept = random.below(pending + 1);
    file.bytes.resize(file.synced + kept);
    if (random.below(2) == 0) {
      const std::size_t garbage = random.below(pending - kept + 1);
      for (std::size_t i = 0; i < garbage; ++i) file.bytes.push_back(static_cast<char>(random.below(256)));
    }
    file.synced = file.bytes.size();
  }
}

void MemoryDisk::flip_bit(const std::string& name, std::size_t bit) {
  std::string& bytes = files_[name].bytes;
  PR_CHECK(bit / 8 < bytes.size(), "a bit beyond the end of the file");
  bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ (1U << (bit % 8)));
}

}  // namespace photonrail::journal
