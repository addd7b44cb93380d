#include "report/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace photonrail::report {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& directory, const std::string& why) {
  return {ErrorCode::io, fmt::format("cannot write to output directory '{}': {}\n  hint: give a directory that you may "
                                     "write to with --out",
                                     directory, why)};
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Errno of the first failing step, or 0.
int write_and_rename(const fs::path& target, std::string_view content) {
  const fs::path temporary = target.string() + fmt::format(".{}.tmp", ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  const bool written = write_all(file, content) && ::fsync(file) == 0;
  int error = written ? 0 : errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

}  // namespace

Status prepare_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(cannot_write(directory, error.message()));
  if (!fs::is_directory(directory, error)) return fail(cannot_write(directory, "it is not a directory"));
  const fs::path probe = fs::path(directory) / fmt::format(".photonrail.{}.probe", ::getpid());
  const int failed = write_and_rename(probe, "");
  if (failed != 0) return fail(cannot_write(directory, std::strerror(failed)));
  ::unlink(probe.c_str());
  return {};
}

Status write_files(const std::string& directory, const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    const int failed = write_and_rename(fs::path(directory) / file.name, file.content);
    if (failed != 0) return fail(cannot_write(directory, fmt::format("{}: {}", file.name, std::strerror(failed))));
  }
  return {};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::io, fmt::format("cannot read '{}': {}", path, why));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refuse(std::strerror(errno));
  std::string content;
  std::string chunk(std::size_t{1} << 16, '\0');
  ssize_t got = 0;
  while ((got = ::read(file, chunk.data(), chunk.size())) > 0 && content.size() <= limit) {
    content.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const int error = got < 0 ? errno : 0;
  ::close(file);
  if (error != 0) return refuse(std::strerror(error));
  if (content.size() > limit) return refuse(fmt::format("larger than the limit of {} bytes", limit));
  return content;
}

}  // namespace photonrail::report
