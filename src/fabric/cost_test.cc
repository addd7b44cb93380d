// What would turn these red: a formula of the published script that is off by one port; a box or cable that is not
// counted; a draw that depends on how many assumptions there are; a fabric that is priced though it cannot be built.
#include "fabric/cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <sstream>

#include "fabric/cost_builders.h"
#include "fabric/cost_counts.h"
#include "fabric/cost_parts.h"
#include "fabric/electrical.h"
#include "model/scenario_text.h"

namespace photonrail::fabric {
namespace {

const catalog::Catalog& parts() {
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  return catalog;
}

CostInput cluster(std::int64_t gpus, std::int64_t domain, std::int64_t gigabits) {
  CostInput input;
  input.gpus = gpus;
  input.domain = domain;
  input.nic_rate = gigabits_per_second(gigabits);
  input.samples = 0;
  return input;
}

const BillOfMaterials& bill_of(const Bills& bills, std::string_view key) {
  for (const BillOfMaterials& bill : bills.all) {
    if (bill.key == key) return bill;
  }
  ADD_FAILURE() << "no bill " << key;
  return bills.all.front();
}

double count_of(const BillOfMaterials& bill, std::string_view item) {
  for (const BomLine& line : bill.lines) {
    if (line.item == item) return line.count;
  }
  return 0;
}

// ---- published ---------------------------------------------------------------------------------------------------

// Every cell of the published comparison, in the printed digits: ports of fat tree / rail-optimised / OCS; million
// dollars; kilowatts; ratios of rail-optimised to photonic. Power ratios below 2,048 GPUs are printed with one digit.
struct PublishedCell {
  const char* gpu;
  std::int64_t gpus;
  const char* ports;
  const char* cost;
  const char* watts;
  int watts_digits;  // of the photonic figure
  const char* cost_ratio;
  const char* power_ratio;
};

TEST(CostPublished, EveryCellToItsLastDigit) {
  static constexpr PublishedCell kCells[] = {
      {"H200", 256, "1250/1309/512", "2.05/2.14/0.49", "64.4/67.3/2.76", 2, "4.35", "24.4"},
      {"H200", 512, "2743/2560/1024", "4.46/4.19/0.98", "140.7/131.7/5.52", 2, "4.27", "23.9"},
      {"H200", 1024, "5120/5060/2048", "8.38/8.30/1.97", "263.4/260.4/11.04", 2, "4.22", "23.6"},
      {"H200", 2048, "10000/10240/4096", "16.42/16.77/3.93", "514.9/526.7/22.08", 2, "4.27", "23.86"},
      {"GB200", 256, "1250/1020/512", "1.53/1.29/0.49", "64.9/53.7/4.30", 2, "2.62", "12.5"},
      {"GB200", 512, "2743/2560/1024", "3.31/3.12/0.98", "141.5/132.6/8.59", 2, "3.17", "15.4"},
      {"GB200", 1024, "5120/5247/2048", "6.23/6.36/1.97", "265.3/271.4/17.2", 1, "3.24", "15.8"},
      {"GB200", 2048, "10000/10240/4096", "12.21/12.46/3.93", "518.9/530.5/34.37", 2, "3.17", "15.44"}};
  const std::vector<PublishedRow> rows = *published_table(parts());
  ASSERT_EQ(rows.size(), std::size(kCells));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PublishedRow& row = rows[i];
    const PublishedCell& cell = kCells[i];
    SCOPED_TRACE(fmt::format("{} {}", cell.gpu, cell.gpus));
    EXPECT_EQ(row.gpu, cell.gpu);
    EXPECT_EQ(row.gpus, cell.gpus);
    EXPECT_EQ(fmt::format("{}/{}/{}", row.fat_tree_ports, row.rail_ports, row.ocs_ports), cell.ports);
    EXPECT_EQ(fmt::format("{:.2f}/{:.2f}/{:.2f}", row.fat_tree.dollars / 1e6, row.rail.dollars / 1e6,
                          row.photonic.dollars / 1e6),
              cell.cost);
    EXPECT_EQ(fmt::format("{:.1f}/{:.1f}/{:.{}f}", row.fat_tree.watts / 1e3, row.rail.watts / 1e3,
                          row.photonic.watts / 1e3, cell.watts_digits),
              cell.watts);
    EXPECT_EQ(fmt::format("{:.2f}", row.cost_ratio), cell.cost_ratio);
    EXPECT_EQ(
        fmt::format(
            "{:.{}f}", row.power_ratio,
            std::string_view(cell.power_ratio).find('.') + 3 == std::string_view(cell.power_ratio).size() ? 2 : 1),
        cell.power_ratio);
  }
}

TEST(CostPublished, OcsPriceMovesTheRatioAsByHand) {
  CostInput input = cluster(2048, 8, 400);
  input.mode = model::CostMode::as_published;
  const CostReport report = *make_cost_report(input, parts());
  // Rail-optimised: 10240 x 37299/64 + 12288 x 879 = 16,768,992. Photonic at $230 per port: 4096 x 230 + 2048 x 879.
  const double wanted = 16'768'992.0 / (4096 * 230.0 + 2048 * 879.0);
  bool found = false;
  for (const TornadoRow& row : report.tornado) {
    if (report.ratios[row.ratio].fabric != "rail_optimised" || row.key != "price_per_port:polatis-6000n") continue;
    found = true;
    EXPECT_NEAR(row.cost_low, wanted, 1e-9);
    EXPECT_EQ(row.power_low, row.power_high);
  }
  EXPECT_TRUE(found);
}

TEST(CostPublished, OtherRatesAreRefused) {
  CostInput input = cluster(256, 8, 200);
  input.mode = model::CostMode::as_published;
  const Result<CostReport> report = make_cost_report(input, parts());
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, ErrorCode::infeasible);
  EXPECT_NE(report.error().message.find("not 200 Gb/s"), std::string::npos);
}

