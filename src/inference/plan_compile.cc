// Plan::compile: from a model's dimensions to the curves of one rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "inference/plan.h"

namespace photonrail::inference {

using operators::AttentionShape;
using operators::bytes_of;
using operators::Collective;
using operators::RankSpan;

namespace {

constexpr double kActivationBytes = 2;  // between kernels everything is bf16

double count(std::int64_t n) { return static_cast<double>(n); }

// The element of an activation on its way into a product of this format.
double operand_bytes(Dtype dtype) {
  return dtype == Dtype::int4 ? kActivationBytes : std::min(kActivationBytes, bytes_of(dtype));
}

// The mean of the largest of n standard normal deviates: Blom's approximation, Phi^-1((n - 3/8) / (n + 1/4)), with
// Acklam's central rational form for Phi^-1 replaced by a bisection on erfc, since this runs once per plan.
double expected_largest_normal(double n) {
  if (n <= 1) return 0;
  const double probability = (n - 0.375) / (n + 0.25);
  double low = 0;
  double high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return low;
}

}  // namespace

class PlanCompiler {
 public:
  PlanCompiler(const catalog::Model& model, const operators::KernelModel& kernels, const Precision& precision,
               const Parallel& parallel, const Engine& engine)
      : model_(model), kernels_(kernels), precision_(precision), parallel_(parallel), engine_(engine), plan_(kernels) {}

  Result<Plan> run() {
    PR_TRY(check());
    set_sizes();
    add_attention();
    add_linear_attention();
    add_feed_forward();
    add_ends();
    add_memory();
    plan_.precision_ = precision_;
    plan_.parallel_ = parallel_;
    plan_.engine_ = engine_;
    return std::move(plan_);
  }

 private:
  tl::unexpected<Error> refuse(std::string text) const {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {}", model_.name, text));
  }

  Status divides(std::int64_t value, std::int64_t degree, std::string_view what, std::string_view by) const {
    if (value % degree == 0) return {};
    return refuse(fmt::format("{} {} cannot be divided over {} {}", value, what, degree, by));
  }

  Status check() const {
    for (const std::int64_t degree :
         {parallel_.tensor, parallel_.pipeline, parallel_.expert, parallel_.attention_data, parallel_.domain}) {
      if (degree < 1) return refuse("parallel degrees and the domain must be at least 1");
    }
    if (engine_.prefill_budget < 1 || engine_.block_tokens < 1 || engine_.largest_batch < 1) {
      return refuse("the engine's token budget, page and largest batch must be at least 1");
    }
    PR_TRY(divides(model_.heads, parallel_.tensor, "attention heads", "tensor ranks"));
    if (parallel_.tensor > model_.kv_heads) {
      PR_TRY(divides(parallel_.tensor, model_.kv_heads, "tensor ranks", "heads of keys and values"));
    } else {
      PR_TRY(divides(model_.kv_heads, parallel_.tensor, "heads of keys and values", "tensor ranks"));
    }
    if (parallel_.pipeline > model_.layers) {
      return refuse(fmt::format("{} layers are too few for {} pipeline stages", model_.layers, parallel_.pipeline));
    }
    if (has_dense()) PR_TRY(divides(model_.feed_forward, parallel_.tensor, "feed-forward columns", "tensor ranks"));
    if (model_.linear_layers > 0) {
      PR_TRY(divides(model_.linear_key_heads, parallel_.tensor, "key heads of linear layers", "tensor ranks"));
    }
    PR_TRY(check_experts());
    for (const Dtype dtype : {precision_.weights, precision_.experts, precision_.head, precision_.attention}) {
      PR_TRY(check_format(dtype));
    }
    return {};
  }

  Status check_experts() const {
    if (model_.experts == 0) {
      if (parallel_.expert == 1) return {};
      return refuse("is dense, so expert parallelism must be 1");
    }
    PR_TRY(divides(ranks(), parallel_.expert, "ranks of a stage", "expert-parallel ranks"));
    PR_TRY(divides(model_.experts, parallel_.expert, "experts", "expert-parallel ranks"));
    PR_TRY(
        divides(model_.expert_feed_forward, ranks() / parallel_.expert, "columns of an expert", "ranks that share it"));
    if (model_.shared_experts > 0) {
      PR_TRY(divides(model_.shared_experts * model_.expert_feed_forward, parallel_.tensor,
                     "columns of the shared experts", "tensor ranks"));
    }
    return {};
  }

