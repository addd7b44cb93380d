// Operations and memory traffic of each block, worked by hand for T 64, s 32, h 64, q 4, k 1, d 8, f 80, v 500, p 2;
// 2-byte elements, 1-byte operands, 4-byte gradients, so that no two kinds of bytes can be mistaken for one another.
#include "operators/transformer.h"

#include <gtest/gtest.h>

namespace photonrail::operators {
namespace {

TransformerShape shape() { return {64, 32, 64, 4, 1, 8, 80, 3, 500, 2, 2, 1, 4}; }
GpuRates gpu() { return {{100e12}, gigabytes_per_second(2000), 1.0, 1.0, {}}; }

TEST(Transformer, Parameters) {
  EXPECT_EQ(attention_parameters(shape()), 64 * 48 + 32 * 64);
  EXPECT_EQ(feed_forward_parameters(shape()), 3 * 64 * 80);
  EXPECT_EQ(layer_parameters(shape()), 3072 + 2048 + 15360 + 128);
  EXPECT_EQ(vocabulary_parameters(shape()), 32000);
}

TEST(Transformer, AttentionForward) {
  const Work work = attention_forward(shape(), gpu());
  // QKV, scores and values (causal), projection.
  EXPECT_DOUBLE_EQ(work.flops, 2.0 * 64 * 64 * 48 + 2.0 * 64 * 32 * 32 + 2.0 * 64 * 32 * 64);
  // norm 2*64*32*2; QKV 4096+3072+2*3072; core 64*80*2; projection 2048+2048+8192; residual 3*64*32*2
  EXPECT_DOUBLE_EQ(work.bytes, 8192 + 13312 + 10240 + 12288 + 12288);
}

TEST(Transformer, AttentionBackward) {
  const Work work = attention_backward(shape(), gpu(), false);
  EXPECT_DOUBLE_EQ(work.flops, 2 * attention_forward(shape(), gpu()).flops);
  // projection 10240 + 22528, core 20480, QKV 14336 + 31744, norm and residual 12288 each
  EXPECT_DOUBLE_EQ(work.bytes, 10240 + 22528 + 20480 + 14336 + 31744 + 12288 + 12288);
  const Work again = attention_backward(shape(), gpu(), true);
  EXPECT_DOUBLE_EQ(again.flops - work.flops, 2.0 * 64 * 32 * 32);
  EXPECT_DOUBLE_EQ(again.bytes - work.bytes, 10240);
}

TEST(Transformer, FeedForward) {
  const Work forward = feed_forward_forward(shape(), gpu());
  EXPECT_DOUBLE_EQ(forward.flops, 2.0 * 64 * 3 * 64 * 80);
  EXPECT_DOUBLE_EQ(forward.bytes, 8192 + 34816 + 30720 + 18432 + 12288);
  const Work backward = feed_forward_backward(shape(), gpu());
  EXPECT_DOUBLE_EQ(backward.flops, 2 * forward.flops);
  // down: 4096+5120+5120*2, 4096+5120+2*5120*4; activation 64*80*5*2; up: 10240*2+8192, 10240+4096+2*10240*4
  EXPECT_DOUBLE_EQ(backward.bytes, 19456 + 50176 + 51200 + 28672 + 96256 + 12288 + 12288);
  TransformerShape plain = shape();
  plain.feed_forward_matrices = 2;
  EXPECT_DOUBLE_EQ(feed_forward_forward(plain, gpu()).flops, 2.0 * 64 * 2 * 64 * 80);
}

TEST(Transformer, EmbeddingAndHead) {
  EXPECT_DOUBLE_EQ(embedding_forward(shape(), gpu()).flops, 0);
  EXPECT_DOUBLE_EQ(embedding_forward(shape(), gpu()).bytes, 2 * 64 * 64 * 2);
  EXPECT_DOUBLE_EQ(embedding_backward(shape(), gpu()).bytes, 64 * 64 * 2 + 2 * 64 * 64 * 4);
  EXPECT_DOUBLE_EQ(head_forward(shape(), gpu()).flops, 2.0 * 64 * 64 * 500);
  EXPECT_DOUBLE_EQ(head_backward(shape(), gpu()).flops, 4.0 * 64 * 64 * 500);
  EXPECT_DOUBLE_EQ(head_forward(shape(), gpu()).bytes, 8192 + (4096 + 32000 + 64000) + 64000);
}

TEST(Transformer, OptimizerMovesItsState) {
  const Work work = optimizer_step(1000, shape(), gpu());
  EXPECT_DOUBLE_EQ(work.bytes, 1000 * (24 + 4 + 2));
  EXPECT_DOUBLE_EQ(work.seconds, 30000 / 2000e9);
  EXPECT_DOUBLE_EQ(work.flops, 0);
}

// Without a quadratic term twice the sequence costs twice as much; with it, more.
TEST(Transformer, AttentionGrowsQuadratically) {
  TransformerShape longer = shape();
  longer.tokens *= 2;
  longer.sequence *= 2;
  const double extra = attention_forward(longer, gpu()).flops - 2 * attention_forward(shape(), gpu()).flops;
  EXPECT_DOUBLE_EQ(extra, 2.0 * 128 * 32 * 32);
}

}  // namespace
}  // namespace photonrail::operators
