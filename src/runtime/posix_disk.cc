#include "runtime/posix_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace photonrail::runtime {
namespace {

constexpr const char* kLockName = "lock";
constexpr std::size_t kNamesMost = 100'000;

template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

Error PosixDisk::error(const std::string& name, const char* what) const {
  return {ErrorCode::io, fmt::format("{}/{}: cannot {}: {}", path_, name, what, std::strerror(errno))};
}

Result<std::unique_ptr<PosixDisk>> PosixDisk::open(const std::string& directory) {
  std::unique_ptr<PosixDisk> disk(new PosixDisk(directory));
  if (::mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) return fail(disk->error("", "make the directory"));
  disk->directory_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (disk->directory_ < 0) return fail(disk->error("", "open the directory"));
  disk->lock_ = ::openat(disk->directory_, kLockName, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (disk->lock_ < 0) return fail(disk->error(kLockName, "open"));
  if (retried([&] { return ::flock(disk->lock_, LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return fail(disk->error(kLockName, "lock"));
    return fail(ErrorCode::io, fmt::format("{}: another photonraild is running on this directory", directory));
  }
  return disk;
}

PosixDisk::~PosixDisk() {
  for (const auto& [name, file] : files_) ::close(file.descriptor);
  if (lock_ >= 0) ::close(lock_);
  if (directory_ >= 0) ::close(directory_);
}

Result<std::vector<std::string>> PosixDisk::list() {
  const int descriptor = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* all = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
  if (all == nullptr) return fail(error("", "list"));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(all)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == kLockName) continue;
    names.push_back(name);
    if (names.size() > kNamesMost) break;
  }
  ::closedir(all);
  if (names.size() > kNamesMost) return fail(ErrorCode::io, fmt::format("{}: too many files", path_));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> PosixDisk::read(const std::string& name) { return tail(name, std::string().max_size()); }

Result<std::string> PosixDisk::tail(const std::string& name, std::size_t most) {
  const int descriptor = ::openat(directory_, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT && most != std::string().max_size()) return std::string();
  if (descriptor < 0) return fail(error(name, "open"));
  struct stat status{};
  std::string bytes;
  bool good = ::fstat(descriptor, &status) == 0;
  if (good) {
    const auto size = static_cast<std::size_t>(status.st_size);
    const std::size_t from = size > most ? size - most : 0;
    bytes.resize(size - from);
    std::size_t done = 0;
    while (good && done < bytes.size()) {
      const ssize_t got = retried([&] {
        return ::pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(from + done));
      });
      good = got >= 0;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
  }
  const Error problem = good ? Error{} : error(name, "read");
  ::close(descriptor);
  if (!good) return fail(problem);
  return bytes;
}

Result<std::size_t> PosixDisk::size(const std::string& name) {
  struct stat status{};
  if (::fstatat(directory_, name.c_str(), &status, 0) == 0) return static_cast<std::size_t>(status.st_size);
  if (errno == ENOENT) return std::size_t{0};
  return fail(error(name, "look at"));
}

Result<PosixDisk::File*> PosixDisk::file(const std::string& name) {
  const auto found = files_.find(name);
  if (found != files_.end()) return &found->second;
  const int descriptor =
      ::openat(directory_, name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP);
  if (descriptor < 0) return fail(error(name, "open"));
  return &files_.emplace(name, File{descriptor, false}).first->second;
}

void PosixDisk::forget(const std::string& name) {
  const auto found = files_.find(name);
  if (found == files_.end()) return;
  ::close(found->second.descriptor);
  files_.erase(found);
}

Status PosixDisk::append(const std::string& name, std::string_view bytes) {
  PR_ASSIGN(const File* to, file(name));
  while (!bytes.empty()) {
    const ssize_t written = retried([&] { return ::write(to->descriptor, bytes.data(), bytes.size()); });
    if (written < 0) return fail(error(name, "write"));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status PosixDisk::sync(const std::string& name) {
  PR_ASSIGN(File * of, file(name));
  if (::fdatasync(of->descriptor) != 0) return fail(error(name, "sync"));
  if (of->name_durable) return {};
  PR_TRY(sync_directory());
  of->name_durable = true;
  return {};
}

Status PosixDisk::sync_directory() {
  if (::fsync(directory_) != 0) return fail(error("", "sync the directory"));
  return {};
}

Status PosixDisk::rename(const std::string& from, const std::string& to) {
  forget(from);
  forget(to);
  if (::renameat(directory_, from.c_str(), directory_, to.c_str()) != 0) return fail(error(from, "rename"));
  return sync_directory();
}

Status PosixDisk::truncate(const std::string& name, std::size_t size) {
  PR_ASSIGN(const File* of, file(name));
  if (::ftruncate(of->descriptor, static_cast<off_t>(size)) != 0) return fail(error(name, "truncate"));
  return {};
}

Status PosixDisk::remove(const std::string& name) {
  forget(name);
  if (::unlinkat(directory_, name.c_str(), 0) != 0) return fail(error(name, "remove"));
  return sync_directory();
}

}  // namespace photonrail::runtime
