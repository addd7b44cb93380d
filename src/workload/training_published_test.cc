// Under the published conventions the generated step puts on the wire what the paper's own trace generator does: ring
// bytes of all ranks for the five workloads of the Opus artifact, from its baseline bandwidth log. One micro-batch of
// 256 sequences of 4096 tokens, 96 layers, h 8192, f 28672, 64 heads, vocabulary 32000.
#include <gtest/gtest.h>

#include <cmath>

#include "workload/task_graph_totals.h"
#include "workload/training.h"

namespace photonrail::workload {
namespace {

using model::Collective;
using model::Dimension;

TrainingJob published_job(bool llama, model::Parallelism parallelism) {
  TrainingJob job;
  job.conventions = Conventions::opus_published;
  job.model = {"", 96, 8192, 28672, llama ? 3 : 2, 64, llama ? 8 : 64, 128, 32000, false};
  job.training.sequence = 4096;
  job.training.global_batch = 256;
  job.training.microbatches = 1;
  job.parallelism = parallelism;
  job.gpu = {{989e12}, gigabytes_per_second(4800), 1.0, 1.0, {}};
  return job;
}

struct Workload {
  const char* name;
  bool llama;
  model::Parallelism parallelism;
  std::int64_t data_bytes;
  std::int64_t tensor_bytes;
  std::int64_t pipeline_bytes;
};

const Workload kWorkloads[] = {
    {"smoke", false, {2, 2, 2}, 143'831'072'768, 8'248'434'360'320, 17'179'869'184},
    {"fig12", true, {4, 4, 8}, 518'013'321'216, 57'753'720'586'240, 51'539'607'552},
    {"fig13", false, {4, 4, 32}, 525'865'058'304, 255'766'476'881'920, 51'539'607'552},
    {"h200_dp16", false, {16, 4, 8}, 2'251'837'931'520, 57'841'800'970'240, 51'539'607'552},
    {"gb200_dp16", false, {16, 4, 32}, 2'629'325'291'520, 256'156'547'153'920, 51'539'607'552},
};

TEST(Published, RingTrafficToTheByte) {
  for (const Workload& w : kWorkloads) {
    const auto graph = generate_training_step(published_job(w.llama, w.parallelism));
    ASSERT_TRUE(graph.has_value()) << graph.error().message;
    ASSERT_TRUE(model::check(*graph).has_value());
    const GraphTotals totals = graph_totals(*graph);
    EXPECT_EQ(totals.wire_of(Dimension::data).count, w.data_bytes) << w.name;
    EXPECT_EQ(totals.wire_of(Dimension::tensor).count, w.tensor_bytes) << w.name;
    EXPECT_EQ(totals.wire_of(Dimension::pipeline).count, w.pipeline_bytes) << w.name;
  }
}

TEST(Published, CollectivesOfTheFirstWorkloadOneByOne) {
  const auto graph = generate_training_step(published_job(true, {4, 4, 8}));
  ASSERT_TRUE(graph.has_value());
  const GraphTotals totals = graph_totals(*graph);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const bool end = stage == 0 || stage == 3;
    const StageTotals& of = totals.stages[stage];
    const auto calls = [&](Dimension d, Collective c) {
      return of.of(d).calls[static_cast<std::size_t>(c)] / of.ranks;
    };
    const auto bytes = [&](Dimension d, Collective c) {
      return of.of(d).payload[static_cast<std::size_t>(c)].count / of.ranks;
    };
    EXPECT_EQ(calls(Dimension::tensor, Collective::all_gather), 144);
    EXPECT_EQ(calls(Dimension::tensor, Collective::reduce_scatter), 96);
    EXPECT_EQ(calls(Dimension::tensor, Collective::all_reduce), end ? 1 : 0);
    EXPECT_EQ(calls(Dimension::data, Collective::all_reduce), end ? 25 : 24);
    // An all-gather's trace entry is one rank's contribution, an eighth of the payload.
    EXPECT_EQ(bytes(Dimension::tensor, Collective::all_gather) / 8, 38'654'705'664);
    EXPECT_EQ(bytes(Dimension::tensor, Collective::reduce_scatter), 206'158'430'208);
    EXPECT_EQ(bytes(Dimension::data, Collective::all_reduce), end ? 2'829'058'048 : 2'566'914'048);
    EXPECT_EQ(of.of(Dimension::pipeline).sent.count / of.ranks, end ? 268'435'456 : 536'870'912);
  }
}

// Operations agree up to the elementwise operators, which the published generator counts and we do not.
TEST(Published, OperationsWithinThreeInTenThousand) {
  const auto graph = generate_training_step(published_job(true, {4, 4, 8}));
  ASSERT_TRUE(graph.has_value());
  const GraphTotals totals = graph_totals(*graph);
  const double published[] = {2'044'907'233'476'608, 2'019'136'905'412'608, 2'019'136'905'412'608,
                              2'044'909'917'831'168};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const double ours = totals.stages[stage].flops / static_cast<double>(totals.stages[stage].ranks);
    EXPECT_LT(std::abs(ours / published[stage] - 1), 3e-4) << stage;
    EXPECT_LT(ours, published[stage]);
  }
}

}  // namespace
}  // namespace photonrail::workload
