#include "journal/journal.h"

#include <fmt/format.h>
#include <boost/crc.hpp>
#include <optional>

#include "base/check.h"

namespace photonrail::journal {
namespace {

constexpr std::string_view kHeader = "photonrail journal 1\n";
constexpr std::size_t kFrameHead = 16;

template <class Integer>
void put(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

template <class Integer>
Integer get(std::string_view bytes) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= static_cast<Integer>(static_cast<Integer>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  }
  return value;
}

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

struct Frame {
  std::uint64_t number = 0;
  std::string_view payload;
  std::size_t size = 0;  // with its head
};

std::optional<Frame> frame_at(std::string_view bytes, std::size_t offset) {
  const std::string_view rest = bytes.substr(offset);
  if (rest.size() < kFrameHead) return std::nullopt;
  const std::size_t length = get<std::uint32_t>(rest);
  if (length > kMaxPayload || rest.size() < kFrameHead + length) return std::nullopt;
  const std::string_view checked = rest.substr(8, 8 + length);
  if (crc32c(checked) != get<std::uint32_t>(rest.substr(4))) return std::nullopt;
  return Frame{get<std::uint64_t>(checked), checked.substr(8), kFrameHead + length};
}

// Is there an intact frame of a later number anywhere after `offset`? The number is looked at first, because checksums
// at every byte of a long file would take its square.
bool intact_frame_after(std::string_view bytes, std::size_t offset, std::uint64_t next) {
  for (std::size_t at = offset + 1; at + kFrameHead <= bytes.size(); ++at) {
    const auto number = get<std::uint64_t>(bytes.substr(at + 8));
    if (number < next || number > next + kMaxFile) continue;
    if (frame_at(bytes, at)) return true;
  }
  return false;
}

struct Scan {
  std::vector<std::string> records;
  std::uint64_t next = 0;
  std::size_t good = 0;  // bytes from the beginning that are intact
};

// Frames numbered `next`, next + 1, ...; stops at the first that is not intact.
Result<Scan> scan(const std::string& name, std::string_view bytes, std::uint64_t next, bool may_be_torn) {
  Scan result;
  result.next = next;
  if (bytes.substr(0, kHeader.size()) != kHeader) {
    const bool torn = may_be_torn && kHeader.substr(0, bytes.size()) == bytes.substr(0, kHeader.size());
    const bool lost = may_be_torn && !intact_frame_after(bytes, 0, next);
    if (torn || lost) return result;
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: byte 0: not a journal of this program (first line is not '{}')", name,
                            kHeader.substr(0, kHeader.size() - 1)));
  }
  std::size_t offset = kHeader.size();
  while (offset < bytes.size()) {
    const auto frame = frame_at(bytes, offset);
    if (!frame) {
      if (may_be_torn && !intact_frame_after(bytes, offset, result.next)) break;
      return fail(ErrorCode::invalid_input,
                  fmt::format("{}: byte {}: damaged record {}; what follows it is intact, so this is no torn end. "
                              "Restore the file, or move the directory away to start from nothing",
                              name, offset, result.next));
    }
    if (frame->number != result.next) {
      return fail(ErrorCode::invalid_input, fmt::format("{}: byte {}: record {} where {} was expected", name, offset,
                                                        frame->number, result.next));
    }
    result.records.emplace_back(frame->payload);
    ++result.next;
    offset += frame->size;
  }
  result.good = offset;
  return result;
}

// The number in "<kind>-<16 hexadecimal digits>.log".
std::optional<std::uint64_t> number_in(const std::string& name, std::string_view kind) {
  constexpr std::string_view kEnd = ".log";
  if (name.size() != kind.size() + 1 + 16 + kEnd.size()) return std::nullopt;
  if (name.compare(0, kind.size(), kind) != 0 || name[kind.size()] != '-') return std::nullopt;
  if (name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) != 0) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : name.substr(kind.size() + 1, 16)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = value * 16 + static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

std::string file_name(std::string_view kind, std::uint64_t number) {
  return fmt::format("{}-{:016x}.log", kind, number);
}

struct Files {
  std::optional<std::uint64_t> snapshot;  // the newest
  std::vector<std::uint64_t> journals;    // those that are not covered by it, ascending
  std::vector<std::string> leftover;
};

