// Quick part of the exploration; `explore` does the long one. First: the rules that fail do fail, on the smallest
// programs (else the explorer would be blind); then: the Coordinator's rules hold.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "search.h"

namespace photonrail::explore {
namespace {

Options calm() {
  Options options;
  options.spec.batches = false;
  return options;
}

World begin(const Fabric& fabric, const Program& program, const Options& options) {
  return World(std::make_shared<const Setting>(fabric, program, options));
}

World begin_learnt(const Fabric& fabric, const Program& program, const Program& taught, Options options) {
  options.spec.batches = true;
  options.spec.learn_after = 3;
  options.spec.switch_ahead = true;
  return learnt(std::make_shared<const Setting>(fabric, program, options), taught, 6);
}

std::string told(const Found& found) {
  std::string out = found.violation + " after " + std::to_string(found.states) + " states";
  for (const std::string& line : found.trace) out += "\n" + line;
  return out;
}

bool deadlocks(const Found& found) { return found.violation.starts_with("deadlock"); }

TEST(RulesThatFail, NaiveLock) {
  Options options = calm();
  options.spec.rule = control::AdmissionRule::naive_lock;
  options.spec.guard = false;
  EXPECT_TRUE(deadlocks(search(begin(grid(), smallest_for_naive_lock(), options), {})));
  EXPECT_EQ(search(begin(grid(), smallest_for_cached_grants(), options), {}).violation, "");
}

TEST(RulesThatFail, BlockingAsynchronousIssue) {
  Options options = calm();
  options.blocking_issue = true;
  options.spec.guard = false;
  EXPECT_TRUE(deadlocks(search(begin(grid(), smallest_for_naive_lock(), options), {})));
  EXPECT_EQ(search(begin(grid(), smallest_for_cached_grants(), options), {}).violation, "");
}

TEST(RulesThatFail, CachedGrants) {
  Options options = calm();
  options.spec.cached_grants = true;
  options.spec.guard = false;
  EXPECT_TRUE(deadlocks(search(begin(grid(), smallest_for_cached_grants(), options), {})));
  options.spec.guard = true;
  const Found found = search(begin(grid(), smallest_for_cached_grants(), options), {});
  EXPECT_EQ(found.violation, "") << told(found);
  EXPECT_GT(found.guard_uses, 0U);
}

// Learnt: row 0 twice, then column 0. What runs: row 0, column 0, row 0, in that order on rank 0 alone.
TEST(RulesThatFail, BatchesFromAWrongProgram) {
  const Program taught = parse("0 0 2", {"s0 s1 s2", "s0 s1", "s2", ""});
  Options options = calm();
  options.spec.guard = false;
  EXPECT_TRUE(deadlocks(search(begin_learnt(grid(), smallest_for_cached_grants(), taught, options), {})));
  options.spec.guard = true;
  const Found found = search(begin_learnt(grid(), smallest_for_cached_grants(), taught, options), {});
  EXPECT_EQ(found.violation, "") << told(found);
  EXPECT_GT(found.guard_uses, 0U);
}

TEST(Gang, EveryProgramOfUpToThreeOperationsEndsAndNeedsNoGuard) {
  for (std::uint32_t operations = 1; operations <= 3; ++operations) {
    for (const Program& program : all_programs(grid(), operations)) {
      const Found found = search(begin(grid(), program, calm()), {0, true});
      ASSERT_EQ(found.violation, "") << program.text() << "\n" << told(found);
      EXPECT_TRUE(found.complete);
    }
  }
}

TEST(Batches, TrueProgramsNeedNoGuardAndSaveAnnouncements) {
  std::uint64_t batched = 0;
  for (std::uint32_t operations = 1; operations <= 3; ++operations) {
    for (const Program& program : all_programs(grid(), operations)) {
      const World start = begin_learnt(grid(), program, program, calm());
      batched += start.counts().batched;
      const Found found = search(start, {0, true});
      ASSERT_EQ(found.violation, "") << program.text() << "\n" << told(found);
    }
  }
  EXPECT_GT(batched, 0U);
}

// Every program against what every other one of two operations has taught, with one fault of each kind by itself.
TEST(Faults, OneAtATimeCompletely) {
  const std::vector<Program> programs = all_programs(grid(), 2);
  const auto explore_with = [&](const char* what, std::uint8_t Options::* fault, bool timer) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      Options options = calm();
      if (fault != nullptr) options.*fault = 1;
      options.guard_timer = timer;
      const Program& taught = programs[(i + 1) % programs.size()];
      const Found found = search(begin_learnt(grid(), programs[i], taught, options), {});
      ASSERT_EQ(found.violation, "") << what << ": " << programs[i].text() << "\n" << told(found);
    }
  };
  explore_with("crash", &Options::crashes, false);
  explore_with("loss", &Options::losses, false);
  explore_with("repetition", &Options::repetitions, false);
  explore_with("device", &Options::failures, false);
  explore_with("restart", &Options::restarts, false);
  explore_with("timer", nullptr, true);
}

// Random programs of up to five operations that run against what another one has taught, and random runs of them with
// up to two faults of each kind.
RC_GTEST_PROP(Faults, RandomProgramsAndRuns, (std::uint64_t seed)) {
  const std::uint64_t draw = RandomStream(seed, "explore.draw").next();
  const Fabric fabric = draw % 2 == 0 ? grid() : ring();
  const auto operations = static_cast<std::uint32_t>(2 + draw / 2 % 4);
  Options options = calm();
  options.losses = options.repetitions = options.crashes = options.failures = options.restarts =
      static_cast<std::uint8_t>(draw / 8 % 3);
  options.guard_timer = draw / 32 % 2 == 1;
  const Program program = random_program(fabric, operations, seed);
  const World start = begin_learnt(fabric, program, random_program(fabric, operations, seed + 1), options);
  for (std::uint64_t run = 0; run < 100; ++run) {
    const Found found = walk(start, seed + run, {});
    if (!found.violation.empty()) RC_FAIL(program.text() + "\n" + told(found));
  }
}

}  // namespace
}  // namespace photonrail::explore
