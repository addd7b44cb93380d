// Times worked by hand, on four GPUs in a 2 x 2 grid: domains of one GPU, so every pair is on one rail.
// Rates: 100 Gb/s a port is 12.5 bytes per ns; latency 1 us a step; a send of 12.5 kB on one port takes 1 us + 1 us.
#include "sim/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/electrical.h"
#include "fabric/photonic.h"

namespace photonrail::sim {
namespace {

using model::Collective;
using model::Dimension;
using model::Rank;
using model::TaskIndex;
using model::TaskKind;

// Programs written task by task, one per rank.
class Graph {
 public:
  explicit Graph(std::size_t ranks) : programs_(ranks), slots_(ranks), needs_(ranks), slot_keys_(ranks) {
    graph_.names = {"task"};
  }

  std::uint32_t group(Dimension dimension, std::vector<Rank> members) {
    graph_.groups.push_back({dimension, std::move(members)});
    return static_cast<std::uint32_t>(graph_.groups.size() - 1);
  }
  TaskIndex compute(Rank rank, Time duration, std::vector<TaskIndex> needs = {}) {
    model::Task task;
    task.duration = duration;
    return add(rank, task, std::move(needs));
  }
  TaskIndex all_reduce(Rank rank, std::uint32_t group, std::uint32_t ordinal, Bytes bytes,
                       std::vector<TaskIndex> needs = {}) {
    model::Task task;
    task.kind = TaskKind::collective;
    task.collective = Collective::all_reduce;
    task.dimension = graph_.groups[group].dimension;
    task.slot = slot(rank, group, true);
    task.ordinal = ordinal;
    task.bytes = bytes;
    return add(rank, task, std::move(needs));
  }
  TaskIndex message(TaskKind kind, Rank rank, Rank peer, std::uint32_t tag, Bytes bytes,
                    std::vector<TaskIndex> needs = {}) {
    model::Task task;
    task.kind = kind;
    task.dimension = Dimension::pipeline;
    task.slot = slot(rank, peer, false);
    task.ordinal = tag;
    task.bytes = bytes;
    return add(rank, task, std::move(needs));
  }
  model::TaskGraph build(std::vector<std::uint32_t> stages) {
    graph_.slot_start = {0};
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      model::Program program{programs_[rank], {0}, {}};
      for (const auto& needs : needs_[rank]) {
        program.dependencies.insert(program.dependencies.end(), needs.begin(), needs.end());
        program.dependency_start.push_back(static_cast<std::uint32_t>(program.dependencies.size()));
      }
      graph_.programs.push_back(program);
      graph_.program_of.push_back(static_cast<model::ProgramId>(rank));
      graph_.slots.insert(graph_.slots.end(), slots_[rank].begin(), slots_[rank].end());
      graph_.slot_start.push_back(static_cast<std::uint32_t>(graph_.slots.size()));
    }
    graph_.stage_of = std::move(stages);
    EXPECT_TRUE(model::check(graph_)) << model::check(graph_).error().message;
    return graph_;
  }

