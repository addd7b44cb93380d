// Runs a TaskGraph on a fabric, event by event, and says what happened when.
//
// Compute tasks of a rank run one at a time; communication overlaps with compute and with other communication. An
// operation starts when all its members have issued it, its predecessor in the same group is done, and, on photonic
// rails, the controller has granted it. It then takes its steps' latency and moves its bytes as one fluid flow over
// every link of its footprint at the max-min fair rate (algo/max_min.h), so sharing and congestion are results.
//
// Steady state: `warm_up_steps` steps run first, one after the other, and leave their circuits and what the controller
// has learnt; the last step is measured, from its common start to the last rank's finish.
// Deterministic: integer picoseconds, total order of events; equal inputs give an equal digest. One run, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "control/controller.h"
#include "fabric/fabric.h"
#include "model/run_result.h"
#include "model/task_graph.h"
#include "sim/switch_time.h"

namespace photonrail::sim {

struct PhotonicControl {
  control::AdmissionRule rule = control::AdmissionRule::gang;
  bool fixed_circuits = false;     // static plan: every circuit is up from the start and none changes
  bool switch_ahead = false;       // planner `provisioned`
  bool free_control_path = false;  // planner `oracle`: no request, controller or command time
  SwitchTerms terms;
};

struct RunOptions {
  std::uint64_t seed = 1;
  std::uint32_t warm_up_steps = 1;
  bool record_scale_up = false;             // also keep a CommRecord of every scale-up operation
  std::optional<PhotonicControl> photonic;  // absent: an electrical fabric
  std::function<void(double)> progress;     // share of tasks done, 0..1; may be empty
};

// Fails with `deadlock` and the cycle of waiters when the program and the admission rule can never finish, with
// `infeasible` when the fabric cannot carry an operation.
Result<model::RunResult> run(const model::TaskGraph& graph, const fabric::Fabric& fabric, const RunOptions& options);

}  // namespace photonrail::sim