// ---- real counts -------------------------------------------------------------------------------------------------

// 512 H200: 64 servers, 8 rails, 64-port boxes, non-blocking, so 32 NICs and 32 uplinks per leaf.
//   rail-optimised: 2 leaves x 8 rails = 16, each 32 up; 64 / 16 = 4 cables to each spine, so 32 / 4 = 8 spines;
//     512 NIC links and 512 between switches use 512 + 2 x 512 = 1,536 switch ports, one module each.
//   rail-only: one box holds a rail of 64; 8 boxes, no links between switches, 512 modules.
//   photonic, two full-rate ports: 8 rails x 2 rows of 64; a 192-port box holds 3 rows, so 6 boxes and 1,152 duplex
//     ports; 1,024 module ports in 512 twin-port modules; 1,024 cords.
TEST(CostReal, CountsOf512ByHand) {
  const Bills bills = *make_bills(cluster(512, 8, 400), parts());
  const BillOfMaterials& rail = bill_of(bills, "rail_optimised");
  EXPECT_EQ(count_of(rail, "leaf switches"), 16);
  EXPECT_EQ(count_of(rail, "spine switches"), 8);
  EXPECT_EQ(count_of(rail, "core switches"), 0);
  EXPECT_EQ(count_of(rail, "modules at switches"), 1536);
  EXPECT_EQ(count_of(rail, "modules at GPUs"), 256);
  EXPECT_EQ(count_of(rail, "fibre"), 1024);
  const BillOfMaterials& only = bill_of(bills, "rail_only");
  EXPECT_EQ(count_of(only, "leaf switches"), 8);
  EXPECT_EQ(count_of(only, "spine switches"), 0);
  EXPECT_EQ(count_of(only, "modules at switches"), 512);
  const BillOfMaterials& photonic = bill_of(bills, "photonic_two_full");
  EXPECT_EQ(count_of(photonic, "optical switches, per duplex port"), 1152);
  EXPECT_EQ(count_of(photonic, "modules at GPUs"), 512);
  EXPECT_EQ(count_of(photonic, "fibre"), 1024);
  // In dollars: 24 x 37,299 + 1,536 x 749 + 256 x 1,119 + 1,024 x 105.08.
  EXPECT_NEAR(total_of(rail, bills.assumptions.base_values()).dollars, 2'439'706, 0.5 + 1024 * 0.08);
}

