// Bytes and operations of generated steps against formulas worked by hand (training.h, operators/transformer.h).
//
// The hand-worked job: 8 layers, h 64, 8 query and 2 key/value heads of 8, gated feed-forward of 160, vocabulary 1000,
// s 32; data 4, pipeline 2, tensor 2; 24 sequences in 3 micro-batches of 2, so T = 64 tokens.
// One rank's parameters: QKV 64*(4+2)*8 = 3072, projection 32*64 = 2048, feed-forward 3*64*80 = 15360, norms 128:
// layer 20608; embedding 500*64 = 32000; head 32064. Stage 0: 32000 + 4*20608 = 114432; stage 1: 114496.
#include "workload/training.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "workload/task_graph_totals.h"
#include "workload/training_replay.h"

namespace photonrail::workload {
namespace {

using model::Collective;
using model::Dimension;
using model::Recompute;
using model::Schedule;
using model::Sharding;
using model::TaskGraph;
using model::TaskKind;

constexpr std::int64_t kStageParameters[2] = {114432, 114496};
constexpr std::int64_t kMicrobatches = 3;
constexpr std::int64_t kRanksPerStage = 8;
constexpr std::int64_t kActivation = 64 * 64 * 2;  // T h e

TrainingJob small_job() {
  TrainingJob job;
  job.model = {"", 8, 64, 160, 3, 8, 2, 8, 1000, false};
  job.training.sequence = 32;
  job.training.global_batch = 24;
  job.training.microbatches = kMicrobatches;
  job.parallelism = {4, 2, 2};
  job.gpu = {{989e12}, gigabytes_per_second(4800), 1.0, 1.0, {}};
  return job;
}

TaskGraph generate(const TrainingJob& job) {
  auto graph = generate_training_step(job);
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().message);
  if (!graph) return {};
  const Status valid = model::check(*graph);
  EXPECT_TRUE(valid.has_value()) << (valid ? "" : valid.error().message);
  return std::move(*graph);
}

struct Calls {
  std::int64_t count = 0;  // per rank
  std::int64_t bytes = 0;  // payload per rank
  friend bool operator==(const Calls&, const Calls&) = default;
};
void PrintTo(const Calls& calls, std::ostream* out) { *out << calls.count << " calls of " << calls.bytes << " bytes"; }

Calls calls(const GraphTotals& totals, std::size_t stage, Dimension dimension, Collective kind) {
  const DimensionTotals& of = totals.stages[stage].of(dimension);
  const auto index = static_cast<std::size_t>(kind);
  return {of.calls[index] / totals.stages[stage].ranks, of.payload[index].count / totals.stages[stage].ranks};
}

// -- data parallelism -------------------------------------------------------------------------------------------------

struct ShardingCase {
  Sharding sharding;
  bool reshard;
  std::int64_t reduce_passes;  // how often the whole gradient is reduced
  std::int64_t gather_passes;  // how often all parameters are gathered
};

class ShardingBytes : public testing::TestWithParam<ShardingCase> {};

TEST_P(ShardingBytes, EqualTheFormula) {
  const ShardingCase& c = GetParam();
  for (const bool overlap : {true, false}) {
    for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::gpipe}) {
      TrainingJob job = small_job();
      job.training.sharding = c.sharding;
      job.training.reshard_after_forward = c.reshard;
      job.training.overlap_gradients = overlap;
      job.training.schedule = schedule;
      job.training.gradient_precision = model::Precision::fp32;
      const GraphTotals totals = graph_totals(generate(job));
      for (std::size_t stage = 0; stage < 2; ++stage) {
        const std::int64_t buckets = 5;  // 4 layers and the embedding or head
        const Calls reduced{buckets * c.reduce_passes, kStageParameters[stage] * 4 * c.reduce_passes};
        const Calls gathered{buckets * c.gather_passes, kStageParameters[stage] * 2 * c.gather_passes};
        const bool whole = c.sharding == Sharding::zero0;
        EXPECT_EQ(calls(totals, stage, Dimension::data, Collective::all_reduce), whole ? reduced : Calls{});
        EXPECT_EQ(calls(totals, stage, Dimension::data, Collective::reduce_scatter), whole ? Calls{} : reduced);
        EXPECT_EQ(calls(totals, stage, Dimension::data, Collective::all_gather), gathered);
      }
      // On the wire: n-1 = 3 times the payload per group and pass, twice that for an all-reduce; 2 groups per stage.
      const std::int64_t both = kStageParameters[0] + kStageParameters[1];
      const std::int64_t reduce_factor = c.sharding == Sharding::zero0 ? 2 : 1;
      EXPECT_EQ(totals.wire_of(Dimension::data).count,
                2 * 3 * both * (4 * reduce_factor * c.reduce_passes + 2 * c.gather_passes));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Training, ShardingBytes,
                         testing::Values(ShardingCase{Sharding::zero0, true, 1, 0},
                                         ShardingCase{Sharding::zero1, true, 1, 1},
                                         ShardingCase{Sharding::zero2, true, kMicrobatches, 1},
                                         ShardingCase{Sharding::zero3, true, kMicrobatches, 2 * kMicrobatches},
                                         ShardingCase{Sharding::zero3, false, 1, 1}));

TEST(Training, OneDataRankHasNoDataTraffic) {
  TrainingJob job = small_job();
  job.parallelism.data = 1;
  for (const Sharding sharding : {Sharding::zero0, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
    job.training.sharding = sharding;
    EXPECT_EQ(graph_totals(generate(job)).wire_of(Dimension::data).count, 0);
  }
}

// The gather of layer 2 is issued when the bucket before it in the order of computation starts: layer 1 forward, layer
// 3 backward. What it waits for is then the last computation before that start. Stage 0 runs F0 F1 B0 F2 B1 B2.
TEST(Training, ParametersAreGatheredOneBucketAhead) {
  TrainingJob job = small_job();
  job.training.sharding = Sharding::zero3;
  const TaskGraph graph = generate(job);
  const model::Program& program = graph.programs[0];
  std::vector<std::string> waits_for;
  for (model::TaskIndex i = 0; i < program.tasks.size(); ++i) {
    if (graph.names[program.tasks[i].name] != "layer 2 gather parameters") continue;
    ASSERT_EQ(program.needs(i).size(), 1U);
    waits_for.push_back(graph.names[program.tasks[program.needs(i)[0]].name]);
  }
  const std::vector<std::string> expected = {"layer 0 feed-forward forward", "layer 0 feed-forward forward",
                                             "layer 3 feed-forward forward", "layer 0 feed-forward forward",
                                             "layer 3 feed-forward forward", "embedding backward"};
  EXPECT_EQ(waits_for, expected);
}

// A computation must not start before its own parameters are there.
TEST(Training, ComputationWaitsForItsParameters) {
  TrainingJob job = small_job();
  job.training.sharding = Sharding::zero3;
  const TaskGraph graph = generate(job);
  for (const model::Program& program : graph.programs) {
    for (model::TaskIndex i = 0; i < program.tasks.size(); ++i) {
      const std::string& name = graph.names[program.tasks[i].name];
      if (program.tasks[i].kind != TaskKind::compute || name == "optimizer") continue;
      const std::string bucket = name.substr(0, name.find(' ', name.find("layer") == 0 ? 6 : 0));
      const auto needs = program.needs(i);
      const auto is_gather = [&](model::TaskIndex need) {
        return graph.names[program.tasks[need].name] == bucket + " gather parameters";
      };
      EXPECT_TRUE(std::any_of(needs.begin(), needs.end(), is_gather)) << name;
    }
  }
}

// -- tensor parallelism -----------------------------------------------------------------------------------------------

TEST(Training, TensorBytesWithSequenceParallelism) {
  const GraphTotals totals = graph_totals(generate(small_job()));
  // Stage 0: 4 layers of 2+4 all-gathers and 2+2 reduce-scatters; embedding one of each.
  EXPECT_EQ(calls(totals, 0, Dimension::tensor, Collective::all_gather), (Calls{75, 75 * kActivation}));
  EXPECT_EQ(calls(totals, 0, Dimension::tensor, Collective::reduce_scatter), (Calls{51, 51 * kActivation}));
  EXPECT_EQ(calls(totals, 0, Dimension::tensor, Collective::all_reduce), (Calls{1, 8 * 64 * 2}));  // norm gradients
  // Stage 1: the head gathers its input and again the saved one, scatters its gradient; the loss sums 12 bytes a token.
  EXPECT_EQ(calls(totals, 1, Dimension::tensor, Collective::all_gather), (Calls{78, 78 * kActivation}));
  EXPECT_EQ(calls(totals, 1, Dimension::tensor, Collective::reduce_scatter), (Calls{51, 51 * kActivation}));
  EXPECT_EQ(calls(totals, 1, Dimension::tensor, Collective::all_reduce), (Calls{1 + 3, 9 * 64 * 2 + 3 * 64 * 12}));
  // Groups of 2 send each half-ring payload once: 4 groups a stage.
  EXPECT_EQ(totals.wire_of(Dimension::tensor).count,
            4 * ((75 + 51 + 78 + 51) * kActivation + 2 * (8 * 64 * 2 + 9 * 64 * 2 + 3 * 64 * 12)));
}

// Names of what the tasks called `name` of a program wait for.
std::vector<std::string> needs_of(const TaskGraph& graph, const model::Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (model::TaskIndex i = 0; i < program.tasks.size(); ++i) {
    if (graph.names[program.tasks[i].name] != name) continue;
    for (const model::TaskIndex need : program.needs(i)) names.push_back(graph.names[program.tasks[need].name]);
  }
  return names;
}

// The saved input of a block is gathered while the block before it computes, so it must not wait for that computation:
// that of the attention of layer 5 waits for what the feed-forward of layer 5 waits for, and that of the feed-forward
// of layer 5 for what the attention of layer 6 waits for.
TEST(Training, SavedInputsAreGatheredOneBlockAhead) {
  TrainingJob job = small_job();
  job.training.microbatches = 1;
  const TaskGraph graph = generate(job);
  EXPECT_EQ(needs_of(graph, graph.programs[1], "layer 5 gather saved input"),
            (std::vector<std::string>{"layer 6 feed-forward backward", "layer 6 gather output gradient",
                                      "layer 6 attention backward", "layer 5 gather output gradient"}));
}

TEST(Training, TensorBytesWithoutSequenceParallelism) {
  TrainingJob job = small_job();
  job.training.sequence_parallel = false;
  const GraphTotals totals = graph_totals(generate(job));
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(calls(totals, stage, Dimension::tensor, Collective::all_gather), Calls{});
    EXPECT_EQ(calls(totals, stage, Dimension::tensor, Collective::reduce_scatter), Calls{});
  }
  // 4 layers of 2+2; stage 0 sums the embedding's output, stage 1 the head's input gradient and the loss.
  EXPECT_EQ(calls(totals, 0, Dimension::tensor, Collective::all_reduce), (Calls{51, 51 * kActivation}));
  EXPECT_EQ(calls(totals, 1, Dimension::tensor, Collective::all_reduce), (Calls{54, 51 * kActivation + 3 * 64 * 12}));
}

TEST(Training, FullRecomputationRepeatsTheForwardCollectives) {
  TrainingJob job = small_job();
  job.training.recompute = Recompute::full;
  const GraphTotals totals = graph_totals(generate(job));
  EXPECT_EQ(calls(totals, 0, Dimension::tensor, Collective::all_gather).count, 75 + 3 * 4 * 2);
  EXPECT_EQ(calls(totals, 0, Dimension::tensor, Collective::reduce_scatter).count, 51 + 3 * 4 * 2);
}

// -- pipeline ---------------------------------------------------------------------------------------------------------

TEST(Training, PipelineBytes) {
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::gpipe}) {
    TrainingJob job = small_job();
    job.training.schedule = schedule;
    // Each of 8 rank pairs passes 3 activations forward and 3 gradients back, of T h e / 2 bytes.
    EXPECT_EQ(graph_totals(generate(job)).wire_of(Dimension::pipeline).count, 8 * 6 * kActivation / 2);
    job.training.sequence_parallel = false;
    EXPECT_EQ(graph_totals(generate(job)).wire_of(Dimension::pipeline).count, 8 * 6 * kActivation);
  }
}

