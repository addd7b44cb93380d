// Time of attention kernels, interpolated between measured ones.
//
// Theory. Attention streams the cache past the queries (FlashAttention, Dao et al. 2022, arXiv 2205.14135); its blocks
// of work are one per sequence and KV head (decoding) or per sequence, query head and tile of tokens (prefill). So
//   decoding depends on  rows = sequences * kv_heads, context, group = query_heads / kv_heads, head_size, cache format;
//   prefill depends on   rows = sequences * query_heads, tokens, and weakly on the group (traffic of K and V: 1/group).
// Measured times (attention_tables.h) are interpolated straight in rows, in the context and in the square of the
// prefill length: a launch plus work in proportion to rows * context, or rows * tokens^2, comes out exact. They include
// rotary embedding, the write to the cache and the reduction of split contexts, which the measured engine fuses or
// launches in the same call. Groups above 32 run query head by query head in the measured engine: twice the group is as
// good as twice the rows.
//
// Past tokens (chunked prefill). n new tokens on p cached ones have the query tiles of n tokens and the mean span p +
// n/2: those of rows * n / (2p + n) whole prompts of 2p + n tokens, and the same operations. That prompt is looked up;
// below one row, where a few tiles run side by side, the time is that of one row, whose length falls towards p + n, the
// longest span of any tile. A rule, not a measurement: Basis::extended.
//
// Other rates than those measured at (H100). Decoding: the time B / R of reading the cache at the best rate R of all
// the tables (0.93 of the memory rate M) is exchanged for that of this GPU, R' = R M' / M times the ratio of their
// shares in copies; the rest (launch, latency, half-empty GPUs, arithmetic) stays:  t' = t + B (1 / R' - 1 / R).
// Prefill: of what is above the launch floor, B / R (rotary embedding and cache write: queries and outputs pass four
// times, keys and values eight times) scales with the memory rate, the rest with the peak of the format.
//
// Decoding query head by query head. Older engines decode groups as if each query head had a cache of its own: one
// block of threads per sequence and query head, CUDA cores, the heads of a group meeting in the second-level cache. The
// tables hold that kernel for groups of 64: bf16 and fp8 take the same time there, so it is the work of blocks, not
// reading, that counts: 3.3 to 3.4 TB/s of an fp8 cache per query head. Other groups: their query heads by 64, or
// reading the cache once where that takes longer. Another GPU: by the rate at which its multiprocessors issue
// instructions, SMs x clock, so as the fp32 peak, where GA100 has 64 fp32 lanes to an SM and later ones 128.
// Basis::extended at best.
//
// Latent attention with a value_size below head_size while decoding (MLA absorbed: one KV head) is not in the tables:
// latency of the widest group at the same context, plus the larger of F / (0.66 P) and B / (0.89 M). The shares are
// those of FlashMLA on H800 (660 TFLOP/s of 989, 3,000 GB/s of 3,350: github.com/deepseek-ai/FlashMLA). Basis::assumed.
//
// Curves are values (2 KB), allocate nothing and may be used by any thread.
#pragma once

#include <cstdint>

#include "operators/attention_tables.h"
#include "operators/dtype.h"
#include "operators/kernel_time.h"

namespace photonrail::operators {

// What one GPU holds of one layer. Latent attention (MLA) while decoding: kv_heads = 1, head_size the rank plus the
// rotary part, value_size the rank. A group need not be whole.
struct AttentionShape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t value_size = 0;  // 0: head_size
  Dtype compute = Dtype::bf16;  // of the two products
  Dtype kv = Dtype::bf16;       // of the cache
  // Decoding by a kernel that works query head by query head, whatever the group (decode_by_query_head below).
  bool by_query_head = false;
};

// Causal attention of `tokens` new tokens per sequence that follow `past` cached ones.
class PrefillAttentionCurve {
 public:
  KernelTime at(double sequences, double tokens, double past) const;
  // Products Q K^T and A V over the causal half: 2 * tokens * (past + tokens / 2) * heads * (d_k + d_v) for each
  // sequence.
  double flops(double sequences, double tokens, double past) const;

 private:
  friend class KernelModel;
  PrefillGrid grid_;
  double query_heads_ = 0;
  double sizes_ = 0;  // head_size + value_size
  Basis basis_ = Basis::measured;
};

// One new token for each sequence, over a cache of `context` tokens.
class DecodeAttentionCurve {
 public:
  KernelTime at(double sequences, double context) const;
  double flops(double sequences, double context) const;
  double bytes(double sequences, double context) const;  // the cache, read once

 private:
  friend class KernelModel;
  DecodeGrid grid_;
  double rows_per_sequence_ = 0;
  double flops_per_token_ = 0;  // of one sequence
  double bytes_per_token_ = 0;
  Basis basis_ = Basis::measured;
};

}  // namespace photonrail::operators