// 2,048 GB200 in domains of 32: 64 servers, 32 rails, 144-port boxes, so 72 NICs and 72 uplinks fit on a leaf.
//   rail-optimised: a rail of 64 fills a leaf alone: 32 leaves, 64 up; 144 / 32 = 4 cables per spine, so 16 spines;
//     2,048 + 2 x 2,048 = 6,144 ports, 3,072 twin-port modules, whose watts are in the 7 kW of a box.
//   power: 48 x 7,000 W and 2,048 NIC-side ports of 12.5 W.
TEST(CostReal, CountsOf2048Gb200ByHand) {
  const Bills bills = *make_bills(cluster(2048, 32, 800), parts());
  const BillOfMaterials& rail = bill_of(bills, "rail_optimised");
  EXPECT_EQ(count_of(rail, "leaf switches"), 32);
  EXPECT_EQ(count_of(rail, "spine switches"), 16);
  EXPECT_EQ(count_of(rail, "modules at switches"), 3072);
  EXPECT_EQ(total_of(rail, bills.assumptions.base_values()).watts, 48 * 7000 + 2048 * 12.5);
  const BillOfMaterials& packaged = bill_of(bills, "co_packaged");
  EXPECT_EQ(count_of(packaged, "modules at switches"), 0);
  EXPECT_EQ(total_of(packaged, bills.assumptions.base_values()).watts, 48 * 3950 + 2048 * 12.5);
}

TEST(CostReal, ThreeTiersByHand) {
  // 8,192 NICs on 64-port boxes: 256 leaves of 32; 8 pods of 32 leaves with 32 aggregation switches, each 32 up;
  // 32 planes of cores; a core takes 64 / 8 = 8 cables from each pod's switch, so 32 / 8 = 4 cores in each plane.
  const ClosCount count = *count_clos(8, 1024, {64, 1.0, true});
  EXPECT_EQ(count.tiers, 3);
  EXPECT_EQ(count.leaves, 256);
  EXPECT_EQ(count.spines, 256);
  EXPECT_EQ(count.cores, 128);
  EXPECT_EQ(count.switch_links, 256 * 32 + 256 * 32);
}

TEST(CostReal, OcsRowsByHand) {
  // 64 servers, two ports, spare 10 %: rows of 71; 192 holds two of them; 8 rails x 2 rows in 8 boxes.
  EXPECT_EQ(count_ocs(8, 64, 2, {192, 1, 0.10, true, false})->boxes, 8);
  EXPECT_EQ(count_ocs(8, 64, 2, {192, 1, 0, true, false})->boxes, 6);
  EXPECT_EQ(count_ocs(8, 64, 2, {192, 1, 0, false, false})->boxes, 8);  // no rails share a box
  EXPECT_EQ(count_ocs(8, 64, 2, {192, 4, 0, true, false})->boxes, 22);  // 64 rows, 3 per box
  EXPECT_EQ(count_ocs(8, 64, 2, {192, 1, 0, true, true})->boxes, 3);    // circulators: one row per rail
  EXPECT_EQ(count_ocs(8, 64, 1, {192, 1, 0, true, true})->boxes, 3);    // of one port they save nothing
  const Result<OcsCount> small = count_ocs(8, 193, 2, {192, 1, 0, true, false});
  ASSERT_FALSE(small.has_value());
  EXPECT_EQ(small.error().code, ErrorCode::infeasible);
}

