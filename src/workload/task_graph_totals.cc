#include "workload/task_graph_totals.h"

#include <algorithm>

#include "workload/collective.h"

namespace photonrail::workload {
namespace {

using model::TaskKind;

// Communication of one program that goes to one slot and is of one sort.
struct Traffic {
  TaskKind kind = TaskKind::compute;
  model::Collective collective = model::Collective::none;
  model::Dimension dimension = model::Dimension::none;
  model::Slot slot = 0;
  std::int64_t calls = 0;
  Bytes payload;
};

struct ProgramTotals {
  std::int64_t compute_tasks = 0;
  double flops = 0;
  Time compute;
  std::vector<Traffic> traffic;
};

void add_traffic(std::vector<Traffic>& traffic, const model::Task& task) {
  const auto same = [&](const Traffic& t) {
    return t.slot == task.slot && t.kind == task.kind && t.collective == task.collective &&
           t.dimension == task.dimension;
  };
  auto found = std::find_if(traffic.begin(), traffic.end(), same);
  if (found == traffic.end()) {
    found = traffic.insert(traffic.end(), Traffic{task.kind, task.collective, task.dimension, task.slot, 0, {}});
  }
  ++found->calls;
  found->payload += task.bytes;
}

ProgramTotals program_totals(const model::Program& program) {
  ProgramTotals totals;
  for (const model::Task& task : program.tasks) {
    if (task.kind != TaskKind::compute) {
      add_traffic(totals.traffic, task);
      continue;
    }
    ++totals.compute_tasks;
    totals.flops += task.flops;
    totals.compute += task.duration;
  }
  return totals;
}

void add_traffic_of_rank(const model::TaskGraph& graph, model::Rank rank, const Traffic& traffic,
                         DimensionTotals& totals) {
  if (traffic.kind == TaskKind::receive) {
    totals.receives += traffic.calls;
    return;
  }
  if (traffic.kind == TaskKind::send) {
    totals.sends += traffic.calls;
    totals.sent += traffic.payload;
    totals.wire += traffic.payload;
    return;
  }
  const auto kind = static_cast<std::size_t>(traffic.collective);
  totals.calls[kind] += traffic.calls;
  totals.payload[kind] += traffic.payload;
  const model::Group& group = graph.groups[graph.slot(rank, traffic.slot)];
  if (group.members.front() != rank) return;  // a group's bytes count once
  totals.wire +=
      ring_bytes_of_group(traffic.collective, traffic.payload, static_cast<std::int64_t>(group.members.size()));
}

}  // namespace

GraphTotals graph_totals(const model::TaskGraph& graph) {
  std::vector<ProgramTotals> programs;
  programs.reserve(graph.programs.size());
  for (const model::Program& program : graph.programs) programs.push_back(program_totals(program));

  GraphTotals totals;
  for (model::Rank rank = 0; rank < graph.ranks(); ++rank) {
    const ProgramTotals& program = programs[graph.program_of[rank]];
    const std::size_t stage_index = graph.stage_of[rank];
    if (stage_index >= totals.stages.size()) totals.stages.resize(stage_index + 1);
    StageTotals& stage = totals.stages[stage_index];
    ++stage.ranks;
    stage.compute_tasks += program.compute_tasks;
    stage.flops += program.flops;
    stage.compute += program.compute;
    totals.flops += program.flops;
    for (const Traffic& traffic : program.traffic) {
      add_traffic_of_rank(graph, rank, traffic, stage.dimensions[static_cast<std::size_t>(traffic.dimension)]);
    }
  }
  for (const StageTotals& stage : totals.stages) {
    for (std::size_t i = 0; i < kDimensions; ++i) totals.wire[i] += stage.dimensions[i].wire;
  }
  return totals;
}

}  // namespace photonrail::workload
