#include "workload/trace_set_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace photonrail::workload {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 31;
constexpr std::size_t kMaxEntries = std::size_t{1} << 22;
constexpr std::size_t kReadBlock = std::size_t{1} << 20;

struct CloseArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Archive = std::unique_ptr<archive, CloseArchive>;

std::string reason(archive* a) {
  const char* text = archive_error_string(a);
  return text == nullptr ? "unknown error" : text;
}

std::string_view without_gz(std::string_view name) {
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

tl::unexpected<Error> too_large(const std::string& file) {
  return fail(ErrorCode::invalid_input, fmt::format("{}: larger than 2 GiB\n  hint: split the trace", file));
}

// Appends the current entry's data; `expected` is what its header promises, 0 when unknown.
Status read_entry(archive* a, std::size_t expected, const std::string& file, std::vector<std::byte>& bytes) {
  if (expected > kMaxFileBytes) return too_large(file);
  bytes.resize(std::max(expected, kReadBlock));
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() * 2);
    const la_ssize_t n = archive_read_data(a, bytes.data() + used, bytes.size() - used);
    if (n < 0) {
      return fail(ErrorCode::io,
                  fmt::format("{}: cannot be read: {}\n  hint: the file is damaged or cut short", file, reason(a)));
    }
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > kMaxFileBytes) return too_large(file);
  }
  bytes.resize(used);
  return {};
}

Status gunzip(const std::string& file, std::vector<std::byte>& bytes) {
  Archive a(archive_read_new());
  archive_read_support_filter_gzip(a.get());
  archive_read_support_format_raw(a.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_memory(a.get(), bytes.data(), bytes.size()) != ARCHIVE_OK ||
      archive_read_next_header(a.get(), &entry) != ARCHIVE_OK) {
    return fail(ErrorCode::io, fmt::format("{}: not a gzip file: {}", file, reason(a.get())));
  }
  std::vector<std::byte> plain;
  PR_TRY(read_entry(a.get(), 0, file, plain));
  bytes.swap(plain);
  return {};
}

Status read_file(const std::filesystem::path& path, std::vector<std::byte>& bytes) {
  struct CloseFile {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const std::unique_ptr<std::FILE, CloseFile> in(std::fopen(path.c_str(), "rb"));
  const auto unreadable = [&] {
    return fail(ErrorCode::io, fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  };
  if (in == nullptr) return unreadable();
  bytes.resize(kReadBlock);
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() * 2);
    const std::size_t n = std::fread(bytes.data() + used, 1, bytes.size() - used, in.get());
    if (n == 0) break;
    used += n;
    if (used > kMaxFileBytes) return too_large(path.string());
  }
  if (std::ferror(in.get()) != 0) return unreadable();
  bytes.resize(used);
  return {};
}

Status visit_one(const std::string& shown, std::string_view name, std::vector<std::byte>& bytes,
                 const FileVisitor& visit) {
  if (name.ends_with(".gz")) PR_TRY(gunzip(shown, bytes));
  return visit(without_gz(name), bytes);
}

Status visit_directory(const std::string& path, const FileFilter& wanted, const FileVisitor& visit) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator at(path, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (wanted(without_gz(name)) && !at->is_directory()) names.push_back(std::move(name));
    if (names.size() > kMaxEntries)
      return fail(ErrorCode::invalid_input, fmt::format("{}: more than 4194304 files", path));
  }
  if (error) return fail(ErrorCode::io, fmt::format("{}: cannot be read: {}", path, error.message()));
  std::sort(names.begin(), names.end());
  std::vector<std::byte> bytes;
  for (const std::string& name : names) {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    PR_TRY(read_file(file, bytes));
    PR_TRY(visit_one(file.string(), name, bytes, visit));
  }
  return {};
}

Status visit_archive(const std::string& path, const FileFilter& wanted, const FileVisitor& visit) {
  Archive a(archive_read_new());
  archive_read_support_filter_all(a.get());
  archive_read_support_format_tar(a.get());
  if (archive_read_open_filename(a.get(), path.c_str(), kReadBlock) != ARCHIVE_OK) {
    return fail(ErrorCode::io,
                fmt::format("{}: cannot be read: {}\n  hint: expected a directory of traces, or an archive "
                            "(.tar, .tar.xz, .tar.gz, .tar.zst)",
                            path, reason(a.get())));
  }
  std::vector<std::byte> bytes;
  for (std::size_t entries = 0;; ++entries) {
    if (entries > kMaxEntries)
      return fail(ErrorCode::invalid_input, fmt::format("{}: more than 4194304 entries", path));
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(a.get(), &entry);
    if (status == ARCHIVE_EOF) return {};
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      return fail(ErrorCode::io,
                  fmt::format("{}: cannot be read after entry {}: {}\n  hint: the archive is damaged, cut "
                              "short, or of another format",
                              path, entries, reason(a.get())));
    }
    const char* raw_name = archive_entry_pathname(entry);
    const std::string name = raw_name == nullptr ? "" : raw_name;
    if (archive_entry_filetype(entry) != AE_IFREG || !wanted(without_gz(name))) continue;
    const std::string shown = path + "/" + name;
    const la_int64_t size = archive_entry_size(entry);
    PR_TRY(read_entry(a.get(), size > 0 ? static_cast<std::size_t>(size) : 0, shown, bytes));
    PR_TRY(visit_one(shown, name, bytes, visit));
  }
}

}  // namespace

Status visit_files(const std::string& path, const FileFilter& wanted, const FileVisitor& visit) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) {
    const std::string why = error ? error.message() : "no such file or directory";
    return fail(ErrorCode::io, fmt::format("{}: cannot be read: {}", path, why));
  }
  return std::filesystem::is_directory(status) ? visit_directory(path, wanted, visit)
                                               : visit_archive(path, wanted, visit);
}

}  // namespace photonrail::workload
