#include "sim/channels.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/check.h"

namespace photonrail::sim {
namespace {

constexpr ChannelId kNoChannel = 0xffffffff;

class Builder {
 public:
  Builder(const model::TaskGraph& graph, const fabric::Fabric& fabric) : graph_(graph), fabric_(fabric) {
    table_.outgoing.assign(graph.slots.size(), kNoChannel);
    table_.incoming.assign(graph.slots.size(), kNoChannel);
    group_channel_.assign(graph.groups.size(), kNoChannel);
  }

  Result<ChannelTable> build() {
    for (model::Rank rank = 0; rank < graph_.ranks(); ++rank) PR_TRY(add_rank(rank));
    mark_private();
    return std::move(table_);
  }

 private:
  // The distinct (slot, kind, direction) of a program, so that ranks sharing it are scanned once.
  struct Use {
    model::Slot slot;
    model::TaskKind kind;
    model::Collective collective;
    model::Dimension dimension;
    auto operator<=>(const Use&) const = default;
  };

  const std::vector<Use>& uses(model::ProgramId program) {
    auto [found, fresh] = uses_.try_emplace(program);
    if (!fresh) return found->second;
    for (const model::Task& task : graph_.programs[program].tasks) {
      if (task.kind != model::TaskKind::compute) {
        found->second.push_back({task.slot, task.kind, task.collective, task.dimension});
      }
    }
    std::sort(found->second.begin(), found->second.end());
    found->second.erase(std::unique(found->second.begin(), found->second.end()), found->second.end());
    return found->second;
  }

  Status add_rank(model::Rank rank) {
    for (const Use& use : uses(graph_.program_of[rank])) {
      const std::size_t at = graph_.slot_start[rank] + use.slot;
      const std::uint32_t target = graph_.slots[at];
      if (use.kind == model::TaskKind::collective) {
        PR_ASSIGN(table_.outgoing[at], group_channel(target, use));
      } else if (use.kind == model::TaskKind::send) {
        PR_ASSIGN(table_.outgoing[at], pair_channel(rank, target, use.dimension));
      } else {
        PR_ASSIGN(table_.incoming[at], pair_channel(target, rank, use.dimension));
      }
    }
    return {};
  }

  Result<ChannelId> group_channel(model::GroupId group, const Use& use) {
    const model::Group& members = graph_.groups[group];
    if (group_channel_[group] == kNoChannel) {
      Channel channel;
      channel.dimension = use.dimension;
      channel.group = group;
      channel.leader = *std::min_element(members.members.begin(), members.members.end());
      channel.peer = channel.leader;
      channel.members = static_cast<std::uint32_t>(members.members.size());
      group_channel_[group] = add_channel(channel);
    }
    const ChannelId id = group_channel_[group];
    auto& lane = table_.channels[id].lane_of[static_cast<std::size_t>(use.collective)];
    if (lane >= 0) return id;
    PR_ASSIGN(auto footprint, fabric_.footprint(use.collective, members.members, use.dimension));
    lane = add_lane(std::move(footprint), table_.channels[id]);
    return id;
  }

  Result<ChannelId> pair_channel(model::Rank source, model::Rank destination, model::Dimension dimension) {
    auto [found, fresh] = pair_channel_.try_emplace({source, destination}, kNoChannel);
    if (!fresh) return found->second;
    PR_ASSIGN(auto footprint, fabric_.footprint_p2p(source, destination, dimension));
    Channel channel;
    channel.point_to_point = true;
    channel.dimension = dimension;
    channel.group = source;
    channel.leader = source;
    channel.peer = destination;
    channel.members = 2;
    const std::int32_t lane = add_lane(std::move(footprint), channel);
    channel.lane_of.fill(-1);
    channel.lane_of[0] = lane;
    table_.channels.push_back(channel);
    found->second = static_cast<ChannelId>(table_.channels.size() - 1);
    return found->second;
  }

  ChannelId add_channel(Channel channel) {
    channel.lane_of.fill(-1);
    table_.channels.push_back(channel);
    return static_cast<ChannelId>(table_.channels.size() - 1);
  }

  std::int32_t add_lane(fabric::Footprint footprint, const Channel& channel) {
    Lane lane;
    lane.solo_rate = std::numeric_limits<double>::infinity();
    for (const auto& usage : footprint.usage) {
      lane.solo_rate = std::min(lane.solo_rate, fabric_.links()[usage.link].capacity / usage.share);
    }
    if (!footprint.circuits.empty()) lane.demand = demand_for(footprint, channel.members);
    lane.footprint = std::move(footprint);
    table_.lanes.push_back(std::move(lane));
    return static_cast<std::int32_t>(table_.lanes.size() - 1);
  }

  // Both directions of a pair, and all collectives of a group, demand the same circuits: one demand.
  control::DemandId demand_for(const fabric::Footprint& footprint, std::uint32_t members) {
    auto [found, fresh] = demand_of_.try_emplace({footprint.circuits, members}, control::kNoDemand);
    if (!fresh) return found->second;
    control::Demand demand;
    demand.members = members;
    demand.rail = fabric_.rail_of(footprint.circuits.front().a);
    for (const auto& circuit : footprint.circuits) demand.circuits.push_back({circuit.a, circuit.b});
    table_.demands.push_back(std::move(demand));
    found->second = static_cast<control::DemandId>(table_.demands.size() - 1);
    return found->second;
  }

  // A group's operations run one after the other, so a group alone on its links never shares them. The two directions
  // of a pair may carry several messages at once, so pairs are never private.
  void mark_private() {
    std::vector<ChannelId> user(fabric_.links().size(), kNoChannel);
    std::vector<bool> shared(fabric_.links().size(), false);
    visit_links([&](ChannelId channel, algo::LinkId link) {
      if (user[link] != kNoChannel && user[link] != channel) shared[link] = true;
      user[link] = channel;
    });
    for (Channel& channel : table_.channels) channel.is_private = !channel.point_to_point;
    visit_links([&](ChannelId channel, algo::LinkId link) {
      if (shared[link]) table_.channels[channel].is_private = false;
    });
  }

  template <class Visit>
  void visit_links(Visit visit) const {
    for (ChannelId id = 0; id < table_.channels.size(); ++id) {
      for (const std::int32_t lane : table_.channels[id].lane_of) {
        if (lane < 0) continue;
        for (const auto& usage : table_.lanes[static_cast<std::size_t>(lane)].footprint.usage) visit(id, usage.link);
      }
    }
  }

  const model::TaskGraph& graph_;
  const fabric::Fabric& fabric_;
  ChannelTable table_;
  std::vector<ChannelId> group_channel_;
  std::map<std::pair<model::Rank, model::Rank>, ChannelId> pair_channel_;
  std::map<std::pair<std::vector<fabric::CircuitDemand>, std::uint32_t>, control::DemandId> demand_of_;
  std::map<model::ProgramId, std::vector<Use>> uses_;
};

}  // namespace

Result<ChannelTable> make_channels(const model::TaskGraph& graph, const fabric::Fabric& fabric) {
  return Builder(graph, fabric).build();
}

}  // namespace photonrail::sim
