// Properties of the calibrated evaluator: what must make a step longer or shorter, and that a step is never quicker
// than its operations at the peak.
#include "analytic/training_evaluator.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace photonrail::analytic {
namespace {

DecoderShape gpt3() {
  DecoderShape s;
  s.layers = 96;
  s.hidden = 12288;
  s.heads = s.kv_heads = 96;
  s.head_size = 128;
  s.feed_forward = 49152;
  s.feed_forward_matrices = 2;
  s.vocabulary = 51200;
  return s;
}

TrainingConfig usual() {
  TrainingConfig c;
  c.sequence = 2048;
  c.global_batch = 2048;
  c.micro_batch = 2;
  c.tensor = 4;
  c.pipeline = 8;
  c.interleave = 6;
  c.data = 16;
  c.sequence_parallel = true;
  c.sharding = Sharding::optimizer;
  return c;
}

class Evaluator : public testing::Test {
 protected:
  static const TrainingEvaluator& evaluator() {
    static const TrainingEvaluator made = [] {
      const auto catalog = catalog::Catalog::builtin().value();
      const auto kernels = operators::KernelModel::make(catalog.gpu("H100").value()).value();
      return TrainingEvaluator::make(gpt3(), kernels, {512, 8}).value();
    }();
    return made;
  }
  static double seconds(const TrainingConfig& c) { return evaluator().evaluate(c).time.seconds; }
};

// Such runs report 0.47 (Megatron-LM's README).
TEST_F(Evaluator, AUsualStepReachesAUsualShareOfThePeak) {
  const StepEstimate e = evaluator().evaluate(usual());
  EXPECT_GT(e.mfu, 0.35);
  EXPECT_LT(e.mfu, 0.65);
  EXPECT_NEAR(e.model_flops, 6 * 2048.0 * 2048 * (174.6e9 + 96 * 2048.0 * 12288), 0.02 * e.model_flops);
}

TEST_F(Evaluator, WorkAndExposureMakeAStepLonger) {
  const TrainingConfig base = usual();
  TrainingConfig c = base;
  c.recompute = Recompute::selective;
  EXPECT_GT(seconds(c), seconds(base));
  TrainingConfig full = base;
  full.recompute = Recompute::full;
  EXPECT_GT(seconds(full), 1.2 * seconds(base));
  c = base;
  c.interleave = 1;
  EXPECT_GT(seconds(c), seconds(base));
  c = base;
  c.overlap_tensor = true;
  EXPECT_LT(seconds(c), seconds(base));
  c = base;
  c.sharding = Sharding::gradients;  // reduced in every micro-batch
  EXPECT_LT(evaluator().evaluate(c).memory.gradients, evaluator().evaluate(base).memory.gradients);
  c.overlap_gradients = false;
  EXPECT_GT(seconds(c), seconds(base));
  c = base;
  c.overlap_gradients = false;
  EXPECT_GT(seconds(c), seconds(base));
  c = base;
  c.precision = Precision::fp8;
  EXPECT_LT(seconds(c), seconds(base));
  c = base;
  c.attention = Attention::flash2;
  EXPECT_GE(seconds(c), seconds(base));
  const double flash2 = seconds(c);
  c.attention = Attention::scores;
  EXPECT_GT(seconds(c), flash2);
}

// Any configuration: not quicker than its operations at the peak and its weights read once, parts that add up, nothing
// negative.
TEST_F(Evaluator, NoConfigurationBeatsThePeak) {
  RandomStream random(3, "training evaluator");
  int done = 0;
  for (int i = 0; i < 2000; ++i) {
    TrainingConfig c = usual();
    c.tensor = std::int64_t{1} << random.below(5);
    c.pipeline = std::int64_t{1} << random.below(6);
    c.data = 512 / c.tensor / c.pipeline;
    c.micro_batch = std::int64_t{1} << random.below(4);
    c.interleave = c.pipeline > 1 ? std::int64_t{1} << random.below(2) : 1;
    c.recompute = static_cast<Recompute>(random.below(3));
    c.sharding = static_cast<Sharding>(random.below(3));
    c.precision = random.below(2) == 0 ? Precision::bf16 : Precision::fp8;
    c.sequence_parallel = c.tensor > 1 && random.below(2) == 0;
    c.overlap_tensor = random.below(2) == 0;
    c.gpipe = random.below(2) == 0;
    if (c.data < 1 || !check(gpt3(), c)) continue;
    ++done;
    const StepEstimate e = evaluator().evaluate(c);
    EXPECT_LT(e.mfu, 0.85);
    EXPECT_GT(e.mfu, 0.0);
    const StepTime& t = e.time;
    EXPECT_NEAR(t.compute + t.tensor + t.context + t.experts + t.gather + t.messages + t.bubble + t.reduce +
                    t.optimizer + t.update,
                t.seconds, 1e-9 * t.seconds);
    EXPECT_GE(t.bubble, -1e-9 * t.seconds);
    for (const double part : {t.compute, t.tensor, t.gather, t.messages, t.reduce, t.optimizer, t.update}) {
      EXPECT_GE(part, 0.0);
    }
  }
  EXPECT_GT(done, 500);
}

TEST_F(Evaluator, RefusesWhatDoesNotDivide) {
  TrainingConfig c = usual();
  c.tensor = 5;
  EXPECT_FALSE(check(gpt3(), c));
  c = usual();
  c.micro_batch = 3;
  EXPECT_FALSE(check(gpt3(), c));
  c = usual();
  c.pipeline = 128;
  EXPECT_FALSE(check(gpt3(), c));
  EXPECT_TRUE(check(gpt3(), usual()));
}

}  // namespace
}  // namespace photonrail::analytic
