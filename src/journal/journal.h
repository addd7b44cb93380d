// Journal: numbered records that survive a crash, in files of one directory.
//
//   snapshot-<through>.log   records that replace every record up to number <through>
//   journal-<first>.log      records from number <first> on
//   new-*.log                a snapshot that is being written; ignored and removed at the next start
//
// A file is the line "photonrail journal 1\n" and then frames: length (4 bytes), CRC-32C (4), number (8), payload; all
// little-endian; the checksum covers number and payload. <first> and <through> are 16 hexadecimal digits.
//
// Recovery takes the newest snapshot and the records after it, without a gap. The last file may end in the middle of a
// frame, or in garbage, because a crash tore what was never acknowledged: it is cut there. A damaged frame with a valid
// one after it is not a torn end but a damaged disk: recovery refuses, naming file and byte, rather than forget what
// was acknowledged. (Damage to the very last frame cannot be told from a torn one.) Numbers in a snapshot's frames
// count from 1; only their order means something. Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/disk.h"

namespace photonrail::journal {

inline constexpr std::size_t kMaxPayload = std::size_t{16} << 20;
inline constexpr std::size_t kMaxFile = std::size_t{4} << 30;

std::string encode_frame(std::uint64_t number, std::string_view payload);

struct Recovered;

class Journal {
 public:
  // Reads everything, mends a torn end, removes what is left over from an interrupted compaction.
  static Result<Recovered> open(Disk& disk);

  std::uint64_t append(std::string_view payload);  // buffered; returns the record's number
  // Writes and syncs what is buffered. After an error the journal is closed for good (what the disk holds is not known
  // until the next recovery) and every later call fails.
  Status sync();
  std::uint64_t durable() const { return durable_; }  // through this number
  std::uint64_t appended() const { return next_ - 1; }

  // Replaces everything that is durable by `records`: written aside, synced, renamed, then the old files are removed.
  // Nothing may be buffered. Does nothing where no record came since the last snapshot.
  Status compact(const std::vector<std::string>& records);
  std::size_t bytes_since_snapshot() const { return bytes_; }

 private:
  explicit Journal(Disk& disk) : disk_(&disk) {}
  Status start_file();
  Status broken(Status status);

  Disk* disk_;
  std::string file_;  // the one that is appended to
  std::string buffer_;
  std::uint64_t next_ = 1;
  std::uint64_t durable_ = 0;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

struct Recovered {
  Journal journal;
  std::vector<std::string> records;  // snapshot first, then what came after it
  std::size_t torn_bytes = 0;        // cut from the end
};

}  // namespace photonrail::journal
