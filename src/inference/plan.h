// Plan: one model on one kind of GPU in one configuration, compiled so that a decode step or a prefill costs well below
// a microsecond to evaluate and allocates nothing.
//
// Theory. A forward pass of T tokens is the sum over layers of its kernels' times (operators/kernel_model.h):
//   norm, QKV product, attention, projection, all-reduce, norm, feed-forward products (or router, dispatch, grouped
//   products, combine), all-reduce; at the ends the embedding, the last norm, the head and sampling.
// Decoding: T = one token per sequence, attention reads the cache. Prefill: T = all new tokens, attention is causal.
// Mixed: one pass with both kinds of tokens, as engines with chunked prefill run it: products see the sum of tokens.
// Layers of equal shape are evaluated once and multiplied, so a pass is one sum over a dozen curves.
//
// Kernels per layer beside products and attention, each with its launch floor (bf16, decode): two norms (with residual
// sum) and the activation; rotary embedding, cache update and the reduction of split attention are in the measured
// times of attention. With fp8 or nvfp4 per-tensor weights two more, which quantise the inputs of the projection and of
// the second feed-forward product where no norm does it. Collectives wait for the slowest of n ranks, whose kernels
// take the expected largest of n normal deviates (Blom, 1958) times Engine::rank_spread longer. A mixed pass reads the
// weights once for both kinds of tokens: that is why riding prefill is cheaper than a pass of its own.
//
// Sharding. Tensor parallelism t divides heads, feed-forward width and vocabulary; heads of keys and values are
// replicated where there are fewer than ranks. Attention data parallelism A runs whole attention blocks (and dense and
// shared feed-forward blocks, cut t ways) on shares of the batch. Expert parallelism e spreads the experts over t A
// ranks; t A / e ranks share each expert. Pipeline parallelism p divides layers: the batch is p micro-batches, and a
// stage with fewer layers waits for the fullest, so p ceil(layers / p) layers count.
//
// Latent attention (MLA, DeepSeek-V2, arXiv 2405.04434): decoding is "absorbed", every query head attends one shared
// head of rank + rotary elements, which tensor parallelism cannot divide; prefill expands keys and values instead.
//
// Mixture of experts, uniform routing of T tokens to k of E experts: an expert is touched with probability
// 1 - (1 - k/E)^T. All ranks wait for the busiest, whose load is the mean plus z deviations, z the expected largest of
// e normal deviates (Blom, 1958).
//
// Windowed layers attend the last w tokens, linear layers carry a state of fixed size in 32 bits, and index heads score
// all cached tokens with 8-bit keys, of which latent attention then reads the best; what these two cost beyond their
// products is memory traffic by rule (Basis::assumed).
//
// Units: seconds, bytes, operations; batch and context may be fractional (means). Immutable; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "inference/engine.h"
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
  Dtype head = Dtype::bf16;       // embedding, router and output head
};

// The format that MFU is of: of those that products run in, the one with the largest peak, so that no mix of formats
// comes to more than 1. `sparse`: the model has routed experts.
Dtype peak_format(const Precision& precision, bool sparse, const operators::DeviceRates& rates);

struct Parallel {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t expert = 1;  // ranks that experts are spread over; the rest of tensor * attention_data splits them
  std::int64_t attention_data = 1;  // copies of the attention block
  std::int64_t domain = 8;          // GPUs of one scale-up domain; ranks fill it tensor first, then attention, pipeline

  std::int64_t gpus() const { return tensor * pipeline * attention_data; }
};

enum class Bound : std::uint8_t { memory, compute, communication, overhead };
const char* name_of(Bound bound);

// The worst basis of each kind of kernel.
struct KernelBasis {
  Basis linear = Basis::measured;
  Basis attention = Basis::measured;
  Basis collective = Basis::measured;
  Basis pointwise = Basis::measured;
};