 private:
  // Groups and peers have slots of their own: a group is looked up among the group slots only.
  model::Slot slot(Rank rank, std::uint32_t target, bool is_group) {
    const auto key = std::pair{target, is_group};
    auto& known = slot_keys_[rank];
    const auto found = std::find(known.begin(), known.end(), key);
    if (found != known.end()) return static_cast<model::Slot>(found - known.begin());
    known.push_back(key);
    slots_[rank].push_back(target);
    return static_cast<model::Slot>(known.size() - 1);
  }
  TaskIndex add(Rank rank, const model::Task& task, std::vector<TaskIndex> needs) {
    programs_[rank].push_back(task);
    needs_[rank].push_back(std::move(needs));
    return static_cast<TaskIndex>(programs_[rank].size() - 1);
  }
  model::TaskGraph graph_;
  std::vector<std::vector<model::Task>> programs_;
  std::vector<std::vector<std::uint32_t>> slots_;
  std::vector<std::vector<std::vector<TaskIndex>>> needs_;
  std::vector<std::vector<std::pair<std::uint32_t, bool>>> slot_keys_;
};

std::unique_ptr<fabric::Fabric> photonic(std::int64_t gpus, std::int64_t ports) {
  fabric::PhotonicOptions options;
  options.ports = ports;
  options.port_rate = gigabits_per_second(100);
  options.latency = microseconds(1);
  options.pipeline_stages = 2;
  return std::move(*fabric::make_photonic(*fabric::make_layout(gpus, 1), options));
}

PhotonicControl switching(Time time, bool ahead = false) {
  PhotonicControl control;
  control.switch_ahead = ahead;
  control.terms.swept = time;
  return control;
}

RunOptions photonic_run(PhotonicControl control, std::uint32_t warm_up = 2) {
  RunOptions options;
  options.warm_up_steps = warm_up;
  options.photonic = control;
  return options;
}

constexpr Bytes kMessage{12'500};  // 1 us on one port

TEST(Simulate, AMessageTakesLatencyAndSerialization) {
  Graph g(2);
  const auto work = g.compute(0, microseconds(5));
  g.message(TaskKind::send, 0, 1, 1, kMessage, {work});
  const auto got = g.message(TaskKind::receive, 1, 0, 1, kMessage);
  g.compute(1, microseconds(3), {got});
  const auto graph = g.build({0, 1});
  const auto result = run(graph, *photonic(2, 1), photonic_run(switching({})));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->iteration_time, microseconds(5 + 1 + 1 + 3));
  EXPECT_EQ(result->ranks[1].compute, microseconds(3));
  EXPECT_EQ(result->ranks[1].exposed_communication, microseconds(7));
  EXPECT_EQ(result->wire_bytes[static_cast<int>(Dimension::pipeline)], 12'500);
}

// Ring over pairs: 2 (n-1)/n P = P bytes each way, 2 steps.
TEST(Simulate, AnAllReduceOfTwoTakesTwoStepsAndItsPayload) {
  Graph g(2);
  const auto group = g.group(Dimension::data, {0, 1});
  for (const Rank rank : {0U, 1U}) g.all_reduce(rank, group, 0, kMessage);
  const auto graph = g.build({0, 0});
  const auto result = run(graph, *photonic(2, 1), photonic_run(switching({})));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->iteration_time, microseconds(2 + 1));
  EXPECT_EQ(result->wire_bytes[static_cast<int>(Dimension::data)], 25'000);
}

// One step: all-reduce in both rows, then messages down both columns; one port, so the circuits alternate.
model::TaskGraph alternating(Time window) {
  Graph g(4);
  const std::uint32_t rows[] = {g.group(Dimension::data, {0, 1}), g.group(Dimension::data, {2, 3})};
  for (const Rank rank : {0U, 1U, 2U, 3U}) {
    const auto reduced = g.all_reduce(rank, rows[rank / 2], 0, kMessage);
    const auto work = g.compute(rank, window, {reduced});
    if (rank < 2)
      g.message(TaskKind::send, rank, rank + 2, 7, kMessage, {work});
    else
      g.message(TaskKind::receive, rank, rank - 2, 7, kMessage, {work});
  }
  return g.build({0, 0, 1, 1});
}

TEST(Simulate, OnDemandExposesEverySwitchAndProvisionedHidesWhatTheWindowsAllow) {
  const Time window = microseconds(30);
  const Time work = microseconds(3) + window + microseconds(2);
  const auto graph = alternating(window);
  const auto fabric = photonic(4, 1);
  for (const std::int64_t us : {0, 10, 30, 40}) {
    const Time time = microseconds(us);
    const auto demand = run(graph, *fabric, photonic_run(switching(time)));
    ASSERT_TRUE(demand) << demand.error().message;
    EXPECT_EQ(demand->iteration_time, work + 2 * time) << us;
    EXPECT_EQ(demand->switches.size(), 4U);
    for (const auto& record : demand->switches) EXPECT_EQ(record.exposed, time);
    // Ahead: the switch to the columns hides in the window; the one back to the rows begins when the step ends.
    const auto ahead = run(graph, *fabric, photonic_run(switching(time, true)));
    ASSERT_TRUE(ahead) << ahead.error().message;
    EXPECT_EQ(ahead->iteration_time, work + time + std::max(Time{}, time - window)) << us;
    EXPECT_EQ(ahead->mispredictions, 0U);
  }
}

TEST(Simulate, MessageAndControllerTimeAreChargedOncePerPhase) {
  Graph g(2);
  const auto group = g.group(Dimension::data, {0, 1});
  for (const Rank rank : {0U, 1U}) {
    const auto first = g.all_reduce(rank, group, 0, kMessage);
    g.all_reduce(rank, group, 1, kMessage, {first});
  }
  const auto graph = g.build({0, 0});
  PhotonicControl control = switching({});
  control.terms.request.typical = microseconds(20);
  control.terms.command.typical = microseconds(7);
  auto result = run(graph, *photonic(2, 1), photonic_run(control, 0));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->iteration_time, microseconds(20 + 7 + 3 + 3)) << "circuits come up once, the second is covered";
  result = run(graph, *photonic(2, 1), photonic_run(control, 1));
  EXPECT_EQ(result->iteration_time, microseconds(3 + 3)) << "steady state: same circuits, same batch";
  control.free_control_path = true;
  result = run(graph, *photonic(2, 1), photonic_run(control, 0));
  EXPECT_EQ(result->iteration_time, microseconds(3 + 3));
}

// The order of real logs: receives are posted first, and the all-reduce is issued before the last send.
// Rank 0: receive from 2 posted, all-reduce with 1, ... as in the smallest program on which the naive lock fails.
model::TaskGraph overlapping() {
  Graph g(4);
  const std::uint32_t rows[] = {g.group(Dimension::data, {0, 1}), g.group(Dimension::data, {2, 3})};
  g.message(TaskKind::receive, 0, 2, 1, kMessage);  // 0: posted, waited for at the end
  g.all_reduce(0, rows[0], 0, kMessage);
  const auto reduced1 = g.all_reduce(1, rows[0], 0, kMessage);  // 1: all-reduce, then send to 3
  g.message(TaskKind::send, 1, 3, 2, kMessage, {reduced1});
  const auto reduced2 = g.all_reduce(2, rows[1], 0, kMessage);  // 2: all-reduce, then send to 0
  g.message(TaskKind::send, 2, 0, 1, kMessage, {reduced2});
  const auto got = g.message(TaskKind::receive, 3, 1, 2, kMessage);  // 3: receive from 1, then all-reduce
  g.all_reduce(3, rows[1], 0, kMessage, {got});
  return g.build({0, 0, 1, 1});
}

TEST(Simulate, TheNaiveLockDeadlocksOnOverlapAndTheCycleIsNamed) {
  const auto graph = overlapping();
  const auto fabric = photonic(4, 1);
  const auto gang = run(graph, *fabric, photonic_run(switching(microseconds(1))));
  ASSERT_TRUE(gang) << gang.error().message;
  PhotonicControl naive = switching(microseconds(1));
  naive.rule = control::AdmissionRule::naive_lock;
  const auto locked = run(graph, *fabric, photonic_run(naive));
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, ErrorCode::deadlock);
  EXPECT_NE(locked.error().message.find("wait for each other in a cycle"), std::string::npos) << locked.error().message;
  EXPECT_NE(locked.error().message.find("send 2 -> 0"), std::string::npos) << locked.error().message;
}