TEST(CostReal, ARailThatFitsNoSwitchIsReportedNotPriced) {
  const CostReport report = *make_cost_report(cluster(8 * 1000, 8, 400), parts());
  const BillOfMaterials* photonic = report.bill("photonic_two_full");
  ASSERT_NE(photonic, nullptr);
  EXPECT_TRUE(photonic->lines.empty());
  EXPECT_NE(photonic->shortfall.find("a rail of 1000 servers fits no optical switch"), std::string::npos)
      << photonic->shortfall;
  for (const CostRatio& ratio : report.ratios) EXPECT_NE(ratio.photonic, "photonic_two_full");
  EXPECT_NE(render_text(report, parts()).find("cannot be built"), std::string::npos);
}

TEST(CostReal, NamedPartsAreUsedOrRefused) {
  CostInput input = cluster(512, 8, 400);
  input.ocs = "polatis-7000";
  input.network_switch = "quantum-2-qm9700";
  const Bills bills = *make_bills(input, parts());
  EXPECT_EQ(bill_of(bills, "photonic_two_full").lines[0].part, "polatis-7000");
  EXPECT_EQ(bill_of(bills, "rail_optimised").lines[0].part, "quantum-2-qm9700");
  EXPECT_EQ(count_of(bill_of(bills, "rail_optimised"), "modules at switches"), 768);  // two ports per cage
  input.ocs = "polatis-700";
  const Result<Bills> unknown = make_bills(input, parts());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("did you mean \"polatis-7000\"?"), std::string::npos);
  input.ocs.clear();
  input.transceiver = "800g-2xsr4";
  const Bills multimode = *make_bills(input, parts());
  EXPECT_NE(bill_of(multimode, "photonic_two_full").shortfall.find("multimode"), std::string::npos);
}

TEST(CostReal, ImpossibleInputsAreRefused) {
  EXPECT_NE(make_bills(cluster(100, 8, 400), parts()).error().message.find("do not divide 100"), std::string::npos);
  EXPECT_FALSE(make_bills(cluster(0, 8, 400), parts()).has_value());
  CostInput input = cluster(64, 8, 400);
  input.oversubscription = 0.5;
  EXPECT_EQ(make_bills(input, parts()).error().code, ErrorCode::usage);
}

TEST(CostReal, BreakoutLanesOfOnePortBelongToOneGpu) {
  // 4 ports of 100 Gb/s are the four fibre pairs of a DR4 port; one port per GPU, two GPUs to a twin-port module.
  CostInput input = cluster(512, 8, 400);
  input.photonic_ports = 4;
  input.photonic_port_rate = gigabits_per_second(100);
  input.transceiver = "800g-2xdr4";
  const Bills four = *make_bills(input, parts());
  EXPECT_EQ(count_of(bill_of(four, "photonic_scenario"), "modules at GPUs"), 256);
  EXPECT_EQ(count_of(bill_of(four, "photonic_scenario"), "fibre"), 4 * 512);
  input.photonic_ports = 1;  // three pairs of each port lie idle rather than serve a neighbour
  const Bills one = *make_bills(input, parts());
  EXPECT_EQ(count_of(bill_of(one, "photonic_scenario"), "modules at GPUs"), 256);
}

TEST(CostReal, AModuleWhoseLightGetsThroughIsPreferred) {
  // DR4 is cheaper per port than four FR1, but its 3 dB do not cover 2.5 dB of the switch and 1 dB of connectors.
  CostInput input = cluster(128, 8, 400);
  input.photonic_ports = 4;
  input.photonic_port_rate = gigabits_per_second(100);
  input.ocs = "polatis-6000n";
  const Bills bills = *make_bills(input, parts());
  EXPECT_EQ(bill_of(bills, "photonic_scenario").lines[1].part, "100g-fr1");
  input.ocs.clear();
  const Bills automatic = *make_bills(input, parts());  // not the one whose loss nobody knows
  EXPECT_NE(bill_of(automatic, "photonic_scenario").lines[0].part, "ipronics-one-32");
  EXPECT_NE(bill_of(automatic, "photonic_scenario").notes[0].find(": fits"), std::string::npos);
  input.ocs = "lumentum-r300";
  const Bills less_loss = *make_bills(input, parts());
  EXPECT_EQ(bill_of(less_loss, "photonic_scenario").lines[1].part, "800g-2xdr4");
}

