// Pipeline schedules: in which order one stage computes the passes of its micro-batches.
//
// Theory, for p stages, m micro-batches and passes of equal length f (forward) and b (backward), communication free:
//   gpipe        all forward passes, then all backward passes (Huang et al., "GPipe", 2019)
//   one_f_one_b  stage i first does min(m, p-1-i) forward passes, then alternates one forward and one backward, then
//                finishes its backward passes (Narayanan et al., "PipeDream", 2019; "PipeDream-Flush", 2021)
// Both take (m+p-1)(f+b) and so leave a share (p-1)/(m+p-1) of every stage idle, the bubble. They differ in memory:
// a stage holds at most m activations under gpipe and min(m, p-i) under one_f_one_b.
#pragma once

#include <cstdint>
#include <vector>

#include "model/scenario.h"

namespace photonrail::workload {

struct Pass {
  bool forward = true;
  std::int64_t microbatch = 0;
  friend bool operator==(const Pass&, const Pass&) = default;
};

// The 2 m passes of `stage`, each once. Needs 0 <= stage < stages and microbatches >= 1.
std::vector<Pass> pipeline_schedule(model::Schedule schedule, std::int64_t stage, std::int64_t stages,
                                    std::int64_t microbatches);

}  // namespace photonrail::workload
