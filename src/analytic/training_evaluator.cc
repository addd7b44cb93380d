#include "analytic/training_evaluator.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace photonrail::analytic {
namespace {

using operators::Basis;
using operators::Collective;
using operators::Dtype;
using operators::KernelTime;

constexpr std::int64_t kCollectives = 5;
constexpr std::int64_t kMostGpus = 1 << 17;

// Reductions over a row (norms, softmax) reach this share of the rate of streaming kernels, and batched products that
// write or read whole score matrices these: one GPT-3 layer measured on A100, operator by operator
// (transformer_layer_breakdown_a100_llmcompass.csv: 805 MB of a LayerNorm in 0.682 ms, 805 MB of a GeLU in 0.524 ms,
// 1.61 GB of scores written in 1.88 ms and read in 1.18 ms).
constexpr double kRowShare = 0.77;
constexpr double kScoresWritten = 0.56;
constexpr double kScoresRead = 0.89;

// Products of a training step run for minutes, those of the kernel tables for milliseconds: with power and heat in
// balance the clock is lower. What Azure's sustained products of 4,096 to 16,384 on a side (azure_gemm.csv) reach of
// the rate that operators::KernelModel gives for the same shapes, geometric mean of four shapes. On A100 that is 1.007,
// so none is taken: its table comes from such products. GPUs that Azure did not measure: as H100 and H200 together.
struct Sustained {
  std::string_view gpu;
  double share;
};
constexpr Sustained kSustained[] = {{"A100", 1}, {"H100", 0.934}, {"H200", 0.912}};
constexpr double kSustainedElsewhere = 0.923;

// FLOP/s of FlashAttention-2, head size 128 (azure_memory_p2p_attention.csv), as a share of the bf16 peak.
constexpr Sustained kFlash2[] = {{"A100", 179.5 / 312}, {"H100", 327.9 / 989}, {"H200", 329.3 / 989}};
constexpr double kFlash2Elsewhere = 329.3 / 989;

template <std::size_t n>
double share_of(const Sustained (&table)[n], std::string_view gpu, double elsewhere) {
  for (const Sustained& s : table) {
    if (s.gpu == gpu) return s.share;
  }
  return elsewhere;
}

// From one kernel launch to the next of a framework that issues operators one by one from Python (PyTorch eager).
constexpr double kHostSeconds = 6e-6;
constexpr double kForwardKernels = 22;  // of one layer
constexpr double kBackwardKernels = 36;

double real(std::int64_t n) { return static_cast<double>(n); }

// Operands of products and what goes over the tensor group.
struct Format {
  Dtype dtype = Dtype::bf16;
  double wire = 2;  // bytes of an element that is gathered over the tensor group
};

Format format_of(Precision precision) {
  switch (precision) {
    case Precision::bf16: return {};
    case Precision::fp8: return {Dtype::fp8, 1};
    case Precision::mxfp8: return {Dtype::fp8, 1 + 1.0 / 32};
    case Precision::nvfp4: return {Dtype::nvfp4, 0.5625};
  }
  return {};
}

// A product and what its backward pass needs, in seconds.
struct Product {
  double forward = 0;
  double input = 0;   // gradient of the input
  double weight = 0;  // gradient of the weight
  double all() const { return forward + input + weight; }
};

// Seconds of a collective beside a product.
double beside(double collective, double product, double pieces) {
  return std::max(collective, product) + std::min(collective, product) / pieces - product;
}

}  // namespace

// The pieces of one evaluation.
struct TrainingEvaluator::Work {
  const TrainingEvaluator& e;
  const DecoderShape& s;
  const TrainingConfig& c;
  Format format;
  double tokens = 0;  // of a micro-batch on one rank
  double t = 1;
  double p = 1;
  Basis basis = Basis::measured;

  double take(const KernelTime& time) {
    basis = std::max(basis, time.basis);
    return time.seconds;
  }

  double stream(double bytes, double kernels = 1) { return take(e.kernels_.pointwise_time(bytes, kernels)); }

  // 8- and 4-bit products as measured from 16-bit operands whose scale is found first: what a training step does once
  // for each product. A product for a weight's gradient may be computed either way round, and quantises the smaller.
  double gemm(double rows, double columns, double depth, Dtype dtype) {
    return take(e.kernels_.gemm_time(rows, columns, depth, dtype, operators::Operands::unquantised)) / e.sustained_;
  }

