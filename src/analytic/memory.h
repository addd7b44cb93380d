// Memory of one GPU in a training step, by class, in closed form.
//
// Parameters (Rajbhandari et al., "ZeRO", 2020; Megatron-LM): working weights 2 bytes, gradients `gradient_bytes`,
// Adam's master weight and two moments 12 bytes; sharded by the data-parallel ranks as the sharding says. 8-bit and
// 4-bit training keep bf16 weights and store an 8- or 4-bit copy of the matrices for the passes.
//
// Activations of one layer and micro-batch (Korthikanti et al., "Reducing Activation Recomputation", 2022, equations
// 1 to 6), T tokens, p = t with sequence parallelism, else 1; bytes per token:
//   norms 4 h / p, inputs of the two blocks 4 h / p, dropout masks 2 h / p (with dropout)
//   queries, keys, values and attention's output 2 d (2 q + 2 k) / t
//   scores in memory: 5 q s / t (softmax 2, mask 1, result 2), none with fused attention or selective recomputation
//   feed-forward: 4 f / t (plain: before and after the activation), 6 f / t (gated)
//   full recomputation keeps 2 h / p only
// which is the paper's s b h (10 + 24/t + 5 a s/(h t)) and s b h (34 + 5 a s/h)/t. 8-bit training stores the inputs of
// matrix products in 1 byte. The first stage holds activations of
//   GPipe m, 1F1B min(m, P) micro-batches of its layers; interleaved L (1 + (P-1)/(P V)) layers in all.
// Logits on the last stage: 2 + 4 bytes; 12 where the loss runs operator by operator (logits, their 4-byte copy, and
// the gradients of both). Workspace: two gathered layers with full sharding, one layer's activations where layers are
// recomputed, with sequence parallelism the gathered input of a block and the gradient of it (none where collectives
// are pipelined with products), and a stated allowance for context and collectives. Gaps of the allocator are not in
// it.
#pragma once

#include "analytic/training_config.h"

namespace photonrail::analytic {

struct MemoryUse {  // bytes
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double workspace = 0;
  double total() const { return weights + gradients + optimizer + activations + workspace; }
};

// Bytes of CUDA context, NCCL buffers and cuBLAS workspace: inference engines measure 3.5 GiB in all (AIConfigurator's
// system files); training frameworks have no graph pools of that size.
inline constexpr double kReservedBytes = 2.0 * (1 << 30);

// Of one layer and one micro-batch on one rank.
double activation_bytes(const DecoderShape& shape, const TrainingConfig& config);

// Layers' worth of activations that the first stage holds, divided by those of one stage: 1F1B min(m, P), ...
double activations_in_flight(const TrainingConfig& config);

// Of the GPU that holds most: the first stage, with the embedding; a single stage also holds the head.
MemoryUse memory_use(const DecoderShape& shape, const TrainingConfig& config);

// As the paper's figure counts: layers only, without embedding, head and workspace.
MemoryUse memory_of_layers(const DecoderShape& shape, const TrainingConfig& config);

}  // namespace photonrail::analytic