  Status check_format(Dtype dtype) const {
    if (kernels_.rates().peak[static_cast<std::size_t>(dtype)] > 0) return {};
    return refuse(fmt::format("{} has no {} products; choose another precision", kernels_.gpu(), name_of(dtype)));
  }

  std::int64_t ranks() const { return parallel_.tensor * parallel_.attention_data; }
  bool has_dense() const { return model_.experts == 0 || model_.dense_layers > 0; }
  bool latent() const { return model_.kv_rank > 0; }
  std::int64_t head_size() const { return model_.head_size != 0 ? model_.head_size : model_.hidden / model_.heads; }
  std::int64_t value_size() const { return model_.value_head_size != 0 ? model_.value_head_size : head_size(); }
  std::int64_t heads() const { return model_.heads / parallel_.tensor; }
  std::int64_t kv_heads() const { return std::max<std::int64_t>(1, model_.kv_heads / parallel_.tensor); }
  std::int64_t full_layers() const { return model_.layers - model_.linear_layers; }
  double hidden_bytes() const { return count(model_.hidden) * kActivationBytes; }

  void set_sizes() {
    const double layers = count(model_.layers);
    const double stages = count(parallel_.pipeline);
    uneven_ = stages * std::ceil(layers / stages) / layers;
    layers_ = layers * uneven_;
    attention_layers_ = count(full_layers()) * uneven_;
    linear_layers_ = count(model_.linear_layers) * uneven_;
    const std::int64_t dense = model_.experts == 0 ? model_.layers : model_.dense_layers;
    dense_layers_ = count(dense) * uneven_;
    expert_layers_ = count(model_.layers - dense) * uneven_;
    plan_.copies_ = count(parallel_.attention_data);
    plan_.stages_ = stages;
    plan_.step_overhead_ = to_seconds(engine_.step_overhead);
    plan_.skew_ = engine_.rank_spread * expected_largest_normal(count(parallel_.tensor * parallel_.attention_data));
    const catalog::ParameterCount parameters = catalog::count_parameters(model_);
    plan_.parameters_ = parameters.total;
    plan_.active_parameters_ = parameters.active;
    plan_.embedding_parameters_ = model_.tied_embeddings ? 0 : model_.vocabulary * model_.hidden;
  }

  // ---- products -----------------------------------------------------------------------------------------------------

  // Formats that are quantised by kernels of their own carry those inside their curves; the others ride in the norm or
  // activation before, or in the small kernels that add_quantisation() counts.
  operators::Operands operands(Dtype dtype) const {
    const bool apart = dtype == Dtype::fp8_block || !engine_.fused_quantisation;
    return apart ? operators::Operands::unquantised : operators::Operands::prepared;
  }

  bool counts_quantisation(Dtype dtype) const {
    return (dtype == Dtype::fp8 || dtype == Dtype::nvfp4 || dtype == Dtype::int8) &&
           operands(dtype) == operators::Operands::prepared;
  }

  void add_product(std::int64_t n, std::int64_t k, Dtype dtype, double times, Plan::RowKind rows = Plan::kTokens) {
    if (times <= 0 || n <= 0 || k <= 0) return;
    const double bytes_per_row = count(k) * operand_bytes(dtype) + count(n) * kActivationBytes;
    plan_.products_.push_back({kernels_.gemm(n, k, dtype, operands(dtype)), times, 2 * count(n) * count(k),
                               bytes_per_row, count(n) * count(k) * bytes_of(dtype), rows, dtype});
    plan_.kernel_count_ += times;
  }

  void add_grouped(std::vector<Plan::Grouped>& to, std::int64_t matrices, std::int64_t n, std::int64_t k, Dtype dtype,
                   double times) {
    const double bytes_per_row = count(k) * operand_bytes(dtype) + count(n) * kActivationBytes;
    to.push_back({kernels_.grouped_gemm(matrices, n, k, dtype), times, 2 * count(n) * count(k), bytes_per_row,
                  count(n) * count(k) * bytes_of(dtype), dtype});
    plan_.kernel_count_ += times;
  }

  void add_traffic(double bytes_per_row, double kernels, double times, Plan::RowKind rows = Plan::kTokens) {
    if (times <= 0 || kernels <= 0) return;
    plan_.traffic_.push_back({times, bytes_per_row, kernels, rows});
    plan_.kernel_count_ += kernels * times;
  }