  Product product(double rows, double columns, double depth, Dtype dtype) {
    Product out;
    out.forward = gemm(rows, columns, depth, dtype);
    out.input = gemm(rows, depth, columns, dtype);
    out.weight = std::min(gemm(columns, depth, rows, dtype), gemm(depth, columns, rows, dtype)) +
                 columns * depth * (2 * c.gradient_bytes - 2) / e.kernels_.rates().memory;
    return out;
  }

  double collective(Collective kind, std::int64_t ranks, std::int64_t stride, double bytes) {
    if (ranks == 1) return 0;
    return take(e.curve(kind, ranks, stride).at(bytes));
  }

  // -- one layer --------------------------------------------------------------------------------------------------

  struct Core {
    double forward = 0;
    double backward = 0;
  };

  Core attention_core() {
    const double sequences = real(c.micro_batch);
    const double length = real(c.sequence);
    if (c.attention != Attention::scores) {
      const auto& curve = e.degrees_[e.index(c.tensor)].attention;
      double forward = take(curve.at(sequences, length, 0));
      // Older kernels are no quicker than later ones at any length.
      if (c.attention == Attention::flash2) {
        forward = std::max(forward, curve.flops(sequences, length, 0) / e.flash2_);
      }
      forward /= real(c.context);
      return {forward, kBackwardAttention * forward};
    }
    return scores_core(sequences * length * real(s.heads) / t / real(c.context), length, real(s.head_size));
  }

  // Rows of scores, each `length` long.
  Core scores_core(double rows, double length, double head) {
    const double bytes = rows * length * 2;
    const double written = std::max(gemm(rows, length, head, Dtype::bf16), stream(bytes) / kScoresWritten);
    const double read = std::max(gemm(rows, head, length, Dtype::bf16), stream(bytes) / kScoresRead);
    const double softmax = stream(2 * bytes) / kRowShare;
    const double dropout = c.dropout ? stream(2.5 * bytes) : 0;
    // Backward: gradients of values and queries and keys read scores, that of the probabilities writes them.
    return {written + read + softmax + dropout, written + 3 * read + 1.5 * softmax + dropout};
  }

  // Memory-bound kernels of a layer: two norms, two sums with the residual, rotary embedding, activation.
  double forward_streams() {
    const double h = real(s.hidden);
    const double share = tokens / p;
    double seconds = stream(2 * share * h * 4, 2) / kRowShare + stream(2 * share * h * (6 + (c.dropout ? 1 : 0)), 2);
    if (gated()) seconds += stream(tokens * real(s.head_size) * real(s.heads + s.kv_heads) / t * 4);
    return seconds + stream(tokens * inner_width() * (gated() ? 6 : 4));
  }

  double backward_streams() {
    const double h = real(s.hidden);
    const double share = tokens / p;
    // Input and output gradient read twice, for the gradients of the input and of the norm's weights; the former is
    // added to the residual's.
    double seconds = stream(2 * share * h * 12, 4) / kRowShare;
    if (c.dropout) seconds += stream(2 * share * h * 5, 2);
    // Plain models have biases, whose gradients read the gradients of all outputs.
    if (!gated()) {
      seconds +=
          stream(tokens * 2 * (2 * h + real(s.heads + 2 * s.kv_heads) * real(s.head_size) / t + inner_width()), 4);
    }
    if (gated()) seconds += stream(tokens * real(s.head_size) * real(s.heads + s.kv_heads) / t * 4);
    return seconds + stream(tokens * inner_width() * (gated() ? 10 : 6));
  }

  bool gated() const { return s.feed_forward_matrices == 3; }
  bool experts() const { return s.experts > 0; }
  double inner_width() const {
    if (!experts()) return real(s.feed_forward) / t;
    return real(s.experts_per_token + s.shared_experts) * real(s.expert_feed_forward) / (c.expert > 1 ? 1 : t);
  }

  struct Layer {
    Pass forward;
    Pass backward;
    double core_forward = 0;
  };

