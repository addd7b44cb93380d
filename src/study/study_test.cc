// Properties that hold between the cases of one scenario.
#include "study/study.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "study/opus_physics.h"
#include "study/photonic_case.h"
#include "workload/trace_set.h"

namespace photonrail::study {
namespace {

catalog::Catalog builtin() { return *catalog::Catalog::builtin(); }

// A small job: 8 layers on 32 GPUs, data 4 x pipeline 2 x tensor 4, one rail per tensor rank.
model::Scenario small() {
  model::Scenario s;
  s.model.layers = 8;
  s.model.hidden = 2048;
  s.model.feed_forward = 8192;
  s.model.heads = 16;
  s.model.kv_heads = 16;
  s.model.vocabulary = 32000;
  s.training.sequence = 2048;
  s.training.global_batch = 64;
  s.training.microbatches = 4;
  s.parallelism = {4, 2, 4};
  s.cluster.gpus = 32;
  s.cluster.domain = 4;
  s.control.policies = {model::Policy::static_proportional, model::Policy::on_demand, model::Policy::provisioned,
                        model::Policy::oracle};
  s.electrical.fabrics = {model::Fabric::rail_optimised};
  s.switching.times = {Time{}, milliseconds(1), milliseconds(10), milliseconds(100)};
  return s;
}

Time step_of(const std::vector<CaseRun>& runs, const std::string& name, std::optional<Time> time = {}) {
  for (const CaseRun& run : runs) {
    if (run.spec.name == name && run.spec.switching_time == time) {
      EXPECT_TRUE(run.run) << run.run.error().message;
      return run.run ? run.run->iteration_time : Time{};
    }
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

TEST(Study, PoliciesKeepTheirOrderAndSwitchingNeverHelps) {
  model::Scenario s = small();
  s.switching.request.typical = microseconds(50);
  s.switching.command.typical = milliseconds(2);
  const auto catalog = builtin();
  const auto study = make_study(s, catalog, {});
  ASSERT_TRUE(study) << study.error().message;
  const auto runs = run_cases(*study, catalog, cases_of(study->scenario), 2, {});
  Time before;
  for (const Time time : s.switching.times) {
    const Time demand = step_of(runs, "on_demand", time);
    EXPECT_LE(step_of(runs, "provisioned", time), demand);
    EXPECT_LE(step_of(runs, "oracle", time), step_of(runs, "provisioned", time));
    EXPECT_GE(demand, before);
    before = demand;
  }
  EXPECT_GT(step_of(runs, "on_demand", milliseconds(100)), step_of(runs, "on_demand", Time{}) + milliseconds(200));
}

TEST(Study, ThreadsDoNotChangeResults) {
  const auto catalog = builtin();
  const auto study = make_study(small(), catalog, {});
  const auto one = run_cases(*study, catalog, cases_of(study->scenario), 1, {});
  const auto two = run_cases(*study, catalog, cases_of(study->scenario), 2, {});
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].run->digest, two[i].run->digest) << one[i].spec.name;
}

TEST(Study, AStaticPlanIsRefusedWithItsShortfall) {
  model::Scenario s = small();
  s.rail.ports = 2;
  const auto catalog = builtin();
  const auto study = make_study(s, catalog, {});
  const auto run = run_case(*study, catalog, {"static_proportional", model::Policy::static_proportional, {}, {}});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::infeasible);
  EXPECT_NE(run.error().message.find("there are 2"), std::string::npos) << run.error().message;
}

TEST(Study, WithoutASweepTheSwitchOfTheCatalogSetsTheTime) {
  model::Scenario s = small();
  s.switching.times.clear();
  s.switching.ocs = "no-such-switch";
  const auto catalog = builtin();
  const auto study = make_study(s, catalog, {});
  ASSERT_FALSE(study);
  EXPECT_NE(study.error().message.find("switching.ocs: no optical circuit switch \"no-such"), std::string::npos)
      << study.error().message;
  s.switching.ocs = "calient-s320";
  const Case demand{"on_demand", model::Policy::on_demand, {}, {}};
  const auto unknown = run_case(*make_study(s, catalog, {}), catalog, demand);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("--set 'switching.settle=\"0 ms\"'"), std::string::npos);
  EXPECT_FALSE(switch_time(s.switching, catalog));
  s.switching.ocs = "own-switch";
  s.switching.dark.emplace().typical = milliseconds(20);
  s.switching.settle.emplace().typical = milliseconds(5);
  const auto given = run_case(*make_study(s, catalog, {}), catalog, demand);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(switch_time(s.switching, catalog)->total, milliseconds(25) + s.switching.link_up.typical);
  for (const auto& record : given->switches) EXPECT_EQ(record.finished - record.started, milliseconds(25));
}

