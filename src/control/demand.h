// What the controller is told about operations: which circuits they demand, and who takes part.
#pragma once

#include <cstdint>
#include <vector>

namespace photonrail::control {

// One duplex optical port of one GPU, dense over the cluster: gpu * ports per GPU + port.
using PortId = std::uint32_t;
using DemandId = std::uint32_t;
using OperationId = std::uint32_t;
using CommandId = std::uint32_t;
inline constexpr PortId kNoPort = 0xffffffff;
inline constexpr DemandId kNoDemand = 0xffffffff;

// A duplex circuit: Tx of each port to Rx of the other.
struct Circuit {
  PortId a = kNoPort;
  PortId b = kNoPort;
  friend bool operator==(const Circuit&, const Circuit&) = default;
};

// The circuits that operations of one group (or one sender and receiver) need, all on one rail or on several in step.
// Registered once; every operation of the group names it. No port may occur twice.
struct Demand {
  std::vector<Circuit> circuits;
  std::uint32_t members = 0;  // ranks that must announce an operation before it can be granted
  std::uint32_t rail = 0;
};

}  // namespace photonrail::control