// Two messages from one GPU at once: the NIC is shared, so both take twice as long; a third to elsewhere is not slowed.
TEST(Simulate, FlowsShareALinkByMaxMin) {
  Graph g(6);
  g.message(TaskKind::send, 0, 1, 1, kMessage * 4);
  g.message(TaskKind::send, 0, 2, 1, kMessage * 4);
  g.message(TaskKind::receive, 1, 0, 1, kMessage * 4);
  g.message(TaskKind::receive, 2, 0, 1, kMessage * 4);
  g.message(TaskKind::send, 3, 4, 1, kMessage * 4);
  g.message(TaskKind::receive, 4, 3, 1, kMessage * 4);
  const auto graph = g.build({0, 0, 0, 0, 0, 0});
  fabric::ElectricalOptions options;
  options.nic_rate = gigabits_per_second(100);
  options.port_rate = gigabits_per_second(100);
  options.latency = microseconds(1);
  options.hop_latency = {};
  const auto fabric = fabric::make_electrical(model::Fabric::fat_tree, *fabric::make_layout(6, 1), options);
  ASSERT_TRUE(fabric) << fabric.error().message;
  const auto result = run(graph, **fabric, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ranks[1].finished, microseconds(1 + 8));
  EXPECT_EQ(result->ranks[2].finished, microseconds(1 + 8));
  EXPECT_EQ(result->ranks[4].finished, microseconds(1 + 4));
}