  // Collectives of one block around its first and last product.
  void tensor_block(Layer& layer, const Product& first, const Product& last) {
    if (c.tensor == 1) return;
    const double bytes = tokens * real(s.hidden);
    if (!c.sequence_parallel) {
      const double sum = collective(Collective::all_reduce, c.tensor, 1, 2 * bytes);
      layer.forward.tensor += c.overlap_tensor ? beside(sum, last.forward, t) : sum;
      layer.backward.tensor += c.overlap_tensor || c.overlap_backward_tensor ? std::max(0.0, sum - first.weight) : sum;
      return;
    }
    const double gather = collective(Collective::all_gather, c.tensor, 1, format.wire * bytes);
    const double scatter = collective(Collective::reduce_scatter, c.tensor, 1, 2 * bytes);
    if (c.overlap_tensor) {
      layer.forward.tensor += beside(gather, first.forward, t) + beside(scatter, last.forward, t);
      // Backward: the gradient is gathered beside its product, the saved input behind the same, the sum behind the
      // product for the weight.
      layer.backward.tensor +=
          beside(gather, last.input, t) + std::max(0.0, gather - first.input) + std::max(0.0, scatter - first.weight);
      return;
    }
    layer.forward.tensor += gather + scatter;
    layer.backward.tensor += gather;
    layer.backward.tensor += c.overlap_backward_tensor
                                 ? std::max(0.0, gather - first.input) + std::max(0.0, scatter - first.weight)
                                 : gather + scatter;
  }

  Layer layer() {
    const double h = real(s.hidden);
    const double d = real(s.head_size);
    const double kv = real(std::max(s.kv_heads, c.tensor));
    Layer out;
    const Product qkv = product(tokens, (real(s.heads) + 2 * kv) * d / t, h, format.dtype);
    const Product projection = product(tokens, h, real(s.heads) * d / t, format.dtype);
    const Core core = attention_core();
    tensor_block(out, qkv, projection);
    double forward = qkv.forward + projection.forward + core.forward;
    double backward = qkv.input + qkv.weight + projection.input + projection.weight + core.backward;
    if (experts()) {
      expert_block(out, forward, backward);
    } else {
      const double columns = real(s.feed_forward_matrices - 1) * real(s.feed_forward) / t;
      const Product up = product(tokens, columns, h, format.dtype);
      const Product down = product(tokens, h, real(s.feed_forward) / t, format.dtype);
      tensor_block(out, up, down);
      forward += up.forward + down.forward;
      backward += up.input + up.weight + down.input + down.weight;
    }
    forward += forward_streams();
    backward += backward_streams();
    if (c.recompute == Recompute::selective) backward += core.forward;
    out.forward.compute += std::max(forward, kForwardKernels * kHostSeconds);
    out.backward.compute += std::max(backward, kBackwardKernels * kHostSeconds);
    exchange_context(out, core);
    gather_parameters(out);
    scatter_gradients(out);
    if (c.recompute == Recompute::full) {
      Pass again = out.forward;
      again.gather = 0;  // the backward pass has gathered them
      out.backward += again;
    }
    return out;
  }

  // A mixture: rows of all experts of this rank side by side, evenly spread. Two all-to-alls each way.
  void expert_block(Layer& out, double& forward, double& backward) {
    const double h = real(s.hidden);
    const double split = c.expert > 1 ? 1 : t;
    const double width = real(s.expert_feed_forward) / split;
    const double local = real(s.experts) / real(c.expert);
    const double rows = tokens / p * real(s.experts_per_token) * (c.expert > 1 ? 1 : p);
    const double each = std::max(1.0, rows / local);
    const double columns = real(s.feed_forward_matrices - 1) * width;
    const Product up = product(each, columns, h, format.dtype);
    const Product down = product(each, h, width, format.dtype);
    forward += local * (up.forward + down.forward);
    backward += local * (up.input + up.weight + down.input + down.weight);
    if (s.shared_experts > 0) {
      const double shared = real(s.shared_experts) * real(s.expert_feed_forward) / t;
      const Product a = product(tokens, real(s.feed_forward_matrices - 1) * shared, h, format.dtype);
      const Product b = product(tokens, h, shared, format.dtype);
      forward += a.forward + b.forward;
      backward += a.input + a.weight + b.input + b.weight;
    }
    // Permutation of tokens to experts and back.
    forward += 2 * stream(rows * h * 4);
    backward += 2 * stream(rows * h * 4);
    if (c.expert == 1) return;
    const double dispatch = collective(Collective::all_to_all, c.expert, 1, rows * h * 2);
    out.forward.experts += 2 * dispatch;
    out.backward.experts += 2 * dispatch;
  }