TEST(Training, TiedEmbeddingsAreSummedBetweenTheEnds) {
  TrainingJob job = small_job();
  job.parallelism = {4, 4, 2};
  const std::int64_t untied = graph_totals(generate(job)).wire_of(Dimension::pipeline).count;
  job.model.tied_embeddings = true;
  // All-reduce in pairs: 2 * 1/2 of the table per rank, 16 ranks.
  EXPECT_EQ(graph_totals(generate(job)).wire_of(Dimension::pipeline).count - untied, 16 * 32000 * 2);
  job.training.sharding = Sharding::zero1;  // each rank owns a quarter of the reduced gradient
  EXPECT_EQ(graph_totals(generate(job)).wire_of(Dimension::pipeline).count - untied, 16 * 8000 * 2);
}

TEST(Training, TiedEmbeddingsInOneStageAreReducedOnce) {
  TrainingJob job = small_job();
  job.parallelism = {4, 1, 2};
  job.model.tied_embeddings = true;
  const GraphTotals totals = graph_totals(generate(job));
  EXPECT_EQ(calls(totals, 0, Dimension::data, Collective::all_reduce).bytes, (32000 + 8 * 20608 + 64) * 2);
  EXPECT_EQ(totals.wire_of(Dimension::pipeline).count, 0);
}

