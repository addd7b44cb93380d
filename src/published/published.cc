#include "published/published.h"

#include <cmath>
#include <map>

#include "published/simulator.h"

namespace photonrail::published {
namespace {

constexpr double kPipelineLinks = 2;
constexpr double kDataLinks = 2;

RingTraffic traffic_of(const Machine& machine, const PublishedConfig& config) {
  RingTraffic traffic;
  for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
    for (const ProgramNode& node : machine.program(rank).nodes) {
      if (node.kind == NodeKind::send) traffic.pipeline += node.size;
      if (node.kind != NodeKind::collective) continue;
      const MachineGroup& group = machine.groups[machine.members[machine.slots[rank][node.slot]].group];
      const auto members = static_cast<std::uint32_t>(group.members.size());
      const RingShape shape = ring_shape(node, members, machine.ranks(), config);
      const std::int64_t bytes = shape.message * shape.steps * shape.chunks;
      (group.kind == LinkClass::tensor ? traffic.tensor : traffic.data) += bytes;
    }
  }
  return traffic;
}

ClassRates rates_for(const Machine& machine, const PublishedConfig& config) {
  if (config.mode != Mode::static_ideal) {
    return {config.scale_out_GBps, config.scale_up_GBps, config.scale_out_GBps};
  }
  return config.split ? *config.split : square_root_split(traffic_of(machine, config), config);
}

}  // namespace

Result<RingTraffic> ring_traffic(const workload::TraceSet& traces, const PublishedConfig& config) {
  PR_ASSIGN(const Machine machine, make_machine(traces, config));
  return traffic_of(machine, config);
}

ClassRates square_root_split(const RingTraffic& traffic, const PublishedConfig& config) {
  const double tensor_links = config.tp > 1 ? config.tp - 1 : 1;
  const double budget =
      std::max(kPipelineLinks, kDataLinks) * config.scale_out_GBps + tensor_links * config.scale_up_GBps;
  const double data = std::sqrt(static_cast<double>(traffic.data));
  const double tensor = std::sqrt(static_cast<double>(traffic.tensor));
  const double pipeline = std::sqrt(static_cast<double>(traffic.pipeline));
  const double all = data + tensor + pipeline;
  return {budget * data / all / kDataLinks, budget * tensor / all / tensor_links,
          budget * pipeline / all / kPipelineLinks};
}

std::vector<ProvisionEntry> derive_provision(const std::vector<LogEntry>& log, std::uint32_t ranks) {
  struct Rail {
    bool any = false;
    std::int32_t kind = 0;
    std::int32_t last_index = 0;
    std::map<std::int32_t, std::int32_t> target_at;  // index -> target; a later change at one index replaces it
  };
  std::vector<Rail> rails(ranks);
  for (const LogEntry& entry : log) {
    if (entry.kind != LogEntry::Kind::communication || entry.what == -2) continue;
    Rail& rail = rails[entry.rank];
    if (!rail.any || rail.kind != entry.what) rail.target_at[rail.last_index] = entry.what;
    rail.any = true;
    rail.kind = entry.what;
    rail.last_index = entry.index;
  }
  std::vector<ProvisionEntry> list;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (const auto& [index, target] : rails[rank].target_at) list.push_back({rank, target, index});
  }
  return list;
}

Result<PublishedResult> run_published(const workload::TraceSet& traces, const PublishedConfig& config) {
  PR_ASSIGN(const Machine machine, make_machine(traces, config));
  const ClassRates rates = rates_for(machine, config);
  std::vector<ProvisionEntry> provision;
  if (config.mode == Mode::provisioned) {
    PublishedConfig learning = config;
    learning.mode = Mode::on_demand;
    learning.keep_log = true;
    learning.keep_nodes = false;
    PR_ASSIGN(const PublishedResult learnt, Simulator(machine, learning, rates, {}).run());
    provision = derive_provision(learnt.log, machine.ranks());
  }
  PR_ASSIGN(PublishedResult result, Simulator(machine, config, rates, provision).run());
  result.provision = std::move(provision);
  return result;
}

}  // namespace photonrail::published