// ---- properties --------------------------------------------------------------------------------------------------

// The costed network is the simulated one, where rails share no boxes.
RC_GTEST_PROP(CostProperties, CountsEqualTheSimulatedFabric, ()) {
  const auto radix = 2 * *rc::gen::inRange<std::int64_t>(4, 40);
  const auto domain = *rc::gen::inRange<std::int64_t>(2, 12);  // a single rail in one box needs no uplinks here
  const auto servers = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto ratio = *rc::gen::element(1.0, 2.0, 3.0);
  ElectricalOptions options;
  options.radix = radix;
  options.oversubscription = ratio;
  const Layout layout = *make_layout(domain * servers, domain);
  const ClosRules rules{radix, ratio, false};
  const auto compare = [&](model::Fabric kind, const Result<ClosCount>& count) {
    const Result<ElectricalShape> shape = electrical_shape(kind, layout, options);
    RC_ASSERT(shape.has_value() == count.has_value());
    if (!shape) return;
    RC_ASSERT(count->leaves == shape->leaves);
    RC_ASSERT(count->spines == shape->spines);
    RC_ASSERT(count->cores == shape->cores);
  };
  compare(model::Fabric::rail_optimised, count_clos(domain, servers, rules));
  compare(model::Fabric::rail_only, count_planes(domain, servers, rules));
}

RC_GTEST_PROP(CostProperties, EveryBoxHasPortsForItsLinks, ()) {
  const ClosRules rules{2 * *rc::gen::inRange<std::int64_t>(2, 80), *rc::gen::element(1.0, 1.5, 2.0, 4.0),
                        *rc::gen::arbitrary<bool>()};
  const Result<ClosCount> count =
      count_clos(*rc::gen::inRange<std::int64_t>(1, 80), *rc::gen::inRange<std::int64_t>(1, 600), rules);
  if (!count) return;
  RC_ASSERT(count->ports_used() <= count->boxes() * rules.radix);
  RC_ASSERT(count->leaves == 1 || count->leaves * rules.radix > count->host_links);
}

RC_GTEST_PROP(CostProperties, MoreServersNeverCostLess, ()) {
  const auto domain = *rc::gen::element<std::int64_t>(4, 8, 32);
  const auto servers = *rc::gen::inRange<std::int64_t>(1, 300);
  const Bills small = *make_bills(cluster(domain * servers, domain, 400), parts());
  const Bills large = *make_bills(cluster(domain * (servers + 1), domain, 400), parts());
  for (const char* key : {"photonic_one_port", "photonic_two_half", "photonic_two_full"}) {
    const Totals a = total_of(bill_of(small, key), small.assumptions.base_values());
    const Totals b = total_of(bill_of(large, key), large.assumptions.base_values());
    if (!bill_of(large, key).shortfall.empty()) continue;
    RC_ASSERT(a.dollars <= b.dollars + 1e-6);
  }
}

TEST(CostProperties, OversubscriptionSavesBoxes) {
  std::int64_t before = 1'000'000;
  for (const double ratio : {1.0, 1.5, 2.0, 4.0}) {
    const std::int64_t boxes = count_clos(8, 256, {64, ratio, true})->boxes();
    EXPECT_LT(boxes, before) << ratio;
    before = boxes;
  }
}

// ---- sensitivity -------------------------------------------------------------------------------------------------

