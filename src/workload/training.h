// Training-step generator: the task graph of one step of a dense decoder under data, tensor and pipeline parallelism.
// docs/models/training.md has every rule at length; in short:
//
// Ranks. rank = (stage * data + d) * tensor + t: tensor innermost, so that a tensor group sits in one scale-up domain.
// All ranks of a stage share one program. Stages hold layers / pipeline layers; what is left over goes one each to the
// stages from the second on. The first stage holds the embedding, the last the final norm, output head and loss.
//
// Tensor parallelism (Shoeybi et al. 2019; Korthikanti et al. 2022). T h e bytes per collective, T tokens of a
// micro-batch, e bytes per element, for both blocks (attention, feed-forward) of every layer:
//   sequence parallel: forward all-gather before, reduce-scatter after; backward all-gather of the output gradient and
//   of the saved input, reduce-scatter of the input gradient: 4 forward, 6 backward
//   otherwise: forward all-reduce after, backward all-reduce of the input gradient: 2 forward, 2 backward
// The saved input is gathered one block ahead, so that it overlaps with the block before.
//
// Data parallelism (Rajbhandari et al., "ZeRO", 2020; FSDP2). P parameters of a bucket (embedding, each layer, head) on
// one rank, r bytes per gradient element, w per parameter; m micro-batches:
//   zero0  all-reduce P r, once
//   zero1  reduce-scatter P r, once; all-gather P w after the optimizer
//   zero2  reduce-scatter P r per micro-batch (whole gradients are never kept); all-gather P w after the optimizer
//   zero3  reshard_after_forward: all-gather P w before every forward and every backward, reduce-scatter P r per
//          micro-batch; else all-gather once per step and reduce-scatter once, as torch.distributed.pipelining does
// With overlap_gradients a reduction is issued as soon as the bucket's gradient is computed, else after the whole
// backward pass of its micro-batch. Parameters are gathered one bucket ahead of the computation.
//
// Pipeline parallelism (training_schedule.h). A pass sends T h e bytes (sequence parallel: a tensor-th of it, each rank
// its own tokens) as soon as its last collective is done; sends never hold up computation. The gradient of the first
// layer of a stage is reduced over data-parallel ranks while the gradient of its input is still on the way to the
// previous stage: data and pipeline traffic overlap as in real jobs.
//
// One compute task per block, micro-batch and direction, with the sum of its operators (operators/transformer.h); the
// chain of compute tasks of a rank is explicit. All functions are pure.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/scenario.h"
#include "model/task_graph.h"
#include "operators/roofline.h"
#include "operators/transformer.h"

namespace photonrail::workload {

// `opus_published` reproduces what the paper's trace generator put on the wire (docs/models/training.md, last section):
// elements counted as bytes, a multiply-add as one operation, no quadratic term, no collectives around the embedding
// and head but a data- and then a tensor-parallel all-reduce of the whole table's gradient. Its compute times are ours.
enum class Conventions : std::uint8_t { physical, opus_published };

struct TrainingJob {
  model::TransformerModel model;
  model::Training training;
  model::Parallelism parallelism;
  operators::GpuRates gpu;
  Conventions conventions = Conventions::physical;
  bool quadratic_attention = true;  // false: scores and values cost no operations, to compare with traces like that
};

// The job of a scenario whose model fields are complete, on GPUs with these rates.
TrainingJob make_training_job(const model::Scenario& scenario, const operators::GpuRates& gpu);

// Refuses sizes out of range and degrees that do not divide what they split, with the nearest remedy.
Status check(const TrainingJob& job);

// The step. Fails as check() does.
Result<model::TaskGraph> generate_training_step(const TrainingJob& job);

// What follows needs a job that passes check().

// One rank's part of one micro-batch.
operators::TransformerShape microbatch_shape(const TrainingJob& job);

// Layers of a stage: [first, first + count).
struct StageLayers {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
StageLayers stage_layers(const TrainingJob& job, std::int64_t stage);

// Matrix-product operations that the step's mathematics needs, all ranks together, without recomputation and without
// copies of key/value heads: the numerator of model FLOPs utilisation (MFU, Chowdhery et al. 2022).
double model_flops(const TrainingJob& job);

// Bytes per element: of stored and sent values, and of matrix operands. fp8 stores and sends bf16 (2) and multiplies
// 1-byte operands; the others use one format throughout.
std::int64_t stored_bytes(model::Precision precision);
std::int64_t operand_bytes(model::Precision precision);

}  // namespace photonrail::workload
