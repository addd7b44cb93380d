// The rules at the top of coordinator.h, one test each. All interleavings of small programs: tests/explore.
#include "control/coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace photonrail::control {
namespace {

// Four ranks with one port each: rows {0,1} {2,3}, columns {0,2} {1,3}.
struct Grid {
  static CoordinatorSpec spec(bool ahead = false) {
    CoordinatorSpec s{};
    s.ranks = 4;
    s.ports = 4;
    s.switch_ahead = ahead;
    s.learn_after = 4;
    return s;
  }
  explicit Grid(CoordinatorSpec s = spec()) : c(s) {
    row0 = add(0, 1);
    row1 = add(2, 3);
    column0 = add(0, 2);
    column1 = add(1, 3);
  }
  GroupId add(Rank a, Rank b) { return c.add_group({{a, b}, Demand{{{a, b}}, 0, 0}}); }

  // Lets the devices answer.
  void settle() {
    for (;;) {
      const auto commands = std::exchange(c.outputs().commands, {});
      if (commands.empty()) return;
      for (const SwitchCommand& command : commands) c.command_done(command.id);
    }
  }
  std::vector<GrantMessage> grants() {
    settle();
    return std::exchange(c.outputs().grants, {});
  }
  // Both members issue the operation and wait for it.
  void run(GroupId group, Rank a, Rank b, Sequence s) {
    for (const Rank rank : {a, b}) {
      if (!c.granted(group, s)) {
        ASSERT_TRUE(c.announce(rank, group, s, true));
      }
    }
    settle();
    ASSERT_TRUE(c.granted(group, s));
    for (const Rank rank : {a, b}) ASSERT_TRUE(c.complete(rank, group, s));
  }
  // Steps of four operations of row 0 and one of each column, until the programme is learnt.
  void teach() {
    for (int step = 0; step < 4; ++step) {
      for (int i = 0; i < 4; ++i) run(row0, 0, 1, ++row0_done);
      run(column0, 0, 2, ++column0_done);
      run(column1, 1, 3, ++column1_done);
    }
    settle();
    c.outputs() = {};
  }

  Coordinator c;
  GroupId row0 = 0, row1 = 0, column0 = 0, column1 = 0;
  Sequence row0_done = 0, column0_done = 0, column1_done = 0;
};

TEST(Coordinator, GrantsWhenAllMembersHaveAnnouncedAndRepeatsTheGrant) {
  Grid g;
  EXPECT_TRUE(g.c.announce(0, g.row0, 1, true));
  EXPECT_TRUE(g.c.outputs().empty());
  EXPECT_TRUE(g.c.announce(1, g.row0, 1, true));
  auto grants = g.grants();
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].path, Path::rail);
  EXPECT_EQ(g.c.holds(0), 1U);
  EXPECT_TRUE(g.c.announce(1, g.row0, 1, true));
  grants = g.grants();
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].rank, 1U);
  EXPECT_TRUE(g.c.complete(0, g.row0, 1));
  EXPECT_EQ(g.c.holds(0), 1U);
  const auto digest = g.c.digest();
  EXPECT_TRUE(g.c.complete(0, g.row0, 1));
  EXPECT_EQ(g.c.digest(), digest);
  EXPECT_TRUE(g.c.complete(1, g.row0, 1));
  EXPECT_EQ(g.c.holds(0), 0U);
  EXPECT_TRUE(g.c.idle());
}

TEST(Coordinator, RefusesStrangersGapsAndCompletionsOfWhatWasNotGranted) {
  Grid g;
  EXPECT_FALSE(g.c.announce(2, g.row0, 1, true));
  EXPECT_FALSE(g.c.announce(0, g.row0, 2, true));
  EXPECT_FALSE(g.c.announce(0, 99, 1, true));
  EXPECT_FALSE(g.c.announce(9, g.row0, 1, true));
  EXPECT_FALSE(g.c.complete(0, g.row0, 1));
  EXPECT_FALSE(g.c.stopped(0, g.row0, 1, 2));
  EXPECT_TRUE(g.c.idle());
}