// The naive lock on a generated step with receives posted early: it stops, and the cycle is named.
TEST(Study, TheNaiveLockDeadlocksOnAGeneratedStep) {
  model::Scenario s = small();
  s.rail.ports = 1;
  s.parallelism = {2, 4, 4};
  s.training.post_receives_early = true;
  const auto catalog = builtin();
  const auto study = make_study(s, catalog, {});
  ASSERT_TRUE(study) << study.error().message;
  const Case demand{"on_demand", model::Policy::on_demand, {}, milliseconds(1)};
  EXPECT_TRUE(run_case(*study, catalog, demand));
  s.control.admission = model::Admission::naive_lock;
  const auto locked = run_case(*make_study(s, catalog, {}), catalog, demand);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, ErrorCode::deadlock);
  EXPECT_NE(locked.error().message.find("in a cycle"), std::string::npos) << locked.error().message;
}

// The published workload under true units carries, per dimension, twice the bytes of the published count (bf16), the
// data and tensor figures of the README of the published data being ring traffic of all ranks.
TEST(Study, TheSmokeWorkloadCarriesThePublishedTraffic) {
  const std::string archive =
      std::string(PHOTONRAIL_SOURCE_DIR) + "/../shared/data/opus/traces/smoke_dp2pp2tp2_gpt_8npu.tar.xz";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "no published traces beside the checkout";
  model::Scenario s;
  s.workload.trace = archive;
  s.workload.bytes_per_unit = 2;
  s.cluster.domain = 2;
  s.electrical.fabrics = {model::Fabric::rail_optimised};
  const auto catalog = builtin();
  const auto study = make_study(s, catalog, {});
  ASSERT_TRUE(study) << study.error().message;
  const auto run = run_case(*study, catalog, cases_of(study->scenario)[0]);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->wire_bytes[static_cast<int>(model::Dimension::data)], 2 * 143'831'072'768);
  EXPECT_EQ(run->wire_bytes[static_cast<int>(model::Dimension::tensor)], 2 * 8'248'434'360'320);
  EXPECT_EQ(run->wire_bytes[static_cast<int>(model::Dimension::pipeline)], 2 * 17'179'869'184);
}

// Neighbouring rungs of the smoke workload, on demand at 10 ms; the first two are figures of the published data.
TEST(Study, TheLadderStartsAtThePublishedStepAndEveryRungRuns) {
  const std::string archive =
      std::string(PHOTONRAIL_SOURCE_DIR) + "/../shared/data/opus/traces/smoke_dp2pp2tp2_gpt_8npu.tar.xz";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "no published traces beside the checkout";
  const auto traces = workload::read_traces(archive, {});
  ASSERT_TRUE(traces) << traces.error().message;
  published::PublishedConfig config;
  config.dp = config.pp = config.tp = 2;
  config.mode = published::Mode::on_demand;
  config.delay_ms = 10;
  OpusJob job;
  job.model = "gpt-80b-opus";
  const auto ladder = physics_ladder(*traces, config, job, {});
  ASSERT_TRUE(ladder) << ladder.error().message;
  ASSERT_EQ(ladder->size(), 10U);
  for (const Rung& rung : *ladder) EXPECT_FALSE(rung.refused) << rung.id;
  EXPECT_EQ((*ladder)[0].step_ns, 62'261'639'059);
  EXPECT_EQ((*ladder)[6].id, kOwnPhysics);
}

}  // namespace
}  // namespace photonrail::study
