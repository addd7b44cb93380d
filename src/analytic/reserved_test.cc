// What PyTorch's allocator reserves, against sums by hand from the rules of reserved.h.
#include "analytic/reserved.h"

#include <gtest/gtest.h>

namespace photonrail::analytic {
namespace {

// A small decoder: 4 layers of width 1024, 8 heads of 128, feed-forward 4096, 32,000 tokens; 8 ranks, FSDP.
struct Model {
  DecoderShape shape;
  TrainingConfig config;
};
Model small() {
  Model r;
  r.shape.layers = 4;
  r.shape.hidden = 1024;
  r.shape.heads = r.shape.kv_heads = 8;
  r.shape.head_size = 128;
  r.shape.feed_forward = 4096;
  r.shape.vocabulary = 32000;
  r.config.sequence = 1024;
  r.config.global_batch = 8;
  r.config.data = 8;
  r.config.sharding = Sharding::full;
  r.config.recompute = Recompute::full;
  return r;
}

constexpr double kLayer = 4 * 1024.0 * 1024 + 3 * 1024.0 * 4096;
constexpr double kTable = 32000 * 1024.0;

TEST(Reserved, IsTheSumOfPoolsAndSavedTensors) {
  const Model r = small();
  const ReservedMemory use = reserved_memory(r.shape, r.config);
  EXPECT_DOUBLE_EQ(use.states, 16 * (4 * kLayer + 2 * kTable) / 8);
  EXPECT_DOUBLE_EQ(use.gathered, (2 + 2) * (2 * kTable + kLayer) + 4 * 2 * kTable);
  EXPECT_DOUBLE_EQ(use.saved, 1024.0 * 4 * 2 * 1024);
  EXPECT_DOUBLE_EQ(use.hole, 1024.0 * (2 * 1024 + 2 * 1024 + 6 * 4096));
  EXPECT_DOUBLE_EQ(use.loss, 1024.0 * 14 * 32000);
}

// Split by two: four 4-byte blocks at once in the loss, and collectives along the sequence twice as large.
TEST(Reserved, LossParallelismTakesMoreCopiesOfFewerLogits) {
  Model r = small();
  r.config.tensor = 2;
  r.config.data = 4;
  r.config.global_batch = 4;
  r.config.sequence_parallel = true;
  const ReservedMemory use = reserved_memory(r.shape, r.config);
  EXPECT_DOUBLE_EQ(use.loss, 1024.0 * 18 * 16000);
  EXPECT_DOUBLE_EQ(use.saved, 1024.0 * 4 * 1024);
  r.config.overlap_tensor = true;
  EXPECT_LE(reserved_memory(r.shape, r.config).hole, use.hole);
}

// 2 h of the input, 2 (q + k + f + h) of wq, wv, w1, w2, 2 q and 4 bytes a head of attention.
TEST(Reserved, SelectiveSavesEverySecondProductAndAttention) {
  Model r = small();
  r.config.recompute = Recompute::selective;
  const ReservedMemory use = reserved_memory(r.shape, r.config);
  EXPECT_DOUBLE_EQ(use.saved, 1024.0 * 4 * (2 * 1024 + 2 * (3 * 1024 + 4096) + 2 * 1024 + 32));
}

// With a pipeline layers stay gathered, gradients add up whole, and the first stage holds a micro-batch per stage.
TEST(Reserved, APipelineKeepsItsLayersGathered) {
  Model r = small();
  r.config.pipeline = 4;
  r.config.data = 2;
  r.config.global_batch = 16;
  const ReservedMemory use = reserved_memory(r.shape, r.config);
  EXPECT_GT(use.gathered, (2 + 4) * (kLayer + kTable));
  r.config.global_batch = 2;
  EXPECT_LT(reserved_memory(r.shape, r.config).gathered, use.gathered);
}

}  // namespace
}  // namespace photonrail::analytic
