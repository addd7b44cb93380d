#include "analytic/memory.h"

#include <algorithm>

namespace photonrail::analytic {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

double weight_copy_bytes(Precision precision) {
  switch (precision) {
    case Precision::bf16: return 0;
    case Precision::fp8: return 1;
    case Precision::mxfp8: return 2 * (1 + 1.0 / 32);  // by rows and by columns
    case Precision::nvfp4: return 2 * (0.5 + 1.0 / 16);
  }
  return 0;
}

double input_bytes(Precision precision) { return precision == Precision::bf16 ? 2 : 1; }

double layers_per_stage(const DecoderShape& s, const TrainingConfig& c) {
  return real((s.layers + c.pipeline - 1) / c.pipeline);
}

// Weights of one layer on one rank, the mean over dense and expert layers.
struct LayerWeights {
  double dense = 0;    // sharded over data x context ranks
  double experts = 0;  // sharded over the ranks that hold the same experts
};
LayerWeights layer_weights(const DecoderShape& s, const TrainingConfig& c) {
  const double moe = real(expert_layers(s)) / real(s.layers);
  LayerWeights w;
  w.dense = (attention_weights(s) + (1 - moe) * dense_weights(s) + moe * shared_weights(s)) / real(c.tensor);
  // Experts replace tensor parallelism inside a block where their degree is larger than one.
  const double split = c.expert > 1 ? real(c.expert) : real(c.tensor);
  w.experts = moe * expert_weights(s) / split;
  return w;
}

void add_parameters(MemoryUse& use, double parameters, double shards, const TrainingConfig& c) {
  const double all = c.sharding == Sharding::full ? shards : 1;
  const double states = c.sharding == Sharding::none ? 1 : shards;
  use.weights += parameters * 2 / all;
  use.gradients += parameters * c.gradient_bytes / (c.sharding == Sharding::gradients ? shards : all);
  use.optimizer += parameters * 12 / states;
}

}  // namespace

double activation_bytes(const DecoderShape& s, const TrainingConfig& c) {
  const double t = real(c.tensor);
  const double p = c.sequence_parallel ? t : 1;
  const double h = real(s.hidden);
  const double tokens = real(c.micro_batch) * real(c.sequence) / real(c.context);
  if (c.recompute == Recompute::full) return tokens * 2 * h / p;
  const double e = input_bytes(c.precision);
  const double q = real(s.heads) * real(s.head_size);
  const double k = real(std::max(s.kv_heads, c.tensor)) * real(s.head_size);
  const double moe = real(expert_layers(s)) / real(s.layers);
  const double width = (1 - moe) * real(s.feed_forward) +
                       moe * real(s.experts_per_token + s.shared_experts) * real(s.expert_feed_forward);
  const double shared = (4 * h + 2 * e * h + (c.dropout ? 2 * h : 0)) / p;
  const double attention = (2 * (q + 2 * k) + e * q) / t;
  const double feed_forward = (2 * (real(s.feed_forward_matrices) - 1) + e) * width / t;
  const bool stored = c.attention == Attention::scores && c.recompute == Recompute::none;
  const double scores = stored ? 5 * real(s.heads) * real(c.sequence) / t : 0;
  return tokens * (shared + attention + feed_forward + scores);
}

double activations_in_flight(const TrainingConfig& c) {
  const double m = real(microbatches_of(c));
  const double stages = real(c.pipeline);
  if (c.pipeline == 1) return 1;
  if (c.gpipe) return m;
  if (c.interleave == 1) return std::min(m, stages);
  return std::min(m, stages * (1 + (stages - 1) / (stages * real(c.interleave))));
}

MemoryUse memory_of_layers(const DecoderShape& s, const TrainingConfig& c) {
  const LayerWeights layer = layer_weights(s, c);
  const double layers = layers_per_stage(s, c);
  const double replicas = real(c.data) * real(c.context);
  MemoryUse use;
  add_parameters(use, layers * layer.dense, replicas, c);
  if (layer.experts > 0) {
    add_parameters(use, layers * layer.experts, std::max(1.0, replicas * real(c.tensor) / real(c.expert)), c);
  }
  use.weights += weight_copy_bytes(c.precision) * layers * (layer.dense + layer.experts) /
                 (c.sharding == Sharding::full ? replicas : 1);
  // Layers that do not divide: the stage's share, so that interleaving holds L (1 + (P-1)/(P V)) layers.
  use.activations = activation_bytes(s, c) * real(s.layers) / real(c.pipeline) * activations_in_flight(c);
  return use;
}

MemoryUse memory_use(const DecoderShape& s, const TrainingConfig& c) {
  MemoryUse use = memory_of_layers(s, c);
  const double t = real(c.tensor);
  const double replicas = real(c.data) * real(c.context);
  const double tokens = real(c.micro_batch) * real(c.sequence) / real(c.context);
  const double table = table_weights(s) / t;
  add_parameters(use, table, replicas, c);
  use.activations += tokens * 2 * real(s.hidden) / (c.sequence_parallel ? t : 1);
  if (c.pipeline == 1) {
    if (!s.tied_embeddings) add_parameters(use, table, replicas, c);
    use.activations += (c.eager ? 12 : 6) * tokens * real(s.vocabulary) / t;
  }
  // Recomputing a layer, or running one, needs its activations whole.
  TrainingConfig whole = c;
  whole.recompute = Recompute::none;
  use.workspace = kReservedBytes;
  if (c.recompute != Recompute::none) use.workspace += activation_bytes(s, whole);
  if (c.sequence_parallel && !c.overlap_tensor) use.workspace += 2 * 2 * tokens * real(s.hidden);
  if (c.sharding == Sharding::full) {
    const LayerWeights layer = layer_weights(s, c);
    use.workspace += 2 * (2 + c.gradient_bytes) * (layer.dense + layer.experts);
  }
  return use;
}

}  // namespace photonrail::analytic
