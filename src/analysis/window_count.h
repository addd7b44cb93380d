// Number of windows per step in closed form, for steps of the training generator (workload/training.h).
//
// What is counted: the operations of one stage on one rail in the order of its program, one after the other. Letters: P
// a send or receive (or the sum of a shared embedding table), D a data-parallel collective. A window is a change of
// letter. The count of a run can differ where messages start later than their place in the program.
//
// Let m micro-batches, p stages, and F and B the forward and backward pass of one micro-batch. A stage's pass is
//   F:  first "[D]P"   interior "P[D]P"   last "P[D]"          B:  first "P[D]"   interior "P[D]P"   last "[D]P"
// with D where the pass has data traffic. f forward and b backward passes have it, and u = 1 when the step ends in D:
//            zero0   zero1   zero2   zero3, reshard   zero3, no reshard
//   f          0       0       0           m                  1
//   b          1       1       m           m                  1
//   u          0       1       1           0                  0
// Then, with e = 1 where the ends of the pipeline share an embedding table, whose gradients they sum (P) before the
// optimizer, the windows are
//               zero0     zero1     zero2      zero3, reshard    zero3, no reshard
//   first     1 + e    1 + 2e    2m - 1 + 2e    4m - 2k + e          2 + e
//   interior    2         3        2m + 1          4m                  4              (all: 2 (f + b) + u)
//   last        2         3        2m + 1        4m - 2k            m = 1: 2, else 4
// where k counts how often the schedule turns from F to B at that stage (each such turn, and each turn back, merges two
// phases): 1 under gpipe; max(1, m - w) under 1F1B with w = min(m, p - 1 - stage) warm-up passes.
// No windows without pipeline (p = 1) or without data parallelism. Derivation: docs/models/windows.md.
#pragma once

#include <cstdint>
#include <vector>

#include "model/scenario.h"

namespace photonrail::analysis {

struct WindowCountInputs {
  model::Schedule schedule = model::Schedule::one_f_one_b;
  model::Sharding sharding = model::Sharding::zero0;
  bool reshard_after_forward = true;
  bool tied_embeddings = false;
  std::int64_t stages = 1;        // p >= 1
  std::int64_t microbatches = 1;  // m >= 1
  std::int64_t data = 1;          // data-parallel degree
};

// Windows of one stage on one rail. Needs 0 <= stage < stages.
std::int64_t closed_form_windows(const WindowCountInputs& inputs, std::int64_t stage);

// Of all stages of one rail.
std::int64_t closed_form_windows(const WindowCountInputs& inputs);

}  // namespace photonrail::analysis