Result<Files> sort_files(Disk& disk) {
  PR_ASSIGN(const std::vector<std::string> names, disk.list());
  Files files;
  for (const std::string& name : names) {
    if (const auto through = number_in(name, "snapshot"); through && (!files.snapshot || *through > *files.snapshot)) {
      files.snapshot = through;
    }
  }
  for (const std::string& name : names) {
    const auto through = number_in(name, "snapshot");
    const auto first = number_in(name, "journal");
    const bool old_snapshot = through && through != files.snapshot;
    const bool old_journal = first && files.snapshot && *first <= *files.snapshot;
    if (old_snapshot || old_journal || name.rfind("new-", 0) == 0)
      files.leftover.push_back(name);
    else if (first)
      files.journals.push_back(*first);
  }
  return files;
}

}  // namespace

std::string encode_frame(std::uint64_t number, std::string_view payload) {
  PR_CHECK(payload.size() <= kMaxPayload, "a record that is larger than any reader takes");
  std::string checked;
  checked.reserve(8 + payload.size());
  put(checked, number);
  checked.append(payload);
  std::string frame;
  frame.reserve(8 + checked.size());
  put(frame, static_cast<std::uint32_t>(payload.size()));
  put(frame, crc32c(checked));
  return frame + checked;
}

Result<Recovered> Journal::open(Disk& disk) {
  PR_ASSIGN(const Files files, sort_files(disk));
  Recovered result{Journal(disk), {}, 0};
  std::uint64_t next = 1;
  if (files.snapshot) {
    const std::string name = file_name("snapshot", *files.snapshot);
    PR_ASSIGN(const std::string bytes, disk.read(name));
    PR_ASSIGN(Scan part, scan(name, bytes, 1, false));
    result.records = std::move(part.records);
    next = *files.snapshot + 1;
  }
  for (std::size_t i = 0; i < files.journals.size(); ++i) {
    const std::string name = file_name("journal", files.journals[i]);
    if (files.journals[i] != next) {
      return fail(ErrorCode::invalid_input, fmt::format("{}: begins at record {}, but {} comes next; a file is missing",
                                                        name, files.journals[i], next));
    }
    PR_ASSIGN(const std::string bytes, disk.read(name));
    PR_ASSIGN(Scan part, scan(name, bytes, next, i + 1 == files.journals.size()));
    for (std::string& record : part.records) result.records.push_back(std::move(record));
    next = part.next;
    result.journal.bytes_ += part.good;
    result.journal.file_ = name;
    if (part.good == bytes.size() && part.good > 0) continue;  // an empty file lacks its first line
    result.torn_bytes = bytes.size() - part.good;
    PR_TRY(disk.truncate(name, part.good));
    if (part.good == 0) PR_TRY(disk.append(name, kHeader));
    PR_TRY(disk.sync(name));
  }
  for (const std::string& name : files.leftover) PR_TRY(disk.remove(name));
  result.journal.next_ = next;
  result.journal.durable_ = next - 1;
  if (result.journal.file_.empty()) PR_TRY(result.journal.start_file());
  return result;
}

Status Journal::start_file() {
  file_ = file_name("journal", next_);
  PR_TRY(disk_->append(file_, kHeader));
  return disk_->sync(file_);
}

Status Journal::broken(Status status) {
  if (!status) closed_ = true;
  return status;
}

std::uint64_t Journal::append(std::string_view payload) {
  buffer_ += encode_frame(next_, payload);
  return next_++;
}

Status Journal::sync() {
  if (closed_) return fail(ErrorCode::io, "the journal is closed because of an earlier failure; restart to recover");
  if (buffer_.empty()) return {};
  PR_TRY(broken(disk_->append(file_, buffer_)));
  PR_TRY(broken(disk_->sync(file_)));
  bytes_ += buffer_.size();
  buffer_.clear();
  durable_ = next_ - 1;
  return {};
}

Status Journal::compact(const std::vector<std::string>& records) {
  if (closed_) return fail(ErrorCode::io, "the journal is closed because of an earlier failure; restart to recover");
  PR_CHECK(buffer_.empty(), "a compaction with records that are not durable");
  if (file_ == file_name("journal", next_)) return {};  // no record since the last one
  std::string bytes(kHeader);
  std::uint64_t number = 0;
  for (const std::string& record : records) bytes += encode_frame(++number, record);
  const std::string aside = file_name("new", durable_);
  PR_TRY(broken(disk_->append(aside, bytes)));
  PR_TRY(broken(disk_->sync(aside)));
  PR_TRY(broken(disk_->rename(aside, file_name("snapshot", durable_))));
  PR_ASSIGN(const Files files, sort_files(*disk_));
  PR_TRY(broken(start_file()));
  bytes_ = 0;
  for (const std::string& name : files.leftover) PR_TRY(broken(disk_->remove(name)));
  return {};
}

}  // namespace photonrail::journal
