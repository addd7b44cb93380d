// The time of a training step from calibrated kernels, in closed form.
//
// Every piece of a layer is a kernel of operators::KernelModel; step.h adds them up. What is counted, for T tokens of a
// micro-batch on one rank, t tensor ranks, p ranks that share a sequence (t with sequence parallelism, else 1):
//   products      forward C[T, n] = X[T, k] W[k, n] for QKV, projection, up (and gate), down, head; backward the
//                 gradient of the input, C[T, k], and of the weight, C[n, k] over T or its transpose; 8- and 4-bit
//                 with the quantisation of one operand, as measured; the weight's gradient is added to a stored one
//                 (fused accumulation: read and written once more); below the tables' rate as long runs are
//   attention     fused: measured prefill kernels over s tokens; backward kBackwardAttention times that. With scores in
//                 memory (before FlashAttention): four batched products, softmax and dropout over all s^2 scores
//   memory-bound  norms, residual sums with dropout, activation, rotary embedding, gradients of biases, loss, by bytes
//                 read and written
//   collectives   tensor: all-gather and reduce-scatter (or all-reduce) of T h around both blocks; data: reductions
//                 and gathers per layer; pipeline: messages of T h / p; context: keys and values; experts: all-to-all
// Overlap. `overlap_tensor`: a collective of t pieces runs beside a product of t pieces, so the pair takes
// max(a, b) + min(a, b)/t. `overlap_backward_tensor`: the saved input is gathered behind the product for the gradient
// of the input, and that is summed behind the product for the weight (Korthikanti et al. 2022, section 4.2.2).
// Data-parallel: step.h, exposed().
// Host: kernels are launched one after the other, kHostSeconds each; a pass that is shorter on the GPU takes that long.
//
// Everything that depends on degrees alone is tabulated when the evaluator is made; evaluate() allocates nothing and
// shares nothing between calls. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "analytic/memory.h"
#include "analytic/step.h"
#include "analytic/training_config.h"
#include "operators/kernel_model.h"

namespace photonrail::analytic {

struct System {
  std::int64_t gpus = 0;    // degrees are divisors of this
  std::int64_t domain = 8;  // GPUs in one scale-up domain
};

struct StepEstimate {
  StepTime time;
  MemoryUse memory;
  double model_flops = 0;  // of the whole step, causal attention
  double mfu = 0;          // of the bf16 peak; fp8, nvfp4: of that format's
  double capacity = 0;     // bytes of the GPU
  bool fits = false;       // memory against it
  operators::Basis basis = operators::Basis::measured;
};

// Backward passes of fused attention take five products where the forward pass takes two, and run at 0.87 of its rate:
// FlashAttention-3 (Shah et al. 2024, arXiv 2407.08608), H100, causal, head size 128, 16k: 648 and 561 TFLOP/s.
inline constexpr double kBackwardAttention = 2.5 / 0.87;

class TrainingEvaluator {
 public:
  // Refuses shapes out of range.
  static Result<TrainingEvaluator> make(const DecoderShape& shape, const operators::KernelModel& kernels,
                                        const System& system);

  // Needs check(shape, config) and gpus_of(config) == system.gpus.
  StepEstimate evaluate(const TrainingConfig& config) const;

  const DecoderShape& shape() const { return shape_; }

 private:
  struct Work;
  // One degree's tables.
  struct Degree {
    operators::PrefillAttentionCurve attention;  // of heads / degree
  };
  TrainingEvaluator(const DecoderShape& shape, const operators::KernelModel& kernels, const System& system);
  std::size_t index(std::int64_t divisor) const { return index_[static_cast<std::size_t>(divisor)]; }
  const operators::CollectiveCurve& curve(operators::Collective kind, std::int64_t ranks, std::int64_t stride) const;

  DecoderShape shape_;
  operators::KernelModel kernels_;
  System system_;
  double sustained_ = 1;  // of the rate of products in the kernel tables
  double flash2_ = 1;     // FLOP/s of FlashAttention-2
  std::vector<std::int64_t> divisors_;
  std::vector<std::uint8_t> index_;                 // of each divisor of gpus
  std::vector<Degree> degrees_;                     // by tensor degree
  std::vector<operators::CollectiveCurve> curves_;  // [kind][ranks][ranks in one domain]
};

}  // namespace photonrail::analytic