  // Ring attention: keys and values of the other ranks arrive behind the attention of those that are there.
  void exchange_context(Layer& out, const Core& core) {
    if (c.context == 1) return;
    const double bytes = tokens * 2 * real(std::max(s.kv_heads, c.tensor)) * real(s.head_size) / t * 2;
    const double all = collective(Collective::all_gather, c.context, c.tensor, bytes * real(c.context));
    const double n = real(c.context);
    out.forward.context += std::max(0.0, all - core.forward * (n - 1) / n);
    out.backward.context += std::max(0.0, 2 * all - core.backward * (n - 1) / n);
  }

  std::int64_t replicas() const { return c.data * c.context; }

  double layer_weights() const {
    const double moe = real(expert_layers(s)) / real(s.layers);
    const double dense = attention_weights(s) + (1 - moe) * dense_weights(s) + moe * shared_weights(s);
    return (dense + moe * expert_weights(s) / real(c.expert)) / t;
  }

  double reduce(double weights) {
    const Collective kind = c.sharding == Sharding::none ? Collective::all_reduce : Collective::reduce_scatter;
    return collective(kind, replicas(), c.tensor, weights * c.reduce_bytes);
  }
  double gather(double weights) {
    return collective(Collective::all_gather, replicas(), c.tensor, weights * c.gather_bytes);
  }

  // Full sharding: parameters of the next layer arrive, and gradients of the last one leave, behind a layer's passes.
  void gather_parameters(Layer& out) {
    if (c.sharding != Sharding::full) return;
    const double in = gather(layer_weights());
    const double sum = reduce(layer_weights());
    out.forward.gather += std::max(0.0, in - out.forward.total());
    out.backward.gather += std::max(0.0, in + sum - out.backward.total());
  }

  // Gradients that are kept in shards leave behind the backward pass of every micro-batch.
  void scatter_gradients(Layer& out) {
    if (c.sharding != Sharding::gradients) return;
    out.backward.gather += std::max(0.0, reduce(layer_weights()) - (c.overlap_gradients ? out.backward.total() : 0));
  }

  // -- the step -----------------------------------------------------------------------------------------------------

  double optimizer(double parameters) {
    const double shards = c.sharding == Sharding::none ? 1 : real(replicas());
    // Clearing and scanning the gradient (norm, overflow) where it is held, then Adam: gradient, master weight and two
    // moments read, those written, the working weight written.
    const bool whole = c.sharding == Sharding::none || c.sharding == Sharding::optimizer;
    const double held = whole ? 1 : shards;
    const double scaling = c.loss_scaling ? 2 * c.gradient_bytes + 6 : 0;  // unscaled in place, weights copied back
    return stream(
        parameters / held * c.gradient_bytes + parameters / shards * (c.gradient_bytes * 2 + 12 + 12 + 2 + scaling), 4);
  }

  struct Ends {
    Pass embedding_forward, embedding_backward, head_forward, head_backward;
  };

