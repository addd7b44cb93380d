// Polatis / HUBER+SUHNER SCPI over TCP (port 5025): what driver and front end share.
//
// Ports count from 1 in one number space: ingress 1..N, egress N+1..N+M. Lists are SCPI-99 channel lists, (@1,2,3);
// a cross-connect list is two of them, (@1,2),(@17,18), or one pair of lists for each patch, (@1),(@17);(@2),(@18),
// and an empty one is (@),(@) or <none>. A symmetric box (model -NxCC-) has one space 1..N and patches without
// direction: patch a-b carries light from a to b and from b to a, thus the cross-connects {a, b} and {b, a}.
// Sources: SCPI-99 volume 1 (syntax, errors); IEEE 488.2; drivers wllzhk/Polatis_OST_Controller (OXC.py),
// hpn-bristol/devicecontrol-polatis, FSlyne/tcd_dcu_optical.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/types.h"

namespace photonrail::device::scpi {

using Port = std::uint32_t;
using Patch = std::pair<Port, Port>;  // ingress, egress as the device numbers them

inline constexpr std::size_t kPowerPortsMax = 256;  // in one :pmon:pow?
inline constexpr std::size_t kPortsMax = 65535;

// "(@1,2,3)", "(@)", and ranges "(@1:4)". Nothing when it is no list, has a port of 0 or above kPortsMax, or more than
// `limit` ports.
std::optional<std::vector<Port>> parse_list(std::string_view text, std::size_t limit);
std::string list_text(const std::vector<Port>& ports);

// Both forms of a cross-connect list.
std::optional<std::vector<Patch>> parse_patches(std::string_view text, std::size_t limit);
std::string patches_text(const std::vector<Patch>& patches);         // (@1,2),(@17,18)
std::string patch_groups_text(const std::vector<Patch>& patches);    // (@1),(@17);(@2),(@18), or <none>

// Numbering of one box.
struct Numbering {
  Position inputs = 0;
  Position outputs = 0;
  bool symmetric = false;

  Port ingress(Position in) const { return Port{in} + 1; }
  Port egress(Position out) const { return symmetric ? Port{out} + 1 : Port{inputs} + out + 1; }
  Port ports() const { return symmetric ? Port{inputs} : Port{inputs} + outputs; }
  std::optional<Position> input_of(Port port) const;
  std::optional<Position> output_of(Port port) const;

  Patch patch(const CrossConnect& pair) const;                              // symmetric: lower port first
  std::optional<std::vector<CrossConnect>> pairs(const Patch& patch) const;  // one; symmetric: both directions
};

// An entry of the error queue: code,"text".
struct ErrorEntry {
  int code = 0;
  std::string text;
};
std::optional<ErrorEntry> parse_error(std::string_view text);

}  // namespace photonrail::device::scpi
