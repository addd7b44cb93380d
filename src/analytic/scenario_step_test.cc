// The closed form against the event-driven simulator: equal where nothing but the chain of the closed form waits (each
// task is rounded to a picosecond, so within one picosecond for each task of a rank), and never above it otherwise.
#include "analytic/scenario_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "fabric/electrical.h"
#include "study/names.h"

namespace photonrail::analytic {
namespace {

using model::Scenario;

const catalog::Catalog& builtin() {
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  return catalog;
}

Scenario small() {
  Scenario s;
  s.model.layers = 8;
  s.model.hidden = 2048;
  s.model.feed_forward = 8192;
  s.model.heads = 16;
  s.model.kv_heads = 16;
  s.model.vocabulary = 32000;
  s.training.sequence = 2048;
  s.training.global_batch = 64;
  s.training.microbatches = 8;
  s.cluster.domain = 8;
  s.cluster.matmul_efficiency = 0.7;
  s.cluster.memory_efficiency = 0.8;
  s.electrical.fabrics = {model::Fabric::rail_optimised};
  return s;
}

void place(Scenario& s, std::int64_t data, std::int64_t pipeline, std::int64_t tensor) {
  s.parallelism = {data, pipeline, tensor};
  s.cluster.gpus = data * pipeline * tensor;
}

struct Pair {
  double closed = 0;
  double simulated = 0;
  double tolerance = 0;
};

// Of the first case.
Result<Pair> both(const Scenario& s) {
  PR_ASSIGN(const auto study, study::make_study(s, builtin(), {}));
  const auto spec = study::cases_of(study.scenario).front();
  PR_ASSIGN(const auto closed, estimate_case(study, builtin(), spec));
  PR_ASSIGN(const auto run, study::run_case(study, builtin(), spec));
  // Relative part: seconds are summed as doubles.
  return Pair{closed.seconds, to_seconds(run.iteration_time),
              1e-12 * static_cast<double>(tasks_of(study)) + 1e-12 * closed.seconds};
}

void expect_equal(const Scenario& s, const std::string& what) {
  const auto pair = both(s);
  ASSERT_TRUE(pair) << what << ": " << pair.error().message;
  EXPECT_NEAR(pair->closed, pair->simulated, pair->tolerance)
      << what << ": relative " << pair->closed / pair->simulated - 1;
}

struct Mode {
  bool sequence_parallel;
  model::Recompute recompute;
};
constexpr Mode kModes[] = {{true, model::Recompute::none},      {false, model::Recompute::none},
                           {true, model::Recompute::selective}, {false, model::Recompute::selective},
                           {true, model::Recompute::full},      {false, model::Recompute::full}};

std::string text_of(const Scenario& s) {
  return "d" + std::to_string(s.parallelism.data) + " p" + std::to_string(s.parallelism.pipeline) + " t" +
         std::to_string(s.parallelism.tensor) + " m" + std::to_string(s.training.microbatches) + " sharding " +
         std::to_string(static_cast<int>(s.training.sharding)) + " recompute " +
         std::to_string(static_cast<int>(s.training.recompute)) + " sp " +
         std::to_string(s.training.sequence_parallel) + " overlap " + std::to_string(s.training.overlap_gradients) +
         " early " + std::to_string(s.training.post_receives_early) + " gpipe " +
         std::to_string(s.training.schedule == model::Schedule::gpipe);
}

TEST(ScenarioStep, EqualsTheSimulatorOnOneGpu) {
  Scenario s = small();
  place(s, 1, 1, 1);
  s.training.global_batch = 8;
  expect_equal(s, "one GPU");
}

TEST(ScenarioStep, EqualsTheSimulatorWithTensorParallelismAlone) {
  for (const Mode& mode : kModes) {
    Scenario s = small();
    place(s, 1, 1, 8);
    s.training.global_batch = 8;
    s.training.sequence_parallel = mode.sequence_parallel;
    s.training.recompute = mode.recompute;
    expect_equal(s, text_of(s));
  }
}

TEST(ScenarioStep, EqualsTheSimulatorWithDataParallelismAlone) {
  for (const auto sharding : {model::Sharding::zero0, model::Sharding::zero1}) {
    for (const bool overlap : {false, true}) {
      for (const std::int64_t hidden : {1024, 8192}) {  // reductions that wait for gradients, and the reverse
        Scenario s = small();
        place(s, 16, 1, 1);
        s.cluster.domain = 1;
        s.training.microbatches = 4;
        s.model.hidden = hidden;
        s.training.sharding = sharding;
        s.training.overlap_gradients = overlap;
        expect_equal(s, text_of(s) + " h " + std::to_string(hidden));
      }
    }
  }
}

TEST(ScenarioStep, EqualsTheSimulatorWithDataOnRailsAndTensorInDomains) {
  for (const Mode& mode : kModes) {
    for (const auto sharding : {model::Sharding::zero0, model::Sharding::zero1}) {
      Scenario s = small();
      place(s, 8, 1, 8);
      s.training.microbatches = 4;
      s.training.sequence_parallel = mode.sequence_parallel;
      s.training.recompute = mode.recompute;
      s.training.sharding = sharding;
      expect_equal(s, text_of(s));
    }
  }
}

// The head makes the last stage the slowest; messages are short against the difference.
TEST(ScenarioStep, EqualsTheSimulatorWithAPipelineWhoseLastStageIsTheSlowest) {
  for (const auto schedule : {model::Schedule::gpipe, model::Schedule::one_f_one_b}) {
    for (const bool early : {false, true}) {
      for (const std::int64_t stages : {2, 4, 8}) {
        Scenario s = small();
        place(s, 1, stages, 1);
        s.cluster.domain = 1;
        s.model.vocabulary = 128000;
        s.training.global_batch = 16;
        s.training.microbatches = 16;
        s.training.schedule = schedule;
        s.training.post_receives_early = early;
        expect_equal(s, text_of(s));
      }
    }
  }
}

TEST(ScenarioStep, EqualsTheSimulatorWithPipelineAndTensorGroups) {
  for (const Mode& mode : kModes) {
    Scenario s = small();
    place(s, 1, 4, 8);
    s.model.vocabulary = 256000;
    s.training.global_batch = 16;
    s.training.microbatches = 16;
    s.training.sequence_parallel = mode.sequence_parallel;
    s.training.recompute = mode.recompute;
    expect_equal(s, text_of(s));
  }
}

// -- bound ------------------------------------------------------------------------------------------------------------

std::int64_t pick(RandomStream& random, std::initializer_list<std::int64_t> from) {
  return *(from.begin() + random.below(from.size()));
}

Scenario random_scenario(RandomStream& random) {
  Scenario s = small();
  s.model.layers = pick(random, {4, 5, 8, 11});
  s.model.hidden = pick(random, {512, 2048, 8192});
  s.model.feed_forward = 4 * s.model.hidden;
  s.model.feed_forward_matrices = pick(random, {2, 3});
  s.model.heads = 16;
  s.model.kv_heads = pick(random, {2, 16});
  s.model.vocabulary = pick(random, {1000, 50257, 256000});
  s.model.tied_embeddings = random.below(2) == 0;
  s.training.sequence = pick(random, {512, 2048, 8192});
  s.training.microbatches = pick(random, {1, 2, 4, 7});
  s.training.schedule = random.below(2) == 0 ? model::Schedule::gpipe : model::Schedule::one_f_one_b;
  s.training.sharding = static_cast<model::Sharding>(random.below(4));
  s.training.reshard_after_forward = random.below(2) == 0;
  s.training.recompute = static_cast<model::Recompute>(random.below(3));
  s.training.sequence_parallel = random.below(2) == 0;
  s.training.overlap_gradients = random.below(2) == 0;
  s.training.post_receives_early = random.below(2) == 0;
  s.cluster.domain = pick(random, {1, 2, 4, 8});
  place(s, pick(random, {1, 2, 4}), pick(random, {1, 2, 4}), pick(random, {1, 2, 4}));
  s.cluster.domain = std::min(s.cluster.domain, s.cluster.gpus);
  s.training.global_batch = s.parallelism.data * s.training.microbatches * pick(random, {1, 2});
  s.rail.ports = pick(random, {4, 8});
  s.electrical.oversubscription = static_cast<double>(pick(random, {1, 4}));
  s.electrical.nic_rate = gigabytes_per_second(pick(random, {10, 50}));
  return s;
}

// At least 100 scenarios that run, of one kind of case.
void expect_bound(const std::function<void(Scenario&, RandomStream&)>& choose, const std::string& kind) {
  int done = 0;
  int tight = 0;
  for (std::uint64_t id = 0; id < 1000 && done < 100; ++id) {
    RandomStream random(7, "closed form " + kind, id);
    Scenario s = random_scenario(random);
    choose(s, random);
    const auto pair = both(s);
    if (!pair) {
      ASSERT_EQ(pair.error().code, ErrorCode::infeasible) << text_of(s) << ": " << pair.error().message;
      continue;
    }
    ++done;
    if (pair->closed > 0.9 * pair->simulated) ++tight;
    EXPECT_LE(pair->closed, pair->simulated + pair->tolerance)
        << kind << " " << id << ": " << text_of(s) << " domain " << s.cluster.domain << ": relative "
        << pair->closed / pair->simulated - 1;
  }
  EXPECT_GE(done, 100) << kind;
  testing::Test::RecordProperty(kind + "_within_a_tenth", tight);
}

TEST(ScenarioStep, IsABoundOnElectricalFabrics) {
  expect_bound(
      [](Scenario& s, RandomStream& random) { s.electrical.fabrics = {static_cast<model::Fabric>(random.below(3))}; },
      "electrical");
}

void photonic(Scenario& s, RandomStream& random, model::Policy policy) {
  s.electrical.fabrics.clear();
  s.control.policies = {policy};
  s.switching.times = {milliseconds(pick(random, {0, 1, 25}))};
}

TEST(ScenarioStep, IsABoundOnStaticPhotonicRails) {
  expect_bound([](Scenario& s, RandomStream& r) { photonic(s, r, model::Policy::static_proportional); }, "static");
}
TEST(ScenarioStep, IsABoundOnPhotonicRailsSwitchedOnDemand) {
  expect_bound([](Scenario& s, RandomStream& r) { photonic(s, r, model::Policy::on_demand); }, "on_demand");
}
TEST(ScenarioStep, IsABoundOnProvisionedPhotonicRails) {
  expect_bound([](Scenario& s, RandomStream& r) { photonic(s, r, model::Policy::provisioned); }, "provisioned");
}

TEST(ScenarioStep, RefusesAStepFromTraces) {
  study::Study study;
  study.scenario.workload.trace = "somewhere";
  const auto layout = fabric::make_layout(8, 8);
  const auto fabric = fabric::make_electrical(model::Fabric::rail_optimised, *layout, {});
  const auto pieces = scenario_pieces(study, **fabric);
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.error().code, ErrorCode::infeasible);
}

}  // namespace
}  // namespace photonrail::analytic
