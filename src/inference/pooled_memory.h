// The memory that a photonic pool gives one GPU, where [memory] names a pool.
#pragma once

#include "base/result.h"
#include "catalog/catalog.h"
#include "inference/scenario.h"

namespace photonrail::inference {

// [memory] with rate, capacity and source filled in: the rate is pool::effective_rate of `sharers` accelerators
// (absent: the GPUs of the instance) at `hit_rate`, the capacity the pool's over the sharers. Unchanged where no pool
// is named. Errors: io and invalid_input of the pool's file; infeasible where it has no room for the sharers.
Result<MemoryChoice> pooled_memory(const InferenceScenario& scenario, const catalog::Catalog& catalog);

// Path of the pool's file as the operating system takes it: one from the scenario's file is relative to that file.
std::string pool_path(const InferenceDocument& doc);

}  // namespace photonrail::inference
