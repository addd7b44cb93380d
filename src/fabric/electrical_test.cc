// Electrical fabrics (electrical.h) against max-min rates, switch counts and latencies worked by hand.
#include "fabric/electrical.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "fabric/clos.h"
#include "fabric/test_fabrics.h"

namespace photonrail::fabric {
namespace {

constexpr double kGb = 1e9;

// 100 Gb/s NICs and ports.
ElectricalOptions small(std::int64_t radix, double oversubscription = 1) {
  ElectricalOptions options;
  options.radix = radix;
  options.port_rate = gigabits_per_second(100);
  options.nic_rate = gigabits_per_second(100);
  options.oversubscription = oversubscription;
  return options;
}

std::unique_ptr<Fabric> make(model::Fabric kind, std::int64_t gpus, std::int64_t domain,
                             const ElectricalOptions& options) {
  const auto layout = make_layout(gpus, domain);
  auto fabric = make_electrical(kind, *layout, options);
  EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
  return std::move(*fabric);
}

Footprint message(const Fabric& fabric, Rank source, Rank destination) {
  return must(fabric.footprint_p2p(source, destination, Dimension::pipeline));
}

Footprint reduce(const Fabric& fabric, std::vector<Rank> members) {
  return must(fabric.footprint(Collective::all_reduce, members, Dimension::data));
}

// Seven senders, one receiver, one switch: the receiver's NIC of 100 Gb/s is the bottleneck of all, 100/7 each.
TEST(Electrical, IncastSharesTheReceiversNic) {
  const auto fabric = make(model::Fabric::fat_tree, 8, 1, small(64));
  std::vector<Footprint> incast;
  for (Rank source = 1; source < 8; ++source) incast.push_back(message(*fabric, source, 0));
  for (const double rate : rates(*fabric, incast)) EXPECT_DOUBLE_EQ(rate, 100 * kGb / 7);
}

// Radix 6 at 2:1: the largest d with d + ceil(d / 2) <= 6 is 4, so a leaf has 4 NICs and 2 uplinks. Eight GPUs are two
// leaves. Four messages from leaf 0 to leaf 1 share 2 * 100 Gb/s: 50 each. Three GPUs fit under 1:1 leaves of 3 + 3,
// where each message has its NIC's 100 to itself.
TEST(Electrical, TwoToOneOversubscriptionHalvesRates) {
  const auto tight = make(model::Fabric::fat_tree, 8, 1, small(6, 2));
  std::vector<Footprint> across;
  for (Rank source = 0; source < 4; ++source) across.push_back(message(*tight, source, source + 4));
  for (const double rate : rates(*tight, across)) EXPECT_DOUBLE_EQ(rate, 50 * kGb);

  const auto wide = make(model::Fabric::fat_tree, 9, 1, small(6, 1));
  across.clear();
  for (Rank source = 0; source < 3; ++source) across.push_back(message(*wide, source, source + 3));
  for (const double rate : rates(*wide, across)) EXPECT_DOUBLE_EQ(rate, 100 * kGb);
}

// The two leaves of above; leaf 0 has GPUs 0..3, leaf 1 has 4..7, 200 Gb/s of uplinks each. Ring A = 0 4 1 5 goes up
// from leaf 0 twice (0-4, 1-5); ring B = 2 3 6 7 once (3-6). Per-flow rates x are equal on the shared uplinks:
// 2x + 1x = 200, x = 66.7 Gb/s each, below the NICs' 100.
TEST(Electrical, TwoCrossingAllReducesShareUplinksByFlow) {
  const auto fabric = make(model::Fabric::fat_tree, 8, 1, small(6, 2));
  const Footprint a = reduce(*fabric, {0, 4, 1, 5});
  const Footprint b = reduce(*fabric, {2, 3, 6, 7});
  const auto both = rates(*fabric, {a, b});
  EXPECT_DOUBLE_EQ(both[0], 200 * kGb / 3);
  EXPECT_DOUBLE_EQ(both[1], 200 * kGb / 3);
  // A ring of four sends 2 * 3/4 of the payload from each member, in 6 steps.
  EXPECT_DOUBLE_EQ(a.bytes_per_payload, 1.5);
  EXPECT_DOUBLE_EQ(a.wire_per_payload, 6);
  EXPECT_EQ(a.steps, 6);
  // Adding a message 6-7, the same NICs as B's edge 6-7: that NIC is full first, at 100 / 2 = 50 for the message and
  // for B; A then takes what B leaves of the uplinks, 2x = 200 - 50, x = 75.
  const auto three = rates(*fabric, {a, b, message(*fabric, 6, 7)});
  EXPECT_DOUBLE_EQ(three[0], 75 * kGb);
  EXPECT_DOUBLE_EQ(three[1], 50 * kGb);
  EXPECT_DOUBLE_EQ(three[2], 50 * kGb);
}

// Uplinks are rounded up: 3 NICs at 2:1 need 2 (radix 5: 3 + 2), never 1.
TEST(Electrical, UplinksNeverFallShortOfTheRatio) {
  const auto shape = electrical_shape(model::Fabric::fat_tree, *make_layout(6, 1), small(5, 2));
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->leaf_down, 3);
  EXPECT_EQ(shape->leaf_up, 2);
}

// ECMP over 2 uplinks: two messages from leaf 0 either collide (50 each) or do not (100 each); over many seeds both
// happen, and nothing else does. With `ideal` they never collide.
TEST(Electrical, EcmpCollidesOrNot) {
  ElectricalOptions options = small(6, 2);
  options.load_balance = model::LoadBalance::ecmp;
  int collided = 0;
  for (options.ecmp_seed = 1; options.ecmp_seed <= 64; ++options.ecmp_seed) {
    const auto fabric = make(model::Fabric::fat_tree, 8, 1, options);
    const auto got = rates(*fabric, {message(*fabric, 0, 4), message(*fabric, 1, 5)});
    EXPECT_TRUE((got == std::vector<double>{50 * kGb, 50 * kGb} || got == std::vector<double>{100 * kGb, 100 * kGb}));
    collided += got[0] == 50 * kGb ? 1 : 0;
  }
  // Two independent picks of one of two spines meet with probability 1/2 (each spine has one cable to leaf 1).
  EXPECT_GT(collided, 16);
  EXPECT_LT(collided, 48);
}

// radix 4: d = 2, u = 2. 16 GPUs: 8 leaves > 4, so pods of 2 leaves and 2 aggregation switches; 4 pods, and planes of
// 2 cores: the k = 4 fat tree of Al-Fares et al. with 8 + 8 + 4 switches. 17 GPUs are one leaf too many.
TEST(Electrical, ThreeTiersAreTheTextbookFatTree) {
  const ElectricalOptions options = small(4);
  const auto shape = electrical_shape(model::Fabric::fat_tree, *make_layout(16, 1), options);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->tiers, 3);
  EXPECT_EQ(shape->leaves, 8);
  EXPECT_EQ(shape->spines, 8);
  EXPECT_EQ(shape->cores, 4);
  const auto refused = make_electrical(model::Fabric::fat_tree, *make_layout(17, 1), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("join 8 at most"), std::string::npos) << refused.error().message;

