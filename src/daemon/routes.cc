#include "daemon/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace photonrail::daemon {
namespace {

using control::Circuit;
using control::PortId;
using control::Rank;

PortId port_of(const SubmitJob& job, Rank rank, std::uint32_t port) { return rank * job.ports_per_rank + port; }

bool same_switch(const SubmitJob& job, const Circuit& circuit) {
  return job.ports[circuit.a].ocs == job.ports[circuit.b].ocs;
}

Route pair_route(const SubmitJob& job, Rank first, Rank second) {
  const std::uint32_t ports = std::min(job.ports_per_rank, 2U);
  constexpr std::array<std::array<std::uint32_t, 2>, 4> kChoices{{{0, 1}, {0, 0}, {1, 1}, {1, 0}}};
  for (const auto& [a, b] : kChoices) {
    if (a >= ports || b >= ports) continue;
    const Circuit circuit{port_of(job, first, a), port_of(job, second, b)};
    if (same_switch(job, circuit)) return {control::Demand{{circuit}, 2, job.ports[circuit.a].ocs}, {}};
  }
  return {std::nullopt, fmt::format("the ports of ranks {} and {} end at different switches", first, second)};
}

Route ring_route(const SubmitJob& job, const std::vector<Rank>& members) {
  if (job.ports_per_rank < 2) {
    return {std::nullopt, fmt::format("a ring of {} ranks needs two ports a rank", members.size())};
  }
  control::Demand demand;
  demand.members = static_cast<std::uint32_t>(members.size());
  demand.rail = job.ports[port_of(job, members.front(), 0)].ocs;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Circuit circuit{port_of(job, members[i], 0), port_of(job, members[(i + 1) % members.size()], 1)};
    const bool here = same_switch(job, circuit) && job.ports[circuit.a].ocs == demand.rail;
    if (!here) return {std::nullopt, "the members' ports end at different switches"};
    demand.circuits.push_back(circuit);
  }
  return {std::move(demand), {}};
}

}  // namespace

Route route(const SubmitJob& job, const control::RegisterGroup& group) {
  const std::vector<Rank>& members = group.members;
  if (members.size() < 2) return {std::nullopt, "a group of one moves nothing"};
  const bool one_domain = std::all_of(members.begin(), members.end(),
                                      [&](Rank rank) { return job.domain[rank] == job.domain[members.front()]; });
  if (one_domain) return {std::nullopt, "all members are in one scale-up domain"};
  using Shape = control::RegisterGroup::Shape;
  if (group.shape == Shape::any) return {std::nullopt, "circuits cannot serve every pair of its members"};
  if (members.size() == 2) return pair_route(job, members[0], members[1]);
  if (group.shape == Shape::pair) return {std::nullopt, "a pair has two members"};
  return ring_route(job, members);
}

}  // namespace photonrail::daemon