  Ends ends() {
    const double h = real(s.hidden);
    const double columns = real((s.vocabulary + c.tensor - 1) / c.tensor);
    Ends out;
    out.embedding_forward.compute = stream(tokens * h * 4);
    out.embedding_backward.compute = stream(tokens * h * (2 + 2 * c.gradient_bytes));
    const Product head = product(tokens, columns, h, Dtype::bf16);
    // Loss. Fused: 16-bit logits are read for the maximum and the exponentials, which are written in 4 bytes, and for
    // the gradient. Eager: copied to 4 bytes, logarithm of the softmax written, its gradient, copied back.
    const double forward = c.eager ? 18 : 12;
    const double backward = c.eager ? 18 : 6;
    out.head_forward.compute =
        head.forward + stream(tokens / p * h * 4) / kRowShare + stream(tokens * columns * forward, 3);
    out.head_backward.compute =
        head.input + head.weight + stream(tokens / p * h * 8) / kRowShare + stream(tokens * columns * backward);
    if (c.tensor == 1) return out;
    const double bytes = 2 * tokens * h;
    const Collective in = c.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce;
    out.embedding_forward.tensor = collective(in, c.tensor, 1, bytes);
    out.head_backward.tensor = collective(in, c.tensor, 1, bytes);
    if (c.sequence_parallel) {
      const double whole = collective(Collective::all_gather, c.tensor, 1, bytes);
      out.embedding_backward.tensor = whole;
      out.head_forward.tensor = whole;
      out.head_backward.tensor += whole;
    }
    out.head_forward.tensor += 3 * collective(Collective::all_reduce, c.tensor, 1, tokens * 4);
    return out;
  }

  // Layers of the stages; where they do not divide but embedding and head count as one layer each, those two stages
  // have one layer less (Megatron's account_for_embedding_in_pipeline_split).
  struct Split {
    std::int64_t first = 0, middle = 0, last = 0;
  };
  Split split() const {
    const std::int64_t chunks = c.pipeline * c.interleave;
    if (c.pipeline > 1 && s.layers % chunks != 0 && (s.layers + 2) % chunks == 0) {
      const std::int64_t each = (s.layers + 2) / c.pipeline;
      return {each - 1, each, each - 1};
    }
    const std::int64_t each = (s.layers + c.pipeline - 1) / c.pipeline;
    return {each, each, s.layers - each * (c.pipeline - 1) > 0 ? s.layers - each * (c.pipeline - 1) : each};
  }

  Stage stage(const Layer& layer, std::int64_t layers, const Ends& ends, bool first, bool last) {
    Stage out;
    const double n = real(layers);
    out.forward = n * layer.forward;
    out.backward = n * layer.backward;
    double table = 0;
    if (first) {
      out.forward += ends.embedding_forward;
      out.backward += ends.embedding_backward;
      table += table_weights(s) / t;
    }
    if (last) {
      out.forward += ends.head_forward;
      out.backward += ends.head_backward;
      if (!s.tied_embeddings || !first) table += table_weights(s) / t;
    }
    const double weights = layer_weights();
    out.optimizer = optimizer(n * weights + table);
    if (replicas() == 1) return out;
    data_tails(out, layer, layers, weights, table);
    return out;
  }

  void data_tails(Stage& out, const Layer& layer, std::int64_t layers, double weights, double table) {
    const double each = reduce(weights);
    const double ends = table > 0 ? reduce(table) : 0;
    if (c.sharding == Sharding::full) {
      out.reduce_tail = each + ends;
      return;
    }
    if (c.sharding == Sharding::gradients) {
      out.reduce_tail = (c.overlap_gradients ? each : 0) + ends;
    } else {
      out.reduce_tail =
          c.overlap_gradients ? exposed(layers, each, layer.backward.total(), 0) + ends : real(layers) * each + ends;
    }
    if (c.sharding == Sharding::none) return;
    const double one = gather(weights);
    const double one_end = table > 0 ? gather(table) : 0;
    out.gather_tail =
        c.overlap_parameters ? exposed(layers, one, layer.forward.total(), 0) + one_end : real(layers) * one + one_end;
  }

  StepPieces pieces() {
    const Layer one = layer();
    const Ends both = ends();
    const Split parts = split();
    StepPieces out;
    out.stages = c.pipeline;
    out.microbatches = microbatches_of(c);
    out.chunks = c.interleave;
    out.round_trips = !c.gpipe;
    out.first = stage(one, parts.first, both, true, c.pipeline == 1);
    if (c.pipeline == 1) return out;
    out.last = stage(one, parts.last, both, false, true);
    if (c.pipeline > 2) out.middle = stage(one, parts.middle, both, false, false);
    out.longer = c.pipeline - 2;
    // Without sequence parallelism every rank holds all tokens: each sends its part, which is gathered again on the
    // other side (Narayanan et al. 2021, section 4.1).
    const double all = 2 * tokens * real(s.hidden);
    double message = collective(Collective::send, c.pipeline, replicas() * c.tensor, all / t);
    if (!c.sequence_parallel) message += collective(Collective::all_gather, c.tensor, 1, all);
    out.hop_forward = message;
    out.hop_backward = message;
    if (c.interleave == 1 || c.overlap_messages) return out;
    const Pass wait{0, 0, 0, 0, 0, real(c.interleave) * message};
    for (Stage* s_ : {&out.first, &out.middle, &out.last}) {
      s_->forward += wait;
      s_->backward += wait;
    }
    return out;
  }
};