  const auto fabric = make(model::Fabric::fat_tree, 16, 1, options);
  const Time base = options.latency, hop = options.hop_latency;
  EXPECT_EQ(message(*fabric, 0, 1).latency, base + hop);
  EXPECT_EQ(message(*fabric, 0, 2).latency, base + 3 * hop);
  EXPECT_EQ(message(*fabric, 0, 15).latency, base + 5 * hop);
}

// 2,048 GPUs in domains of 8 on 64-port boxes: 32 NICs a leaf, 256 / 32 = 8 pods, 8 rails * 8 = 64 leaves, 32 spines.
TEST(Electrical, RailOptimisedCountsAtTwoThousandGpus) {
  const auto layout = make_layout(2048, 8);
  const auto shape = electrical_shape(model::Fabric::rail_optimised, *layout, small(64));
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->leaves, 64);
  EXPECT_EQ(shape->spines, 32);
  EXPECT_EQ(shape->tiers, 2);
  // On rail-only each rail is 8 leaves with ceil(32 / floor(64 / 8)) = 4 spines of its own.
  const auto rail_only = electrical_shape(model::Fabric::rail_only, *layout, small(64));
  EXPECT_EQ(rail_only->leaves, 64);
  EXPECT_EQ(rail_only->spines, 32);
}

// NICs of 400 Gb/s on 200 Gb/s ports take two ports and, at 1:1, two uplinks each: 64 ports serve 16 NICs, 32 up.
TEST(Electrical, NicsFasterThanPortsTakeSeveral) {
  ElectricalOptions options = small(64);
  options.port_rate = gigabits_per_second(200);
  options.nic_rate = gigabits_per_second(400);
  const auto shape = electrical_shape(model::Fabric::fat_tree, *make_layout(128, 8), options);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->leaf_down, 16);
  EXPECT_EQ(shape->leaf_up, 32);
}

// 20 NICs a leaf, servers of 8: a leaf takes two whole servers, so 2s and 2s + 1 are one switch apart.
TEST(Electrical, FatTreeKeepsServersWhole) {
  const auto fabric = make(model::Fabric::fat_tree, 56, 8, small(40));
  for (Rank server = 0; server < 6; server += 2) {
    const Time latency = message(*fabric, server * 8, server * 8 + 15).latency;
    EXPECT_EQ(latency, ElectricalOptions().latency + ElectricalOptions().hop_latency) << server;
  }
}