// -- operations -------------------------------------------------------------------------------------------------------

// One rank's layer and micro-batch: products 2*64*(3072+2048+15360), attention core 2*64*32*32; head 2*64*64*500.
constexpr double kProducts = 2.0 * 64 * 20480;
constexpr double kCore = 2.0 * 64 * 32 * 32;
constexpr double kHead = 2.0 * 64 * 64 * 500;

TEST(Training, OperationsEqualTheFormula) {
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::gpipe}) {
    TrainingJob job = small_job();
    job.training.schedule = schedule;
    const GraphTotals none = graph_totals(generate(job));
    const double stage = kRanksPerStage * kMicrobatches * 4 * 3 * (kProducts + kCore);
    EXPECT_DOUBLE_EQ(none.stages[0].flops, stage);
    EXPECT_DOUBLE_EQ(none.stages[1].flops, stage + kRanksPerStage * kMicrobatches * 3 * kHead);
    EXPECT_DOUBLE_EQ(none.flops, model_flops(job));

    job.training.recompute = Recompute::selective;
    EXPECT_DOUBLE_EQ(graph_totals(generate(job)).flops - none.flops, 2 * kRanksPerStage * kMicrobatches * 4 * kCore);
    job.training.recompute = Recompute::full;
    EXPECT_DOUBLE_EQ(graph_totals(generate(job)).flops - none.flops,
                     2 * kRanksPerStage * kMicrobatches * 4 * (kProducts + kCore));
    EXPECT_DOUBLE_EQ(model_flops(job), none.flops);  // what the step needs does not grow by recomputation
  }
}

