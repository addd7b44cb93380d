// The nominal execution that fixes the order of collectives and the pipeline stages (import.h has the rules).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/task_graph.h"
#include "workload/import_classes.h"
#include "workload/import_program.h"

namespace photonrail::workload {

struct NominalOrder {
  std::vector<std::uint32_t> stage_of;  // per class; kNoIndex where it sends and receives nothing
};

// Sets Task::ordinal of every collective in `programs` (one per class). Refuses a send without its receive or the
// reverse, sizes that differ, members of a group that call different collectives, and traces that wait for each other.
Result<NominalOrder> run_nominally(const TraceSet& traces, const RankClasses& classes,
                                   const std::vector<TraceProgram>& sources, Rate nominal_rate,
                                   std::vector<model::Program>& programs);

}  // namespace photonrail::workload