TEST(Simulate, CollectivesOfAGroupRunInOrderThoughIssuedTogether) {
  Graph g(2);
  const auto group = g.group(Dimension::data, {0, 1});
  for (const Rank rank : {0U, 1U}) {
    for (std::uint32_t i = 0; i < 3; ++i) g.all_reduce(rank, group, i, kMessage);
  }
  const auto graph = g.build({0, 0});
  const auto result = run(graph, *photonic(2, 1), photonic_run(switching({})));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->iteration_time, microseconds(9));
}

// Imported traces may issue the second collective of a group before the first. Rank 0 and 1 issue the second of row 0
// at once, and the first only after messages that need the same ports: a ticket for the second would block them.
TEST(Simulate, TicketsOfAGroupAreTakenInTheOrderOfItsCollectives) {
  Graph g(4);
  const auto row = g.group(Dimension::data, {0, 1});
  for (const Rank rank : {0U, 1U}) {
    const auto got = g.message(TaskKind::receive, rank, rank + 2, 1, kMessage);
    g.all_reduce(rank, row, 0, kMessage, {got});
    g.all_reduce(rank, row, 1, kMessage);
    const auto work = g.compute(rank + 2, microseconds(5));
    g.message(TaskKind::send, rank + 2, rank, 1, kMessage, {work});
  }
  const auto graph = g.build({1, 1, 0, 0});
  const auto result = run(graph, *photonic(4, 1), photonic_run(switching(microseconds(1))));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->iteration_time, microseconds(5 + 1 + 2 + 1 + 3 + 3));
}

TEST(Simulate, EqualRunsHaveEqualDigestsAndOtherRunsOthers) {
  const auto graph = alternating(microseconds(30));
  const auto fabric = photonic(4, 1);
  const auto a = run(graph, *fabric, photonic_run(switching(microseconds(5))));
  const auto b = run(graph, *fabric, photonic_run(switching(microseconds(5))));
  const auto c = run(graph, *fabric, photonic_run(switching(microseconds(6))));
  EXPECT_EQ(a->digest, b->digest);
  EXPECT_NE(a->digest, c->digest);
}

// A petabyte at 100 Gb/s takes 80,000 s; a thousand of them are more than 64 bits of picoseconds hold. The sum must be
// refused, not wrap round to a short or a negative step.
TEST(Simulate, AStepBeyondTheRangeOfTimeIsRefused) {
  Graph g(2);
  const auto group = g.group(Dimension::data, {0, 1});
  for (const Rank rank : {0U, 1U}) {
    TaskIndex last = g.all_reduce(rank, group, 0, {1'000'000'000'000'000});
    for (std::uint32_t i = 1; i < 1000; ++i) last = g.all_reduce(rank, group, i, {1'000'000'000'000'000}, {last});
  }
  const auto result = run(g.build({0, 0}), *photonic(2, 1), photonic_run(switching({})));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::infeasible);
}

// exp(10 sigma) at a spread of 10 is 1e43 hours: no Time holds it.
TEST(Simulate, ASwitchTimeBeyondTheRangeOfTimeIsRefused) {
  PhotonicControl control = switching({});
  control.terms.swept.reset();
  control.terms.link_up = {};
  control.terms.link_up.shape = model::Distribution::Shape::lognormal;
  control.terms.link_up.typical = seconds(3600);
  control.terms.link_up.spread = 10;
  bool refused = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RunOptions options = photonic_run(control);
    options.seed = seed;
    const auto result = run(alternating({}), *photonic(4, 1), options);
    refused = refused || !result;
    if (result) { EXPECT_GT(result->iteration_time.ps, 0); }
  }
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace photonrail::sim
