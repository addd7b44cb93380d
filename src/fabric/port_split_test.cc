// Static splits of a GPU's ports (photonic.h): what a graph needs, whole ports by weight, and the shortfall.
#include <gtest/gtest.h>

#include "fabric/photonic.h"

namespace photonrail::fabric {
namespace {

using Kind = RailShape::Kind;
using model::Task;
using model::TaskKind;

std::vector<std::uint32_t> of(const PortSplit& split, Dimension dimension) {
  return split.ports[static_cast<std::size_t>(dimension)];
}

TEST(PortSplit, NamesTheShortfall) {
  const std::vector<RailShape> shapes{{Kind::ring, Dimension::data, 1}, {Kind::chain, Dimension::pipeline, 1}};
  const auto split = split_ports(shapes, 2);
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().message, "static needs 4 ports per GPU (data ring 2 + pipeline chain 2), there are 2");
  EXPECT_EQ(split.error().code, ErrorCode::infeasible);
  ASSERT_TRUE(split_ports(shapes, 4));
  EXPECT_EQ(of(*split_ports(shapes, 4), Dimension::data), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(of(*split_ports(shapes, 4), Dimension::pipeline), (std::vector<std::uint32_t>{2, 3}));
}

// Eight ports, weights 3 : 1, least 2 + 2. Parts 6 and 2: the ring gets both spare units.
TEST(PortSplit, SparePortsFollowWeights) {
  const std::vector<RailShape> shapes{{Kind::ring, Dimension::data, 3}, {Kind::chain, Dimension::pipeline, 1}};
  const auto split = split_ports(shapes, 8);
  ASSERT_TRUE(split);
  EXPECT_EQ(of(*split, Dimension::data).size(), 6u);
  EXPECT_EQ(of(*split, Dimension::pipeline).size(), 2u);
}

// Five ports for a ring and a pair of equal weight: least 2 + 1, parts 2.5 each. The pair lacks 1.5 and grows to 2;
// one port is left, which a ring cannot use, so the pair takes it too.
TEST(PortSplit, OddPortsGoWhereTheyServe) {
  const std::vector<RailShape> shapes{{Kind::ring, Dimension::data, 1}, {Kind::pair, Dimension::pipeline, 1}};
  const auto split = split_ports(shapes, 5);
  ASSERT_TRUE(split);
  EXPECT_EQ(of(*split, Dimension::data).size(), 2u);
  EXPECT_EQ(of(*split, Dimension::pipeline).size(), 3u);
  const std::vector<RailShape> ring{{Kind::ring, Dimension::data, 0}};
  EXPECT_EQ(of(*split_ports(ring, 5), Dimension::data).size(), 4u);
  EXPECT_TRUE(split_ports({}, 4));
}

// DP 3 x PP `stages`, one GPU per domain, rank = stage * 3 + replica. Slots: 0 data group, then the neighbours.
model::TaskGraph step(std::uint32_t stages, Bytes activations, Bytes gradients) {
  model::TaskGraph graph;
  graph.slot_start.push_back(0);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    model::Program program;
    graph.groups.push_back({Dimension::data, {stage * 3, stage * 3 + 1, stage * 3 + 2}});
    model::Slot neighbours = 0;
    const auto add = [&](TaskKind kind, Dimension dimension, model::Slot slot, Bytes bytes) {
      Task task;
      task.kind = kind;
      task.dimension = dimension;
      task.collective = kind == TaskKind::collective ? Collective::all_reduce : Collective::none;
      task.slot = slot;
      task.bytes = bytes;
      program.tasks.push_back(task);
    };
    if (stage > 0) add(TaskKind::receive, Dimension::pipeline, ++neighbours, activations);
    if (stage + 1 < stages) add(TaskKind::send, Dimension::pipeline, ++neighbours, activations);
    add(TaskKind::collective, Dimension::data, 0, gradients);
    program.dependency_start.assign(program.tasks.size() + 1, 0);
    graph.programs.push_back(program);
    for (std::uint32_t replica = 0; replica < 3; ++replica) {
      graph.program_of.push_back(stage);
      graph.stage_of.push_back(stage);
      graph.slots.push_back(stage);
      if (stage > 0) graph.slots.push_back((stage - 1) * 3 + replica);
      if (stage + 1 < stages) graph.slots.push_back((stage + 1) * 3 + replica);
      graph.slot_start.push_back(static_cast<std::uint32_t>(graph.slots.size()));
    }
  }
  return graph;
}

// Three stages, three replicas. Pipeline: two borders * 3 messages of 100 bytes. Data: 9 ranks send 2 * 2/3 of 900.
TEST(RailShapes, RingChainAndTheirTraffic) {
  const auto shapes = rail_shapes(step(3, Bytes{100}, Bytes{900}), *make_layout(9, 1));
  ASSERT_TRUE(shapes) << shapes.error().message;
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[0].dimension, Dimension::data);
  EXPECT_EQ((*shapes)[0].kind, Kind::ring);
  EXPECT_DOUBLE_EQ((*shapes)[0].weight, 9 * 1200.0);
  EXPECT_EQ((*shapes)[1].dimension, Dimension::pipeline);
  EXPECT_EQ((*shapes)[1].kind, Kind::chain);
  EXPECT_DOUBLE_EQ((*shapes)[1].weight, 600);
}

TEST(RailShapes, TwoStagesArePairsAndDomainsNeedNoPorts) {
  const auto shapes = rail_shapes(step(2, Bytes{100}, Bytes{900}), *make_layout(6, 3));
  ASSERT_TRUE(shapes);
  ASSERT_EQ(shapes->size(), 1u);
  EXPECT_EQ((*shapes)[0].kind, Kind::pair);
}

// Two domains of three, all six ranks in one group: a rail carries a third of the tensor, as a pair: 6 * 900 / 3.
TEST(RailShapes, HierarchicalGroupsPutAPartOnEachRail) {
  auto graph = step(2, Bytes{100}, Bytes{900});
  for (auto& group : graph.groups) group.members = {0, 1, 2, 3, 4, 5};
  const auto shapes = rail_shapes(graph, *make_layout(6, 3));
  ASSERT_TRUE(shapes);
  EXPECT_EQ((*shapes)[0].kind, Kind::pair);
  EXPECT_DOUBLE_EQ((*shapes)[0].weight, 1800);
}

TEST(RailShapes, RefusesWhatNoSplitCanServe) {
  auto graph = step(2, Bytes{100}, Bytes{900});
  for (auto& task : graph.programs[0].tasks) task.dimension = Dimension::other;
  for (auto& task : graph.programs[1].tasks) task.dimension = Dimension::other;
  const auto mixed = rail_shapes(graph, *make_layout(6, 1));
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("both collectives and messages"), std::string::npos);
  EXPECT_FALSE(rail_shapes(graph, *make_layout(8, 1)));
}

}  // namespace
}  // namespace photonrail::fabric
