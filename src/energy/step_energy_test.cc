// Theory under test (step_energy.h, traffic.h): E_path(k) = 2 E_adapter + k E_switch; traffic energy is bits times path
// or tray; network power P_full (sigma + (1 - sigma) u). The closed form of the paper's constants is checked to the
// digit.
#include "energy/step_energy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "energy/report.h"
#include "workload/task_graph_totals.h"
#include "workload/training.h"

namespace photonrail::energy {
namespace {

constexpr double kPico = 1e-12;

const catalog::Catalog& parts() {
  static const catalog::Catalog kCatalog = catalog::Catalog::builtin().value();
  return kCatalog;
}

double percent(double share) { return std::round(share * 1000) / 10; }

TEST(path, closed_form_of_the_published_constants) {
  const double electrical[] = {165, 200, 235, 270, 305}, photonic[] = {35, 60, 85, 110, 135};
  const double saving[] = {78.8, 70.0, 63.8, 59.3, 55.7}, one_hop[] = {78.8, 82.5, 85.1, 87.0, 88.5};
  for (std::int64_t k = 1; k <= 5; ++k) {
    const auto i = static_cast<std::size_t>(k - 1);
    const PathEnergy path = path_energy({}, k, k);
    EXPECT_NEAR(path.electrical, electrical[i] * kPico, 1e-18);
    EXPECT_NEAR(path.photonic, photonic[i] * kPico, 1e-18);
    EXPECT_EQ(percent(path.saving()), saving[i]);
    EXPECT_EQ(percent(path_energy({}, k, 1).saving()), one_hop[i]);
  }
  EXPECT_EQ(percent(tray_energy({}).saving()), 80.0);
  EXPECT_EQ(percent(1 - tray_energy({}).photonic / path_energy({}, 1, 1).electrical), 93.9);
}

// Critique C2: an endpoint with a protocol engine of 25 pJ/bit.
TEST(path, a_fair_endpoint_halves_the_saving) {
  PublishedConstants fair;
  fair.protocol_engine = {25e-12};
  EXPECT_EQ(percent(path_energy(fair, 1, 1).saving()), 48.5);
  EXPECT_EQ(percent(path_energy(fair, 5, 5).saving()), 39.3);
}

TEST(path, tiers_of_a_clos) {
  EXPECT_EQ(switches_of_clos(64, 64), 1);
  EXPECT_EQ(switches_of_clos(65, 64), 3);
  EXPECT_EQ(switches_of_clos(2048, 64), 3);
  EXPECT_EQ(switches_of_clos(2049, 64), 5);
}

EnergyScenario gpt3() {
  EnergyScenario s;
  s.step_time = milliseconds(10'640);
  s.work.gpus = 512;
  s.work.format = Format::fp8;
  s.work.teraflop = 8965;
  s.work.memory = {12'000'000'000'000};
  s.work.network = {33'000'000'000};
  s.work.tokens = 4'194'304;
  return s;
}

// Critique C9: 33 GB a GPU and step are 6 % of the injection rate; three switches at 35 pJ make 1.3 kW of it, while
// the submitter states 59.6 kW for the network.
TEST(step, per_bit_constants_see_a_kilowatt_where_the_network_draws_tens) {
  const EnergyScenario s = gpt3();
  const StepEnergy e = step_energy(s, stated_work(s), parts()).value();
  EXPECT_EQ(e.electrical_switches, 3);
  EXPECT_NEAR(e.utilisation, 0.062, 0.001);
  EXPECT_NEAR(e.per_bit_watts, 33e9 * 8 * 512 / 10.64 * 105e-12, 1e-6);
  EXPECT_NEAR(e.per_bit_watts, 1334, 1);
  EXPECT_NEAR(e.network_outside_watts, 512 * 3 * (11.7 + 9) * (0.85 + 0.15 * e.utilisation), 1e-6);
  EXPECT_GT(e.network_outside_watts, 15 * e.per_bit_watts);
}

TEST(step, traffic_beyond_the_network_is_refused) {
  EnergyScenario s = gpt3();
  s.work.teraflop = 100;
  s.work.memory = {1'000'000'000'000};
  s.step_time = milliseconds(660);  // 33 GB at 50 GB/s
  EXPECT_NEAR(step_energy(s, stated_work(s), parts()).value().utilisation, 1, 1e-9);
  s.step_time = milliseconds(600);
  const Result<StepEnergy> e = step_energy(s, stated_work(s), parts());
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::infeasible);
  EXPECT_NE(e.error().message.find("1.1 times the network's 400 Gb/s"), std::string::npos) << e.error().message;
}

// Work that a GPU cannot do in the stated time was cut to its power limit and taken for true.
TEST(step, work_beyond_the_gpu_is_refused) {
  const auto refusal = [](const EnergyScenario& s) {
    const Result<StepEnergy> e = step_energy(s, stated_work(s), parts());
    return e ? std::string("accepted") : e.error().message;
  };
  const auto expect_holds = [](const std::string& text, const char* fragment) {
    EXPECT_NE(text.find(fragment), std::string::npos) << text;
  };
  const double peak = 1.979e15 * 10.64;  // fp8, of the step
  EnergyScenario s = gpt3();
  s.work.teraflop = peak / 1e12;
  EXPECT_EQ(refusal(s), "accepted");
  s.work.teraflop *= 1.1;
  expect_holds(refusal(s), "fp8 operations take 1.1 times the 1.979 PFLOP/s of each H100");
  s.work.format = Format::bf16;
  s.work.teraflop = 0.6 * peak / 1e12;
  expect_holds(refusal(s), "bf16 operations take");
  s = gpt3();
  s.work.memory = {2 * 3'350'000'000'000 * 11};
  expect_holds(refusal(s), "bytes of memory take 2.07 times the 3.350 TB/s");
  s = gpt3();
  s.work.scale_up = {450'000'000'000 * 12};
  expect_holds(refusal(s), "bytes inside scale-up domains take 1.13 times the 450.0 GB/s");
  StepWork computed = stated_work(s);
  computed.time_is_given = false;
  EXPECT_TRUE(step_energy(s, computed, parts()));
}

TEST(step, parts_add_up_and_the_idle_network_still_draws) {
  EnergyScenario s = gpt3();
  s.work.network = {0};
  const StepEnergy idle = step_energy(s, stated_work(s), parts()).value();
  EXPECT_EQ(idle.paper.electrical, 0);
  EXPECT_NEAR(idle.network_outside_watts, 512 * 3 * 20.7 * 0.85, 1e-6);
  double sum = 0;
  for (const auto& [name, joules] : groups_of(idle)) sum += joules;
  EXPECT_NEAR(sum, idle.total_electrical(), 1e-6 * sum);
  const double outside = idle.network_outside_watts * idle.seconds;
  EXPECT_NEAR(idle.node_watts * 64 * idle.seconds, idle.total_electrical() - outside, 1e-6 * sum);
}

workload::TrainingJob small_job() {
  model::Scenario s = model::Scenario{};
  s.model.layers = 8;
  s.model.hidden = 512;
  s.model.feed_forward = 2048;
  s.model.heads = 8;
  s.model.kv_heads = 8;
  s.model.vocabulary = 1024;
  s.training.sequence = 256;
  s.training.global_batch = 16;
  s.training.microbatches = 4;
  s.parallelism = {2, 2, 4};
  s.cluster.gpus = 16;
  return workload::make_training_job(s, {FlopRate{1e14}, gigabytes_per_second(3000), 1, 1, {}});
}

// Every byte on the wire is either inside a domain or between two, whatever the size of the domains.
RC_GTEST_PROP(traffic, no_byte_is_lost, ()) {
  const auto graph = workload::generate_training_step(small_job()).value();
  const auto domain = static_cast<std::uint32_t>(*rc::gen::inRange(1, 17));
  std::vector<std::uint32_t> domain_of;
  for (std::uint32_t rank = 0; rank < 16; ++rank) domain_of.push_back(rank / domain);
  const StepWork work = work_of(graph, domain_of);
  const auto totals = workload::graph_totals(graph);
  double wire = 0;
  for (const Bytes bytes : totals.wire) wire += static_cast<double>(bytes.count);
  RC_ASSERT(std::abs(work.inside() + work.outside() - wire) < 1e-9 * wire);
  RC_ASSERT(std::abs(work.flops - totals.flops) < 1e-9 * totals.flops);
  if (domain == 16) RC_ASSERT(work.outside() == 0);
  if (domain == 1) RC_ASSERT(work.inside() == 0);
}

TEST(traffic, tensor_stays_in_a_domain_of_its_size_and_the_rest_leaves) {
  const auto graph = workload::generate_training_step(small_job()).value();
  std::vector<std::uint32_t> domain_of;
  for (std::uint32_t rank = 0; rank < 16; ++rank) domain_of.push_back(rank / 4);
  for (const Flow& flow : work_of(graph, domain_of).flows) {
    const bool tensor = flow.dimension == model::Dimension::tensor;
    EXPECT_EQ(tensor ? flow.outside : flow.inside, 0) << to_text(flow.dimension);
    EXPECT_GT(tensor ? flow.inside : flow.outside, 0) << to_text(flow.dimension);
  }
}

TEST(constants, defaults_lie_in_their_ranges_and_have_sources) {
  for (const ConstantRange& range : constant_ranges()) {
    const double value = constant_value({}, range.path);
    EXPECT_GE(value, range.low) << range.path;
    EXPECT_LE(value, range.high) << range.path;
    EXPECT_FALSE(range.source.empty()) << range.path;
  }
}

Result<EnergyDocument> document(const std::string& text) {
  return config::parse_document<EnergyScenario>(text, "e.toml");
}

TEST(scenario, sets_of_the_training_scenario_are_taken_out) {
  std::vector<std::string> sets = {"published.adapter=40 pJ", "scenario.training.sequence=8192", "scenario=x.toml"};
  EXPECT_EQ(take_scenario_sets(sets), std::vector<std::string>{"training.sequence=8192"});
  EXPECT_EQ(sets, (std::vector<std::string>{"published.adapter=40 pJ", "scenario=x.toml"}));
}

TEST(scenario, mistakes_are_refused_at_their_place) {
  EXPECT_FALSE(document("[published]\nadapter = 65\n"));
  EXPECT_FALSE(document("[published]\nadapter = \"65 W\"\n"));
  const auto unknown = document("[published]\nadaptor = \"65 pJ\"\n");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("e.toml:2"), std::string::npos);
}

}  // namespace
}  // namespace photonrail::energy