TEST(CostSensitivity, MonteCarloRepeatsAndStaysInItsEnds) {
  CostInput input = cluster(512, 8, 400);
  input.samples = 2000;
  const CostReport first = *make_cost_report(input, parts());
  const CostReport again = *make_cost_report(input, parts());
  input.seed = 2;
  const CostReport other = *make_cost_report(input, parts());
  ASSERT_EQ(first.ratios.size(), 12u);
  for (std::size_t i = 0; i < first.ratios.size(); ++i) {
    const CostRatio& ratio = first.ratios[i];
    EXPECT_EQ(ratio.cost_spread.p50, again.ratios[i].cost_spread.p50);
    EXPECT_EQ(ratio.power_spread.p95, again.ratios[i].power_spread.p95);
    EXPECT_NE(ratio.cost_spread.p50, other.ratios[i].cost_spread.p50);
    EXPECT_LT(ratio.cost_spread.p5, ratio.cost_spread.p50);
    EXPECT_LT(ratio.cost_spread.p50, ratio.cost_spread.p95);
    const TotalRange fabric = total_range(*first.bill(ratio.fabric), first.assumptions);
    const TotalRange photonic = total_range(*first.bill(ratio.photonic), first.assumptions);
    EXPECT_GT(ratio.cost_spread.p5, fabric.low.dollars / photonic.high.dollars);
    EXPECT_LT(ratio.cost_spread.p95, fabric.high.dollars / photonic.low.dollars);
    EXPECT_NEAR(ratio.cost_spread.p50, other.ratios[i].cost_spread.p50, 0.05 * ratio.cost);
  }
}

// The draw of one assumption does not depend on what other assumptions a report has.
TEST(CostSensitivity, AnotherCaseMovesNoDraw) {
  CostInput input = cluster(512, 8, 400);
  input.samples = 500;
  const CostReport plain = *make_cost_report(input, parts());
  input.photonic_ports = 4;
  input.photonic_port_rate = gigabits_per_second(100);
  const CostReport more = *make_cost_report(input, parts());
  for (const CostRatio& ratio : plain.ratios) {
    for (const CostRatio& same : more.ratios) {
      if (same.fabric != ratio.fabric || same.photonic != ratio.photonic) continue;
      EXPECT_EQ(same.cost_spread.p5, ratio.cost_spread.p5);
    }
  }
}

// Nor on where in the table it stands: the price of fibre stands before others and has no watts.
TEST(CostSensitivity, FibreMovesNoDrawOfPower) {
  CostInput input = cluster(512, 8, 400);
  input.samples = 500;
  const CostReport with = *make_cost_report(input, parts());
  input.include_fibre = false;
  const CostReport without = *make_cost_report(input, parts());
  for (std::size_t i = 0; i < with.ratios.size(); ++i) {
    EXPECT_EQ(with.ratios[i].power_spread.p5, without.ratios[i].power_spread.p5);
    EXPECT_NE(with.ratios[i].cost_spread.p5, without.ratios[i].cost_spread.p5);
  }
}

// Distribution function at x: (x-a)^2 / ((b-a)(m-a)) below the mode m, 1 - (b-x)^2 / ((b-a)(b-m)) above it;
// mean (a+m+b)/3.
TEST(CostSensitivity, TriangularDrawsFollowTheirDistribution) {
  const catalog::Range range{230, 520, 1040};
  double sum = 0;
  constexpr int kSteps = 100'000;
  for (int i = 0; i < kSteps; ++i) {
    const double u = (i + 0.5) / kSteps;
    const double x = triangular(range, u);
    sum += x;
    const double below = (x - 230) * (x - 230) / (810.0 * 290);
    const double above = 1 - (1040 - x) * (1040 - x) / (810.0 * 520);
    ASSERT_NEAR(x < 520 ? below : above, u, 1e-9);
  }
  EXPECT_NEAR(sum / kSteps, (230 + 520 + 1040) / 3.0, 0.01);
  EXPECT_EQ(triangular({5, 5, 5}, 0.7), 5);
  EXPECT_NEAR(triangular({5, 5, 9}, 0.0), 5, 1e-12);
}

