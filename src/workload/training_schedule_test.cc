// The 1F1B bubble is exactly (p-1)/(m+p-1): with passes of equal length and free communication a step takes
// (m+p-1)(f+b), of which every stage computes m(f+b) (training_schedule.h). Checked on the generated task graph, so a
// missing or superfluous dependency turns it red as much as a wrong order does.
#include "workload/training_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "workload/training.h"
#include "workload/training_replay.h"

namespace photonrail::workload {
namespace {

using model::Schedule;

TrainingJob pipeline_job(std::int64_t stages, std::int64_t microbatches, Schedule schedule) {
  TrainingJob job;
  job.model = {"", 2 * stages, 64, 160, 3, 8, 2, 8, 1000, false};
  job.training.sequence = 32;
  job.training.microbatches = microbatches;
  job.training.global_batch = 2 * microbatches;
  job.training.schedule = schedule;
  job.parallelism = {2, stages, 2};
  job.gpu = {{989e12}, gigabytes_per_second(4800), 1.0, 1.0, {}};
  return job;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Gives every block of a layer the same time per direction, and no time to anything else.
void set_durations(model::TaskGraph& graph, Time forward, Time backward) {
  for (model::Program& program : graph.programs) {
    for (model::Task& task : program.tasks) {
      const std::string& name = graph.names[task.name];
      const bool layer = contains(name, "layer");
      task.duration = !layer ? Time{} : contains(name, "forward") && !contains(name, "backward") ? forward : backward;
    }
  }
}

TEST(Schedule, BubbleIsExact) {
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::gpipe}) {
    for (const std::int64_t p : {1, 2, 4, 7}) {
      for (const std::int64_t m : {1, 2, 4, 16}) {
        for (const bool early : {false, true}) {
          TrainingJob job = pipeline_job(p, m, schedule);
          job.training.post_receives_early = early;
          auto graph = generate_training_step(job);
          ASSERT_TRUE(graph.has_value()) << graph.error().message;
          set_durations(*graph, microseconds(5), microseconds(11));
          test::Replay replay(*graph, [](const model::Task&) { return Time{}; });
          const Time pass_pair = (microseconds(5) + microseconds(11)) * 4;  // two layers of two blocks a stage
          EXPECT_EQ(replay.finished_all().ps, (pass_pair * (m + p - 1)).ps) << "p " << p << " m " << m;
        }
      }
    }
  }
}

TEST(Schedule, EveryPassOnceAndBackwardAfterForward) {
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::gpipe}) {
    for (std::int64_t stage = 0; stage < 5; ++stage) {
      const auto passes = pipeline_schedule(schedule, stage, 5, 8);
      ASSERT_EQ(passes.size(), 16U);
      for (std::int64_t i = 0; i < 8; ++i) {
        const auto forward = std::find(passes.begin(), passes.end(), Pass{true, i});
        const auto backward = std::find(passes.begin(), passes.end(), Pass{false, i});
        ASSERT_NE(backward, passes.end());
        EXPECT_LT(forward, backward);
      }
    }
  }
}

std::int64_t most_in_flight(const std::vector<Pass>& passes) {
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const Pass& pass : passes) most = std::max(most, now += pass.forward ? 1 : -1);
  return most;
}

TEST(Schedule, ActivationsInFlight) {
  for (const std::int64_t m : {1, 3, 4, 16}) {
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(most_in_flight(pipeline_schedule(Schedule::one_f_one_b, stage, 4, m)), std::min(m, 4 - stage));
      EXPECT_EQ(most_in_flight(pipeline_schedule(Schedule::gpipe, stage, 4, m)), m);
    }
  }
}

TEST(Schedule, WarmUpSteadyCoolDown) {
  const std::vector<Pass> expected = {{true, 0},  {true, 1}, {true, 2},  {false, 0}, {true, 3},
                                      {false, 1}, {true, 4}, {false, 2}, {false, 3}, {false, 4}};
  EXPECT_EQ(pipeline_schedule(Schedule::one_f_one_b, 1, 4, 5), expected);
}

// Issue time of the receive of the second micro-batch on the last stage.
Time second_receive(bool early) {
  TrainingJob job = pipeline_job(2, 4, Schedule::one_f_one_b);
  job.training.post_receives_early = early;
  auto graph = generate_training_step(job);
  EXPECT_TRUE(graph.has_value());
  set_durations(*graph, microseconds(5), microseconds(11));
  test::Replay replay(*graph, [](const model::Task&) { return Time{}; });
  const auto rank = static_cast<model::Rank>(graph->ranks() - 1);
  const auto& tasks = graph->program(rank).tasks;
  for (model::TaskIndex i = 0; i < tasks.size(); ++i) {
    if (tasks[i].kind == model::TaskKind::receive && tasks[i].ordinal == 1) return replay.issued(rank, i);
  }
  return Time::max();
}

TEST(Schedule, ReceivesArePostedOnePassAheadWhenAsked) {
  // The last stage runs F0 from 20 us, B0 from 40 us to 84 us, F1.
  EXPECT_EQ(second_receive(false).ps, microseconds(84).ps);
  EXPECT_EQ(second_receive(true).ps, microseconds(40).ps);
}

}  // namespace
}  // namespace photonrail::workload
