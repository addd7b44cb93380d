#include "validation/training_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace photonrail::validation {

Result<analytic::StepEstimate> EvaluatorShelf::estimate(const TrainingRun& run) {
  PR_TRY(analytic::check(run.shape, run.config));
  PR_ASSIGN(const catalog::Gpu gpu, scoring_.catalog.gpu(run.gpu));
  const std::int64_t gpus = analytic::gpus_of(run.config);
  const std::int64_t domain = run.domain > 0 ? run.domain : gpu.domain.value.value_or(8);
  const auto& s = run.shape;
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}", run.gpu, run.network ? run.network->bits_per_second : 0,
                  run.memory ? run.memory->bits_per_second : 0, domain, gpus, s.layers, s.hidden, s.heads, s.kv_heads,
                  s.vocabulary, s.experts);
  auto found = evaluators_.find(key);
  if (found == evaluators_.end()) {
    PR_ASSIGN(operators::KernelModel kernels, operators::KernelModel::make(gpu));
    if (run.network) kernels = kernels.with_network_rate(*run.network);
    if (run.memory) kernels = kernels.with_memory_rate(*run.memory);
    PR_ASSIGN(analytic::TrainingEvaluator made, analytic::TrainingEvaluator::make(s, kernels, {gpus, domain}));
    found = evaluators_.emplace(key, std::make_unique<analytic::TrainingEvaluator>(std::move(made))).first;
  }
  return found->second->evaluate(run.config);
}

Result<analytic::DecoderShape> decoder_of(const catalog::Model& m) {
  if (m.kv_rank > 0 || m.linear_layers > 0) {
    return fail(ErrorCode::infeasible, m.name + " has latent or linear attention, whose training step is not modelled");
  }
  analytic::DecoderShape s;
  s.layers = m.layers;
  s.hidden = m.hidden;
  s.heads = m.heads;
  s.kv_heads = m.kv_heads;
  s.head_size = m.head_size > 0 ? m.head_size : m.hidden / m.heads;
  s.feed_forward = m.feed_forward;
  s.feed_forward_matrices = m.feed_forward_matrices;
  s.vocabulary = m.vocabulary;
  s.tied_embeddings = m.tied_embeddings;
  s.experts = m.experts;
  s.experts_per_token = m.experts_per_token;
  s.shared_experts = m.shared_experts;
  s.expert_feed_forward = m.expert_feed_forward;
  s.dense_layers = m.dense_layers;
  return s;
}

analytic::DecoderShape megatron_gpt(std::int64_t hidden, std::int64_t heads, std::int64_t layers) {
  analytic::DecoderShape s;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = heads;
  s.kv_heads = heads;
  s.head_size = hidden / std::max<std::int64_t>(1, heads);
  s.feed_forward = 4 * hidden;
  s.feed_forward_matrices = 2;
  s.vocabulary = 51'200;
  s.tied_embeddings = true;
  return s;
}

Result<std::int64_t> whole(const Csv& table, std::size_t row, std::string_view column) {
  PR_ASSIGN(const double value, table.number(row, column));
  if (!(value >= 0 && value <= 1e15) || value != std::floor(value)) {
    return table.refuse(row, fmt::format("{} is {}, but must be a whole number", column, value));
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t whole_or(const Csv& table, std::size_t row, std::string_view column, std::int64_t otherwise) {
  if (!table.column(column)) return otherwise;
  const auto value = table.number_or_none(row, column);
  return value && *value >= 0 && *value <= 1e15 ? static_cast<std::int64_t>(*value) : otherwise;
}

}  // namespace photonrail::validation