  void add_transfer(Collective kind, const RankSpan& span, double bytes_per_row, double times,
                    Plan::RowKind rows = Plan::kTokens) {
    if (span.ranks <= 1 || times <= 0) return;
    plan_.transfers_.push_back(
        {kernels_.collective(kind, span, engine_.library), times, bytes_per_row, rows, span.per_domain < span.ranks});
    plan_.kernel_count_ += times;
  }

  RankSpan span(std::int64_t of) const { return {of, std::min(of, parallel_.domain)}; }

  // A norm with its residual sum reads both and writes both. Where the all-reduce before does this, no kernel is left.
  void add_norm(double times) {
    const bool fused = engine_.fused_norm_reduce && parallel_.tensor > 1 && parallel_.attention_data == 1;
    if (!fused) add_traffic(4 * hidden_bytes(), 1, times);
  }

  void add_quantisation(std::int64_t width, Dtype dtype, double times) {
    if (counts_quantisation(dtype)) add_traffic(count(width) * (kActivationBytes + bytes_of(dtype)), 1, times);
  }

  // ---- blocks -------------------------------------------------------------------------------------------------------

  void add_attention() {
    add_norm(layers_);
    plan_.kernel_count_ += attention_layers_;
    if (latent()) {
      add_latent_attention();
    } else {
      add_grouped_query_attention();
    }
    // The residual sum of a parallel block covers both halves, so one all-reduce does.
    const bool later = model_.parallel_block && engine_.parallel_reduced_once;
    add_transfer(Collective::all_reduce, span(parallel_.tensor), hidden_bytes(), later ? 0 : layers_);
  }

  void add_grouped_query_attention() {
    const std::int64_t size = head_size();
    const std::int64_t queries = heads() * size;
    const std::int64_t keys = kv_heads() * size;
    const std::int64_t gate = model_.attention_gate ? queries : 0;
    add_product(queries + 2 * keys + gate, model_.hidden, precision_.weights, attention_layers_);
    if (gate > 0) add_traffic(3 * count(gate) * kActivationBytes, 1, attention_layers_);
    if (!engine_.fused_rope) {
      add_traffic(2 * count(queries + keys) * kActivationBytes, 1, attention_layers_);
      add_traffic(2 * count(keys) * (kActivationBytes + bytes_of(precision_.kv)), 1, attention_layers_);
    }
    if (engine_.static_scales_apart) add_quantisation(model_.hidden, precision_.weights, attention_layers_);
    add_quantisation(queries, precision_.weights, attention_layers_);
    add_product(model_.hidden, queries, precision_.weights, attention_layers_);
    const AttentionShape shape{heads(), kv_heads(), size, 0, precision_.attention, precision_.kv, !groups_queries()};
    plan_.decode_attention_ = kernels_.decode_attention(shape);
    plan_.prefill_attention_ = kernels_.prefill_attention(shape);
    plan_.attention_flops_ = 4 * count(full_layers()) * count(model_.heads) * count(size);
    cache_per_layer_ = 2 * count(keys) * bytes_of(precision_.kv);
  }

  bool groups_queries() const {
    const bool eight = model_.heads == 8 * model_.kv_heads;
    return engine_.grouped_decode == GroupedDecode::any || (engine_.grouped_decode == GroupedDecode::of_eight && eight);
  }

  // Split attention leaves partial results in 32 bits, which one kernel joins.
  void add_split_reduction(std::int64_t width) {
    add_traffic(count(width) * (4 + kActivationBytes), 1, attention_layers_, Plan::kDecodes);
  }

