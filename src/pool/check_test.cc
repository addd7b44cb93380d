// The plausibility checker on the paper's Table 5 and on systems that fit, as texts that a user would write.
#include "pool/check.h"

#include <gtest/gtest.h>

#include "pool/pool_report.h"
#include "pool/rate_checks.h"

namespace photonrail::pool {
namespace {

constexpr const char* kTableFive = R"(name = "Table 5"
[accelerator]
gpu = "H100"
[[reads]]
name = "weights"
rate = "26.8 TB/s"
size = "405 GB"
)";

const catalog::Catalog& parts() {
  static const catalog::Catalog all = catalog::Catalog::builtin().value();
  return all;
}

PoolCheck checked(std::string_view text, const std::vector<std::string>& sets = {}) {
  const auto doc = parse_pool(text, "pool.toml", sets);
  EXPECT_TRUE(doc) << (doc ? "" : doc.error().message);
  return check_pool(doc.value().value, parts()).value();
}

std::string refusal(std::string_view text, const std::vector<std::string>& sets = {}) {
  const auto doc = parse_pool(text, "pool.toml", sets);
  return doc ? "" : doc.error().message;
}

const Violation* find(const PoolCheck& check, std::string_view limit) {
  for (const Violation& v : check.violations) {
    if (v.limit.find(limit) != std::string::npos) return &v;
  }
  return nullptr;
}

TEST(CheckPool, TableFiveNamesBothCutsWithTheirFigures) {
  const PoolCheck check = checked(kTableFive);
  const Violation* port = find(check, "optical port (1 x 7.2 Tb/s)");
  const Violation* appliance = find(check, "all-to-all switching of the appliance (1 x 115.2 Tb/s)");
  ASSERT_TRUE(port != nullptr && appliance != nullptr);
  EXPECT_NEAR(port->factor(), 29.78, 0.01);
  EXPECT_NEAR(appliance->factor(), 1.861, 0.001);
  EXPECT_DOUBLE_EQ(port->possible, 0.9e12);
  EXPECT_DOUBLE_EQ(appliance->possible, 14.4e12);
  // Worst first.
  for (std::size_t i = 1; i < check.violations.size(); ++i) {
    EXPECT_GE(check.violations[i - 1].factor(), check.violations[i].factor());
  }
}

TEST(CheckPool, TableFiveNeedsTenTimesTheBytesInFlight) {
  const PoolCheck check = checked(kTableFive);
  EXPECT_NEAR(check.reads[0].in_flight, 21.44e6, 1);
  EXPECT_EQ(check.pool.outstanding.count, 2'010'000);
  const Violation* flight = find(check, "bytes in flight");
  ASSERT_NE(flight, nullptr);
  EXPECT_NEAR(flight->factor(), 21.44 / 2.01, 1e-3);
}

TEST(CheckPool, AsPublishedPassesButSaysSo) {
  const std::vector<std::string> sets{"as_published=true"};
  const auto doc = parse_pool(kTableFive, "pool.toml", sets).value();
  const PoolCheck check = check_pool(doc.value, parts()).value();
  EXPECT_TRUE(check.as_published);
  EXPECT_EQ(check.violations.size(), 5U);
  std::size_t said = 0;
  for (const std::string& line : assumptions_of(check)) {
    if (line.starts_with("OVERRIDE as_published")) ++said;
  }
  EXPECT_EQ(said, 5U);
  const report::Report report = pool_report(doc, check, "test").value();
  EXPECT_EQ(report.metrics.front().assumptions.size(), assumptions_of(check).size());
}

// The rate of one port, few enough bytes: nothing is broken.
TEST(CheckPool, OnePortFits) {
  EXPECT_TRUE(checked(kTableFive, {"reads=[{name='weights', rate='0.9 TB/s', size='405 GB'}]"}).violations.empty());
}

// 33 TB in a 32 TB pool, and 1.152 TB of HBM that hold 1.152 / 33 of it.
TEST(CheckPool, WhatDoesNotFitTheMemory) {
  const PoolCheck check = checked(kTableFive, {"reads=[{name='tables', size='33 TB'}]"});
  ASSERT_EQ(check.violations.size(), 1U);
  EXPECT_EQ(check.violations[0].unit, "B");
  EXPECT_DOUBLE_EQ(check.violations[0].possible, 32e12);
  EXPECT_NEAR(check.reads[0].hit_rate, 1.152 / 33, 1e-12);
}

// A stated hit rate needs its part of the size in the HBM tiers: 0.5 x 2.4 TB in 1.152 TB. What is read by all may be
// kept there first, so that fewer bytes do; the others' hits get what is left.
TEST(CheckPool, StatedHitsMustFitTheHbmTiers) {
  const PoolCheck check = checked(kTableFive, {"reads=[{name='caches', size='2.4 TB', hit_rate=0.5}]"});
  ASSERT_EQ(check.violations.size(), 1U);
  EXPECT_DOUBLE_EQ(check.violations[0].modelled, 1.2e12);
  EXPECT_DOUBLE_EQ(check.violations[0].possible, 1.152e12);
  EXPECT_TRUE(checked(kTableFive, {"reads=[{name='a', size='2.4 TB', hit_rate=0.48}]"}).violations.empty());
  EXPECT_TRUE(
      checked(kTableFive, {"reads=[{name='a', size='2.4 TB', hit_rate=0.6, pinned='1 TB'}]"}).violations.empty());
  const PoolCheck both = checked(kTableFive, {"reads=[{name='a', size='1 TB', hit_rate=1}, {name='b', size='1 TB'}]"});
  EXPECT_NEAR(both.reads[1].hit_rate, 0.152, 1e-12);
  EXPECT_TRUE(both.violations.empty());
}

// One reader passes over its own part only.
TEST(CheckPool, APassReadsWhatIsOfEach) {
  const std::vector<std::string> sets{"reads=[{name='caches', size='4 TB', each='0.9 TB', hit_rate=0}]"};
  const auto doc = parse_pool(kTableFive, "pool.toml", sets).value();
  const report::Report report = pool_report(doc, check_pool(doc.value, parts()).value(), "test").value();
  EXPECT_NEAR(*report::value_of(report, report.cases[0], "pass_possible"), 1, 1e-9);
}

// Two reads of 0.5 TB/s each fit a port alone, not together.
TEST(CheckPool, ReadsAreTakenTogether) {
  const PoolCheck check = checked(kTableFive, {"reads=[{name='a', rate='0.5 TB/s'}, {name='b', rate='0.5 TB/s'}]"});
  ASSERT_EQ(check.violations.size(), 1U);
  EXPECT_EQ(check.violations[0].what, "a + b");
  EXPECT_NEAR(check.violations[0].factor(), 1 / 0.9, 1e-9);
}

TEST(CheckPool, OwnMemoryHasItsOwnRate) {
  EXPECT_TRUE(checked(kTableFive, {"reads=[{name='a', rate='3.3 TB/s', from='own_memory'}]"}).violations.empty());
  const PoolCheck check = checked(kTableFive, {"reads=[{name='a', rate='3.4 TB/s', from='own_memory'}]"});
  ASSERT_FALSE(check.violations.empty());
  EXPECT_NE(find(check, "own memory"), nullptr);
}

TEST(CheckPool, RefusesWhatDoesNotFitTogether) {
  EXPECT_NE(refusal("[accelerator]\ncount = 17\n").find("pool.toml:2:9"), std::string::npos);
  EXPECT_NE(refusal("[tier]\nappliances = 2\n").find("not joined"), std::string::npos);
  EXPECT_NE(refusal("[tier]\nappliances = 17\nuplinks = 8\n").find("a spine has 16 ports"), std::string::npos);
  EXPECT_NE(refusal("[[reads]]\nname = 'a'\nreaders = 2\n").find("accelerator.count is 1"), std::string::npos);
  EXPECT_NE(refusal("[[reads]]\nname = 'a'\n[[reads]]\nname = 'a'\n").find("two reads"), std::string::npos);
  EXPECT_NE(refusal("[module]\nport_rate = 7.2\n").find("unit"), std::string::npos);
  EXPECT_NE(refusal("[appliance]\nmodules = 256\n[tier]\nappliances = 256\nuplinks = 1\n").find("modules in all"),
            std::string::npos);
  EXPECT_NE(refusal("[module]\nport_rate = '1000 TB/s'\n").find("at most"), std::string::npos);
  EXPECT_NE(refusal("[module]\nports = 64\nport_rate = '100 TB/s'\n").find("check the units"), std::string::npos);
  EXPECT_NE(refusal("[modul]\n").find("did you mean"), std::string::npos);
  EXPECT_NE(refusal("[module]\nhbm_stacks = 0\n[[reads]]\nname = 'a'\nhit_rate = 0.5\n").find("no HBM tier"),
            std::string::npos);
}

std::vector<RateCheck> rate_checks(const model::Scenario& scenario) {
  return training_rate_checks(scenario, parts()).value();
}

TEST(RateChecks, ATrainingScenarioAgainstItsParts) {
  model::Scenario s = model::Scenario{};
  s.cluster.gpus = 64;
  s.cluster.gpu = "H100";
  s.electrical.fabrics = {model::Fabric::rail_optimised};
  for (const RateCheck& c : rate_checks(s)) EXPECT_FALSE(c.broken()) << check_text(c);
  s.rail.port_rate = gigabits_per_second(400);  // 4 x 400 Gb/s = 200 GB/s, the H100 has 50 GB/s
  s.scale_up.rate = gigabytes_per_second(900);
  std::vector<std::string> broken;
  for (const RateCheck& c : rate_checks(s)) {
    if (c.broken()) broken.push_back(c.id);
  }
  EXPECT_EQ(broken, (std::vector<std::string>{"scale_up_rate", "rail_rate"}));
}

}  // namespace
}  // namespace photonrail::pool