// One pass of the whole pipeline (a token's way through all stages), on one GPU's clock.
struct StepTime {
  double seconds = 0;  // sum of the parts below
  double linear = 0;   // matrix products outside attention
  double attention = 0;
  double collective = 0;  // all-reduces, dispatch and combine, sends between stages
  double pointwise = 0;
  double overhead = 0;  // host and gaps
  // Work of one GPU, products and attention. With pipeline stages one GPU does 1 / stages of it in that time for each
  // micro-batch, and there are as many micro-batches as stages: so it is also what one GPU does between two tokens.
  double flops = 0;
  std::array<double, operators::kDtypes> flops_of{};  // by format of the operands
  double memory_bytes = 0;
  double link_bytes = 0;          // sent, of these
  double network_bytes = 0;       // those that leave the scale-up domain
  KernelBasis basis_of;           // by part
  Basis basis = Basis::measured;  // the worst of its kernels
  Bound bound = Bound::memory;    // of the largest part

  StepTime& operator+=(const StepTime& other);  // a sum of passes; the bound is that of the longer one
};

// What one pass carries. Of the whole instance, all attention copies together, and of one micro-batch.
struct Pass {
  double decodes = 0;  // sequences that get one token each
  double context = 0;  // cached tokens of each, in the mean
  double prompts = 0;  // sequences that are being prefilled
  double tokens = 0;   // new tokens of each
  double past = 0;     // its tokens that earlier passes cached
};

struct MemoryUse {  // bytes of one GPU, the fullest
  double weights = 0;
  double cache = 0;
  double activations = 0;
  double workspace = 0;
  double reserve = 0;  // what the engine keeps free
  double capacity = 0;
  double total() const { return weights + cache + activations + workspace; }
  double shortfall() const { return total() + reserve - capacity; }  // > 0: does not fit
  bool fits() const { return shortfall() <= 0; }
};

class Plan {
 public:
  // Errors: invalid_input where degrees do not divide the model, or the GPU lacks the format.
  static Result<Plan> compile(const catalog::Model& model, const operators::KernelModel& kernels,
                              const Precision& precision, const Parallel& parallel, const Engine& engine);

  // The time of a pass. Every other time below is made of it.
  StepTime evaluate(const Pass& pass) const;

  // `batch`: sequences of the whole instance (all attention copies and micro-batches together); `context`: cached
  // tokens of each. The time between two tokens of one sequence.
  StepTime decode(double batch, double context) const;
  // `steps` decodes one after the other, the first at `context`, each one token further: the sum.
  StepTime decode_run(double batch, double context, double steps) const;
  // `sequences` prompts of `tokens` new tokens each, after `past` cached ones, in one pass (the caller chunks).
  StepTime prefill(double sequences, double tokens, double past) const;
  // A decode of `batch` at `context` with `tokens` of prefill riding along with each micro-batch, of one prompt that
  // has `past` cached.
  StepTime mixed(double batch, double context, double tokens, double past) const;

  MemoryUse memory(double batch, double context) const;
  double largest_batch(double context) const;  // that fits, whole; 0 where the weights alone do not
  double cache_tokens(double batch) const;     // of all sequences together, that fit beside a batch's activations
  // "needs 94.2 GB of 80.0 GB on each GPU: ..."; what takes it, by how much it is too much, and what would fit.
  std::string shortfall_text(const MemoryUse& use, double context) const;

  double cache_bytes_per_token() const { return cache_per_token_; }  // of one GPU
  double weight_bytes() const { return weights_; }                   // of one GPU
  std::int64_t gpus() const { return parallel_.gpus(); }
  const Parallel& parallel() const { return parallel_; }
  const Precision& precision() const { return precision_; }
  const Engine& engine() const { return engine_; }
  const operators::KernelModel& kernels() const { return kernels_; }
  std::int64_t parameters() const { return parameters_; }
  std::int64_t active_parameters() const { return active_parameters_; }

  // Operations that the model needs for one token: 2 for each parameter that it passes through (the embedding is a
  // look-up and does not count), and attention over `context` tokens.
  double model_flops(double context) const;
  double peak() const;  // of all GPUs together, for peak_format

 private:
  // Which tokens of a pass an operator sees.
  enum RowKind : std::uint8_t { kTokens, kDecodes, kExpanded, kLogits, kAllTokens, kPrompted, kRowKinds };
  using Rows = std::array<double, kRowKinds>;