// 6 operations per parameter and token (2 forward, 4 backward), here with LLaMA-2-70B: 80 layers of 855,638,016 weights
// in products and a head of 262,144,000; causal attention adds 6 s q d per layer and token.
TEST(Training, OperationsAgreeWithSixTimesParametersTimesTokens) {
  TrainingJob job;
  job.model = {"", 80, 8192, 28672, 3, 64, 8, 0, 32000, false};
  job.training.sequence = 4096;
  job.training.global_batch = 64;
  job.training.microbatches = 8;
  job.parallelism = {2, 4, 8};
  job.gpu = {{989e12}, gigabytes_per_second(4800), 1.0, 1.0, {}};
  const double tokens = 64.0 * 4096;
  const double weights = 80 * 855638016.0 + 262144000.0;
  const double attention = 6 * tokens * 80 * 4096 * 64 * 128;
  const GraphTotals totals = graph_totals(generate(job));
  EXPECT_DOUBLE_EQ(totals.flops, 6 * weights * tokens + attention);
  EXPECT_DOUBLE_EQ(totals.flops, model_flops(job));
}

TEST(Training, ComputeTimeNeverBeatsThePeak) {
  TrainingJob job = small_job();
  const GraphTotals totals = graph_totals(generate(job));
  EXPECT_GE(to_seconds(totals.stages[1].compute), totals.stages[1].flops / 989e12);
  job.gpu.matmul_efficiency = 0.5;
  job.gpu.memory_efficiency = 0.5;
  const GraphTotals slower = graph_totals(generate(job));
  EXPECT_NEAR(to_seconds(slower.stages[0].compute) / to_seconds(totals.stages[0].compute), 2.0, 1e-3);
}

