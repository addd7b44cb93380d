// What is foreseen, when, and how soon again after a change.
#include "control/learner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace photonrail::control {
namespace {

using Entry = Learner::Entry;

// Feeds a step; counts entries that were foreseen wrongly, and those that were not foreseen.
struct Score {
  int wrong = 0, blind = 0;
};
Score feed(Learner& learner, const std::vector<Entry>& step) {
  Score score;
  for (const Entry entry : step) {
    const auto next = learner.foreseen(0);
    if (!next) {
      ++score.blind;
    } else if (*next != entry) {
      ++score.wrong;
    }
    learner.append(entry);
  }
  return score;
}

std::vector<Entry> run_then(std::size_t count, Entry entry, Entry last) {
  std::vector<Entry> step(count, entry);
  step.push_back(last);
  return step;
}

TEST(Learner, ForeseesNothingBeforeEnoughHasRepeated) {
  Learner learner(4);
  EXPECT_EQ(feed(learner, {1, 2, 3, 4}).blind, 4);
  EXPECT_EQ(learner.foreseen(0), std::nullopt);
  feed(learner, {1, 2, 3, 4, 1, 2, 3, 4});
  ASSERT_TRUE(learner.trusted());
  EXPECT_EQ(learner.distance(), 4U);
  EXPECT_EQ(learner.foreseen(0), Entry{1});
  EXPECT_EQ(learner.foreseen(3), Entry{4});
  EXPECT_EQ(learner.foreseen(4), Entry{1});
}

// Inside a run of equal entries everything repeats at distance 1; the end of the run proves that wrong once, not for
// ever.
TEST(Learner, ARunInsideTheStepMisleadsOnlyAtFirst) {
  Learner learner(8);
  int wrong = 0;
  for (int step = 0; step < 10; ++step) wrong += feed(learner, run_then(20, 1, 2)).wrong;
  EXPECT_LE(wrong, 2);
  EXPECT_EQ(feed(learner, run_then(20, 1, 2)).wrong, 0);
  EXPECT_EQ(learner.distance(), 21U);
}

TEST(Learner, AnInsertedStepIsForgivenWithinTwoSteps) {
  Learner learner(8);
  const std::vector<Entry> step = {1, 1, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6};
  for (int i = 0; i < 20; ++i) feed(learner, step);
  feed(learner, {9, 9, 8});
  feed(learner, step);
  feed(learner, step);
  const Score after = feed(learner, step);
  EXPECT_EQ(after.wrong, 0);
}

TEST(Learner, AnotherScheduleIsLearntAndTheOldOneForgotten) {
  Learner learner(8);
  for (int i = 0; i < 20; ++i) feed(learner, {1, 2, 3, 4, 5});
  int wrong = 0;
  for (int i = 0; i < 40; ++i) wrong += feed(learner, {5, 4, 4, 1}).wrong;
  EXPECT_LE(wrong, 3);
  const Score after = feed(learner, {5, 4, 4, 1});
  EXPECT_EQ(after.wrong + after.blind, 0);
}

// Whatever a step consists of, it is foreseen without fault when it has been repeated often enough.
RC_GTEST_PROP(Learner, EveryStepIsLearntInTheEnd, (std::uint64_t seed)) {
  RandomStream random(seed, "learner_test");
  std::vector<Entry> step;
  const std::size_t length = 1 + random.below(40);
  while (step.size() < length) {
    const auto entry = static_cast<Entry>(random.below(4));
    for (std::uint64_t i = random.below(6) + 1; i > 0 && step.size() < length; --i) step.push_back(entry);
  }
  Learner learner(8);
  for (std::size_t entries = 0; entries < 2500; entries += step.size()) feed(learner, step);
  const Score after = feed(learner, step);
  RC_ASSERT(after.wrong == 0);
  RC_ASSERT(after.blind == 0);
}

}  // namespace
}  // namespace photonrail::control
