// Whole text files of a data folder, plain or compressed (.xz, .gz).
#pragma once

#include <string>

#include "base/result.h"

namespace photonrail::published {

// At most 256 MiB after decompression.
Result<std::string> read_text(const std::string& path);

// Name of the first entry of an archive, "" for an empty one.
Result<std::string> first_entry(const std::string& path);

}  // namespace photonrail::published
