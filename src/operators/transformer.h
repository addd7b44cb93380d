// Operators of a dense decoder's training step on one rank: operations, memory traffic and time of each block.
//
// Symbols: T tokens of one micro-batch, s sequence length, h hidden size, d head size, q and k the query and key/value
// heads of one rank, f the rank's part of the feed-forward size, v its part of the vocabulary, g the number of
// feed-forward matrices (3: gated, 2: plain), p the ranks that share a sequence (tensor degree with sequence
// parallelism, else 1). e: bytes of a stored or sent element, o: bytes of a matrix operand.
//
// Operations count matrix products only, 2 per multiply-add (the count that MFU is defined on); everything elementwise
// counts as memory traffic, which bounds it on every GPU there is. Forward, per rank and micro-batch:
//   attention     QKV 2T h(q+2k)d, scores and values 2T s q d (causal: half of 4T s q d), projection 2T q d h
//   feed-forward  2T g h f
//   head          2T h v
// Backward is twice the forward: one product for the gradient of the input, one for that of the weight. Recomputing
// the attention core adds its forward once more. (Megatron-LM, Narayanan et al. 2021; Korthikanti et al. 2022.)
//
// Memory traffic: each operator reads its inputs and writes its outputs once; attention is one fused kernel that never
// writes the scores (FlashAttention, Dao et al. 2022); the weight-gradient product reads and writes the accumulated
// gradient. Norms and residual sums work on T/p tokens. Biases, dropout and rotary embeddings are left out.
//
// With fewer key/value heads than tensor ranks, each rank keeps a copy of one (k = 1).
#pragma once

#include <cstdint>

#include "operators/roofline.h"

namespace photonrail::operators {

// One rank's part of the model and one micro-batch of it. All counts > 0.
struct TransformerShape {
  std::int64_t tokens = 0;                 // T, all sequences of a micro-batch
  std::int64_t sequence = 0;               // s
  std::int64_t hidden = 0;                 // h
  std::int64_t query_heads = 0;            // q
  std::int64_t kv_heads = 0;               // k
  std::int64_t head_size = 0;              // d
  std::int64_t feed_forward = 0;           // f
  std::int64_t feed_forward_matrices = 3;  // g
  std::int64_t vocabulary = 0;             // v
  std::int64_t sequence_shards = 1;        // p
  std::int64_t element_bytes = 2;          // e
  std::int64_t operand_bytes = 2;          // o
  std::int64_t gradient_bytes = 2;         // of an accumulated gradient
};

// Parameters that one rank holds. Norm weights are whole on every rank.
std::int64_t attention_parameters(const TransformerShape& shape);  // QKV and projection
std::int64_t feed_forward_parameters(const TransformerShape& shape);
std::int64_t norm_parameters(const TransformerShape& shape);        // one norm: h
std::int64_t layer_parameters(const TransformerShape& shape);       // with its two norms
std::int64_t vocabulary_parameters(const TransformerShape& shape);  // one embedding table or output head

Work attention_forward(const TransformerShape& shape, const GpuRates& gpu);  // norm .. projection, residual
Work attention_backward(const TransformerShape& shape, const GpuRates& gpu, bool recompute_core);
Work feed_forward_forward(const TransformerShape& shape, const GpuRates& gpu);
Work feed_forward_backward(const TransformerShape& shape, const GpuRates& gpu);
Work embedding_forward(const TransformerShape& shape, const GpuRates& gpu);
Work embedding_backward(const TransformerShape& shape, const GpuRates& gpu);
Work head_forward(const TransformerShape& shape, const GpuRates& gpu);  // final norm, logits, loss
Work head_backward(const TransformerShape& shape, const GpuRates& gpu);

// Adam with 32-bit moments and master weights: reads gradient, moments and master weight, writes moments, master weight
// and working weight: 24 bytes and the two working formats per parameter. No matrix products, so no operations.
Work optimizer_step(std::int64_t parameters, const TransformerShape& shape, const GpuRates& gpu);

}  // namespace photonrail::operators
