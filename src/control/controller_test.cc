// The rules at the top of controller.h, one test each, and random programs against the invariants:
// a held port is never switched (a check inside the controller), every operation is granted, grants of one port keep
// the order of tickets.
#include "control/controller.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"

namespace photonrail::control {
namespace {

// Four GPUs with one port each, a 2 x 2 grid: rows {0,1} {2,3}, columns {0,2} {1,3}.
struct Grid {
  explicit Grid(bool ahead = false, AdmissionRule rule = AdmissionRule::gang)
      : controller({4, 1, ahead, rule}),
        row0(controller.add_demand({{{0, 1}}, 2, 0})),
        row1(controller.add_demand({{{2, 3}}, 2, 0})),
        column0(controller.add_demand({{{0, 2}}, 2, 0})),
        column1(controller.add_demand({{{1, 3}}, 2, 0})) {}

  OperationId announced(DemandId demand) {
    const OperationId op = controller.open(demand);
    for (const PortId port : {controller.demand(demand).circuits[0].a, controller.demand(demand).circuits[0].b}) {
      controller.announce(op, port);
    }
    return op;
  }
  std::vector<OperationId> take_grants() {
    std::vector<OperationId> ids;
    for (const Grant& grant : controller.outputs().grants) ids.push_back(grant.operation);
    covered = !controller.outputs().grants.empty() && controller.outputs().grants.back().covered;
    controller.outputs().grants.clear();
    return ids;
  }
  std::vector<SwitchCommand> take_commands() { return std::exchange(controller.outputs().commands, {}); }
  // Lets the device answer everything at once.
  void settle() {
    while (!controller.outputs().commands.empty()) {
      for (const SwitchCommand& command : take_commands()) controller.command_done(command.id);
    }
  }

  Controller controller;
  DemandId row0, row1, column0, column1;
  bool covered = false;
};

TEST(Controller, AnAnnouncementAloneHoldsAndSwitchesNothing) {
  Grid grid;
  const OperationId op = grid.controller.open(grid.row0);
  grid.controller.announce(op, 0);
  EXPECT_TRUE(grid.take_commands().empty());
  EXPECT_TRUE(grid.take_grants().empty());
  EXPECT_EQ(grid.controller.holds(0), 0U);
}

TEST(Controller, GrantsOnlyWhenLightIsBack) {
  Grid grid;
  const OperationId op = grid.announced(grid.row0);
  const auto commands = grid.take_commands();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].connect, (std::vector<Circuit>{{0, 1}}));
  EXPECT_TRUE(commands[0].disconnect.empty());
  EXPECT_TRUE(grid.take_grants().empty());
  grid.controller.command_done(commands[0].id);
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{op});
  EXPECT_EQ(grid.controller.holds(0), 1U);
}

TEST(Controller, AHeldPortIsNotSwitchedUntilItsHolderCompletes) {
  Grid grid;
  const OperationId first = grid.announced(grid.row0);
  grid.settle();
  grid.take_grants();
  const OperationId second = grid.announced(grid.column0);
  EXPECT_TRUE(grid.take_commands().empty());
  grid.controller.complete(first);
  const auto commands = grid.take_commands();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].disconnect, (std::vector<Circuit>{{0, 1}}));
  grid.controller.command_done(commands[0].id);
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{second});
  EXPECT_EQ(grid.controller.partner(1), kNoPort);
}

TEST(Controller, OperationsOnTheSameCircuitsRunTogetherAndNeedNoSecondMessage) {
  Grid grid;
  grid.announced(grid.row0);
  grid.settle();
  grid.take_grants();
  EXPECT_FALSE(grid.covered);
  const OperationId second = grid.announced(grid.row0);
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{second});
  EXPECT_TRUE(grid.covered);
  EXPECT_EQ(grid.controller.holds(0), 2U);
}

