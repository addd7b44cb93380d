#include "device/gnmi_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/dialect_text.h"

namespace photonrail::device::gnmi_model {
namespace {

std::optional<Position> position(std::string_view name, char side) {
  if (name.size() < 2 || name.back() != side) return std::nullopt;
  const auto number = parse_natural(name.substr(0, name.size() - 1), 65535);
  if (!number || *number == 0) return std::nullopt;
  return static_cast<Position>(*number - 1);
}

}  // namespace

std::string input_name(Position in) { return fmt::format("{}A", in + 1); }
std::string output_name(Position out) { return fmt::format("{}B", out + 1); }
std::optional<Position> input_named(std::string_view name) { return position(name, 'A'); }
std::optional<Position> output_named(std::string_view name) { return position(name, 'B'); }

std::string cross_connect_name(const CrossConnect& pair) {
  return input_name(pair.in) + "-" + output_name(pair.out);
}

std::optional<CrossConnect> cross_connect_named(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto in = input_named(name.substr(0, dash));
  const auto out = output_named(name.substr(dash + 1));
  if (!in || !out) return std::nullopt;
  return CrossConnect{*in, *out};
}

PortStatus status_named(std::string_view name) {
  const std::string upper = upper_case(name);
  if (upper == "BLOCKED") return PortStatus::blocked;
  if (upper == "TUNING") return PortStatus::tuning;
  if (upper == "TUNED") return PortStatus::tuned;
  if (upper == "FAILED") return PortStatus::failed;
  if (upper == "DISABLED" || upper == "FORCE_BLOCKED") return PortStatus::disabled;
  return PortStatus::unknown;
}

const char* ocp_status(PortStatus status) {
  switch (status) {
    case PortStatus::blocked: return "BLOCKED";
    case PortStatus::tuning: return "TUNING";
    case PortStatus::tuned: return "TUNED";
    case PortStatus::failed: return "FAILED";
    case PortStatus::disabled: return "DISABLED";
    case PortStatus::unknown: break;
  }
  return "UNKNOWN";
}

const char* sonic_status(PortStatus status) {
  switch (status) {
    case PortStatus::tuning: return "tuning";
    case PortStatus::tuned: return "tuned";
    case PortStatus::failed: return "failed";
    case PortStatus::disabled: return "force_blocked";
    case PortStatus::blocked:
    case PortStatus::unknown: break;
  }
  return "blocked";
}

std::vector<Element> elements(std::string_view path) {
  std::vector<Element> result;
  while (!path.empty()) {
    std::size_t slash = 0;
    for (bool inside = false; slash < path.size() && (inside || path[slash] != '/'); ++slash) {
      if (path[slash] == '[') inside = true;
      if (path[slash] == ']') inside = false;
    }
    std::string_view part = path.substr(0, slash);
    path = path.substr(std::min(slash + 1, path.size()));
    const std::size_t bracket = part.find('[');
    Element element{std::string(part.substr(0, bracket)), "", ""};
    if (bracket != std::string_view::npos) {
      part = part.substr(bracket + 1);
      if (!part.empty() && part.back() == ']') part.remove_suffix(1);
      const std::size_t equals = part.find('=');
      element.key = part.substr(0, equals);
      element.value = part.substr(equals + 1);
    }
    result.push_back(std::move(element));
  }
  return result;
}

}  // namespace photonrail::device::gnmi_model
