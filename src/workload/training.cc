#include "workload/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workload/training_program.h"

namespace photonrail::workload {
namespace {

using model::Dimension;
using model::Rank;
using operators::TransformerShape;
using operators::Work;

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_input, std::move(message)); }

// Limits keep every product of sizes below 2^63 and a mistyped exponent from filling the memory.
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;  // of one micro-batch
constexpr std::int64_t kMaxTasks = std::int64_t{1} << 24;   // of all stages' programs together
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;   // of all heads side by side
constexpr std::int64_t kTasksPerLayer = 30;                 // at most, of one micro-batch, both directions
constexpr double kMaxStepSeconds = 1e6;                     // of computation of one stage

struct Range {
  const char* name;
  std::int64_t value;
  std::int64_t low;
  std::int64_t high;
};

Status check_ranges(const TrainingJob& job) {
  const model::TransformerModel& m = job.model;
  const Range ranges[] = {
      {"model.layers", m.layers, 1, 10'000},
      {"model.hidden", m.hidden, 1, 1 << 18},
      {"model.feed_forward", m.feed_forward, 1, 1 << 20},
      {"model.feed_forward_matrices", m.feed_forward_matrices, 2, 3},
      {"model.heads", m.heads, 1, 1 << 14},
      {"model.kv_heads", m.kv_heads, 1, 1 << 14},
      {"model.head_size", m.head_size, 0, 1 << 14},
      {"model.vocabulary", m.vocabulary, 1, 1 << 24},
      {"training.sequence", job.training.sequence, 1, 1 << 26},
      {"training.global_batch", job.training.global_batch, 1, 1 << 30},
      {"training.microbatches", job.training.microbatches, 1, 1 << 16},
      {"parallelism.data", job.parallelism.data, 1, kMaxRanks},
      {"parallelism.pipeline", job.parallelism.pipeline, 1, 10'000},
      {"parallelism.tensor", job.parallelism.tensor, 1, 1 << 14},
  };
  for (const Range& r : ranges) {
    if (r.value >= r.low && r.value <= r.high) continue;
    return refuse(fmt::format("{} is {}, but must be between {} and {}", r.name, r.value, r.low, r.high));
  }
  if (m.heads * m.head_size > kMaxWidth) {
    return refuse(
        fmt::format("model.heads x model.head_size is {}; at most {} are supported", m.heads * m.head_size, kMaxWidth));
  }
  const std::int64_t ranks = job.parallelism.data * job.parallelism.pipeline * job.parallelism.tensor;
  if (ranks <= kMaxRanks) return {};
  return refuse(fmt::format("data x pipeline x tensor is {} ranks; at most {} are supported", ranks, kMaxRanks));
}

Status check_divides(const char* part, std::int64_t divisor, const char* whole, std::int64_t value) {
  if (value % divisor == 0) return {};
  const std::int64_t below = value / divisor * divisor;
  const std::string nearest = below > 0 ? fmt::format("{} or {}", below, below + divisor) : fmt::format("{}", divisor);
  return refuse(fmt::format("{} is {}, which {} ({}) does not divide; the nearest that it divides: {}", whole, value,
                            part, divisor, nearest));
}

Status check_divisions(const TrainingJob& job) {
  const model::TransformerModel& m = job.model;
  const model::Parallelism& p = job.parallelism;
  if (m.head_size == 0) PR_TRY(check_divides("model.heads", m.heads, "model.hidden", m.hidden));
  PR_TRY(check_divides("model.kv_heads", m.kv_heads, "model.heads", m.heads));
  PR_TRY(check_divides("parallelism.tensor", p.tensor, "model.heads", m.heads));
  PR_TRY(check_divides("parallelism.tensor", p.tensor, "model.feed_forward", m.feed_forward));
  if (m.kv_heads % p.tensor != 0 && p.tensor % m.kv_heads != 0) {
    return refuse(
        fmt::format("parallelism.tensor ({}) and model.kv_heads ({}) must divide one another", p.tensor, m.kv_heads));
  }
  PR_TRY(check_divides("parallelism.data x training.microbatches", p.data * job.training.microbatches,
                       "training.global_batch", job.training.global_batch));
  if (job.training.sequence_parallel) {
    PR_TRY(check_divides("parallelism.tensor", p.tensor, "training.sequence", job.training.sequence));
  }
  if (m.layers >= p.pipeline) return {};
  return refuse(fmt::format("parallelism.pipeline is {}, but the model has only {} layers; every stage needs one",
                            p.pipeline, m.layers));
}

Status check_gpu(const operators::GpuRates& gpu) {
  const auto share = [](double value) { return value > 0 && value <= 1; };
  if (gpu.peak.flops_per_second > 0 && gpu.memory.bits_per_second > 0 && share(gpu.matmul_efficiency) &&
      share(gpu.memory_efficiency) && gpu.launch.ps >= 0) {
    return {};
  }
  return refuse(
      fmt::format("the GPU's rates must be positive and its efficiencies in (0, 1]: peak {} FLOP/s, "
                  "memory {} b/s, matmul_efficiency {}, memory_efficiency {}",
                  gpu.peak.flops_per_second, gpu.memory.bits_per_second, gpu.matmul_efficiency, gpu.memory_efficiency));
}

std::int64_t microbatch_sequences(const TrainingJob& job) {
  return job.training.global_batch / (job.parallelism.data * job.training.microbatches);
}

Status check_size(const TrainingJob& job) {
  const std::int64_t sequences = microbatch_sequences(job);
  if (sequences > kMaxTokens / job.training.sequence) {
    return refuse(
        fmt::format("a micro-batch of {} sequences of {} tokens is more than {} tokens; raise "
                    "training.microbatches",
                    sequences, job.training.sequence, kMaxTokens));
  }
  const std::int64_t pieces = job.model.layers + 2 * job.parallelism.pipeline;
  const std::int64_t tasks = pieces * job.training.microbatches * kTasksPerLayer;
  if (tasks <= kMaxTasks) return {};
  return refuse(
      fmt::format("{} layers and {} micro-batches make up to {} tasks; at most {} are supported; lower "
                  "training.microbatches",
                  job.model.layers, job.training.microbatches, tasks, kMaxTasks));
}

Status check_conventions(const TrainingJob& job) {
  if (job.conventions == Conventions::physical) return {};
  const model::Training& t = job.training;
  if (t.sharding == model::Sharding::zero0 && t.recompute == model::Recompute::none && t.sequence_parallel &&
      !job.model.tied_embeddings) {
    return {};
  }
  return refuse(
      "the published conventions know only sharding zero0, no recomputation, sequence parallelism and untied "
      "embeddings");
}

// Work as the job's conventions count it: the published ones take a multiply-add for one operation.
class Costs {
 public:
  explicit Costs(const TrainingJob& job) : published_(job.conventions == Conventions::opus_published), gpu_(job.gpu) {
    shape_ = microbatch_shape(job);
    if (published_ || !job.quadratic_attention) shape_.sequence = 0;
    if (!published_) return;
    gpu_.peak.flops_per_second *= 2;
  }
  template <class Function, class... More>
  Work operator()(Function function, More... more) const {
    Work work = function(shape_, gpu_, more...);
    if (published_) work.flops /= 2;
    return work;
  }

 private:
  bool published_ = false;
  operators::GpuRates gpu_;
  TransformerShape shape_;
};

StepPlan make_plan(const TrainingJob& job) {
  const bool published = job.conventions == Conventions::opus_published;
  const Costs cost(job);
  StepPlan plan;
  plan.job = job;
  plan.shape = microbatch_shape(job);
  plan.attention_forward = cost(operators::attention_forward);
  plan.attention_backward = cost(operators::attention_backward, job.training.recompute == model::Recompute::selective);
  plan.feed_forward_forward = cost(operators::feed_forward_forward);
  plan.feed_forward_backward = cost(operators::feed_forward_backward);
  // The published generator looks tokens up by a product with one-hot vectors.
  plan.embedding_forward = cost(published ? operators::head_forward : operators::embedding_forward);
  plan.embedding_backward = cost(published ? operators::head_backward : operators::embedding_backward);
  plan.head_forward = cost(operators::head_forward);
  plan.head_backward = cost(operators::head_backward);
  plan.activation = {plan.shape.tokens * plan.shape.hidden * plan.shape.element_bytes};
  plan.message = plan.activation / plan.shape.sequence_shards;
  plan.parameter_bytes = plan.shape.element_bytes;
  plan.gradient_bytes = plan.shape.gradient_bytes;
  return plan;
}

Status check_duration(const StepPlan& plan) {
  const Work layer =
      plan.attention_forward + plan.attention_backward + plan.feed_forward_forward + plan.feed_forward_backward;
  const Work ends = plan.embedding_forward + plan.embedding_backward + plan.head_forward + plan.head_backward;
  const StageLayers layers = stage_layers(plan.job, 1 % plan.job.parallelism.pipeline);
  const double seconds = (2 * layer.seconds * static_cast<double>(layers.count) + ends.seconds) *
                         static_cast<double>(plan.job.training.microbatches);
  if (seconds <= kMaxStepSeconds) return {};
  return refuse(
      fmt::format("one step computes for {:.3g} s on one rank, more than the {:.0g} s that a simulation "
                  "covers; look for a wrong unit in the GPU's rates or in the batch",
                  seconds, kMaxStepSeconds));
}

// Groups in ring order, and for every rank what its slots mean.
class Layout {
 public:
  explicit Layout(const TrainingJob& job) : job_(job), p_(job.parallelism) {}

  void write(model::TaskGraph& graph) const {
    add_groups(graph);
    for (std::int64_t stage = 0; stage < p_.pipeline; ++stage) {
      for (std::int64_t d = 0; d < p_.data; ++d) {
        for (std::int64_t t = 0; t < p_.tensor; ++t) add_rank(graph, stage, d, t);
      }
    }
    graph.slot_start.push_back(static_cast<std::uint32_t>(graph.slots.size()));
  }

 private:
  Rank rank(std::int64_t stage, std::int64_t d, std::int64_t t) const {
    return static_cast<Rank>((stage * p_.data + d) * p_.tensor + t);
  }
  // Tensor groups first, then data groups, then the pairs that share an embedding table.
  std::int64_t tensor_groups() const { return p_.tensor > 1 ? p_.pipeline * p_.data : 0; }
  std::int64_t data_groups() const { return p_.data > 1 ? p_.pipeline * p_.tensor : 0; }
  bool tied() const { return job_.model.tied_embeddings && p_.pipeline > 1; }

  void add_groups(model::TaskGraph& graph) const {
    for (std::int64_t i = 0; i < tensor_groups(); ++i) {
      graph.groups.push_back({Dimension::tensor, {}});
      for (std::int64_t t = 0; t < p_.tensor; ++t) graph.groups.back().members.push_back(rank(0, i, t));
    }
    for (std::int64_t i = 0; i < data_groups(); ++i) {
      graph.groups.push_back({Dimension::data, {}});
      for (std::int64_t d = 0; d < p_.data; ++d) {
        graph.groups.back().members.push_back(rank(i / p_.tensor, d, i % p_.tensor));
      }
    }
    if (!tied()) return;
    for (std::int64_t i = 0; i < p_.data * p_.tensor; ++i) {
      graph.groups.push_back({Dimension::pipeline, {rank(0, 0, i), rank(p_.pipeline - 1, 0, i)}});
    }
  }

  void add_rank(model::TaskGraph& graph, std::int64_t stage, std::int64_t d, std::int64_t t) const {
    const StageSlots slots = stage_slots(job_, stage);
    graph.program_of.push_back(static_cast<model::ProgramId>(stage));
    graph.stage_of.push_back(static_cast<std::uint32_t>(stage));
    graph.slot_start.push_back(static_cast<std::uint32_t>(graph.slots.size()));
    const auto bind = [&](model::Slot slot, std::int64_t value) {
      if (slot != StageSlots::kNoSlot) graph.slots.push_back(static_cast<std::uint32_t>(value));
    };
    const std::int64_t per_stage = p_.data * p_.tensor;
    const std::int64_t self = rank(stage, d, t);
    bind(slots.tensor, stage * p_.data + d);
    bind(slots.data, tensor_groups() + stage * p_.tensor + t);
    bind(slots.previous, self - per_stage);
    bind(slots.next, self + per_stage);
    bind(slots.tied, tensor_groups() + data_groups() + d * p_.tensor + t);
  }

  const TrainingJob& job_;
  const model::Parallelism& p_;
};

}  // namespace

TrainingJob make_training_job(const model::Scenario& scenario, const operators::GpuRates& gpu) {
  TrainingJob job;
  job.model = scenario.model;
  job.training = scenario.training;
  job.parallelism = scenario.parallelism;
  job.gpu = gpu;
  job.gpu.matmul_efficiency = scenario.cluster.matmul_efficiency;
  job.gpu.memory_efficiency = scenario.cluster.memory_efficiency;
  return job;
}

Status check(const TrainingJob& job) {
  PR_TRY(check_ranges(job));
  PR_TRY(check_divisions(job));
  PR_TRY(check_gpu(job.gpu));
  PR_TRY(check_size(job));
  PR_TRY(check_conventions(job));
  return check_duration(make_plan(job));
}

Result<model::TaskGraph> generate_training_step(const TrainingJob& job) {
  PR_TRY(check(job));
  const StepPlan plan = make_plan(job);
  model::TaskGraph graph;
  for (std::int64_t stage = 0; stage < job.parallelism.pipeline; ++stage) {
    graph.programs.push_back(build_stage_program(plan, stage, graph.names));
  }
  Layout(job).write(graph);
  return graph;
}

TransformerShape microbatch_shape(const TrainingJob& job) {
  const model::TransformerModel& m = job.model;
  const std::int64_t tensor = job.parallelism.tensor;
  const bool published = job.conventions == Conventions::opus_published;
  TransformerShape shape;
  shape.sequence = job.training.sequence;
  shape.tokens = microbatch_sequences(job) * shape.sequence;
  shape.hidden = m.hidden;
  shape.query_heads = m.heads / tensor;
  shape.kv_heads = std::max<std::int64_t>(1, m.kv_heads / tensor);
  shape.head_size = m.head_size > 0 ? m.head_size : m.hidden / m.heads;
  shape.feed_forward = m.feed_forward / tensor;
  shape.feed_forward_matrices = m.feed_forward_matrices;
  shape.vocabulary = (m.vocabulary + tensor - 1) / tensor;  // padded to a multiple of the tensor degree
  shape.sequence_shards = job.training.sequence_parallel ? tensor : 1;
  shape.element_bytes = published ? 1 : stored_bytes(job.training.precision);
  shape.operand_bytes = published ? 1 : operand_bytes(job.training.precision);
  shape.gradient_bytes = published ? 1 : operand_bytes(job.training.gradient_precision);
  return shape;
}

StageLayers stage_layers(const TrainingJob& job, std::int64_t stage) {
  const std::int64_t stages = job.parallelism.pipeline;
  const std::int64_t each = job.model.layers / stages;
  const std::int64_t extra = job.model.layers % stages;
  const auto has_extra = [&](std::int64_t s) { return (s + stages - 1) % stages < extra; };
  StageLayers layers{0, each + (has_extra(stage) ? 1 : 0)};
  for (std::int64_t s = 0; s < stage; ++s) layers.first += each + (has_extra(s) ? 1 : 0);
  return layers;
}

double model_flops(const TrainingJob& job) {
  const model::TransformerModel& m = job.model;
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double tokens = real(job.training.global_batch) * real(job.training.sequence);
  const double width = real(m.head_size > 0 ? m.head_size : m.hidden / m.heads);
  const double h = real(m.hidden);
  const double attention = h * real(2 * m.heads + 2 * m.kv_heads) * width;
  const double feed_forward = real(m.feed_forward_matrices) * h * real(m.feed_forward);
  const double core = real(job.training.sequence) * real(m.heads) * width;
  const double per_token = 2 * (real(m.layers) * (attention + feed_forward + core) + h * real(m.vocabulary));
  return 3 * tokens * per_token;
}

std::int64_t stored_bytes(model::Precision precision) { return precision == model::Precision::fp32 ? 4 : 2; }

std::int64_t operand_bytes(model::Precision precision) {
  switch (precision) {
    case model::Precision::fp32: return 4;
    case model::Precision::bf16: return 2;
    case model::Precision::fp8: return 1;
  }
  return 2;
}

}  // namespace photonrail::workload
