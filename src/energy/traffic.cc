#include "energy/traffic.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "workload/collective.h"

namespace photonrail::energy {
namespace {

using model::TaskKind;

// Communication of one program through one slot.
struct Sort {
  TaskKind kind = TaskKind::compute;
  model::Collective collective = model::Collective::none;
  model::Dimension dimension = model::Dimension::none;
  model::Slot slot = 0;
  std::int64_t calls = 0;
  Bytes payload;
};

struct Sums {
  std::vector<Sort> sorts;
  double flops = 0;
  double memory = 0;
};

Sums sums_of(const model::Program& program) {
  Sums sums;
  for (const model::Task& task : program.tasks) {
    if (task.kind == TaskKind::compute) {
      sums.flops += task.flops;
      sums.memory += static_cast<double>(task.memory.count);
      continue;
    }
    if (task.kind == TaskKind::receive) continue;
    const auto same = [&](const Sort& s) {
      return s.slot == task.slot && s.kind == task.kind && s.collective == task.collective &&
             s.dimension == task.dimension;
    };
    auto found = std::find_if(sums.sorts.begin(), sums.sorts.end(), same);
    if (found == sums.sorts.end()) {
      found = sums.sorts.insert(found, Sort{task.kind, task.collective, task.dimension, task.slot, 0, {}});
    }
    ++found->calls;
    found->payload += task.bytes;
  }
  return sums;
}

double share_of_neighbours(const std::vector<model::Rank>& members, std::span<const std::uint32_t> domain_of) {
  std::size_t leave = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (domain_of[members[i]] != domain_of[members[(i + 1) % members.size()]]) ++leave;
  }
  return static_cast<double>(leave) / static_cast<double>(members.size());
}

double share_of_pairs(const std::vector<model::Rank>& members, std::span<const std::uint32_t> domain_of) {
  std::map<std::uint32_t, double> in_domain;
  for (const model::Rank member : members) in_domain[domain_of[member]] += 1;
  const double n = static_cast<double>(members.size());
  double stay = 0;
  for (const auto& [domain, count] : in_domain) stay += count * (count - 1);
  return n > 1 ? 1 - stay / (n * (n - 1)) : 0;
}

using Flows = std::map<std::pair<int, int>, Flow>;

Flow& flow_of(Flows& flows, const Sort& sort) {
  Flow& flow = flows[{static_cast<int>(sort.dimension), static_cast<int>(sort.collective)}];
  flow.dimension = sort.dimension;
  flow.collective = sort.collective;
  return flow;
}

void add_message(Flow& flow, const Sort& sort, bool leaves) {
  const double bytes = static_cast<double>(sort.payload.count);
  (leaves ? flow.outside : flow.inside) += bytes;
}

void add_collective(Flow& flow, const Sort& sort, const model::Group& group, std::span<const std::uint32_t> domain_of) {
  const auto n = static_cast<std::int64_t>(group.members.size());
  const double wire = static_cast<double>(workload::ring_bytes_of_group(sort.collective, sort.payload, n).count);
  const bool direct = sort.collective == model::Collective::all_to_all;
  const double share =
      direct ? share_of_pairs(group.members, domain_of) : share_of_neighbours(group.members, domain_of);
  flow.outside += wire * share;
  flow.inside += wire * (1 - share);
}

}  // namespace

StepWork work_of(const model::TaskGraph& graph, std::span<const std::uint32_t> domain_of) {
  PR_CHECK(domain_of.size() == graph.ranks(), "one domain per rank");
  std::vector<Sums> sums;
  for (const model::Program& program : graph.programs) sums.push_back(sums_of(program));
  Flows flows;
  StepWork work;
  work.gpus = static_cast<std::int64_t>(graph.ranks());
  for (model::Rank rank = 0; rank < graph.ranks(); ++rank) {
    const Sums& of_program = sums[graph.program_of[rank]];
    work.flops += of_program.flops;
    work.memory_bytes += of_program.memory;
    for (const Sort& sort : of_program.sorts) {
      Flow& flow = flow_of(flows, sort);
      flow.calls += sort.calls;
      flow.payload += static_cast<double>(sort.payload.count);
      const std::uint32_t target = graph.slot(rank, sort.slot);
      if (sort.kind == TaskKind::send) {
        add_message(flow, sort, domain_of[rank] != domain_of[target]);
      } else if (graph.groups[target].members.front() == rank) {  // a group's bytes count once
        add_collective(flow, sort, graph.groups[target], domain_of);
      }
    }
  }
  for (auto& [key, flow] : flows) work.flows.push_back(flow);
  return work;
}

double StepWork::inside() const {
  double sum = 0;
  for (const Flow& flow : flows) sum += flow.inside;
  return sum;
}

double StepWork::outside() const {
  double sum = 0;
  for (const Flow& flow : flows) sum += flow.outside;
  return sum;
}

}  // namespace photonrail::energy
