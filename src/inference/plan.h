// Plan: one model on one kind of GPU in one configuration, compiled so that a decode step or a prefill costs well below
// a microsecond to evaluate and allocates nothing.
//
// Theory. A forward pass of T tokens is the sum over layers of its kernels' times (operators/kernel_model.h):
//   norm, QKV product, attention, projection, all-reduce, norm, feed-forward products (or router, dispatch, grouped
//   products, combine), all-reduce; at the ends the embedding, the last norm, the head and sampling.
// Decoding: T = one token per sequence, attention reads the cache. Prefill: T = all new tokens, attention is causal.
// Mixed: one pass with both kinds of tokens, as engines with chunked prefill run it: products see the sum of tokens.
// Tensor parallelism divides heads and feed-forward width (heads of keys and values are replicated when there are fewer
// than ranks); pipeline parallelism divides layers; attention data parallelism runs whole attention blocks on shares of
// the batch; expert parallelism spreads experts.
//
// Kernels per layer beside products and attention, each with its launch floor (bf16, decode): two norms (with residual
// sum), rotary embedding with the cache update, the activation, and the reduction of split attention; with fp8 or nvfp4
// per-tensor weights two more, which quantise the inputs of the projection and of the second feed-forward product where
// no norm does it. A mixed pass reads the weights once for both kinds of tokens: that is why riding prefill is cheaper
// than a pass of its own.
//
// Units: seconds, bytes, operations; batch and context may be fractional (means). Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "operators/kernel_model.h"

namespace photonrail::inference {

using operators::Basis;
using operators::Dtype;

// Formats per class of tensor.
struct Precision {
  Dtype weights = Dtype::bf16;    // attention projections and dense feed-forward blocks, and how they are multiplied
  Dtype experts = Dtype::bf16;    // routed experts
  Dtype kv = Dtype::bf16;         // cache
  Dtype attention = Dtype::bf16;  // products of the attention kernel
  Dtype head = Dtype::bf16;       // embedding and output head
};

struct Parallel {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t expert = 1;          // ranks that experts are spread over; the rest of tensor * attention_data splits them
  std::int64_t attention_data = 1;  // copies of the attention block

  std::int64_t gpus() const { return tensor * pipeline * attention_data; }
};

// What the serving engine does. Defaults: a current TensorRT-LLM; sources stand in engine.cc.
struct Engine {
  std::string name = "trtllm";
  std::int64_t prefill_budget = 8192;  // most tokens of one pass (max_num_tokens)
  bool chunked_prefill = true;
  bool separate_prefill = false;       // prefills run in passes of their own, decoding waits
  Time step_overhead;                  // host work per pass that no kernel hides (scheduling, sampling, launch)
  Time kernel_gap;                     // between two kernels of a captured graph
  bool fused_norm_reduce = true;       // all-reduce, residual sum and norm in one kernel
  operators::CollectiveLibrary library = operators::CollectiveLibrary::custom;
  double memory_fraction = 0.9;        // of what is free after weights, for the cache; the rest stays free
  Bytes workspace = Bytes{3'800'000'000};  // activations apart: CUDA context, graphs, communication buffers
  std::int64_t block_tokens = 64;      // cache pages are whole
};
Result<Engine> engine_of(std::string_view name);  // "trtllm", "vllm", "sglang"

enum class Bound : std::uint8_t { memory, compute, communication, overhead };
const char* name_of(Bound bound);

// One pass of the whole pipeline (a token's way through all stages), on one GPU's clock.
struct StepTime {
  double seconds = 0;     // sum of the parts below
  double linear = 0;      // matrix products outside attention
  double attention = 0;
  double collective = 0;  // all-reduces, dispatch and combine, sends between stages
  double pointwise = 0;
  double overhead = 0;    // host and gaps
  double flops = 0;       // of one GPU, products and attention
  double memory_bytes = 0;  // of one GPU
  double link_bytes = 0;    // sent by one GPU
  Basis basis = Basis::measured;  // the worst of its kernels
  Bound bound = Bound::memory;    // of the largest part
};

struct MemoryUse {  // bytes of one GPU, the fullest
  double weights = 0;
  double cache = 0;
  double activations = 0;
  double workspace = 0;
  double capacity = 0;
  double total() const { return weights + cache + activations + workspace; }
  double shortfall() const { return total() - capacity; }  // > 0: does not fit
};

class Plan {
 public:
  // Errors: invalid_input where degrees do not divide the model, or the GPU lacks the format.
  static Result<Plan> compile(const catalog::Model& model, const operators::KernelModel& kernels,
                              const Precision& precision, const Parallel& parallel, const Engine& engine);

  // `batch`: sequences of the whole instance (all attention copies together); `context`: cached tokens of each.
  StepTime decode(double batch, double context) const;
  // `sequences` prompts of `tokens` new tokens each, after `past` cached ones, in one pass (the caller chunks).
  StepTime prefill(double sequences, double tokens, double past) const;
  // A decode of `batch` at `context` with `tokens` of prefill riding along, of prompts that have `past` cached.
  StepTime mixed(double batch, double context, double tokens, double past) const;

  MemoryUse memory(double batch, double context) const;
  double largest_batch(double context) const;  // that fits; 0 where the weights alone do not

  double cache_bytes_per_token() const;  // of one GPU
  std::int64_t gpus() const;

 private:
  Plan() = default;
};

}  // namespace photonrail::inference
