// What becomes of a trace before it runs: chunking by the published conventions, and what is refused.
#include "published/machine.h"

#include <gtest/gtest.h>

#include "published/test_traces.h"

namespace photonrail::published {
namespace {

using workload::ChakraNode;
using workload::ChakraType;

RingShape shape_of(CollectiveKind kind, std::int64_t size, std::uint32_t members, std::uint32_t ranks) {
  ProgramNode node;
  node.kind = NodeKind::collective;
  node.collective = kind;
  node.size = size;
  return ring_shape(node, members, ranks, PublishedConfig{});
}

// 1,023 bytes in 4 splits: chunks of 255, five of them, each of full size.
TEST(RingShape, TheLastChunkIsOfFullSize) {
  const RingShape shape = shape_of(CollectiveKind::all_reduce, 1023, 4, 8);
  EXPECT_EQ(shape.chunks, 5U);
  EXPECT_EQ(shape.message, 63);
  EXPECT_EQ(shape.steps, 6U);
  EXPECT_EQ(shape.reductions, 3U);
}

// A chunk has at least one byte per rank of the machine, not of the group; an all-gather is exempt.
TEST(RingShape, SmallChunksGrowToTheNumberOfRanks) {
  const RingShape reduced = shape_of(CollectiveKind::reduce_scatter, 100, 4, 128);
  EXPECT_EQ(reduced.chunks, 4U);
  EXPECT_EQ(reduced.message, 32);
  const RingShape gathered = shape_of(CollectiveKind::all_gather, 100, 4, 128);
  EXPECT_EQ(gathered.chunks, 4U);
  EXPECT_EQ(gathered.message, 25);
  EXPECT_EQ(gathered.steps, 3U);
  EXPECT_EQ(gathered.reductions, 0U);
}

// 67,108,864 bytes at 4,800 B/ns: 13,981.01 ns, three times 13,981.
TEST(RingShape, ReductionIsThreeRoundedAccesses) {
  EXPECT_EQ(shape_of(CollectiveKind::reduce_scatter, 2'147'483'648, 8, 128).reduction, 3 * 13'981);
}

PublishedConfig two_ranks() {
  PublishedConfig config;
  config.tp = 2;
  return config;
}

std::string error_of(const TestTraces& traces, const PublishedConfig& config) {
  const auto machine = make_machine(traces.set(), config);
  EXPECT_FALSE(machine);
  return machine ? "" : machine.error().message;
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Machine, RefusesDegreesThatDoNotMultiplyToTheRanks) {
  TestTraces traces(2);
  PublishedConfig config = two_ranks();
  config.dp = 2;
  expect_in("2 ranks, but dp 2 x pp 1 x tp 2 = 4", error_of(traces, config));
}

TEST(Machine, RefusesAGroupThatNoTopologyJoins) {
  TestTraces traces(8);  // dp 4, tp 2: ranks 0 and 2 are neighbours in no ring
  traces.group(3, {0, 2});
  traces.collective(0, 3, 0, 4096);
  traces.collective(2, 3, 0, 4096);
  PublishedConfig config = two_ranks();
  config.dp = 4;
  expect_in("group 3: ring neighbours 0 and 2 are joined in no topology", error_of(traces, config));
}

TEST(Machine, RefusesAPeerThatNoTopologyJoins) {
  TestTraces traces(8);
  traces.send(0, 3, 4096);
  PublishedConfig config = two_ranks();
  config.pp = 4;
  expect_in("ranks 0 and 3 exchange messages but are joined in no topology", error_of(traces, config));
}

TEST(Machine, RefusesAGroupOfOne) {
  TestTraces traces(2);
  traces.group(4, {1});
  traces.collective(1, 4, 0, 4096);
  expect_in("group 4 of 1 rank(s)", error_of(traces, two_ranks()));
}

TEST(Machine, RefusesNodesThatThePublishedSimulatorDrops) {
  TestTraces traces(2);
  ChakraNode node;
  node.type = ChakraType::compute;
  node.num_ops = 5;
  traces.add(1, node, {});
  expect_in("rank 1, node 1: compute without num_ops and tensor_size above 0", error_of(traces, two_ranks()));
}

TEST(Machine, RefusesNodeTypesThatItDoesNotRun) {
  TestTraces traces(2);
  ChakraNode node;
  node.type = ChakraType::memory_load;
  traces.add(0, node, {});
  expect_in("rank 0, node 1: node type other than", error_of(traces, two_ranks()));
}

TEST(Machine, RefusesACollectiveTypeThatItDoesNotRun) {
  TestTraces traces(2);
  traces.group(1, {0, 1});
  traces.collective(0, 1, 5, 4096);
  expect_in("collective type 5", error_of(traces, two_ranks()));
}

TEST(Machine, RefusesADanglingDependency) {
  TestTraces traces(2);
  traces.compute(0, 5, {77});
  expect_in("rank 0, node 1: depends on node 77, which is not in the trace", error_of(traces, two_ranks()));
}

TEST(Machine, RefusesACycle) {
  TestTraces traces(2);
  traces.compute(1, 5, {2});
  traces.compute(1, 5, {1});
  expect_in("rank 1, node 1: is on, or depends on, a cycle", error_of(traces, two_ranks()));
}

TEST(Machine, RefusesACollectiveSmallerThanItsSplits) {
  TestTraces traces(2);
  traces.group(1, {0, 1});
  traces.collective(0, 1, 2, 3);
  expect_in("comm_size 3; it must be at least 4", error_of(traces, two_ranks()));
}

TEST(Machine, CountsADependencyNamedTwiceOnce) {
  TestTraces traces(2);
  traces.compute(0, 5);
  traces.compute(0, 5, {1, 1});
  traces.compute(1, 5);
  const auto machine = make_machine(traces.set(), two_ranks());
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->program(0).nodes[1].needs, 1U);
}

}  // namespace
}  // namespace photonrail::published