TEST(CostSensitivity, EveryPricedPartOfARatioHasARow) {
  const CostReport report = *make_cost_report(cluster(512, 8, 400), parts());
  for (std::size_t i = 0; i < report.ratios.size(); ++i) {
    for (const std::string& key : {report.ratios[i].fabric, report.ratios[i].photonic}) {
      for (const BomLine& line : report.bill(key)->lines) {
        ASSERT_TRUE(line.price.has_value());
        const std::string& wanted = report.assumptions.all[*line.price].key;
        bool found = false;
        for (const TornadoRow& row : report.tornado) found |= row.ratio == i && row.key == wanted;
        EXPECT_TRUE(found) << wanted << " in " << report.ratios[i].fabric << " / " << report.ratios[i].photonic;
      }
    }
  }
}

TEST(CostSensitivity, WalkStartsAtThePublishedRatio) {
  CostInput input = cluster(2048, 8, 400);
  const CostReport report = *make_cost_report(input, parts());
  ASSERT_GE(report.walk.size(), 10u);
  EXPECT_EQ(fmt::format("{:.2f} {:.2f}", report.walk[0].cost, report.walk[0].power), "4.27 23.86");
  // Two modules and two duplex ports per GPU instead of one: exactly half.
  EXPECT_NEAR(report.walk[3].cost, report.walk[2].cost / 2, 1e-9);
}

// The end of the walk, and every alternative that names one, is a row of the table.
TEST(CostSensitivity, WalkEndsAtTheRowsOfTheTable) {
  for (const char* box : {"quantum-2-qm9700", "fs-n9510-64d"}) {
    CostInput input = cluster(512, 8, 400);
    input.network_switch = box;
    input.ocs = "calient-s320";
    input.oversubscription = 2;
    input.include_nics = true;
    const CostReport report = *make_cost_report(input, parts());
    int rows = 0;
    for (const WalkStep& step : report.walk) {
      EXPECT_FALSE(step.parts.empty()) << step.title;
      for (const CostRatio& ratio : report.ratios) {
        if (ratio.fabric != step.fabric || ratio.photonic != step.photonic) continue;
        EXPECT_DOUBLE_EQ(step.cost, ratio.cost) << step.title;
        EXPECT_DOUBLE_EQ(step.power, ratio.power) << step.title;
        ++rows;
      }
    }
    EXPECT_EQ(rows, 4);
  }
}

CostInput default_cluster(std::int64_t gpus, std::int64_t domain, std::int64_t gigabits) {
  CostInput input = cost_input(model::default_scenario());
  input.gpus = gpus;
  input.domain = domain;
  input.nic_rate = gigabits_per_second(gigabits);
  input.photonic_port_rate = input.nic_rate / input.photonic_ports;
  replace_unfit_defaults(input, {}, parts());
  return input;
}

TEST(CostSensitivity, NominalRatiosOfTheDefaultPartsLieWithinTheirDraws) {
  for (const CostInput& input : {default_cluster(512, 8, 400), default_cluster(2048, 8, 400),
                                 default_cluster(2048, 32, 800)}) {
    const CostReport report = *make_cost_report(input, parts());
    for (const CostRatio& r : report.ratios) {
      EXPECT_TRUE(r.cost_spread.p5 <= r.cost && r.cost <= r.cost_spread.p95) << r.fabric << " / " << r.photonic;
      EXPECT_TRUE(r.power_spread.p5 <= r.power && r.power <= r.power_spread.p95) << r.fabric << " / " << r.photonic;
    }
  }
}