  void add_latent_attention() {
    const std::int64_t rank = model_.kv_rank;
    const std::int64_t rope = model_.rope_head_size;
    const std::int64_t query = heads() * (head_size() + rope);
    const std::int64_t down = model_.query_rank + rank + rope;
    if (model_.query_rank > 0) {
      add_product(down, model_.hidden, precision_.weights, attention_layers_);
      add_product(query, model_.query_rank, precision_.weights, attention_layers_);
    } else {
      add_product(query + rank + rope, model_.hidden, precision_.weights, attention_layers_);
    }
    // Norms of both ranks, and the rotary embedding with the cache update.
    add_traffic(2 * count(down) * kActivationBytes, 1, attention_layers_);
    add_traffic(2 * (count(heads()) * count(rope) + count(rank + rope)) * kActivationBytes, 1, attention_layers_);
    // Absorbed decoding: one small product for each head on either side of attention.
    const Dtype absorbed = precision_.head;
    add_grouped(plan_.latent_, heads(), rank, head_size(), absorbed, attention_layers_);
    add_grouped(plan_.latent_, heads(), value_size(), rank, absorbed, attention_layers_);
    plan_.latent_heads_ = count(heads());
    add_split_reduction(heads() * rank);
    // Prefill expands keys and values of all tokens that are attended.
    add_product(heads() * (head_size() + value_size()), rank, precision_.weights, attention_layers_, Plan::kExpanded);
    add_product(model_.hidden, heads() * value_size(), precision_.weights, attention_layers_);
    plan_.decode_attention_ =
        kernels_.decode_attention({heads(), 1, rank + rope, rank, precision_.attention, precision_.kv});
    plan_.prefill_attention_ = kernels_.prefill_attention(
        {heads(), heads(), head_size() + rope, value_size(), precision_.attention, precision_.kv});
    plan_.attention_flops_ = 2 * count(full_layers()) * count(model_.heads) * count(head_size() + rope + value_size());
    cache_per_layer_ = count(rank + rope) * bytes_of(precision_.kv);
    add_index();
  }

  // Index heads see every token on every rank: they are not cut.
  void add_index() {
    if (model_.index_heads == 0) return;
    add_product(model_.index_heads * model_.index_head_size, model_.query_rank, precision_.weights, attention_layers_);
    add_product(model_.index_head_size + model_.index_heads, model_.hidden, precision_.weights, attention_layers_);
    plan_.index_layers_ = attention_layers_;
    plan_.index_tokens_ = count(model_.index_tokens);
    plan_.index_heads_ = count(model_.index_heads);
    plan_.index_size_ = count(model_.index_head_size);
    cache_per_layer_ += plan_.index_size_;
  }

  // Gated delta rule: a short convolution and the update of the state; in prefill, kernels over chunks that read and
  // write queries, keys, values and gates about twice.
  void add_linear_attention() {
    if (linear_layers_ <= 0) return;
    const std::int64_t keys = model_.linear_key_heads * model_.linear_head_size / parallel_.tensor;
    const std::int64_t values = model_.linear_value_heads * model_.linear_head_size / parallel_.tensor;
    const std::int64_t gates = 2 * model_.linear_value_heads / parallel_.tensor;
    add_product(2 * keys + 2 * values + gates, model_.hidden, precision_.weights, linear_layers_);
    add_product(model_.hidden, values, precision_.weights, linear_layers_);
    const double state = count(values) * count(model_.linear_head_size) * 4;
    const double row = count(2 * keys + 2 * values) * kActivationBytes;
    add_traffic(2 * state, 2, linear_layers_, Plan::kDecodes);
    add_traffic(4 * row, 5, linear_layers_, Plan::kPrompted);
    plan_.state_per_sequence_ = state * linear_layers_ / count(parallel_.pipeline);
  }

  void add_feed_forward() {
    if (!model_.parallel_block) add_norm(layers_);
    add_block(model_.feed_forward, dense_layers_);
    add_transfer(Collective::all_reduce, span(parallel_.tensor), hidden_bytes(), dense_layers_);
    if (expert_layers_ > 0) add_experts();
  }

  // Two products with the activation between them; `width` columns in all, cut over the tensor ranks.
  void add_block(std::int64_t width, double times) {
    const std::int64_t columns = width / parallel_.tensor;
    const std::int64_t inner = model_.feed_forward_matrices - 1;
    if (times <= 0 || columns == 0) return;
    if (engine_.static_scales_apart) add_quantisation(model_.hidden, precision_.weights, times);
    add_product(inner * columns, model_.hidden, precision_.weights, times);
    add_traffic(count(inner + 1) * count(columns) * kActivationBytes, 1, times);
    add_quantisation(columns, precision_.weights, times);
    add_product(model_.hidden, columns, precision_.weights, times);
  }

