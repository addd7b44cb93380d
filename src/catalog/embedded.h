// The catalog files as they were when the program was built. Defined in a file that embed.cmake writes.
#pragma once

#include <span>
#include <string_view>

namespace photonrail::catalog {

struct EmbeddedFile {
  std::string_view name;  // "catalog/gpus.toml"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

}  // namespace photonrail::catalog
