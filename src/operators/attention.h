// Time of attention kernels from calibrated tables. See kernel_model.h for the theory.
#pragma once

#include <cstdint>

#include "operators/dtype.h"
#include "operators/kernel_time.h"

namespace photonrail::operators {

// What one GPU holds of one layer. Latent attention (MLA) while decoding: kv_heads = 1, head_size the rank plus the
// rotary part, value_size the rank.
struct AttentionShape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t value_size = 0;  // 0: head_size
  Dtype compute = Dtype::bf16;  // of the two products
  Dtype kv = Dtype::bf16;       // of the cache
};

// Causal attention of `tokens` new tokens per sequence that follow `past` cached ones.
class PrefillAttentionCurve {
 public:
  KernelTime at(double sequences, double tokens, double past) const;
  // Products Q K^T and A V over the causal half: 2 * 2 * tokens * (past + tokens / 2) * heads * d for each sequence.
  double flops(double sequences, double tokens, double past) const;
};

// One new token for each sequence, over a cache of `context` tokens.
class DecodeAttentionCurve {
 public:
  KernelTime at(double sequences, double context) const;
  double flops(double sequences, double context) const;
  double bytes(double sequences, double context) const;  // the cache, read once
};

}  // namespace photonrail::operators
