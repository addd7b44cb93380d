#include "pool/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace photonrail::pool {
namespace {

// From tera on down; a value of at least half a unit is written in it, so that 0.9 TB/s stays as the paper has it.
std::string scaled(double value, const char* unit) {
  struct Prefix {
    double factor;
    const char* name;
  };
  constexpr std::array<Prefix, 4> kPrefixes = {{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const Prefix& prefix : kPrefixes) {
    if (std::fabs(value) >= prefix.factor / 2)
      return fmt::format("{:.4g} {}{}", value / prefix.factor, prefix.name, unit);
  }
  return fmt::format("{:.4g} {}", value, unit);
}

}  // namespace

std::string bit_rate_text(double bits_per_second) { return scaled(bits_per_second, "b/s"); }
std::string byte_rate_text(double bytes_per_second) { return scaled(bytes_per_second, "B/s"); }
std::string size_text(double bytes) { return scaled(bytes, "B"); }

}  // namespace photonrail::pool
