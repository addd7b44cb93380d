// The files of calibration/ as they were when the program was built. Defined in a file that embed.cmake writes.
#pragma once

#include <span>

#include "catalog/embedded.h"

namespace photonrail::operators {

std::span<const catalog::EmbeddedFile> embedded_files();

}  // namespace photonrail::operators
