#include "base/digest.h"

#include <fmt/format.h>

namespace photonrail {

std::string Digest::hex() const { return fmt::format("{:016x}", state_); }

}  // namespace photonrail