TEST(Coordinator, AGroupWithoutDemandTakesTheManagementPath) {
  Grid g;
  const GroupId all = g.c.add_group({{0, 1, 2, 3}, std::nullopt});
  for (Rank rank = 0; rank < 4; ++rank) g.c.announce(rank, all, 1, true);
  const auto grants = g.grants();
  ASSERT_EQ(grants.size(), 4U);
  EXPECT_EQ(grants[3].path, Path::management);
}

TEST(Coordinator, ABatchCoversWhatEveryMemberIssuesNext) {
  Grid g;
  g.teach();
  g.c.announce(0, g.row0, g.row0_done + 1, true);
  g.c.announce(1, g.row0, g.row0_done + 1, true);
  auto grants = g.grants();
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].first, g.row0_done + 1);
  EXPECT_EQ(grants[0].last, g.row0_done + 4);
  EXPECT_EQ(g.c.counts().mispredictions, 0U);
  // The hold lasts to the end of the batch; the programme is carried through it.
  for (Sequence s = 1; s <= 4; ++s) {
    EXPECT_EQ(g.c.holds(0), 1U);
    for (const Rank rank : {0U, 1U}) g.c.complete(rank, g.row0, g.row0_done + s);
  }
  EXPECT_EQ(g.c.holds(0), 0U);
  const auto forgotten = g.c.counts().forgotten;
  g.run(g.column0, 0, 2, g.column0_done + 1);
  g.run(g.column1, 1, 3, g.column1_done + 1);
  EXPECT_EQ(g.c.counts().forgotten, forgotten);
  EXPECT_EQ(g.c.counts().guard_fired, 0U);
}

TEST(Coordinator, AMispredictionEndsTheBatchAtTheHighestOperationStarted) {
  Grid g;
  g.teach();
  const Sequence first = g.row0_done + 1;
  g.c.announce(0, g.row0, first, true);
  g.c.announce(1, g.row0, first, true);
  g.grants();
  EXPECT_TRUE(g.c.stopped(0, g.row0, first + 3, first));
  ASSERT_EQ(g.c.outputs().stops.size(), 1U);
  EXPECT_EQ(g.c.outputs().stops[0].rank, 1U);
  EXPECT_TRUE(g.c.announce(0, g.column0, g.column0_done + 1, true));
  EXPECT_TRUE(g.c.outputs().limits.empty());
  EXPECT_TRUE(g.c.stopped(1, g.row0, first + 3, first + 1));
  ASSERT_EQ(g.c.outputs().limits.size(), 2U);
  EXPECT_EQ(g.c.outputs().limits[0].last, first + 1);
  EXPECT_EQ(g.c.counts().mispredictions, 1U);
  EXPECT_FALSE(g.c.granted(g.row0, first + 2));
  // Rank 0 does column 0 first; row 0 cannot finish before: the guard sends column 0 over the management path.
  EXPECT_TRUE(g.c.blocked(0, g.column0, g.column0_done + 1));
  g.c.complete(0, g.row0, first);
  EXPECT_TRUE(g.grants().empty());
  EXPECT_TRUE(g.c.announce(2, g.column0, g.column0_done + 1, true));
  const auto grants = g.grants();
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].group, g.column0);
  EXPECT_EQ(grants[0].path, Path::management);
  EXPECT_EQ(g.c.counts().guard_fired, 1U);
}

// Steps of row 0, then both columns: when row 0 is done, ranks 0 and 2 agree on column 0, ranks 1 and 3 on column 1.
TEST(Coordinator, SwitchesForTheNextDemandOnWhichAllMembersAgree) {
  Grid g(Grid::spec(true));
  for (Sequence step = 1; step <= 8; ++step) {
    g.run(g.row0, 0, 1, step);
    g.run(g.column0, 0, 2, step);
    g.run(g.column1, 1, 3, step);
  }
  g.settle();
  g.c.outputs() = {};
  g.run(g.row0, 0, 1, 9);
  // One after the other: port 1 loses its circuit by the first of them.
  for (int i = 0; i < 2; ++i) {
    const auto ahead = std::exchange(g.c.outputs().commands, {});
    ASSERT_EQ(ahead.size(), 1U);
    EXPECT_TRUE(ahead[0].ahead);
    g.c.command_done(ahead[0].id);
  }
  g.c.outputs() = {};
  EXPECT_TRUE(g.c.idle()) << "switching ahead grants nothing and holds nothing";
  const auto switches = g.c.counts().switches;
  g.run(g.column0, 0, 2, 9);
  EXPECT_EQ(g.c.counts().switches, switches) << "the circuits were there";
  // Not what was foreseen for rank 1: it is granted all the same, after a switch on demand.
  g.run(g.row0, 0, 1, 10);
  EXPECT_EQ(g.c.counts().switches, switches + 1);
  EXPECT_EQ(g.c.counts().guard_fired, 0U);
}

