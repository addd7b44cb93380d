// check() must refuse everything that can never run, and say which rank and task. Each case breaks one thing of a graph
// that passes; a check that is left out lets its case through.
#include "model/task_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

namespace photonrail::model {
namespace {

struct ProgramWriter {
  Program program;
  TaskIndex add(Task task, std::initializer_list<TaskIndex> needs) {
    if (program.dependency_start.empty()) program.dependency_start.push_back(0);
    program.tasks.push_back(task);
    program.dependencies.insert(program.dependencies.end(), needs);
    program.dependency_start.push_back(static_cast<std::uint32_t>(program.dependencies.size()));
    return static_cast<TaskIndex>(program.tasks.size() - 1);
  }
};

Task compute() {
  Task task;
  task.name = 0;
  task.duration = microseconds(1);
  return task;
}

Task collective(Slot slot, std::uint32_t ordinal, std::int64_t bytes) {
  Task task;
  task.kind = TaskKind::collective;
  task.collective = Collective::all_reduce;
  task.dimension = Dimension::data;
  task.slot = slot;
  task.ordinal = ordinal;
  task.bytes = {bytes};
  task.name = 1;
  return task;
}

Task message(TaskKind kind, Slot slot, std::uint32_t tag, std::int64_t bytes) {
  Task task;
  task.kind = kind;
  task.dimension = Dimension::pipeline;
  task.slot = slot;
  task.ordinal = tag;
  task.bytes = {bytes};
  task.name = 2;
  return task;
}

// Two stages of two ranks: 0, 1 send to 2, 3; each stage reduces twice over its own group.
TaskGraph good_graph() {
  TaskGraph graph;
  graph.names = {"work", "reduce", "hand over"};
  for (int stage = 0; stage < 2; ++stage) {
    ProgramWriter writer;
    const TaskIndex work = writer.add(compute(), {});
    const TaskIndex first = writer.add(collective(0, 0, 100), {work});
    writer.add(collective(0, 1, 200), {first});
    writer.add(message(stage == 0 ? TaskKind::send : TaskKind::receive, 1, 7, 50), {work});
    graph.programs.push_back(writer.program);
  }
  graph.groups = {{Dimension::data, {0, 1}}, {Dimension::data, {2, 3}}};
  graph.program_of = {0, 0, 1, 1};
  graph.stage_of = {0, 0, 1, 1};
  graph.slot_start = {0, 2, 4, 6, 8};
  graph.slots = {0, 2, 0, 3, 1, 0, 1, 1};
  return graph;
}

void expect_refused(const TaskGraph& graph, std::initializer_list<const char*> parts) {
  const Status status = check(graph);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::invalid_input);
  for (const char* part : parts) {
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message << "\nlacks: " << part;
  }
}

TEST(TaskGraphCheck, AcceptsAGraphThatCanRun) {
  const Status status = check(good_graph());
  EXPECT_TRUE(status.has_value()) << status.error().message;
}

TEST(TaskGraphCheck, AcceptsDependenciesOnLaterTasksAndGroupsOfOne) {
  TaskGraph graph;
  graph.names = {"work", "reduce"};
  ProgramWriter writer;
  writer.add(compute(), {1});
  writer.add(collective(0, 0, 8), {});
  graph.programs = {writer.program};
  graph.groups = {{Dimension::data, {0}}};
  graph.program_of = {0};
  graph.stage_of = {0};
  graph.slot_start = {0, 1};
  graph.slots = {0};
  const Status status = check(graph);
  EXPECT_TRUE(status.has_value()) << status.error().message;
}

TEST(TaskGraphCheck, RefusesADependencyCycle) {
  TaskGraph graph = good_graph();
  graph.programs[0].dependencies[0] = 2;  // the first reduction waits for the second
  expect_refused(graph, {"program 0", "can never finish", "task 1 'reduce'", "task 2 'reduce'"});
}

TEST(TaskGraphCheck, RefusesCollectivesWhoseOrderContradictsTheirDependencies) {
  TaskGraph graph = good_graph();
  for (Program& program : graph.programs) std::swap(program.tasks[1].ordinal, program.tasks[2].ordinal);
  expect_refused(graph, {"can never finish", "the one before it in its group"});
}

TEST(TaskGraphCheck, RefusesADanglingDependency) {
  TaskGraph graph = good_graph();
  graph.programs[1].dependencies[0] = 9;
  expect_refused(graph, {"program 1", "task 1 'reduce'", "depends on task 9", "only 4"});
}

TEST(TaskGraphCheck, RefusesAGroupWithAnUnknownRank) {
  TaskGraph graph = good_graph();
  graph.groups[1].members = {2, 3, 4};
  expect_refused(graph, {"group 1", "rank 4", "only 4 ranks"});
}

TEST(TaskGraphCheck, RefusesARankNamedTwice) {
  TaskGraph graph = good_graph();
  graph.groups[0].members = {0, 1, 1};
  expect_refused(graph, {"group 0", "rank 1 twice"});
}

TEST(TaskGraphCheck, RefusesACallerThatIsNoMember) {
  TaskGraph graph = good_graph();
  graph.groups[1].members = {2};
  expect_refused(graph, {"rank 3", "group 1", "not a member"});
}

TEST(TaskGraphCheck, RefusesAMemberThatNeverCalls) {
  TaskGraph graph = good_graph();
  graph.groups[0].members = {0, 1, 2};
  expect_refused(graph, {"group 0", "member 2", "issues no collective"});
}

TEST(TaskGraphCheck, RefusesAnUnboundSlot) {
  TaskGraph graph = good_graph();
  graph.slot_start = {0, 2, 4, 6, 7};
  graph.slots.pop_back();
  expect_refused(graph, {"rank 3", "slot 1 is not bound"});
}

TEST(TaskGraphCheck, RefusesAnUnknownGroupAndAnUnknownPeer) {
  TaskGraph graph = good_graph();
  graph.slots[0] = 5;
  expect_refused(graph, {"rank 0", "group 5 does not exist"});
  graph = good_graph();
  graph.slots[3] = 77;
  expect_refused(graph, {"rank 1", "peer 77 does not exist"});
}

TEST(TaskGraphCheck, RefusesASendToOneself) {
  TaskGraph graph = good_graph();
  graph.slots[1] = 0;
  expect_refused(graph, {"rank 0", "the peer is the rank itself"});
}

// One group of all four ranks, so that the two programs must agree.
TaskGraph one_group() {
  TaskGraph graph = good_graph();
  graph.groups = {{Dimension::data, {0, 1, 2, 3}}};
  graph.slots = {0, 2, 0, 3, 0, 0, 0, 1};
  return graph;
}

TEST(TaskGraphCheck, RefusesMembersThatIssueDifferentCollectives) {
  EXPECT_TRUE(check(one_group()).has_value());
  TaskGraph graph = one_group();
  graph.programs[1].tasks[2].collective = Collective::all_gather;
  expect_refused(graph, {"collective 1", "rank 0 issues all_reduce of 200", "rank 2 issues all_gather of 200"});
  graph = one_group();
  graph.programs[1].tasks[2].bytes = {201};
  expect_refused(graph, {"group 0, collective 1", "200 bytes", "201 bytes"});
}

TEST(TaskGraphCheck, RefusesMembersThatIssueDifferentNumbersOfCollectives) {
  TaskGraph graph = one_group();
  ProgramWriter writer{graph.programs[1]};
  writer.add(collective(0, 2, 300), {});
  graph.programs[1] = writer.program;
  expect_refused(graph, {"rank 0 issues 2", "rank 2 issues 3", "300 bytes"});
}

TEST(TaskGraphCheck, RefusesASendWithoutReceiveAndTheReverse) {
  TaskGraph graph = good_graph();
  graph.programs[0].tasks[3].ordinal = 6;  // tag
  expect_refused(graph, {"rank 0, task 3 'hand over'", "send to rank 2 with tag 6", "no matching receive"});
  graph = good_graph();
  graph.programs[0].tasks[3].ordinal = 8;
  expect_refused(graph, {"rank 2, task 3 'hand over'", "receive from rank 0 with tag 7", "no matching send"});
}

TEST(TaskGraphCheck, RefusesAPeerThatDoesNotAnswer) {
  TaskGraph graph = good_graph();
  graph.slots[7] = 0;  // rank 3 now expects its message from rank 0, as rank 2 does; rank 1 sends to nobody
  expect_refused(graph, {"rank 1", "send to rank 3", "no matching receive"});
}

TEST(TaskGraphCheck, RefusesMessagesWhoseSizesDiffer) {
  TaskGraph graph = good_graph();
  graph.programs[1].tasks[3].bytes = {51};
  expect_refused(graph, {"sizes differ", "rank 0 sends 50 bytes to rank 2", "expects 51"});
}

TEST(TaskGraphCheck, RefusesARepeatedTag) {
  TaskGraph graph = good_graph();
  for (Program& program : graph.programs) {
    ProgramWriter writer{program};
    writer.add(program.tasks[3], {});
    program = writer.program;
  }
  expect_refused(graph, {"program 0", "task 3", "task 4", "tag 7"});
}

TEST(TaskGraphCheck, RefusesASlotThatIsGroupAndPeer) {
  TaskGraph graph = good_graph();
  graph.programs[0].tasks[3].slot = 0;
  expect_refused(graph, {"program 0", "slot 0", "group", "peer"});
}

TEST(TaskGraphCheck, RefusesGapsInOrdinals) {
  TaskGraph graph = good_graph();
  graph.programs[0].tasks[2].ordinal = 3;
  expect_refused(graph, {"program 0", "ordinal 3", "1 was due"});
}

TEST(TaskGraphCheck, RefusesTablesThatDoNotFit) {
  TaskGraph graph = good_graph();
  graph.slot_start.pop_back();
  expect_refused(graph, {"slot table"});
  graph = good_graph();
  graph.program_of[2] = 4;
  expect_refused(graph, {"rank 2", "program 4"});
  graph = good_graph();
  graph.stage_of.pop_back();
  expect_refused(graph, {"4 ranks but 3 pipeline stages"});
  graph = good_graph();
  graph.programs[1].dependency_start.back() += 1;
  expect_refused(graph, {"program 1", "dependency table"});
  graph = good_graph();
  graph.programs[0].tasks[0].name = 3;
  expect_refused(graph, {"program 0, task 0", "name 3 of 3"});
  graph = good_graph();
  graph.programs[0].tasks[0].duration = {-1};
  expect_refused(graph, {"program 0, task 0", "negative"});
  expect_refused(TaskGraph{}, {"no ranks"});
}

}  // namespace
}  // namespace photonrail::model
