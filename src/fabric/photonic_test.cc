// Photonic rails (photonic.h): which circuits and ports an operation takes, and rates that follow from circuits.
#include "fabric/photonic.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "fabric/test_fabrics.h"

namespace photonrail::fabric {
namespace {

// One GPU per domain, so that everything runs on rail 0; ports of 100 Gb/s.
PhotonicOptions ports(std::int64_t count) {
  PhotonicOptions options;
  options.ports = count;
  return options;
}

std::unique_ptr<Fabric> make(std::int64_t gpus, std::int64_t domain, const PhotonicOptions& options) {
  auto fabric = make_photonic(*make_layout(gpus, domain), options);
  EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
  return std::move(*fabric);
}

Footprint reduce(const Fabric& fabric, std::vector<Rank> members) {
  return must(fabric.footprint(Collective::all_reduce, members, Dimension::data));
}

Footprint message(const Fabric& fabric, Rank source, Rank destination, Dimension dimension = Dimension::pipeline) {
  return must(fabric.footprint_p2p(source, destination, dimension));
}

// Bytes of the payload over the rate, without latency; seconds per payload byte.
double seconds_per_byte(const Fabric& fabric, const Footprint& footprint) {
  return 8 * footprint.bytes_per_payload / rates(fabric, {footprint})[0];
}

// Ring of four with four ports of 100 Gb/s: a member sends 2 * 3/4 of the payload on all four ports, 400 Gb/s.
TEST(Photonic, RingUsesAllPortsBothWays) {
  const auto fabric = make(4, 1, ports(4));
  const Footprint ring = reduce(*fabric, {0, 1, 2, 3});
  EXPECT_DOUBLE_EQ(seconds_per_byte(*fabric, ring), 8 * 1.5 / 400e9);
  EXPECT_EQ(ring.steps, 6);
  EXPECT_EQ(ring.latency, microseconds(6));
  // Member i: ports 4i, 4i+1 to the next member's ports 2 and 3.
  const std::vector<CircuitDemand> expected{{0, 6}, {1, 7}, {2, 12}, {3, 13}, {4, 10}, {5, 11}, {8, 14}, {9, 15}};
  EXPECT_EQ(ring.circuits, expected);
}

// An odd port stays dark in a ring: three ports carry as much as two.
TEST(Photonic, RingNeedsTwoPortsAndUsesThemInTwos) {
  const auto three = make(4, 1, ports(3));
  EXPECT_DOUBLE_EQ(seconds_per_byte(*three, reduce(*three, {0, 1, 2, 3})), 8 * 1.5 / 200e9);
  const auto one = make(4, 1, ports(1));
  EXPECT_NE(error_of(one->footprint(Collective::all_reduce, std::vector<Rank>{0, 1, 2}, Dimension::data))
                .find("needs 2 duplex ports per GPU, one for each neighbour; it has 1"),
            std::string::npos);
}

// A pair moves 2 * 1/2 of the payload each way, on all its ports or on half of them.
TEST(Photonic, PairUsesAllPortsOrHalf) {
  PhotonicOptions options = ports(4);
  const auto all = make(2, 1, options);
  EXPECT_DOUBLE_EQ(seconds_per_byte(*all, reduce(*all, {0, 1})), 8 / 400e9);
  EXPECT_EQ(reduce(*all, {0, 1}).circuits, (std::vector<CircuitDemand>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  options.pair_ports = PairPorts::half;
  const auto half = make(2, 1, options);
  EXPECT_DOUBLE_EQ(seconds_per_byte(*half, reduce(*half, {0, 1})), 8 / 200e9);
}

TEST(Photonic, OnePortHoldsOnePair) {
  const auto fabric = make(2, 1, ports(1));
  EXPECT_DOUBLE_EQ(seconds_per_byte(*fabric, reduce(*fabric, {0, 1})), 8 / 100e9);
}

// A middle stage with two ports holds both neighbours; with one port it cannot. Forward and backward messages between
// two stages share their circuits.
TEST(Photonic, ChainHoldsBothNeighboursFromTwoPortsOn) {
  const auto two = make(3, 1, ports(2));
  EXPECT_FALSE(circuits_conflict(message(*two, 0, 1).circuits, message(*two, 1, 2).circuits));
  EXPECT_EQ(message(*two, 0, 1).circuits, message(*two, 1, 0).circuits);
  EXPECT_NE(message(*two, 0, 1).usage[0].link, message(*two, 1, 0).usage[0].link);
  EXPECT_DOUBLE_EQ(seconds_per_byte(*two, message(*two, 0, 1)), 8 / 100e9);
  const auto one = make(3, 1, ports(1));
  EXPECT_TRUE(circuits_conflict(message(*one, 0, 1).circuits, message(*one, 1, 2).circuits));
}

TEST(Photonic, TwoStagesAreAPair) {
  PhotonicOptions options = ports(4);
  options.pipeline_stages = 2;
  const auto fabric = make(2, 1, options);
  EXPECT_DOUBLE_EQ(seconds_per_byte(*fabric, message(*fabric, 0, 1)), 8 / 400e9);
  EXPECT_EQ(message(*fabric, 0, 1).circuits, message(*fabric, 1, 0).circuits);
}

// The data ring and the pipeline chain want the same ports: they take turns, unless a split parts them.
TEST(Photonic, SplitPartsDimensions) {
  PhotonicOptions options = ports(4);
  const auto shared = make(8, 1, options);
  EXPECT_TRUE(circuits_conflict(reduce(*shared, {0, 1, 2, 3}).circuits, message(*shared, 0, 4).circuits));
  PortSplit split;
  split.ports[static_cast<std::size_t>(Dimension::data)] = {0, 3};
  split.ports[static_cast<std::size_t>(Dimension::pipeline)] = {1, 2};
  options.split = {split};
  const auto parted = make(8, 1, options);
  EXPECT_FALSE(circuits_conflict(reduce(*parted, {0, 1, 2, 3}).circuits, message(*parted, 0, 4).circuits));
  EXPECT_DOUBLE_EQ(seconds_per_byte(*parted, reduce(*parted, {0, 1, 2, 3})), 8 * 1.5 / 200e9);
  EXPECT_NE(error_of(parted->footprint(Collective::all_gather, std::vector<Rank>{0, 1}, Dimension::expert))
                .find("gives no port to the expert dimension"),
            std::string::npos);

  options.split[0].ports[0] = {3};
  EXPECT_FALSE(make_photonic(*make_layout(8, 1), options));
  options.split[0].ports[0] = {4};
  EXPECT_FALSE(make_photonic(*make_layout(8, 1), options));
}

TEST(Photonic, NoCircuitLeavesItsRail) {
  const auto fabric = make(16, 8, ports(4));
  EXPECT_NE(error_of(fabric->footprint(Collective::all_reduce, std::vector<Rank>{0, 1, 8}, Dimension::data))
                .find("rank 1 (domain 0, rail 1)"),
            std::string::npos);
  EXPECT_FALSE(fabric->footprint(Collective::all_reduce, std::vector<Rank>{0, 9}, Dimension::data));
  EXPECT_NE(error_of(fabric->footprint_p2p(0, 9, Dimension::pipeline)).find("no circuit leaves its rail"),
            std::string::npos);
}

// all_to_all on a ring, members forwarding: the load of every directed link counted by walking each message the
// shorter way (half each way when both are equal), against floor(n^2/4)/n of the payload over both directions.
TEST(Photonic, AllToAllForwardsByTheShorterWay) {
  for (std::size_t n = 3; n <= 10; ++n) {
    const auto fabric = make(static_cast<std::int64_t>(n), 1, ports(2));
    std::vector<Rank> members;
    for (Rank rank = 0; rank < n; ++rank) members.push_back(rank);
    std::vector<double> right(n, 0), left(n, 0);
    for (std::size_t source = 0; source < n; ++source) {
      for (std::size_t distance = 1; distance < n; ++distance) {
        const double to_right = 2 * distance < n ? 1 : 2 * distance == n ? 0.5 : 0;
        for (std::size_t hop = 0; hop < distance; ++hop) right[(source + hop) % n] += to_right;
        for (std::size_t hop = 0; hop < n - distance; ++hop) left[(source + n - hop) % n] += 1 - to_right;
      }
    }
    const Footprint footprint = must(fabric->footprint(Collective::all_to_all, members, Dimension::expert));
    const double both = (right[0] + left[0]) / static_cast<double>(n);
    EXPECT_NEAR(footprint.bytes_per_payload * 2, both, 1e-12) << n;
    EXPECT_NEAR(footprint.wire_per_payload, both * static_cast<double>(n), 1e-9) << n;
    EXPECT_EQ(footprint.steps, static_cast<std::int64_t>(n / 2));
  }
}

// A broadcast uses n - 1 of the n edges, each way round half of the payload; nothing returns to the root.
TEST(Photonic, BroadcastPutsThePayloadOnEveryMemberOnce) {
  const auto fabric = make(5, 1, ports(2));
  const Footprint footprint =
      must(fabric->footprint(Collective::broadcast, std::vector<Rank>{0, 1, 2, 3, 4}, Dimension::data));
  EXPECT_DOUBLE_EQ(footprint.wire_per_payload, 4);
  std::set<std::pair<Rank, std::uint32_t>> silent;
  for (Rank rank = 0; rank < 5; ++rank) silent.insert({{rank, 0}, {rank, 1}});
  for (const LinkUsage& use : footprint.usage) {
    silent.erase({fabric->links()[use.link].owner, fabric->links()[use.link].index});
  }
  // Port 0 looks to the next member, port 1 to the previous one.
  EXPECT_EQ(silent, (std::set<std::pair<Rank, std::uint32_t>>{{1, 1}, {4, 0}}));
  EXPECT_EQ(footprint.circuits.size(), 5u);
}

TEST(Photonic, RefusesBadOptions) {
  const auto layout = make_layout(8, 8);
  PhotonicOptions options = ports(0);
  EXPECT_FALSE(make_photonic(*layout, options));
  options = ports(4);
  options.port_rate = {0};
  EXPECT_FALSE(make_photonic(*layout, options));
  options = ports(1000);
  EXPECT_FALSE(make_photonic(*make_layout(1 << 20, 8), options));
}

// Whatever the group: no port in two circuits, every loaded port belongs to one, circuits stay on their rail, a ring
// takes 2w ports of every member, and a member's bytes are those of the algorithm: rates follow from circuits.
TEST(Photonic, RandomGroupsKeepThePortRules) {
  EXPECT_TRUE(rc::check([] {
    RandomStream random(*rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()), "photonic_test");
    const auto m = static_cast<std::uint32_t>(2 + random.below(7));
    const auto fabric = make(32, 4, ports(m));
    const auto rail = static_cast<Rank>(random.below(4));
    std::vector<Rank> members;
    for (Rank domain = 0; domain < 8; ++domain) {
      if (random.below(2) == 0) members.push_back(domain * 4 + rail);
    }
    for (std::size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[random.below(i)]);
    RC_PRE(members.size() >= 2);
    const auto kind = random.below(2) == 0 ? Collective::all_reduce : Collective::reduce_scatter;
    const Footprint footprint = must(fabric->footprint(kind, members, Dimension::data));
    std::set<PortId> used;
    std::map<Rank, std::uint32_t> per_gpu;
    for (const CircuitDemand& circuit : footprint.circuits) {
      RC_ASSERT(circuit.a < circuit.b);
      RC_ASSERT(used.insert(circuit.a).second && used.insert(circuit.b).second);
      RC_ASSERT(fabric->rail_of(circuit.a) == rail && fabric->rail_of(circuit.b) == rail);
      ++per_gpu[fabric->gpu_of(circuit.a)];
      ++per_gpu[fabric->gpu_of(circuit.b)];
    }
    std::map<Rank, double> sent;
    for (const LinkUsage& use : footprint.usage) {
      const Link& link = fabric->links()[use.link];
      RC_ASSERT(link.kind == LinkKind::port_tx);
      RC_ASSERT(used.contains(link.owner * m + link.index));
      sent[link.owner] += use.share * footprint.bytes_per_payload;
    }
    const std::uint32_t expected = members.size() == 2 ? m : m / 2 * 2;
    for (const Rank rank : members) {
      RC_ASSERT(per_gpu[rank] == expected);
      RC_ASSERT(std::abs(sent[rank] - ring_bytes(kind, members.size())) < 1e-12);
    }
    const double seconds = seconds_per_byte(*fabric, footprint);
    RC_ASSERT(std::abs(seconds - 8 * ring_bytes(kind, members.size()) / (expected * 100e9)) < 1e-24);
  }));
}

}  // namespace
}  // namespace photonrail::fabric
