// What a task graph adds up to: tasks, operations, and bytes on the wire by stage and dimension. Works for generated
// and imported graphs alike. The graph must have passed model::check(). Pure; time grows with ranks
// plus tasks of programs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "model/task_graph.h"

namespace photonrail::workload {

constexpr std::size_t kDimensions = 7;   // of model::Dimension
constexpr std::size_t kCollectives = 7;  // of model::Collective

// One dimension, of all ranks of a stage together.
struct DimensionTotals {
  std::array<std::int64_t, kCollectives> calls{};  // by Collective, a call counts once per member
  std::array<Bytes, kCollectives> payload{};       // by Collective, sum over the same calls of Task::bytes
  std::int64_t sends = 0;
  std::int64_t receives = 0;
  Bytes sent;  // by sends
  Bytes wire;  // by sends and by rings (collective.h)
};

struct StageTotals {
  std::int64_t ranks = 0;
  std::int64_t compute_tasks = 0;
  double flops = 0;
  Time compute;                                         // sum of durations
  std::array<DimensionTotals, kDimensions> dimensions;  // by Dimension

  const DimensionTotals& of(model::Dimension dimension) const {
    return dimensions[static_cast<std::size_t>(dimension)];
  }
};

struct GraphTotals {
  std::vector<StageTotals> stages;        // by TaskGraph::stage_of
  std::array<Bytes, kDimensions> wire{};  // by Dimension, all ranks
  double flops = 0;                       // all ranks

  Bytes wire_of(model::Dimension dimension) const { return wire[static_cast<std::size_t>(dimension)]; }
};

// The wire bytes of a group that spans stages count for the stage of its first member.
GraphTotals graph_totals(const model::TaskGraph& graph);

}  // namespace photonrail::workload
