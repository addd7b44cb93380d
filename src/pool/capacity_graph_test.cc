#include "pool/capacity_graph.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "pool/reader_rate.h"

namespace photonrail::pool {
namespace {

Resolved paper(std::int64_t count) {
  System system;
  system.accelerator.count = count;
  return resolve(system, *catalog::Catalog::builtin()).value();
}

// Table 5 of arXiv 2507.14000: one H100 reads 26.8 TB/s = 214.4 Tb/s through one 7.2 Tb/s port of a 115.2 Tb/s
// appliance.
TEST(CapacityGraph, TableFiveBreaksThePortAndTheAppliance) {
  const CapacityGraph graph = CapacityGraph::make(paper(1));
  const Stream stream{0, Store::hbm, Spread::appliance, 214.4e12};
  const auto broken = graph.broken_cuts(std::vector{stream});
  ASSERT_EQ(broken.size(), 4U);
  EXPECT_EQ(broken[0].name, "optical port (1 x 7.2 Tb/s)");
  EXPECT_NEAR(broken[0].factor(), 214.4 / 7.2, 1e-6);  // 29.8
  EXPECT_EQ(broken[1].part, Part::switch_port_side);
  EXPECT_EQ(broken[2].part, Part::all_to_all);
  EXPECT_DOUBLE_EQ(broken[2].carries, 115.2e12);
  EXPECT_NEAR(broken[2].factor(), 214.4 / 115.2, 1e-6);  // 1.86
  EXPECT_EQ(broken[3].name, "embedded switch of a module, memory side (16 x 8 Tb/s)");
}

TEST(CapacityGraph, APortsWorthFits) {
  const CapacityGraph graph = CapacityGraph::make(paper(16));
  std::vector<Stream> streams;
  for (std::int64_t r = 0; r < 16; ++r) streams.push_back({r, Store::hbm, Spread::appliance, 7.2e12});
  EXPECT_TRUE(graph.broken_cuts(streams).empty());
  streams[3].rate *= 1.001;
  streams[4].rate = 0;
  const auto broken = graph.broken_cuts(streams);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].name, "optical port (1 x 7.2 Tb/s)");
  EXPECT_NEAR(broken[0].needed, 7.2072e12, 1e6);
}

TEST(CapacityGraph, LoadsOfOneReader) {
  const CapacityGraph graph = CapacityGraph::make(paper(2));
  const auto loads = graph.loads(std::vector<Stream>{{1, Store::ddr, Spread::appliance, 16e9}});
  double ddr = 0;
  double all_to_all = 0;
  for (std::size_t l = 0; l < loads.size(); ++l) {
    if (graph.links()[l].part == Part::ddr) ddr += loads[l];
    if (graph.links()[l].part == Part::all_to_all) all_to_all += loads[l];
  }
  EXPECT_DOUBLE_EQ(ddr, 16e9);
  EXPECT_DOUBLE_EQ(all_to_all, 16e9);
}

TEST(CapacityGraph, OwnMemoryIsALinkOfItsOwn) {
  const CapacityGraph graph = CapacityGraph::make(paper(1));
  EXPECT_TRUE(graph.broken_cuts(std::vector<Stream>{{0, Store::local, Spread::appliance, 26.8e12}}).empty());
  const auto broken = graph.broken_cuts(std::vector<Stream>{{0, Store::local, Spread::appliance, 26.9e12}});
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].part, Part::local_memory);
}

// A demand fits by its cuts exactly when no link is overloaded; and max-min fair rates always fit.
RC_GTEST_PROP(CapacityGraph, CutsAndLoadsAgree, ()) {
  System system;
  system.module.ports = *rc::gen::inRange<std::int64_t>(1, 3);
  system.module.switch_shared = *rc::gen::arbitrary<bool>();
  system.appliance.modules = *rc::gen::inRange<std::int64_t>(2, 6);
  if (*rc::gen::arbitrary<bool>()) system.tier = {2, 1};
  system.accelerator.count = *rc::gen::inRange<std::int64_t>(1, system.accelerators_max() + 1);
  const Resolved resolved = resolve(system, *catalog::Catalog::builtin()).value();
  const CapacityGraph graph = CapacityGraph::make(resolved);
  std::vector<Stream> streams;
  std::vector<Mix> mixes;
  for (std::int64_t r = 0; r < system.accelerator.count; ++r) {
    const auto spread = *rc::gen::element(Spread::module, Spread::appliance, Spread::system);
    const double rate = *rc::gen::inRange(1, 9'000) * 1e9;
    streams.push_back({r, *rc::gen::element(Store::hbm, Store::ddr), spread, rate});
    mixes.push_back({r, false, 1.0, spread});
  }
  const auto loads = graph.loads(streams);
  bool fits = true;
  for (std::size_t l = 0; l < loads.size(); ++l) {
    fits = fits && loads[l] <= static_cast<double>(graph.links()[l].capacity) * (1 + 1e-9);
  }
  RC_ASSERT(graph.broken_cuts(streams).empty() == fits);

  const MixRates fair = fair_rates(graph, mixes);
  std::vector<Stream> fair_streams;
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    fair_streams.push_back({mixes[i].reader, Store::hbm, mixes[i].spread, fair.rates[i] * (1 - 1e-12)});
  }
  RC_ASSERT(graph.broken_cuts(fair_streams).empty());
}

}  // namespace
}  // namespace photonrail::pool