  void add_experts() {
    const std::int64_t share = model_.expert_feed_forward * parallel_.expert / ranks();
    const std::int64_t local = model_.experts / parallel_.expert;
    const std::int64_t inner = model_.feed_forward_matrices - 1;
    add_product(model_.experts, model_.hidden, precision_.head, expert_layers_);
    add_block(model_.shared_experts * model_.expert_feed_forward, expert_layers_);
    add_grouped(plan_.grouped_, local, inner * share, model_.hidden, precision_.experts, expert_layers_);
    add_grouped(plan_.grouped_, local, model_.hidden, share, precision_.experts, expert_layers_);
    // Choice of experts; tokens into the order of experts and back; the activation, on the rows of one rank.
    const double rows = count(model_.experts_per_token) / count(parallel_.expert);
    add_traffic(count(model_.experts) * 4, 1, expert_layers_);
    add_traffic(rows * 2 * hidden_bytes() + hidden_bytes(), 2, expert_layers_, Plan::kAllTokens);
    add_traffic(rows * count(inner + 1) * count(share) * kActivationBytes, 1, expert_layers_, Plan::kAllTokens);
    set_experts(local);
    add_dispatch();
  }

  void set_experts(std::int64_t local) {
    Plan::Experts& experts = plan_.experts_;
    const double total = count(model_.experts);
    const double chosen = count(model_.experts_per_token);
    const double rank_share = 1 / count(parallel_.expert);
    experts.total = total;
    experts.local = count(local);
    experts.per_token = chosen;
    experts.ranks = count(parallel_.expert);
    experts.log_untouched = chosen < total ? std::log1p(-chosen / total) : -std::numeric_limits<double>::infinity();
    experts.row_variance = total > 1 ? chosen * rank_share * (1 - rank_share) * (total - chosen) / (total - 1) : 0;
    experts.deviations = expected_largest_normal(experts.ranks);
  }

  // Without attention data parallelism every rank has every token, and one all-reduce sums what the experts made.
  // With it, either all tokens are gathered and the results reduced and scattered, or each token goes to the ranks of
  // its experts: e (1 - (1 - 1/e)^k) distinct ones in the mean, of which 1/e is its own.
  void add_dispatch() {
    if (parallel_.attention_data == 1) {
      add_transfer(Collective::all_reduce, span(parallel_.tensor), hidden_bytes(), expert_layers_);
      return;
    }
    const double dispatched = count(model_.hidden) * operand_bytes(precision_.experts);
    const bool gather =
        engine_.dispatch == Dispatch::gather || (engine_.dispatch == Dispatch::automatic && ranks() <= 8);
    if (gather) {
      add_transfer(Collective::all_gather, span(ranks()), dispatched, expert_layers_, Plan::kAllTokens);
      add_transfer(Collective::reduce_scatter, span(ranks()), hidden_bytes(), expert_layers_, Plan::kAllTokens);
      return;
    }
    const double e = count(parallel_.expert);
    const double targets = e * (1 - std::pow(1 - 1 / e, count(model_.experts_per_token)));
    const double of_one = targets / count(parallel_.tensor);
    add_transfer(Collective::all_to_all, span(ranks()), of_one * dispatched, expert_layers_);
    add_transfer(Collective::all_to_all, span(ranks()), of_one * hidden_bytes(), expert_layers_);
  }

  void add_ends() {
    const std::int64_t vocabulary = (model_.vocabulary + parallel_.tensor - 1) / parallel_.tensor;
    add_traffic(2 * hidden_bytes(), 1, 1);  // embedding
    add_transfer(Collective::all_reduce, span(parallel_.tensor), hidden_bytes(), 1);
    add_norm(1);
    add_product(vocabulary, model_.hidden, precision_.head, 1, Plan::kLogits);
    add_transfer(Collective::all_gather, span(parallel_.tensor), count(model_.vocabulary) * kActivationBytes, 1,
                 Plan::kLogits);
    // Sampling: scale, find the largest, draw; three passes over logits in 32 bits.
    add_traffic(3 * 4 * count(model_.vocabulary), 3, 1, Plan::kLogits);
    if (parallel_.pipeline > 1) {
      const bool inside = parallel_.gpus() <= parallel_.domain;
      add_transfer(Collective::send, {2, inside ? 2 : 1}, hidden_bytes(), count(parallel_.pipeline - 1));
    }
    plan_.window_layers_ = count(model_.window_layers) * uneven_;
    plan_.window_ = count(model_.window);
    plan_.layers_ = attention_layers_ - plan_.window_layers_;
  }

  // ---- memory -------------------------------------------------------------------------------------------------------

