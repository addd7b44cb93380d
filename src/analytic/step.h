// A training step in closed form: how the times of its pieces add up to the time of the step.
//
// Theory. P stages, m micro-batches, V chunks of layers on each stage (interleaving). F_i, B_i: time from the input of
// a stage's forward (backward) pass to its output, c the time of one message between neighbours, f_i, b_i <= F_i, B_i
// what a pass occupies of its stage (a closing collective may overlap with the next pass). Both schedules of
// workload/training_schedule.h contain these chains of dependent work, so each is a lower bound of the step and the
// longest of them is its time wherever nothing else waits:
//   through stage k to the end of stage i <= k:
//     sum_{j<k} (F_j / V + c)  +  m (f_k + b_k)  +  sum_{i<=j<k} (B_j / V + c)                       (heavy stage)
//     where receives are posted late, f_k and b_k include the message that they wait for
//   1F1B, stage 0 holds P activations, so its forward pass k + P waits for its backward pass k:
//     q (sum_j F_j + B_j + 2 (P-1) c), q = floor((m-1) / P), then the chain through the last stage with the remaining
//     m - q P micro-batches                                                                          (round trip)
// For equal stages and free messages the first gives (m + P - 1)(F + B), with interleaving m (F + B) + (P-1)(F + B)/V:
// GPipe (Huang et al. 2019), 1F1B (Narayanan et al. 2019), interleaved 1F1B (Narayanan et al. 2021, section 2.2).
// After the last backward pass of stage i: the part of its gradient reductions that no computation hides, the
// optimizer, and the gathering of updated parameters. The step ends with the last stage that ends.
//
// Units: seconds. Pure functions; nothing is allocated.
#pragma once

#include <cstdint>

namespace photonrail::analytic {

// Seconds of one pass of one piece of the model on one rank, in dependent order; what is hidden is not in it.
struct Pass {
  double compute = 0;
  double tensor = 0;    // exposed collectives of the tensor group
  double context = 0;   // exposed exchange of keys and values
  double experts = 0;   // exposed all-to-all
  double gather = 0;    // exposed gathering of sharded parameters
  double messages = 0;  // exposed pipeline messages that hold the stage up

  double total() const { return compute + tensor + context + experts + gather + messages; }
  Pass& operator+=(const Pass& o) {
    compute += o.compute;
    tensor += o.tensor;
    context += o.context;
    experts += o.experts;
    gather += o.gather;
    messages += o.messages;
    return *this;
  }
  friend Pass operator+(Pass a, const Pass& b) { return a += b; }
  friend Pass operator*(double n, const Pass& p) {
    return {n * p.compute, n * p.tensor, n * p.context, n * p.experts, n * p.gather, n * p.messages};
  }
};

// One stage. Stages that are alike are described once: see StepPieces.
struct Stage {
  Pass forward;
  Pass backward;
  double forward_overlap = 0;   // of `forward`, hidden behind the next pass
  double backward_overlap = 0;  // of `backward`, hidden behind the next pass
  double closing = 0;           // of `backward`, after its last computation
  double reduce_tail = 0;       // after the last computation: exposed gradient reductions
  double optimizer = 0;
  double gather_tail = 0;  // exposed gathering of updated parameters
  double group_work = 0;   // of the data-parallel group in the whole step: no step is shorter
};

struct StepPieces {
  std::int64_t stages = 1;
  std::int64_t microbatches = 1;
  std::int64_t chunks = 1;     // V
  bool round_trips = false;    // 1F1B: an activation is held until its backward pass
  bool late_receives = false;  // a message starts only when the pass before is done, and so holds up the next one
  double hop_forward = 0;      // c, exposed
  double hop_backward = 0;
  Stage first;              // also of a pipeline of one
  Stage middle;             // stages 1 .. longer
  Stage short_middle;       // stages longer + 1 .. P - 2
  std::int64_t longer = 0;  // middle stages with one layer more than `short_middle`
  Stage last;

  const Stage& stage(std::int64_t i) const {
    if (i == 0) return first;
    if (i == stages - 1) return last;
    return i <= longer ? middle : short_middle;
  }
};

struct StepTime {
  double seconds = 0;
  // Of the stage that ends last; they add up to `seconds`.
  double compute = 0;
  double tensor = 0;
  double context = 0;
  double experts = 0;
  double gather = 0;    // parameters, inside the passes
  double messages = 0;  // between stages, inside the passes
  double bubble = 0;    // waiting for other stages, and for messages of the first and last micro-batches
  double reduce = 0;    // exposed gradient reductions
  double optimizer = 0;
  double update = 0;  // exposed gathering of updated parameters
};

StepTime compose(const StepPieces& pieces);

// Exposed time of reductions that run one after the other in the order in which backward passes produce gradients:
// `count` of `each` seconds, produced every `interval` seconds, the last of them `wait` seconds before the backward
// pass ends.
double exposed(std::int64_t count, double each, double interval, double wait);

}  // namespace photonrail::analytic
