// The files of a trace set, one after the other, from a directory or an archive. Decompression streams: at any time one
// file is in memory (and what the compression itself needs; xz with a 256 MiB dictionary takes that much).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::workload {

// A file's bytes; valid during the call. `name` is relative to the directory or archive, without ".gz".
using FileVisitor = std::function<Status(std::string_view name, std::vector<std::byte>& bytes)>;

// Tells which files to read; others are passed over.
using FileFilter = std::function<bool(std::string_view name)>;

// Visits the regular files right inside the directory `path` in order of name, or all regular files of the archive
// `path` in its own order. Members named *.gz are decompressed. Limits: 2 GiB a file, 2^22 entries.
Status visit_files(const std::string& path, const FileFilter& wanted, const FileVisitor& visit);

}  // namespace photonrail::workload