TrainingEvaluator::TrainingEvaluator(const DecoderShape& shape, const operators::KernelModel& kernels,
                                     const System& system)
    : shape_(shape),
      kernels_(kernels),
      system_(system),
      sustained_(share_of(kSustained, kernels.gpu(), kSustainedElsewhere)),
      flash2_(share_of(kFlash2, kernels.gpu(), kFlash2Elsewhere) *
              kernels.rates().peak[static_cast<std::size_t>(Dtype::bf16)]) {
  index_.resize(static_cast<std::size_t>(system.gpus) + 1);
  for (std::int64_t n = 1; n <= system.gpus; ++n) {
    if (system.gpus % n != 0) continue;
    index_[static_cast<std::size_t>(n)] = static_cast<std::uint8_t>(divisors_.size());
    divisors_.push_back(n);
  }
  for (const std::int64_t n : divisors_) {
    Degree degree;
    if (shape.heads % n == 0) {
      degree.attention = kernels.prefill_attention({shape.heads / n, std::max<std::int64_t>(1, shape.kv_heads / n),
                                                    shape.head_size, 0, Dtype::bf16, Dtype::bf16});
    }
    degrees_.push_back(degree);
  }
  for (std::int64_t kind = 0; kind < kCollectives; ++kind) {
    for (const std::int64_t ranks : divisors_) {
      for (const std::int64_t inside : divisors_) {
        curves_.push_back(kernels.collective(static_cast<Collective>(kind), {ranks, std::min(inside, ranks)},
                                             operators::CollectiveLibrary::nccl));
      }
    }
  }
}

Result<TrainingEvaluator> TrainingEvaluator::make(const DecoderShape& shape, const operators::KernelModel& kernels,
                                                  const System& system) {
  if (system.gpus < 1 || system.gpus > kMostGpus || system.domain < 1) {
    return fail(ErrorCode::invalid_input, "the number of GPUs is out of range (1 to 131,072), or the domain is empty");
  }
  TrainingConfig one;
  one.sequence = 1;
  one.global_batch = 1;
  PR_TRY(check(shape, one));
  return TrainingEvaluator(shape, kernels, system);
}

// `stride`: ranks between neighbours of the group. Ranks that share a domain: as many as fit, a divisor of all.
const operators::CollectiveCurve& TrainingEvaluator::curve(Collective kind, std::int64_t ranks,
                                                           std::int64_t stride) const {
  std::int64_t inside = std::clamp<std::int64_t>(system_.domain / stride, 1, ranks);
  while (ranks % inside != 0) --inside;
  const std::size_t n = divisors_.size();
  return curves_[(static_cast<std::size_t>(kind) * n + index(ranks)) * n + index(inside)];
}

StepEstimate TrainingEvaluator::evaluate(const TrainingConfig& config) const {
  PR_CHECK(gpus_of(config) == system_.gpus, "a configuration for all GPUs of the system");
  Work work{*this, shape_, config, format_of(config.precision), 0, 1, 1, Basis::measured};
  work.tokens = real(config.micro_batch) * real(config.sequence) / real(config.context);
  work.t = real(config.tensor);
  work.p = config.sequence_parallel ? work.t : 1;
  StepEstimate out;
  out.time = compose(work.pieces());
  out.memory = memory_use(shape_, config);
  out.capacity = kernels_.rates().memory_bytes;
  out.fits = out.memory.total() <= out.capacity;
  out.model_flops = model_flops(shape_, config);
  const double peak = kernels_.rates().peak[static_cast<std::size_t>(work.format.dtype)];
  out.mfu = out.model_flops / (out.time.seconds * peak * real(system_.gpus));
  out.basis = work.basis;
  return out;
}

}  // namespace photonrail::analytic