TEST(Training, KeyValueHeadsAreCopiedWhenTooFew) {
  TrainingJob job = small_job();
  job.parallelism = {1, 1, 4};
  EXPECT_EQ(microbatch_shape(job).kv_heads, 1);  // 2 heads on 4 ranks: two copies of each
  const GraphTotals totals = graph_totals(generate(job));
  EXPECT_GT(totals.flops, model_flops(job));
}

// -- layout -----------------------------------------------------------------------------------------------------------

TEST(Training, RanksRunTensorThenDataThenPipeline) {
  const TaskGraph graph = generate(small_job());
  ASSERT_EQ(graph.ranks(), 16U);
  EXPECT_EQ(graph.programs.size(), 2U);
  EXPECT_EQ(graph.stage_of[7], 0U);
  EXPECT_EQ(graph.stage_of[8], 1U);
  EXPECT_EQ(graph.groups[0].members, (std::vector<model::Rank>{0, 1}));
  EXPECT_EQ(graph.groups[7].members, (std::vector<model::Rank>{14, 15}));
  EXPECT_EQ(graph.groups[8].dimension, Dimension::data);
  EXPECT_EQ(graph.groups[8].members, (std::vector<model::Rank>{0, 2, 4, 6}));
  EXPECT_EQ(graph.groups[11].members, (std::vector<model::Rank>{9, 11, 13, 15}));
  EXPECT_EQ(graph.slot(3, 2), 11U);  // slots of stage 0: tensor, data, next peer
}

TEST(Training, LayersLeftOverGoToTheStagesFromTheSecondOn) {
  TrainingJob job = small_job();
  job.model.layers = 11;
  job.parallelism.pipeline = 4;
  EXPECT_EQ(stage_layers(job, 0).count, 2);
  EXPECT_EQ(stage_layers(job, 1).count, 3);
  EXPECT_EQ(stage_layers(job, 2).count, 3);
  EXPECT_EQ(stage_layers(job, 3).count, 3);
  EXPECT_EQ(stage_layers(job, 3).first, 8);
}

// 96 layers and 16 micro-batches on 8,192 GPUs: programs are per stage, so tasks must not grow with the data degree.
TEST(Training, TasksDoNotGrowWithTheDataDegree) {
  TrainingJob job;
  job.model = {"", 96, 8192, 28672, 3, 64, 8, 0, 32000, false};
  job.training.microbatches = 16;
  job.training.global_batch = 2048;
  job.parallelism = {128, 8, 8};
  job.gpu = {{989e12}, gigabytes_per_second(4800), 1.0, 1.0, {}};
  const TaskGraph graph = generate(job);
  EXPECT_EQ(graph.ranks(), 8192U);
  std::size_t tasks = 0;
  for (const model::Program& program : graph.programs) tasks += program.tasks.size();
  EXPECT_LT(tasks, 15U * 96 * 16);
}

// -- overlap ----------------------------------------------------------------------------------------------------------

// In real jobs the data-parallel reduction of the last bucket is issued before the last gradient is sent.
TEST(Training, LastReductionIsIssuedBeforeTheLastGradientIsSent) {
  const TaskGraph graph = generate(small_job());
  test::Replay replay(graph, [](const model::Task&) { return microseconds(1); });
  const model::Rank rank = 8;  // of the last stage, which sends gradients to the first
  const auto& tasks = graph.program(rank).tasks;
  model::TaskIndex reduction = 0;
  model::TaskIndex send = 0;
  for (model::TaskIndex i = 0; i < tasks.size(); ++i) {
    if (tasks[i].dimension == Dimension::data) reduction = i;
    if (tasks[i].kind == TaskKind::send) send = i;
  }
  EXPECT_LT(replay.issued(rank, reduction), replay.issued(rank, send));
}