TEST(Electrical, RailOnlyRelaysAcrossRailsOrRefuses) {
  ElectricalOptions options = small(64);
  const auto fabric = make(model::Fabric::rail_only, 16, 8, options);
  const Footprint direct = message(*fabric, 0, 8);
  EXPECT_EQ(bytes_on(*fabric, direct, LinkKind::scale_up_tx), 0);
  EXPECT_EQ(direct.latency, options.latency + options.hop_latency);
  // 0 (rail 0) to 11 (rail 3): over the domain to 3, then rail 3.
  const Footprint relayed = message(*fabric, 0, 11);
  EXPECT_EQ(bytes_on(*fabric, relayed, LinkKind::scale_up_tx), 1);
  EXPECT_EQ(bytes_on(*fabric, relayed, LinkKind::nic_tx), 1);
  EXPECT_EQ(relayed.latency, options.scale_up.latency + options.latency + options.hop_latency);
  EXPECT_EQ(relayed.wire_per_payload, 2);

  options.cross_rail = CrossRail::refuse;
  const auto strict = make(model::Fabric::rail_only, 16, 8, options);
  EXPECT_NE(error_of(strict->footprint_p2p(0, 11, Dimension::pipeline)).find("no network joins rails"),
            std::string::npos);
}

// Rail-optimised, cross-rail traffic: leaf, spine, leaf.
TEST(Electrical, RailOptimisedCrossesRailsThroughSpines) {
  const auto fabric = make(model::Fabric::rail_optimised, 16, 8, small(64));
  EXPECT_EQ(bytes_on(*fabric, message(*fabric, 0, 11), LinkKind::leaf_up), 1);
  EXPECT_EQ(bytes_on(*fabric, message(*fabric, 0, 8), LinkKind::leaf_up), 0);
}

// The ring of an irregular group follows member order over real paths: 0-1 in the domain, 1-8 and 8-0 on NICs.
TEST(Electrical, IrregularGroupsRingOverRealPaths) {
  const auto fabric = make(model::Fabric::rail_optimised, 16, 8, small(64));
  const Footprint footprint =
      must(fabric->footprint(Collective::all_gather, std::vector<Rank>{0, 1, 8}, Dimension::other));
  EXPECT_DOUBLE_EQ(bytes_on(*fabric, footprint, LinkKind::scale_up_tx), 2.0 / 3);
  EXPECT_DOUBLE_EQ(bytes_on(*fabric, footprint, LinkKind::nic_tx), 4.0 / 3);
  EXPECT_EQ(footprint.path, Path::rail);
  EXPECT_EQ(footprint.steps, 2);
}