  struct Product {
    operators::GemmCurve curve;
    double times = 0;  // in one pass
    double flops_per_row = 0;
    double bytes_per_row = 0;
    double weight_bytes = 0;
    RowKind rows = kTokens;
    Dtype dtype = Dtype::bf16;
  };
  struct Grouped {  // products of many small matrices: experts, or the heads of absorbed latent attention
    operators::GroupedGemmCurve curve;
    double times = 0;
    double flops_per_row = 0;
    double bytes_per_row = 0;
    double weight_bytes = 0;  // of one matrix
    Dtype dtype = Dtype::bf16;
  };
  struct Transfer {
    operators::CollectiveCurve curve;
    double times = 0;
    double bytes_per_row = 0;
    RowKind rows = kTokens;
    bool network = false;
  };
  struct Traffic {  // memory-bound kernels that run together
    double times = 0;
    double bytes_per_row = 0;
    double kernels = 0;
    RowKind rows = kTokens;
  };
  struct Experts {
    double total = 0;  // 0: a dense model
    double local = 0;  // on one rank
    double per_token = 0;
    double log_untouched = 0;  // ln(1 - k/E)
    double ranks = 1;
    double row_variance = 0;  // of the rows of one rank, per token
    double deviations = 0;    // of the busiest rank above the mean
  };
  friend class PlanCompiler;

  explicit Plan(const operators::KernelModel& kernels) : kernels_(kernels) {}
  Rows rows_of(const Pass& pass) const;
  void add_products(const Rows& rows, StepTime& step) const;
  void add_latent(const Rows& rows, StepTime& step) const;
  void add_experts(const Rows& rows, StepTime& step) const;
  void add_transfers(const Rows& rows, StepTime& step) const;
  void add_traffic(const Rows& rows, StepTime& step) const;
  void add_decode_attention(double sequences, double context, double times, StepTime& step) const;
  void add_prefill_attention(double sequences, double tokens, double past, StepTime& step) const;
  void add_index(double queries, double context, double times, StepTime& step) const;
  StepTime without_attention(const Rows& rows) const;
  void wait_for_launches(StepTime& step) const;
  void close(StepTime& step) const;  // total and bound
  double per_copy(double sequences) const;
  double micro_batch(double batch) const;
  double activations(double batch) const;
  double cache_bytes(double batch, double context) const;

  operators::KernelModel kernels_;
  Precision precision_;
  Parallel parallel_;
  Engine engine_;
  std::vector<Product> products_;
  std::vector<Grouped> latent_;
  std::vector<Grouped> grouped_;
  std::vector<Transfer> transfers_;
  std::vector<Traffic> traffic_;
  operators::DecodeAttentionCurve decode_attention_;
  operators::PrefillAttentionCurve prefill_attention_;
  Experts experts_;
  double layers_ = 0;         // with full attention, that count in a pass
  double window_layers_ = 0;  // with windowed attention
  double window_ = 0;         // tokens
  double index_layers_ = 0;   // of the full ones, those that attend `index_tokens_` chosen tokens
  double index_tokens_ = 0;
  double index_heads_ = 0;
  double index_size_ = 0;
  double latent_heads_ = 0;  // of one rank
  double kernel_count_ = 0;  // of a pass, for gaps and launches
  double copies_ = 1;
  double stages_ = 1;
  double step_overhead_ = 0;
  double skew_ = 0;                // of the kernels' time: what collectives wait for the slowest rank
  double cache_per_token_ = 0;     // windowed layers included
  double window_cache_ = 0;        // of these bytes, what windowed layers take
  double state_per_sequence_ = 0;  // of linear layers
  double weights_ = 0;
  double activation_per_token_ = 0;
  double activation_per_logit_ = 0;
  double attention_flops_ = 0;  // of one token, for each cached one
  std::int64_t parameters_ = 0;
  std::int64_t active_parameters_ = 0;
  std::int64_t embedding_parameters_ = 0;
};

}  // namespace photonrail::inference
