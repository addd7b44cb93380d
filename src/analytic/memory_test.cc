// Memory in closed form against the figures of Korthikanti et al. 2022 (figure 1, table 3) and the bytes a parameter of
// Megatron-LM's README.
#include "analytic/memory.h"

#include <gtest/gtest.h>

namespace photonrail::analytic {
namespace {

constexpr double kGiB = 1 << 30;

struct Model {
  DecoderShape shape;
  TrainingConfig config;
};

// Turing NLG 530B: 35 stages of 3 layers, interleaved, tensor degree 8.
Model turing() {
  Model r;
  r.shape.layers = 105;
  r.shape.hidden = 20480;
  r.shape.heads = r.shape.kv_heads = 128;
  r.shape.head_size = 160;
  r.shape.feed_forward = 4 * 20480;
  r.shape.feed_forward_matrices = 2;
  r.shape.vocabulary = 51200;
  r.config.sequence = 2048;
  r.config.global_batch = 280;
  r.config.tensor = 8;
  r.config.pipeline = 35;
  r.config.interleave = 3;
  r.config.attention = Attention::scores;
  r.config.dropout = true;
  return r;
}

double states(const MemoryUse& use) { return use.weights + use.gradients + use.optimizer; }

TEST(Memory, IsThatOfThePaperForTuring530B) {
  Model r = turing();
  MemoryUse use = memory_of_layers(r.shape, r.config);
  EXPECT_NEAR(states(use) / kGiB, 31.640625, 1e-9);
  EXPECT_NEAR(use.activations / kGiB, 114.0234375, 1e-6);
  r.config.sequence_parallel = true;
  r.config.recompute = Recompute::selective;
  use = memory_of_layers(r.shape, r.config);
  EXPECT_NEAR(use.activations / kGiB, 23.076171875, 1e-6);
}

// s b h (10 + 24/t + 5 a s/(h t)), the same over t with sequence parallelism, 34 s b h/t without the scores, 2 s b h.
TEST(Memory, ActivationsFollowThePapersEquations) {
  Model r = turing();
  const double sbh = 2048.0 * 20480;
  const double scores = 5.0 * 128 * 2048 / 20480;
  EXPECT_NEAR(activation_bytes(r.shape, r.config), sbh * (10 + (24 + scores) / 8), 1);
  r.config.sequence_parallel = true;
  EXPECT_NEAR(activation_bytes(r.shape, r.config), sbh * (34 + scores) / 8, 1);
  r.config.recompute = Recompute::selective;
  EXPECT_NEAR(activation_bytes(r.shape, r.config), sbh * 34 / 8, 1);
  r.config.recompute = Recompute::full;
  EXPECT_NEAR(activation_bytes(r.shape, r.config), sbh * 2 / 8, 1);
}

// Megatron-LM: 18 bytes a parameter, 6 + 12/d with the distributed optimizer; ZeRO-3 shards all.
TEST(Memory, BytesAParameterFollowTheSharding) {
  Model r = turing();
  r.config.pipeline = 1;
  r.config.interleave = 1;
  r.config.data = 10;
  const double parameters = 105 * 12.0 * 20480 * 20480 / 8;
  EXPECT_NEAR(states(memory_of_layers(r.shape, r.config)) / parameters, 18, 1e-9);
  r.config.sharding = Sharding::optimizer;
  EXPECT_NEAR(states(memory_of_layers(r.shape, r.config)) / parameters, 6 + 12 / 10.0, 1e-9);
  r.config.sharding = Sharding::gradients;
  EXPECT_NEAR(states(memory_of_layers(r.shape, r.config)) / parameters, 2 + 16 / 10.0, 1e-9);
  r.config.sharding = Sharding::full;
  EXPECT_NEAR(states(memory_of_layers(r.shape, r.config)) / parameters, 1.8, 1e-9);
}

TEST(Memory, ASchedulesActivationsInFlight) {
  TrainingConfig c;
  c.global_batch = 64;
  c.pipeline = 8;
  c.gpipe = true;
  EXPECT_DOUBLE_EQ(activations_in_flight(c), 64);
  c.gpipe = false;
  EXPECT_DOUBLE_EQ(activations_in_flight(c), 8);
  c.interleave = 4;
  EXPECT_DOUBLE_EQ(activations_in_flight(c), 8 + 7.0 / 4);
  c.global_batch = 4;
  EXPECT_DOUBLE_EQ(activations_in_flight(c), 4);
}

}  // namespace
}  // namespace photonrail::analytic