TEST(Controller, TicketsKeepALaterOperationFromOvertakingOnItsCircuits) {
  Grid grid;
  const OperationId first = grid.announced(grid.row0);
  grid.settle();
  grid.take_grants();
  const OperationId conflicting = grid.announced(grid.column0);
  const OperationId late = grid.announced(grid.row0);  // circuits are up, but an earlier ticket waits for port 0
  EXPECT_TRUE(grid.take_grants().empty());
  grid.controller.complete(first);
  grid.settle();
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{conflicting});
  grid.controller.complete(conflicting);
  grid.settle();
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{late});
}

// One step: row 0, then column 0. The second step finds column 0's circuits switched ahead, then row 0's for the third.
TEST(Controller, SwitchesAheadByWhatTheStepBeforeTaught) {
  Grid grid(true);
  for (const DemandId demand : {grid.row0, grid.column0}) {
    const OperationId op = grid.announced(demand);
    grid.settle();
    grid.controller.complete(op);
  }
  grid.take_grants();
  grid.controller.begin_step();
  auto commands = grid.take_commands();
  ASSERT_EQ(commands.size(), 1U) << "row 0 starts the step, so it is switched to at once";
  EXPECT_TRUE(commands[0].ahead);
  grid.controller.command_done(commands[0].id);
  EXPECT_TRUE(grid.take_grants().empty()) << "switching ahead grants nothing";
  const OperationId op = grid.announced(grid.row0);
  EXPECT_TRUE(grid.take_commands().empty());
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{op});
  grid.controller.complete(op);
  // Port 1 is not in column 0, so port 2 and port 0 alone decide.
  commands = grid.take_commands();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_TRUE(commands[0].ahead);
  EXPECT_EQ(commands[0].connect, (std::vector<Circuit>{{0, 2}}));
  EXPECT_EQ(grid.controller.mispredictions(), 0U);
}

TEST(Controller, AnUnexpectedDemandSwitchesBackAndCountsAsAMisprediction) {
  Grid grid(true);
  for (const DemandId demand : {grid.row0, grid.column0}) {
    const OperationId op = grid.announced(demand);
    grid.settle();
    grid.controller.complete(op);
  }
  grid.controller.begin_step();
  grid.settle();
  grid.take_grants();
  const OperationId op = grid.announced(grid.column0);
  grid.settle();
  EXPECT_EQ(grid.take_grants(), std::vector<OperationId>{op});
  EXPECT_EQ(grid.controller.mispredictions(), 1U);
}

// The step before taught row 0, column 0; this one alternates the other way round. Whoever keeps to a table that has
// failed switches back and forth, two commands for every grant.
TEST(Controller, PortsThatWereSwitchedForNothingAreSwitchedOnDemandUntilTheNextStep) {
  Grid grid(true);
  const auto serve = [&](DemandId demand) {
    const OperationId op = grid.announced(demand);
    grid.settle();
    grid.controller.complete(op);
  };
  serve(grid.row0);
  serve(grid.column0);
  grid.controller.begin_step();
  grid.settle();
  serve(grid.column0);
  EXPECT_EQ(grid.controller.mispredictions(), 1U);
  EXPECT_TRUE(grid.take_commands().empty()) << "row 0 is next in the table, but the table has failed";
  serve(grid.column0);
  EXPECT_EQ(grid.controller.mispredictions(), 1U);
  serve(grid.row0);
  grid.controller.begin_step();
  const auto commands = grid.take_commands();
  ASSERT_EQ(commands.size(), 1U) << "this step taught column 0, row 0";
  EXPECT_EQ(commands[0].connect, (std::vector<Circuit>{{0, 2}}));
}