TEST(Electrical, RefusesBadOptions) {
  const auto layout = make_layout(8, 8);
  const auto refused = [&](auto change) {
    ElectricalOptions options = small(64);
    change(options);
    return !make_electrical(model::Fabric::fat_tree, *layout, options);
  };
  EXPECT_TRUE(refused([](auto& o) { o.radix = 1; }));
  EXPECT_TRUE(refused([](auto& o) { o.port_rate = {0}; }));
  EXPECT_TRUE(refused([](auto& o) { o.nic_rate = {-1}; }));
  EXPECT_TRUE(refused([](auto& o) { o.oversubscription = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.oversubscription = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& o) { o.flows = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.nic_rate = gigabits_per_second(100'000); }));
}

ElectricalOptions random_options(RandomStream& random) {
  ElectricalOptions options = small(static_cast<std::int64_t>(8 + 2 * random.below(9)), random.below(2) == 0 ? 1 : 2);
  options.load_balance = random.below(2) == 0 ? model::LoadBalance::ideal : model::LoadBalance::ecmp;
  options.ecmp_seed = random.next();
  options.flows = static_cast<std::int64_t>(1 + random.below(3));
  return options;
}

double on(const Fabric& fabric, const Footprint& footprint, LinkKind up) { return bytes_on(fabric, footprint, up); }

// Bytes are conserved on every way, and what leaves a leaf never exceeds its uplinks: the cut bound of bisection.
TEST(Electrical, RandomMessagesConserveBytesAndObeyCuts) {
  EXPECT_TRUE(rc::check([] {
    RandomStream random(*rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()), "electrical_test");
    const ElectricalOptions options = random_options(random);
    const auto kind = static_cast<model::Fabric>(random.below(3));
    const auto layout = make_layout(static_cast<std::int64_t>(8 * (1 + random.below(8))), 4);
    const auto made = make_electrical(kind, *layout, options);
    RC_PRE(made.has_value());
    const Fabric& fabric = **made;
    std::vector<Footprint> messages;
    for (int i = 0; i < 40; ++i) {
      const auto source = static_cast<Rank>(random.below(layout->gpus()));
      const auto destination = static_cast<Rank>(random.below(layout->gpus()));
      if (source == destination) continue;
      const Footprint one = must(fabric.footprint_p2p(source, destination, Dimension::pipeline));
      const auto near = [](double a, double b) { return std::abs(a - b) < 1e-12; };
      const double network = layout->domain_of(source) == layout->domain_of(destination) ? 0 : 1;
      RC_ASSERT(near(on(fabric, one, LinkKind::nic_tx), network) && near(on(fabric, one, LinkKind::nic_rx), network));
      const double up = on(fabric, one, LinkKind::leaf_up);
      RC_ASSERT(near(up, 0) || near(up, 1));
      RC_ASSERT(near(up, on(fabric, one, LinkKind::leaf_down)));
      RC_ASSERT(near(on(fabric, one, LinkKind::core_up), on(fabric, one, LinkKind::core_down)));
      RC_ASSERT(on(fabric, one, LinkKind::core_up) <= on(fabric, one, LinkKind::leaf_up) + 1e-12);
      messages.push_back(one);
    }
    const auto shape = electrical_shape(kind, *layout, options);
    const auto got = rates(fabric, messages);
    std::map<std::uint32_t, double> out_of_leaf;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      for (const LinkUsage& use : messages[i].usage) {
        const Link& link = fabric.links()[use.link];
        if (link.kind == LinkKind::leaf_up) out_of_leaf[link.owner] += use.share * got[i];
      }
    }
    for (const auto& [leaf, rate] : out_of_leaf) {
      RC_ASSERT(rate <= static_cast<double>(shape->leaf_up) * 100 * kGb * (1 + 1e-9));
      RC_ASSERT(leaf < shape->leaves);
    }
  }));
}

// Every cable up and every cable down of a route end at the same switch, whatever the hash says; and no switch has
// more cables than ports.
TEST(Clos, CablesOfARouteMeetAtOneSwitch) {
  EXPECT_TRUE(rc::check([] {
    RandomStream random(*rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()), "clos_test");
    const auto radix = static_cast<std::uint32_t>(4 + 2 * random.below(15));
    const LeafRule rule(radix, gigabits_per_second(100), gigabits_per_second(100), 1);
    const auto leaves = static_cast<std::uint32_t>(2 + random.below(radix * 3));
    const auto plan = rule.plan(leaves, rule.most_nics());
    RC_PRE(plan.has_value());
    std::vector<Link> links;
    const Clos clos(*plan, gigabits_per_second(100), model::LoadBalance::ecmp, 0, 0,
                    [&](LinkKind kind, std::uint32_t owner, std::uint32_t index, double capacity) {
                      links.push_back({capacity, kind, owner, index});
                      return static_cast<LinkId>(links.size() - 1);
                    });
    for (std::uint64_t flow = 0; flow < 50; ++flow) {
      const auto from = static_cast<std::uint32_t>(random.below(leaves));
      const auto to = static_cast<std::uint32_t>(random.below(leaves));
      if (from == to) continue;
      const Route route = clos.route(from, to, {from, to, flow, 7});
      const Link& up = links[route.links[0]];
      const Link& down = links[route.links[route.count - 1]];
      RC_ASSERT(up.kind == LinkKind::leaf_up && up.owner == from);
      RC_ASSERT(down.kind == LinkKind::leaf_down && down.owner == to);
      RC_ASSERT(up.index % plan->spines_per_pod == down.index % plan->spines_per_pod);
      RC_ASSERT(down.index < plan->leaf_up);
      if (route.count == 2) continue;
      const Link& core_up = links[route.links[1]];
      const Link& core_down = links[route.links[2]];
      const std::uint32_t spine = up.index % plan->spines_per_pod;
      RC_ASSERT(core_up.owner == from / plan->pod_leaves * plan->spines_per_pod + spine);
      RC_ASSERT(core_down.owner == to / plan->pod_leaves * plan->spines_per_pod + spine);
      RC_ASSERT(core_up.index % plan->cores_per_plane == core_down.index % plan->cores_per_plane);
    }
    const auto parallel = [](std::uint32_t cables, std::uint32_t switches) {
      return (cables + switches - 1) / switches;
    };
    RC_ASSERT(plan->pod_leaves * parallel(plan->leaf_up, plan->spines_per_pod) + plan->spine_up <= radix);
    if (plan->tiers == 3) { RC_ASSERT(plan->pods * parallel(plan->spine_up, plan->cores_per_plane) <= radix); }
  }));
}

}  // namespace
}  // namespace photonrail::fabric
