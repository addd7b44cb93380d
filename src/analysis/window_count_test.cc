// The closed form of window_count.h against counting the changes of letter in the generator's own programs, in program
// order. Per pass a first stage does F = "[D]P", B = "P[D]", an interior one "P[D]P" twice, a last one "P[D]", "[D]P".
#include "analysis/window_count.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "analysis/analysis_test_records.h"
#include "analysis/windows.h"
#include "workload/training.h"

namespace photonrail::analysis {
namespace {

using model::Schedule;
using model::Sharding;
using model::Task;
using model::TaskKind;

workload::TrainingJob job_of(const WindowCountInputs& in, std::int64_t layers_per_stage, std::int64_t tensor) {
  workload::TrainingJob job;
  job.model = {"", layers_per_stage * in.stages, 64, 160, 3, 8, 2, 8, 1000, in.tied_embeddings};
  job.training.sequence = 32;
  job.training.global_batch = in.microbatches * in.data;
  job.training.microbatches = in.microbatches;
  job.training.schedule = in.schedule;
  job.training.sharding = in.sharding;
  job.training.reshard_after_forward = in.reshard_after_forward;
  job.parallelism = {in.data, in.stages, tensor};
  job.gpu = {{989e12}, gigabytes_per_second(4800), 1.0, 1.0, {}};
  return job;
}

// The rail operations of one stage, one after the other with a pause between.
model::RunResult in_program_order(const model::Program& program, std::uint32_t stage) {
  model::RunResult run;
  for (const Task& task : program.tasks) {
    if (task.kind == TaskKind::compute || task.dimension == model::Dimension::tensor) continue;
    const auto now = static_cast<std::int64_t>(run.communications.size()) * 10;
    run.communications.push_back(test::collective(0, stage, now, now, now + 5));
    run.communications.back().dimension = task.dimension;
  }
  return run;
}

std::int64_t counted_windows(const model::TaskGraph& graph, std::int64_t stages, std::int64_t stage) {
  const auto rank =
      static_cast<model::Rank>(graph.ranks() / static_cast<std::size_t>(stages) * static_cast<std::size_t>(stage));
  return static_cast<std::int64_t>(analyse_windows(in_program_order(graph.program(rank), 0)).windows.size());
}

void expect_equal(const WindowCountInputs& in, std::int64_t layers_per_stage, std::int64_t tensor) {
  const auto graph = workload::generate_training_step(job_of(in, layers_per_stage, tensor));
  RC_ASSERT(graph.has_value());
  std::int64_t sum = 0;
  for (std::int64_t stage = 0; stage < in.stages; ++stage) {
    const std::int64_t counted = counted_windows(*graph, in.stages, stage);
    RC_ASSERT(closed_form_windows(in, stage) == counted);
    sum += counted;
  }
  RC_ASSERT(closed_form_windows(in) == sum);
}

RC_GTEST_PROP(WindowCount, EqualsCounting, ()) {
  WindowCountInputs in;
  in.schedule = *rc::gen::element(Schedule::gpipe, Schedule::one_f_one_b);
  in.sharding = *rc::gen::element(Sharding::zero0, Sharding::zero1, Sharding::zero2, Sharding::zero3);
  in.reshard_after_forward = *rc::gen::arbitrary<bool>();
  in.tied_embeddings = *rc::gen::arbitrary<bool>();
  in.stages = *rc::gen::inRange<std::int64_t>(1, 7);
  in.microbatches = *rc::gen::inRange<std::int64_t>(1, 10);
  in.data = *rc::gen::inRange<std::int64_t>(2, 4);
  expect_equal(in, *rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::element<std::int64_t>(1, 2));
}

// reference: FSDP with resharding, two stages, two micro-batches: six per iteration on stage 0.
TEST(WindowCount, OfTheTracedJob) {
  WindowCountInputs in;
  in.sharding = Sharding::zero3;
  in.stages = 2;
  in.microbatches = 2;
  in.data = 2;
  EXPECT_EQ(closed_form_windows(in, 0), 6);
}

// data/opus/README.md section 4: one micro-batch, ZeRO 0, four stages: 1, 2, 2, 2 changes.
TEST(WindowCount, OfThePublishedWorkloads) {
  WindowCountInputs in;
  in.stages = 4;
  in.data = 4;
  EXPECT_EQ(closed_form_windows(in, 0), 1);
  EXPECT_EQ(closed_form_windows(in, 1), 2);
  EXPECT_EQ(closed_form_windows(in, 3), 2);
  EXPECT_EQ(closed_form_windows(in), 7);
}

TEST(WindowCount, NeedsTwoKindsOfTraffic) {
  WindowCountInputs in;
  in.stages = 4;
  EXPECT_EQ(closed_form_windows(in), 0);
  in.stages = 1;
  in.data = 4;
  EXPECT_EQ(closed_form_windows(in), 0);
}

}  // namespace
}  // namespace photonrail::analysis