// A send waits for the collective that completes its payload and for nothing else, and no computation waits for it.
TEST(Training, SendsWaitForTheirPayloadAndHoldUpNothing) {
  const TaskGraph graph = generate(small_job());
  EXPECT_EQ(needs_of(graph, graph.programs[0], "send activations"), std::vector<std::string>(3, "layer 3 sum output"));
  EXPECT_EQ(needs_of(graph, graph.programs[1], "send gradients"),
            std::vector<std::string>(3, "layer 4 sum input gradient"));
  for (const model::Program& program : graph.programs) {
    for (const model::TaskIndex need : program.dependencies) EXPECT_NE(program.tasks[need].kind, TaskKind::send);
  }
}

TEST(Training, WithoutOverlapReductionsWaitForTheWholeBackwardPass) {
  TrainingJob job = small_job();
  job.training.overlap_gradients = false;
  const TaskGraph graph = generate(job);
  const model::Program& program = graph.programs[1];
  for (model::TaskIndex i = 0; i < program.tasks.size(); ++i) {
    if (program.tasks[i].dimension != Dimension::data) continue;
    ASSERT_EQ(program.needs(i).size(), 1U);
    EXPECT_EQ(graph.names[program.tasks[program.needs(i)[0]].name], "layer 4 attention backward");
  }
}

// The last stage starts the backward pass of a micro-batch from its own loss.
TEST(Training, BackwardStartsFromTheLoss) {
  const TaskGraph graph = generate(small_job());
  const auto needs = needs_of(graph, graph.programs[1], "head backward");
  EXPECT_EQ(std::count(needs.begin(), needs.end(), "head sum loss"), kMicrobatches);
}

// Recomputation starts when the gradient has arrived and gives back to the gradient: the gather of the output gradient
// waits for the gradient of the layer above, not for the recomputed output.
TEST(Training, RecomputationLeavesTheGradientInPlace) {
  TrainingJob job = small_job();
  job.training.microbatches = 1;
  job.training.recompute = Recompute::full;
  const TaskGraph graph = generate(job);
  const auto needs = needs_of(graph, graph.programs[1], "layer 6 gather output gradient");
  const std::vector<std::string> expected = {"layer 7 sum input gradient", "layer 6 feed-forward recompute",
                                             "layer 6 feed-forward backward", "layer 6 sum input gradient"};
  EXPECT_EQ(needs, expected);
}

// -- refusals ---------------------------------------------------------------------------------------------------------

void expect_refused(const TrainingJob& job, const char* part) {
  const auto graph = generate_training_step(job);
  ASSERT_FALSE(graph.has_value()) << "accepted; expected a complaint about " << part;
  EXPECT_EQ(graph.error().code, ErrorCode::invalid_input);
  EXPECT_NE(graph.error().message.find(part), std::string::npos) << graph.error().message;
}

TEST(Training, RefusesWhatDoesNotDivide) {
  const auto with = [](auto&& change) {
    TrainingJob job = small_job();
    change(job);
    return job;
  };
  expect_refused(with([](TrainingJob& j) { j.parallelism.tensor = 3; }), "model.heads");
  expect_refused(with([](TrainingJob& j) { j.model.feed_forward = 161; }), "160 or 162");
  expect_refused(with([](TrainingJob& j) { j.training.global_batch = 25; }), "24 or 36");
  expect_refused(with([](TrainingJob& j) { j.training.sequence = 33; }), "training.sequence");
  expect_refused(with([](TrainingJob& j) { j.model.kv_heads = 3; }), "model.kv_heads");
  expect_refused(with([](TrainingJob& j) { j.parallelism.pipeline = 9; }), "only 8 layers");
  expect_refused(with([](TrainingJob& j) { j.model.layers = 0; }), "model.layers");
  expect_refused(with([](TrainingJob& j) {
                   j.training.microbatches = 1 << 16;
                   j.training.global_batch = 1 << 20;
                 }),
                 "tasks");
  expect_refused(with([](TrainingJob& j) { j.gpu.peak = {0}; }), "positive");
  expect_refused(with([](TrainingJob& j) { j.gpu.peak = {1.0}; }), "wrong unit");
  expect_refused(with([](TrainingJob& j) { j.gpu.matmul_efficiency = 1.5; }), "(0, 1]");
  expect_refused(with([](TrainingJob& j) {
                   j.conventions = Conventions::opus_published;
                   j.training.sharding = Sharding::zero3;
                 }),
                 "published conventions");
}

