// What all fabrics share (fabric.h): scale-up domains, hierarchical collectives, refusal of bad groups.
#include "fabric/fabric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fabric/test_fabrics.h"

namespace photonrail::fabric {
namespace {

std::unique_ptr<Fabric> photonic(std::int64_t gpus, std::int64_t domain) {
  return std::move(*make_photonic(*make_layout(gpus, domain), PhotonicOptions{}));
}

std::vector<std::unique_ptr<Fabric>> all_fabrics(const Layout& layout) {
  std::vector<std::unique_ptr<Fabric>> result;
  for (const auto kind : {model::Fabric::rail_optimised, model::Fabric::fat_tree, model::Fabric::rail_only}) {
    result.push_back(std::move(*make_electrical(kind, layout, ElectricalOptions{})));
  }
  result.push_back(std::move(*make_photonic(layout, PhotonicOptions{})));
  return result;
}

std::vector<Rank> grid(std::uint32_t domains, std::uint32_t locals, std::uint32_t domain_size) {
  std::vector<Rank> members;
  for (std::uint32_t d = 0; d < domains; ++d) {
    for (std::uint32_t l = 0; l < locals; ++l) members.push_back(d * domain_size + l);
  }
  return members;
}

TEST(Ring, BytesAndStepsOfTheTable) {
  EXPECT_DOUBLE_EQ(ring_bytes(Collective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(ring_bytes(Collective::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(ring_bytes(Collective::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(ring_bytes(Collective::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(ring_bytes(Collective::broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(ring_bytes(Collective::barrier, 4), 0);
  EXPECT_EQ(ring_steps(Collective::all_reduce, 4), 6);
  EXPECT_EQ(ring_steps(Collective::reduce_scatter, 4), 3);
  EXPECT_EQ(ring_bytes(Collective::all_reduce, 1), 0);
  EXPECT_EQ(ring_steps(Collective::all_reduce, 1), 0);
}

// Eight GPUs, 450 GB/s up: an all-reduce sends 2 * 7/8 of the payload per GPU in 14 steps of 500 ns.
TEST(Fabric, DomainRunsOnScaleUpLinks) {
  const auto fabric = photonic(16, 8);
  const Footprint footprint = must(fabric->footprint(Collective::all_reduce, grid(1, 8, 8), Dimension::tensor));
  EXPECT_EQ(footprint.path, Path::scale_up);
  EXPECT_TRUE(footprint.circuits.empty());
  EXPECT_DOUBLE_EQ(footprint.bytes_per_payload, 1.75);
  EXPECT_EQ(footprint.latency, nanoseconds(14 * 500));
  EXPECT_EQ(rates(*fabric, {footprint})[0], 3600e9);
  EXPECT_DOUBLE_EQ(footprint.wire_per_payload, 14);
}

// Two domains of two, all four GPUs: inside, a reduce-scatter and an all-gather of 1/2 each, 1 payload per GPU; on each
// rail a pair all-reduces half of the payload, 2 * 1/2 * 1/2. Rails: 4 ports of 100 Gb/s. The rail governs:
// 8 * 0.5 / 400 Gb/s against 8 * 1 / 3,600 Gb/s. Latency: 2 scale-up steps of 0.5 us and 2 rail steps of 1 us.
TEST(Fabric, GridIsHierarchicalAndTheTighterPartGoverns) {
  const auto fabric = photonic(4, 2);
  const Footprint footprint = must(fabric->footprint(Collective::all_reduce, grid(2, 2, 2), Dimension::data));
  EXPECT_DOUBLE_EQ(bytes_on(*fabric, footprint, LinkKind::scale_up_tx), 4);
  EXPECT_DOUBLE_EQ(bytes_on(*fabric, footprint, LinkKind::port_tx), 4 * 0.5);
  EXPECT_DOUBLE_EQ(8 * footprint.bytes_per_payload / rates(*fabric, {footprint})[0], 8 * 0.5 / 400e9);
  // Fairness counts flows on the network: an optical port has share 1, not the busier scale-up link.
  EXPECT_DOUBLE_EQ(footprint.bytes_per_payload, 0.5 / 4);
  EXPECT_EQ(footprint.latency, nanoseconds(3000));
  EXPECT_EQ(footprint.steps, 4);
  EXPECT_EQ(footprint.step_latency, nanoseconds(1000));
  EXPECT_EQ(footprint.path, Path::rail);
  EXPECT_EQ(footprint.circuits.size(), 8u);
}

// The hierarchy moves no byte more than one flat ring: k GPUs in each of d domains send 2(k-1)/k + 2(d-1)/(dk)
// = 2(kd-1)/(kd) of the payload each, and half of that for one pass. On every fabric.
TEST(Fabric, HierarchyConservesBytesOnEveryFabric) {
  const auto layout = make_layout(64, 8);
  for (const auto& fabric : all_fabrics(*layout)) {
    for (const std::uint32_t domains : {2u, 3u, 8u}) {
      for (const std::uint32_t locals : {1u, 2u, 5u, 8u}) {
        const std::vector<Rank> members = grid(domains, locals, 8);
        for (const auto kind : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
          const Footprint footprint = must(fabric->footprint(kind, members, Dimension::data));
          const double expected = static_cast<double>(members.size()) * ring_bytes(kind, members.size());
          EXPECT_NEAR(footprint.wire_per_payload, expected, 1e-9)
              << fabric->name() << ' ' << domains << 'x' << locals << ' ' << model::to_text(kind);
        }
      }
    }
  }
}

// all_to_all of a grid: to the destination's local index first, (k-1)/k, then everything for other domains, (d-1)/d.
TEST(Fabric, GridAllToAllGoesThroughTheDestinationsRail) {
  const auto layout = make_layout(16, 4);
  const auto fabric = std::move(*make_electrical(model::Fabric::rail_only, *layout, ElectricalOptions{}));
  const Footprint footprint = must(fabric->footprint(Collective::all_to_all, grid(4, 4, 4), Dimension::expert));
  EXPECT_DOUBLE_EQ(bytes_on(*fabric, footprint, LinkKind::scale_up_tx), 16 * 0.75);
  EXPECT_DOUBLE_EQ(bytes_on(*fabric, footprint, LinkKind::nic_tx), 16 * 0.75);
}

TEST(Fabric, BarrierMovesNothingButTakesItsSteps) {
  const auto fabric = photonic(4, 1);
  const Footprint footprint = must(fabric->footprint(Collective::barrier, grid(4, 1, 1), Dimension::data));
  EXPECT_TRUE(footprint.usage.empty());
  EXPECT_EQ(footprint.bytes_per_payload, 0);
  EXPECT_EQ(footprint.latency, microseconds(6));
  EXPECT_EQ(footprint.circuits.size(), 8u);
}

TEST(Fabric, GroupOfOneDoesNothing) {
  const auto fabric = photonic(4, 1);
  const Footprint footprint = must(fabric->footprint(Collective::all_reduce, std::vector<Rank>{2}, Dimension::data));
  EXPECT_TRUE(footprint.usage.empty());
  EXPECT_EQ(footprint.latency, Time{});
}

TEST(Fabric, MessageInADomainTakesScaleUpLinks) {
  const auto fabric = photonic(8, 8);
  const Footprint footprint = must(fabric->footprint_p2p(1, 2, Dimension::pipeline));
  EXPECT_EQ(footprint.path, Path::scale_up);
  EXPECT_EQ(footprint.usage.size(), 2u);
  EXPECT_EQ(footprint.latency, nanoseconds(500));
}

TEST(Fabric, RefusesBadGroups) {
  const auto fabric = photonic(8, 8);
  const auto error = [&](std::vector<Rank> members) {
    return error_of(fabric->footprint(Collective::all_reduce, members, Dimension::data));
  };
  EXPECT_NE(error({}).find("without members"), std::string::npos);
  EXPECT_NE(error({0, 8}).find("rank 8 does not exist"), std::string::npos);
  EXPECT_NE(error({0, 1, 0}).find("rank 0 is in its group twice"), std::string::npos);
  EXPECT_FALSE(fabric->footprint_p2p(3, 3, Dimension::pipeline));
}

TEST(Fabric, EveryLinkHasItsOwnName) {
  const auto layout = make_layout(32, 4);
  ElectricalOptions options;
  options.radix = 8;
  options.load_balance = model::LoadBalance::ecmp;
  const auto fabric = std::move(*make_electrical(model::Fabric::fat_tree, *layout, options));
  std::map<std::string, LinkId> names;
  for (LinkId link = 0; link < fabric->links().size(); ++link) names[fabric->link_name(link)] = link;
  EXPECT_EQ(names.size(), fabric->links().size());
}

}  // namespace
}  // namespace photonrail::fabric
