#include "device/polatis_yang.h"

#include <algorithm>
#include <array>

namespace photonrail::device::polatis_yang {

std::optional<Position> input_of(unsigned port, Position inputs) {
  if (port == 0 || port > inputs) return std::nullopt;
  return static_cast<Position>(port - 1);
}

std::optional<Position> output_of(unsigned port, Position inputs, Position outputs) {
  if (port <= inputs || port > static_cast<unsigned>(inputs) + outputs) return std::nullopt;
  return static_cast<Position>(port - inputs - 1U);
}

std::optional<PortStatus> status_of(std::string_view text) {
  if (text == "ENABLED") return PortStatus::unknown;
  if (text == "DISABLED") return PortStatus::disabled;
  if (text == "FAILED") return PortStatus::failed;
  if (text == "UNSUPPORTED") return PortStatus::unknown;
  return std::nullopt;
}

const char* status_text(PortStatus status) {
  if (status == PortStatus::disabled) return "DISABLED";
  return status == PortStatus::failed ? "FAILED" : "ENABLED";
}

bool refuses(std::string_view error_tag) {
  constexpr std::array kTags = {"in-use",
                                "invalid-value",
                                "too-big",
                                "missing-attribute",
                                "bad-attribute",
                                "unknown-attribute",
                                "missing-element",
                                "bad-element",
                                "unknown-element",
                                "unknown-namespace",
                                "access-denied",
                                "lock-denied",
                                "resource-denied",
                                "data-exists",
                                "data-missing",
                                "operation-not-supported",
                                "malformed-message",
                                "data-not-unique"};
  return std::find(kTags.begin(), kTags.end(), error_tag) != kTags.end();
}

}  // namespace photonrail::device::polatis_yang
