// Files that a command leaves: whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::report {

struct OutputFile {
  std::string name;
  std::string content;
};

// Makes `directory` (with its parents) where it does not exist, and proves that a file can be written in it. To be
// called before a long run. ErrorCode::io with the reason.
Status prepare_directory(const std::string& directory);

// Writes each file under a temporary name, flushes it to the disk and renames it, so that a reader never sees half a
// file. ErrorCode::io with the reason; files already renamed stay.
Status write_files(const std::string& directory, const std::vector<OutputFile>& files);

// The whole content of a file; refuses what is larger than `limit` bytes. ErrorCode::io with the reason.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);

}  // namespace photonrail::report