// The smallest program on which the naive lock fails: rank 0 issues column 0 then row 0, rank 1 row 0 then column 1,
// rank 2 row 1 then column 0, rank 3 column 1 then row 1.
TEST(Controller, TheNaiveLockDeadlocksWhereGangAdmissionDoesNot) {
  for (const AdmissionRule rule : {AdmissionRule::naive_lock, AdmissionRule::gang}) {
    Grid grid(false, rule);
    const OperationId column0 = grid.controller.open(grid.column0);
    const OperationId row0 = grid.controller.open(grid.row0);
    const OperationId column1 = grid.controller.open(grid.column1);
    const OperationId row1 = grid.controller.open(grid.row1);
    grid.controller.announce(column0, 0);
    grid.controller.announce(row0, 1);
    grid.controller.announce(column1, 3);
    grid.controller.announce(row1, 2);
    grid.controller.announce(row0, 0);
    grid.controller.announce(row1, 3);
    grid.controller.announce(column0, 2);
    grid.controller.announce(column1, 1);
    std::size_t done = 0;
    for (;;) {
      grid.settle();
      const auto grants = grid.take_grants();
      if (grants.empty()) break;
      for (const OperationId op : grants) grid.controller.complete(op);
      done += grants.size();
    }
    if (rule == AdmissionRule::gang) {
      EXPECT_EQ(done, 4U);
    } else {
      EXPECT_EQ(done, 0U);
      EXPECT_EQ(grid.controller.waiting().size(), 4U);
      for (const Waiting& waiting : grid.controller.waiting()) EXPECT_FALSE(waiting.blockers.empty());
    }
  }
}

// Random rings and pairs over 6 GPUs with 2 ports, random interleavings of announcements, answers and completions.
RC_GTEST_PROP(Controller, EveryAnnouncedOperationIsGrantedInTheOrderOfTickets, (std::uint64_t seed, bool ahead)) {
  RandomStream random(seed, "controller_test");
  Controller controller({12, 2, ahead, AdmissionRule::gang});
  std::vector<DemandId> demands;
  const auto right = [](std::uint32_t gpu) { return gpu * 2; };
  const auto left = [](std::uint32_t gpu) { return gpu * 2 + 1; };
  demands.push_back(controller.add_demand({{{right(0), left(1)}, {right(1), left(2)}, {right(2), left(0)}}, 3, 0}));
  demands.push_back(controller.add_demand({{{right(3), left(4)}, {right(4), left(5)}, {right(5), left(3)}}, 3, 0}));
  for (std::uint32_t i = 0; i < 3; ++i) demands.push_back(controller.add_demand({{{right(i), left(i + 3)}}, 2, 0}));
  std::map<PortId, std::vector<OperationId>> tickets;
  std::map<PortId, std::vector<OperationId>> grants;
  std::vector<SwitchCommand> commands;
  std::vector<OperationId> running;
  std::map<OperationId, int> serial;
  int opened = 0;
  int completed = 0;
  const int total = 60;
  for (int idle = 0; completed < total;) {
    RC_ASSERT(++idle < 10000);
    auto& out = controller.outputs();
    for (auto& command : out.commands) commands.push_back(std::move(command));
    for (const Grant& grant : out.grants) running.push_back(grant.operation);
    for (const Grant& grant : out.grants) {
      for (const Circuit& c : controller.demand(controller.demand_of(grant.operation)).circuits) {
        grants[c.a].push_back(static_cast<OperationId>(serial[grant.operation]));
        RC_ASSERT(controller.partner(c.a) == c.b);
        RC_ASSERT(!controller.switching(c.a) && !controller.switching(c.b));
      }
    }
    out = {};
    const std::uint64_t choice = random.below(3);
    if (choice == 0 && opened < total) {
      const DemandId demand = demands[random.below(demands.size())];
      const OperationId op = controller.open(demand);
      serial[op] = opened++;
      for (const Circuit& c : controller.demand(demand).circuits)
        tickets[c.a].push_back(static_cast<OperationId>(serial[op]));
      for (std::uint32_t member = 0; member < controller.demand(demand).members; ++member)
        controller.announce(op, member);
      if (opened % 20 == 0) controller.begin_step();
    } else if (choice == 1 && !commands.empty()) {
      const std::size_t pick = random.below(commands.size());
      const CommandId id = commands[pick].id;
      commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(pick));
      controller.command_done(id);
    } else if (choice == 2 && !running.empty()) {
      const std::size_t pick = random.below(running.size());
      const OperationId op = running[pick];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(pick));
      controller.complete(op);
      ++completed;
    }
  }
  RC_ASSERT(tickets == grants);
  for (PortId port = 0; port < 12; ++port) RC_ASSERT(controller.holds(port) == 0U);
}

}  // namespace
}  // namespace photonrail::control