// -- properties -------------------------------------------------------------------------------------------------------

TrainingJob any_job() {
  TrainingJob job = small_job();
  const auto pick = [](std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high + 1); };
  job.parallelism = {pick(1, 3), pick(1, 4), std::int64_t{1} << pick(0, 2)};
  job.model.layers = pick(job.parallelism.pipeline, 7);
  job.model.feed_forward_matrices = pick(2, 3);
  job.model.kv_heads = std::int64_t{1} << pick(0, 3);
  job.model.tied_embeddings = *rc::gen::arbitrary<bool>();
  job.training.microbatches = pick(1, 5);
  job.training.global_batch = job.training.microbatches * job.parallelism.data * pick(1, 2);
  job.training.schedule = *rc::gen::element(Schedule::gpipe, Schedule::one_f_one_b);
  job.training.sharding = *rc::gen::element(Sharding::zero0, Sharding::zero1, Sharding::zero2, Sharding::zero3);
  job.training.recompute = *rc::gen::element(Recompute::none, Recompute::selective, Recompute::full);
  job.training.reshard_after_forward = *rc::gen::arbitrary<bool>();
  job.training.sequence_parallel = *rc::gen::arbitrary<bool>();
  job.training.overlap_gradients = *rc::gen::arbitrary<bool>();
  job.training.post_receives_early = *rc::gen::arbitrary<bool>();
  return job;
}

TEST(Training, EveryJobPassesTheCheckRunsToItsEndAndConservesBytes) {
  EXPECT_TRUE(rc::check("generated steps are sound", [] {
    const TrainingJob job = any_job();
    const auto graph = generate_training_step(job);
    RC_ASSERT(graph.has_value());
    RC_ASSERT(model::check(*graph).has_value());
    test::Replay replay(*graph, [](const model::Task& task) { return Time{task.bytes.count + 1}; });
    RC_ASSERT(replay.finished_all() > Time{0});

    const GraphTotals totals = graph_totals(*graph);
    std::int64_t sends = 0;
    std::int64_t receives = 0;
    for (const StageTotals& stage : totals.stages) {
      sends += stage.of(Dimension::pipeline).sends;
      receives += stage.of(Dimension::pipeline).receives;
    }
    const model::Parallelism& p = job.parallelism;
    RC_ASSERT(sends == receives);
    RC_ASSERT(sends == 2 * job.training.microbatches * (p.pipeline - 1) * p.data * p.tensor);
    RC_ASSERT(totals.flops >= model_flops(job) * (1 - 1e-12));
  }));
}

// Computations of a rank form one chain, so that their order is the schedule and nothing else.
TEST(Training, EveryComputationFollowsTheOneBefore) {
  EXPECT_TRUE(rc::check("the chain of computations is explicit", [] {
    const auto graph = generate_training_step(any_job());
    RC_ASSERT(graph.has_value());
    for (const model::Program& program : graph->programs) {
      std::int64_t last = -1;
      for (model::TaskIndex i = 0; i < program.tasks.size(); ++i) {
        if (program.tasks[i].kind != TaskKind::compute) continue;
        const auto needs = program.needs(i);
        const auto found = std::find(needs.begin(), needs.end(), static_cast<model::TaskIndex>(last));
        RC_ASSERT(last < 0 || found != needs.end());
        last = i;
      }
    }
  }));
}

}  // namespace
}  // namespace photonrail::workload
