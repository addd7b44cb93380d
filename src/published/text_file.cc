#include "published/text_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace photonrail::published {
namespace {

constexpr std::size_t kMaxText = std::size_t{256} << 20;
constexpr std::size_t kBlock = 64 * 1024;

struct CloseArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Archive = std::unique_ptr<archive, CloseArchive>;

tl::unexpected<Error> io_error(const std::string& path, archive* reader) {
  const char* why = archive_error_string(reader);
  return fail(ErrorCode::io, fmt::format("{}: cannot be read: {}", path, why != nullptr ? why : "unknown reason"));
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  const Archive reader(archive_read_new());
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) return io_error(path, reader.get());
  const int header = archive_read_next_header(reader.get(), &entry);
  if (header == ARCHIVE_EOF) return std::string();
  if (header != ARCHIVE_OK) return io_error(path, reader.get());
  std::string text;
  std::array<char, kBlock> block{};
  for (;;) {
    const auto got = archive_read_data(reader.get(), block.data(), block.size());
    if (got < 0) return io_error(path, reader.get());
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxText) return fail(ErrorCode::invalid_input, path + ": more than 256 MiB of text");
  }
}

Result<std::string> first_entry(const std::string& path) {
  const Archive reader(archive_read_new());
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) return io_error(path, reader.get());
  const int header = archive_read_next_header(reader.get(), &entry);
  if (header == ARCHIVE_EOF) return std::string();
  if (header != ARCHIVE_OK) return io_error(path, reader.get());
  return std::string(archive_entry_pathname(entry));
}

}  // namespace photonrail::published