TEST(Coordinator, WhatALostRankDidNotBeginFails) {
  Grid g;
  g.c.announce(0, g.row0, 1, true);
  g.c.announce(1, g.column1, 1, true);
  g.c.announce(3, g.column1, 1, true);
  g.settle();
  g.c.lost(1);
  ASSERT_EQ(g.c.outputs().failures.size(), 1U);
  EXPECT_EQ(g.c.outputs().failures[0].rank, 0U);
  EXPECT_EQ(g.c.holds(3), 1U) << "rank 3 may still be in it";
  EXPECT_TRUE(g.c.complete(3, g.column1, 1));
  EXPECT_EQ(g.c.holds(3), 0U);
  EXPECT_FALSE(g.c.complete(1, g.column1, 1));
  EXPECT_TRUE(g.c.announce(3, g.column1, 2, true));
  EXPECT_EQ(g.c.outputs().failures.size(), 2U);
}

TEST(Coordinator, AFailedCommandSendsItsOperationOverTheManagementPath) {
  Grid g;
  g.c.announce(0, g.row0, 1, true);
  g.c.announce(1, g.row0, 1, true);
  const auto commands = std::exchange(g.c.outputs().commands, {});
  ASSERT_EQ(commands.size(), 1U);
  g.c.command_failed(commands[0].id);
  g.c.command_failed(commands[0].id);
  auto grants = g.grants();
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].path, Path::management);
  EXPECT_EQ(g.c.holds(0), 0U);
  g.c.announce(2, g.column0, 1, true);
  g.c.announce(0, g.column0, 1, true);
  EXPECT_EQ(g.grants()[0].path, Path::management) << "port 0 is out of service";
  for (PortId port = 0; port < 4; ++port) g.c.set_usable(port, true);
  g.c.announce(2, g.column0, 2, true);
  g.c.announce(0, g.column0, 2, true);
  EXPECT_EQ(g.grants()[0].path, Path::rail);
}

TEST(Coordinator, AfterARestartGrantsThatAnybodyHoldsStandAndNothingIsGrantedBefore) {
  Grid g;
  g.c.preset(std::vector<Circuit>{{0, 1}});
  g.c.begin_recovery();
  EXPECT_FALSE(g.c.announce(0, g.row0, 1, true)) << "it has not come back";
  EXPECT_TRUE(g.c.resume(0, {{g.row0, 0, 1, 1, Path::rail, 1}, {g.column0, 0, 0, 0, Path::rail, 1}}));
  EXPECT_TRUE(g.c.resume(2, {{g.column0, 0, 0, 0, Path::rail, 1}}));
  EXPECT_TRUE(g.c.resume(1, {{g.row0, 0, 0, 0, Path::rail, 1}}));
  EXPECT_TRUE(g.c.recovering());
  EXPECT_TRUE(g.c.outputs().empty());
  g.c.lost(3);
  EXPECT_FALSE(g.c.recovering());
  const auto grants = g.grants();
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].rank, 1U);
  EXPECT_EQ(grants[0].group, g.row0);
  EXPECT_EQ(g.c.holds(0), 1U);
  EXPECT_TRUE(g.c.complete(0, g.row0, 1));
  EXPECT_TRUE(g.c.complete(1, g.row0, 1));
  EXPECT_TRUE(g.c.granted(g.column0, 1) || !g.grants().empty());
}

}  // namespace
}  // namespace photonrail::control
