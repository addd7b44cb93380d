// Names of the dialects, as configuration and command line spell them.
#include <array>
#include <string_view>
#include <utility>

#include "device/driver.h"

namespace photonrail::device {
namespace {

constexpr std::array<std::pair<Dialect, const char*>, 8> kNames{{
    {Dialect::polatis_scpi, "polatis-scpi"},
    {Dialect::polatis_tl1, "polatis-tl1"},
    {Dialect::calient_tl1, "calient-tl1"},
    {Dialect::glimmerglass_tl1, "glimmerglass-tl1"},
    {Dialect::polatis_netconf, "polatis-netconf"},
    {Dialect::polatis_restconf, "polatis-restconf"},
    {Dialect::ocp_gnmi, "ocp-gnmi"},
    {Dialect::sonic_gnmi, "sonic-gnmi"},
}};

}  // namespace

const char* name(Dialect dialect) {
  for (const auto& [known, text] : kNames) {
    if (known == dialect) return text;
  }
  return "unknown";
}

std::optional<Dialect> dialect_named(std::string_view name) {
  for (const auto& [dialect, text] : kNames) {
    if (name == text) return dialect;
  }
  return std::nullopt;
}

}  // namespace photonrail::device
