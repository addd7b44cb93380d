// What a training step is made of, as plain numbers: the shape of the model, how it is split, and what is stored how.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "operators/dtype.h"

namespace photonrail::analytic {

// A decoder; with experts, the feed-forward block of all layers but the first `dense_layers` is a mixture.
struct DecoderShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  std::int64_t feed_forward_matrices = 3;  // 3: gated, 2: plain
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t shared_experts = 0;
  std::int64_t expert_feed_forward = 0;
  std::int64_t dense_layers = 0;
};

enum class Precision : std::uint8_t {
  bf16,   // also fp16
  fp8,    // one scale per tensor
  mxfp8,  // one scale per 32 values (OCP MX)
  nvfp4,  // one scale per 16 values
};
enum class Sharding : std::uint8_t {
  none,       // every data-parallel rank holds everything (ZeRO-0)
  optimizer,  // ZeRO-1, Megatron's distributed optimizer
  gradients,  // ZeRO-2: and gradients, so that they are reduced in every micro-batch
  full,       // ZeRO-3, FSDP: parameters are gathered for every pass
};
enum class Recompute : std::uint8_t { none, selective, full };  // selective: the attention core
enum class Attention : std::uint8_t {
  fused,   // scores stay on chip, kernels of the GPU's own generation (cuDNN, FlashAttention-3)
  flash2,  // FlashAttention-2 of 2023, written for A100
  scores,  // batched products with scores, softmax and dropout in memory (Megatron-LM before 2023)
};

struct TrainingConfig {
  std::int64_t sequence = 0;
  std::int64_t global_batch = 0;  // sequences
  std::int64_t micro_batch = 1;   // sequences
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t interleave = 1;  // chunks of layers on each stage
  std::int64_t data = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;  // degree of expert parallelism, inside data x context
  bool gpipe = false;       // else 1F1B, interleaved where interleave > 1
  bool sequence_parallel = false;
  bool dropout = false;
  bool eager = false;         // PyTorch operator by operator: the loss is computed in copies of 4 bytes
  bool loss_scaling = false;  // fp16: gradients are unscaled and checked before the optimizer
  Sharding sharding = Sharding::none;
  Recompute recompute = Recompute::none;
  Attention attention = Attention::fused;
  Precision precision = Precision::bf16;
  double gradient_bytes = 4;       // of one gradient, stored
  double reduce_bytes = 4;         // of one gradient on the wire
  double gather_bytes = 2;         // of one parameter on the wire
  bool overlap_gradients = true;   // data-parallel reductions run behind the last backward pass
  bool overlap_parameters = true;  // updated parameters are gathered behind the first forward pass of the next step
  bool overlap_messages = false;   // pipeline messages behind computation, where chunks are interleaved
  bool overlap_backward_tensor = false;  // Megatron-LM: saved input gathered behind the gradient of the input, its sum
                                         // behind the gradient of the weight
  bool overlap_tensor = false;           // collectives pipelined with the products beside them (userbuffers, async TP)
};

// Refuses degrees that do not divide what they split and sizes out of range.
Status check(const DecoderShape& shape, const TrainingConfig& config);

constexpr std::int64_t gpus_of(const TrainingConfig& c) { return c.tensor * c.pipeline * c.data * c.context; }
constexpr std::int64_t microbatches_of(const TrainingConfig& c) { return c.global_batch / (c.data * c.micro_batch); }

// Weights of one layer's attention, of a dense feed-forward block, of all experts' blocks with the router, of the
// shared ones, of a table. Norms and biases are left out (below 0.1 %).
double attention_weights(const DecoderShape& s);
double dense_weights(const DecoderShape& s);
double expert_weights(const DecoderShape& s);
double shared_weights(const DecoderShape& s);
double table_weights(const DecoderShape& s);
std::int64_t expert_layers(const DecoderShape& s);

// Matrix-product operations of a step that the mathematics needs (numerator of MFU): 6 per active weight and token and
// 6 s q d per token and layer for causal attention. `causal` false counts all scores, as the Megatron papers do.
double model_flops(const DecoderShape& s, const TrainingConfig& c, bool causal = true);

}  // namespace photonrail::analytic
