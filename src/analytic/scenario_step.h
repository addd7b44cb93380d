// The step of a scenario in closed form, by the very rules of `simulate`: operators of operators/transformer.h at
// roofline rates, tasks and dependencies of workload/training.h, times of communication on the scenario's fabric with
// nothing else on it.
//
// It is the time of a chain of dependent tasks, so the simulated step is never shorter. It is equal, to the rounding of
// each task to a picosecond, where nothing waits but for that chain: one rail or a domain for each group, no two groups
// on one link at a time, and a last stage (which holds the head) that is the slowest. Left out, and so only bounded:
// congestion, circuits (their switching and waiting), gathering with full sharding behind computation (the group's
// total time is a bound), stages that wait for each other in turn.
//
// The collectives of a group run one after the other: an all-gather of a saved input that outlasts the computation it
// runs behind delays the sum after it.
#pragma once

#include "analytic/memory.h"
#include "analytic/step.h"
#include "fabric/fabric.h"
#include "study/study.h"

namespace photonrail::analytic {

// Pieces of the step on a fabric. infeasible for a step from traces, or where the fabric cannot carry a message.
Result<StepPieces> scenario_pieces(const study::Study& study, const fabric::Fabric& fabric);

// The fabric of a case, as run_case builds it.
Result<std::unique_ptr<fabric::Fabric>> fabric_of(const study::Study& study, const catalog::Catalog& catalog,
                                                  const study::Case& spec);

// The closed form of one case.
Result<StepTime> estimate_case(const study::Study& study, const catalog::Catalog& catalog, const study::Case& spec);

// The scenario as a configuration, for memory and for calibrated kernels.
DecoderShape shape_of(const model::TransformerModel& model);
TrainingConfig config_of(const model::Scenario& scenario);

// Tasks of one rank, an upper bound on the picoseconds that rounding may differ by.
std::int64_t tasks_of(const study::Study& study);

}  // namespace photonrail::analytic