  // Elements of one layer's attention on one rank. What latent attention projects down is not cut.
  double attention_elements() const {
    const double hidden = count(model_.hidden);
    if (!latent()) {
      const double gate = model_.attention_gate ? count(heads()) : 0;
      return hidden * count(head_size()) * (2 * count(heads()) + gate + 2 * count(kv_heads()));
    }
    const double query = count(heads()) * count(head_size() + model_.rope_head_size);
    const double queries = model_.query_rank > 0 ? count(model_.query_rank) * (hidden + query) : hidden * query;
    return queries + hidden * count(model_.kv_rank + model_.rope_head_size) +
           count(model_.query_rank * model_.index_heads * model_.index_head_size) +
           hidden * count(model_.index_heads + model_.index_head_size) +
           count(model_.kv_rank) * count(heads()) * count(head_size() + value_size()) +
           count(heads()) * count(value_size()) * hidden;
  }

  void add_memory() {
    const double stages = count(parallel_.pipeline);
    const double t = count(parallel_.tensor);
    const double hidden = count(model_.hidden);
    const double matrices = count(model_.feed_forward_matrices);
    const double weight = bytes_of(precision_.weights);
    const double norms = 2 * hidden * kActivationBytes;
    const double expert = matrices * hidden * count(model_.expert_feed_forward);
    const double linear =
        hidden * (count(2 * model_.linear_key_heads + 3 * model_.linear_value_heads) * count(model_.linear_head_size) +
                  count(2 * model_.linear_value_heads));
    double bytes = layers_ * norms + attention_layers_ * attention_elements() * weight;
    bytes += linear_layers_ * linear / t * weight;
    bytes += dense_layers_ * matrices * hidden * count(model_.feed_forward) / t * weight;
    bytes += expert_layers_ * (count(model_.shared_experts) * expert / t * weight +
                               hidden * count(model_.experts) * bytes_of(precision_.head) +
                               count(model_.experts) * expert / count(ranks()) * bytes_of(precision_.experts));
    // With stages, the embedding and the head lie on different GPUs; tied, they are one matrix on one GPU.
    const double ends = parallel_.pipeline > 1 || model_.tied_embeddings ? 1 : 2;
    plan_.weights_ = bytes / stages + ends * count(model_.vocabulary) * hidden / t * bytes_of(precision_.head);
    plan_.cache_per_token_ = cache_per_layer_ * attention_layers_ / stages;
    plan_.window_cache_ = cache_per_layer_ * plan_.window_layers_ / stages;
    set_activations();
  }

  // The largest set of tensors alive at once: residual stream and its normed copy, and the input and output of the
  // widest product pair; and the logits in 32 bits.
  void set_activations() {
    const double t = count(parallel_.tensor);
    const double hidden = count(model_.hidden);
    const double matrices = count(model_.feed_forward_matrices);
    double widest =
        count(heads() * (head_size() + model_.rope_head_size + value_size()) + 2 * kv_heads() * head_size());
    if (has_dense()) widest = std::max(widest, matrices * count(model_.feed_forward) / t);
    if (model_.experts > 0) {
      const double rows = count(model_.experts_per_token) / count(parallel_.expert) * plan_.copies_;
      const double share = count(model_.expert_feed_forward) * count(parallel_.expert) / count(ranks());
      widest = std::max(widest, rows * (2 * hidden + matrices * share));
    }
    plan_.activation_per_token_ = (2 * hidden + widest) * kActivationBytes;
    plan_.activation_per_logit_ = count(model_.vocabulary) * (4 + kActivationBytes);
  }

  const catalog::Model& model_;
  const operators::KernelModel& kernels_;
  const Precision& precision_;
  const Parallel& parallel_;
  const Engine& engine_;
  Plan plan_;
  double uneven_ = 1;  // p ceil(layers / p) / layers
  double layers_ = 0;  // of which ...
  double attention_layers_ = 0;
  double linear_layers_ = 0;
  double dense_layers_ = 0;
  double expert_layers_ = 0;
  double cache_per_layer_ = 0;
};

Result<Plan> Plan::compile(const catalog::Model& model, const operators::KernelModel& kernels,
                           const Precision& precision, const Parallel& parallel, const Engine& engine) {
  return PlanCompiler(model, kernels, precision, parallel, engine).run();
}

}  // namespace photonrail::inference