TEST(CostInputs, DefaultsThatCannotServeAreReplacedAndNamedPartsStay) {
  const CostInput small = default_cluster(512, 8, 400);
  EXPECT_EQ(small.network_switch, "quantum-2-qm9700");
  EXPECT_EQ(small.ocs, "polatis-6000n");
  EXPECT_TRUE(small.choices.empty());
  const CostInput long_rails = default_cluster(2048, 8, 400);  // rails of 256 servers, 192 ports
  EXPECT_EQ(long_rails.ocs, "");
  EXPECT_EQ(long_rails.choices.size(), 1u);
  const CostInput fast = default_cluster(2048, 32, 800);
  EXPECT_EQ(fast.network_switch, "");
  CostInput named = cluster(2048, 8, 800);
  named.network_switch = "quantum-2-qm9700";
  named.ocs = "polatis-6000n";
  replace_unfit_defaults(named, {true, true}, parts());
  EXPECT_EQ(named.network_switch, "quantum-2-qm9700");
  EXPECT_EQ(named.ocs, "polatis-6000n");
}

// ---- output ------------------------------------------------------------------------------------------------------

void expect_finite(const boost::json::value& value) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) expect_finite(member.value());
  } else if (const auto* array = value.if_array()) {
    for (const auto& item : *array) expect_finite(item);
  } else if (const auto* number = value.if_double()) {
    EXPECT_TRUE(std::isfinite(*number));
  }
}

TEST(CostOutput, JsonIsCompleteAndFinite) {
  for (const std::int64_t gpus : {512, 8000}) {
    const CostReport report = *make_cost_report(cluster(gpus, 8, 400), parts());
    const boost::json::value json = boost::json::parse(render_json(report, parts()));
    expect_finite(json);
    EXPECT_EQ(json.at("bills").as_array().size(), report.bills.size());
    EXPECT_EQ(json.at("tornado").as_array().size(), report.tornado.size());
  }
}

TEST(CostOutput, CsvRowsHaveTheFieldsOfTheirHeader) {
  std::istringstream csv(render_csv(*make_cost_report(cluster(512, 8, 400), parts())));
  std::size_t wanted = 0;
  int rows = 0;
  for (std::string line; std::getline(csv, line);) {
    std::size_t fields = 1;
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++fields;
    }
    if (line.starts_with("fabric,")) wanted = fields;
    if (line.empty()) continue;
    EXPECT_EQ(fields, wanted) << line;
    ++rows;
  }
  EXPECT_GT(rows, 100);
}

TEST(CostOutput, BorrowedPricesPartsAndUnequalRatesAreSaid) {
  CostInput input = cluster(2048, 8, 400);
  input.ocs = "calient-s320";
  input.photonic_ports = 2;
  input.photonic_port_rate = gigabits_per_second(800);
  const CostReport report = *make_cost_report(input, parts());
  const std::string text = render_text(report, parts());
  EXPECT_NE(text.find(", price of polatis-6000n, range"), std::string::npos);
  EXPECT_NE(text.find("  optical switches       calient-s320\n"), std::string::npos);
  EXPECT_NE(text.find("the spines lie within rails"), std::string::npos);
  EXPECT_NE(text.find("  warning: 2 photonic ports of 100 GB/s"), std::string::npos);
  input.ocs = "polatis-6000n";
  input.gpus = 512;
  input.photonic_ports = 0;
  const std::string own = render_text(*make_cost_report(input, parts()), parts());
  EXPECT_EQ(own.find(", price of "), std::string::npos);
  EXPECT_EQ(own.find("the spines lie within rails"), std::string::npos);
  EXPECT_EQ(own.find("  warning: "), std::string::npos);
}

TEST(CostInputs, FollowTheScenario) {
  model::Scenario scenario;
  scenario.cluster.gpus = 128;
  scenario.cost.mode = model::CostMode::as_published;
  scenario.seed = 9;
  const CostInput input = cost_input(scenario);
  EXPECT_EQ(input.gpus, 128);
  EXPECT_EQ(input.domain, 8);
  EXPECT_EQ(input.nic_rate, gigabits_per_second(400));
  EXPECT_EQ(input.photonic_ports, 4);
  EXPECT_EQ(input.mode, model::CostMode::as_published);
  EXPECT_EQ(input.seed, 9u);
}

}  // namespace
}  // namespace photonrail::fabric
