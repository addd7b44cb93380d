// Channels: the groups and the ordered pairs of ranks that communicate, with what each needs of the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "control/controller.h"
#include "fabric/fabric.h"
#include "model/task_graph.h"

namespace photonrail::sim {

using ChannelId = std::uint32_t;
inline constexpr std::size_t kCollectives = 7;  // values of model::Collective; `none` stands for point to point

// What one kind of operation on a channel takes.
struct Lane {
  fabric::Footprint footprint;
  double solo_rate = 0;  // bit/s when nothing else uses its links
  control::DemandId demand = control::kNoDemand;
};

struct Channel {
  bool point_to_point = false;
  model::Dimension dimension = model::Dimension::none;
  std::uint32_t group = 0;  // GroupId, or source rank
  model::Rank leader = 0;   // lowest member, or source
  model::Rank peer = 0;     // destination of a pair
  std::uint32_t members = 0;
  bool is_private = false;                           // no other channel uses its links: its flows never share
  std::array<std::int32_t, kCollectives> lane_of{};  // index into lanes, -1 when unused
};

struct ChannelTable {
  std::vector<Channel> channels;
  std::vector<Lane> lanes;
  std::vector<control::Demand> demands;  // distinct sets of circuits
  // Channel of a task: by rank and slot. Collective slots have one channel; peer slots one for each direction.
  std::vector<ChannelId> outgoing;  // [slot_start[rank] + slot]: collective, or send
  std::vector<ChannelId> incoming;  // receive
};

// Finds every channel that the graph uses and asks the fabric for its footprints.
Result<ChannelTable> make_channels(const model::TaskGraph& graph, const fabric::Fabric& fabric);

}  // namespace photonrail::sim
