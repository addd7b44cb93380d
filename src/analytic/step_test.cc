// How pieces add up: the bubbles of the three schedules, heavy stages, messages, reductions behind computation.
#include "analytic/step.h"

#include <gtest/gtest.h>

namespace photonrail::analytic {
namespace {

StepPieces equal(std::int64_t stages, std::int64_t microbatches, double forward, double backward) {
  StepPieces p;
  p.stages = stages;
  p.microbatches = microbatches;
  Stage s;
  s.forward.compute = forward;
  s.backward.compute = backward;
  p.first = p.middle = p.short_middle = p.last = s;
  p.longer = stages - 2;
  return p;
}

// (m + P - 1)(F + B): Huang et al. 2019, Narayanan et al. 2021.
TEST(Step, EqualStagesLeaveTheBubbleOfThePapers) {
  for (const std::int64_t stages : {1, 2, 4, 16}) {
    for (const std::int64_t m : {1, 4, 64}) {
      for (const bool trips : {false, true}) {
        StepPieces p = equal(stages, m, 1.0, 2.0);
        p.round_trips = trips;
        EXPECT_NEAR(compose(p).seconds, 3.0 * static_cast<double>(m + stages - 1), 1e-9) << stages << " " << m;
      }
    }
  }
}

// m (F + B) + (P - 1)(F + B) / V: Narayanan et al. 2021, section 2.2.
TEST(Step, InterleavingDividesTheBubble) {
  StepPieces p = equal(8, 16, 1.0, 2.0);
  p.chunks = 4;
  EXPECT_NEAR(compose(p).seconds, 3.0 * (16 + 7.0 / 4), 1e-9);
}

TEST(Step, TheHeaviestStageGoverns) {
  StepPieces p = equal(4, 8, 1.0, 2.0);
  p.last.forward.compute = 3.0;
  p.last.backward.compute = 4.0;
  EXPECT_NEAR(compose(p).seconds, 3 * 1.0 + 8 * 7.0 + 3 * 2.0, 1e-9);
  p = equal(4, 8, 1.0, 2.0);
  p.first.forward.compute = 5.0;
  EXPECT_NEAR(compose(p).seconds, 8 * 7.0, 1e-9);  // nothing comes before or after stage 0's own passes
}

// Stage 0 may not run ahead of the P activations that it holds, so slow messages cost every round.
TEST(Step, MessagesCostARoundTripForEveryPMicrobatches) {
  StepPieces p = equal(4, 40, 1.0, 2.0);
  p.hop_forward = p.hop_backward = 0.5;
  const double once = compose(p).seconds;
  EXPECT_NEAR(once, 3.0 * 43 + 6 * 0.5, 1e-9);
  p.round_trips = true;
  EXPECT_NEAR(compose(p).seconds, 9 * (12.0 + 3.0) + 3 * 1.5 + 4 * 3.0 + 3 * 2.5, 1e-9);
  p.late_receives = true;
  EXPECT_GT(compose(p).seconds, once);
}

TEST(Step, PartsAddUpToTheWhole) {
  StepPieces p = equal(4, 8, 1.0, 2.0);
  p.first.forward.tensor = 0.25;
  p.first.reduce_tail = 0.5;
  p.first.optimizer = 0.125;
  p.first.gather_tail = 0.75;
  const StepTime t = compose(p);
  EXPECT_NEAR(t.compute + t.tensor + t.context + t.experts + t.gather + t.messages + t.bubble + t.reduce + t.optimizer +
                  t.update,
              t.seconds, 1e-9);
  EXPECT_DOUBLE_EQ(t.reduce, 0.5);
}

TEST(Step, ReductionsHideBehindThePassesThatFollow) {
  EXPECT_DOUBLE_EQ(exposed(10, 1.0, 2.0, 0), 1.0);   // only the last is left
  EXPECT_DOUBLE_EQ(exposed(10, 3.0, 2.0, 0), 12.0);  // they queue: 30 - 9 x 2
  EXPECT_DOUBLE_EQ(exposed(10, 1.0, 2.0, 5.0), 0.0);
  EXPECT_DOUBLE_EQ(exposed(0, 1.0, 2.0, 0), 0.0);
}

}  // namespace
}  // namespace photonrail::analytic
