// The scenario file, configurations evaluated, search and report.
#include "inference/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "inference/metrics.h"
#include "inference/report.h"
#include "inference/search.h"
#include "report/render.h"

namespace photonrail::inference {
namespace {

constexpr const char* kText = R"(name = "test"
[model]
catalog = "llama-3.1-70b"
weights = "fp8"
kv = "fp8"
[gpu]
catalog = "H100"
[parallel]
tensor = 4
[serving]
batch = 16
input = 1024
output = 256
)";

catalog::Catalog catalog_of() { return *catalog::Catalog::builtin(); }

Deployment setup_of(const std::vector<std::string>& sets = {}) {
  const auto doc = parse_inference(kText, "test.toml", sets);
  EXPECT_TRUE(doc.has_value()) << doc.error().message;
  auto setup = resolve(doc->value, catalog_of());
  EXPECT_TRUE(setup.has_value()) << setup.error().message;
  return *setup;
}

std::string refusal(const std::vector<std::string>& sets, const std::string& more = "") {
  const auto doc = parse_inference(kText + more, "test.toml", sets);
  return doc ? "accepted" : doc.error().message;
}

void expect_holds(const std::string& text, const char* fragment) {
  EXPECT_NE(text.find(fragment), std::string::npos) << text;
}

// What is wrong is said with its place; nothing that a mode does not use is silently ignored.
TEST(InferenceScenario, RefusesWithPosition) {
  expect_holds(refusal({}, "[disaggregated]\nprefill_workers = 2\n"), "test.toml:14:2");
  expect_holds(refusal({}, "[engine]\nnames = \"vllm\"\n"), "unknown key \"names\"");
  expect_holds(refusal({"serving.mode=continuous"}), "serving.batch has no meaning");
  expect_holds(refusal({"serving.mode=continuous"}), "test.toml:11:9");
  expect_holds(refusal({"parallel.expert=3"}), "does not divide");
  expect_holds(refusal({"memory.as_published=true"}), "no figure of [memory]");
  expect_holds(refusal({"memory.rate=26.8"}), "unit");
  expect_holds(refusal({"serving.batch=0"}), "needs serving.batch of at least 1");
  expect_holds(refusal({"serving.output=1"}, "[search]\ntpot_limit = \"50 ms\"\n"), "answers have one");
  expect_holds(refusal({"serving.output=1", "search.objective=tpot"}), "serving.output of 2 or more");
}

TEST(InferenceScenario, LooksUpNames) {
  const auto doc = parse_inference(kText, "test.toml", std::vector<std::string>{"model.catalog=llama-3.1-70"});
  ASSERT_TRUE(doc.has_value());
  const auto setup = resolve(doc->value, catalog_of());
  ASSERT_FALSE(setup.has_value());
  expect_holds(setup.error().message, "llama-3.1-70b");
}

// [memory] replaces rate and capacity, and every result says so.
TEST(InferenceScenario, MemoryOverrideIsSaid) {
  const Deployment own = setup_of();
  const Deployment pool =
      setup_of({"memory.rate=26.8 TB/s", "memory.capacity=32 TB", "memory.as_published=true", "memory.source=Table 5"});
  EXPECT_TRUE(own.overrides.empty());
  ASSERT_EQ(pool.overrides.size(), 2U);
  expect_holds(pool.overrides[0], "32 TB in place of ");
  expect_holds(pool.overrides[0], "(Table 5; as published");
  expect_holds(pool.overrides[1], "26.8 TB/s in place of 3.35 TB/s");
  EXPECT_DOUBLE_EQ(pool.kernels.rates().memory, 26.8e12);
  EXPECT_DOUBLE_EQ(pool.kernels.rates().memory_bytes, 32e12);
}

// The known trap: 70 GB of weights on one GPU of 80 GB. The message has the shortfall, what fits, and the way out.
TEST(InferenceMetrics, RefusesWhatDoesNotFit) {
  const Deployment setup = setup_of({"parallel.tensor=1", "serving.batch=96"});
  const auto outcome = evaluate(setup, candidate_of(setup));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::infeasible);
  expect_holds(outcome.error().message, "does not fit on 1 x H100");
  expect_holds(outcome.error().message, "GB");
  expect_holds(outcome.error().message, "parallel.tensor = ");
}

// Llama 3.1 70B in FP8 on one GPU, 1,000 + 1,000 tokens: TensorRT-LLM 0.14 published 410 tokens/s on an H100 and 2,585
// on an H200, whose memory rate is only 1.4 times as high. What is left for the cache makes the difference.
TEST(InferenceMetrics, CapacityTrap) {
  const auto best = [](const char* gpu) {
    const Deployment setup =
        setup_of({"parallel.tensor=1", "serving.input=1000", "serving.output=1000", "search.gpus=1",
                  "search.modes=[\"continuous\"]", std::string("gpu.catalog=") + gpu});
    return *search(setup, filled(setup))->best;
  };
  const Outcome small = best("H100");
  const Outcome large = best("H200");
  EXPECT_LT(small.largest_batch, 30);
  EXPECT_GT(large.largest_batch, 5 * small.largest_batch);
  EXPECT_GT(large.per_gpu, 4 * small.per_gpu);
}

// Throughput per box counts whole instances only; of an instance larger than a box it is the share.
TEST(InferenceMetrics, PerBox) {
  const Deployment four = setup_of();
  const Outcome half = *evaluate(four, candidate_of(four));
  EXPECT_DOUBLE_EQ(half.per_box, 2 * half.times.tokens_per_second);
  EXPECT_DOUBLE_EQ(half.per_gpu, half.times.tokens_per_second / 4);
  const Deployment six = setup_of({"gpu.domain=6"});
  const Outcome rest = *evaluate(six, candidate_of(six));
  EXPECT_DOUBLE_EQ(rest.per_box, rest.times.tokens_per_second);
}

// A static batch's energy by hand: all of its work over its time, at the plug.
TEST(InferenceMetrics, EnergyByHand) {
  const Deployment setup = setup_of();
  const Outcome o = *evaluate(setup, candidate_of(setup));
  ASSERT_TRUE(setup.power.has_value());
  energy::Activity activity;
  activity.seconds = o.times.latency;
  for (const StepTime& work : {o.times.prefill_work, o.times.decode_work}) {
    for (std::size_t i = 0; i < activity.flops.size(); ++i) activity.flops[i] += work.flops_of[i];
    activity.memory_bytes += work.memory_bytes;
    activity.scale_up_bytes += work.link_bytes;
  }
  const double gpu = energy::joules(*setup.power, activity) / o.times.latency;
  EXPECT_NEAR(o.gpu_watts / gpu, 1, 1e-9);
  EXPECT_NEAR(o.plug_watts / (4 * (gpu + energy::overhead_watts_per_gpu(setup.node, gpu))), 1, 1e-9);
  EXPECT_NEAR(o.joules_per_token / (o.plug_watts * o.times.latency / (16 * 256)), 1, 1e-9);
  EXPECT_GT(o.gpu_watts, setup.power->idle);
  EXPECT_LE(o.gpu_watts, setup.power->limit);
}

TEST(InferenceMetrics, DollarsOnlyWithPrice) {
  const Deployment free = setup_of();
  EXPECT_EQ(evaluate(free, candidate_of(free))->dollars_per_token, 0);
  const Deployment priced = setup_of({"cost.gpu_price=30000 USD", "cost.electricity=0 USD", "cost.years=1"});
  const Outcome o = *evaluate(priced, candidate_of(priced));
  EXPECT_DOUBLE_EQ(o.dollars, 120000);
  EXPECT_NEAR(o.dollars_per_token * o.times.tokens_per_second * 8766 * 3600, 120000, 1e-3);
}

// Every candidate that the search keeps fits, obeys the limits, and none beats another in both.
TEST(InferenceSearch, FrontAndBest) {
  const Deployment setup = setup_of({"search.tpot_limit=40 ms", "search.batches=[1,4,16,64,256]"});
  const SearchSpace space = filled(setup);
  const SearchResult result = *search(setup, space);
  ASSERT_TRUE(result.best.has_value());
  ASSERT_FALSE(result.front.empty());
  EXPECT_GT(result.too_large, 0);
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const Outcome& o = result.front[i];
    EXPECT_LE(o.times.tpot, 0.040);
    EXPECT_TRUE(o.memory.fits());
    EXPECT_LE(o.gpus, 8);
    EXPECT_LE(o.per_gpu, result.best->per_gpu);
    if (i == 0) continue;
    EXPECT_GT(o.times.tpot, result.front[i - 1].times.tpot);
    EXPECT_GT(o.per_gpu, result.front[i - 1].per_gpu);
  }
  EXPECT_EQ(result.front.back().per_gpu, result.best->per_gpu);
}

// The search finds what evaluating each configuration by hand finds.
TEST(InferenceSearch, AgreesWithSingleEvaluations) {
  const Deployment setup = setup_of({"search.tensor=[2,4,8]", "search.pipeline=[1]", "search.batches=[8,32]",
                                     "search.modes=[\"static\"]", "search.objective=tpot"});
  const SearchResult result = *search(setup, filled(setup));
  double least = 1e9;
  for (const std::int64_t tensor : {2, 4, 8}) {
    for (const double batch : {8.0, 32.0}) {
      Candidate c = candidate_of(setup);
      c.parallel.tensor = tensor;
      c.batch = batch;
      if (const auto o = evaluate(setup, c)) least = std::min(least, o->times.tpot);
    }
  }
  ASSERT_TRUE(result.best.has_value());
  EXPECT_DOUBLE_EQ(result.best->times.tpot, least);
}

// Workers apart never use more GPUs than allowed, and every split of them is tried.
TEST(InferenceSearch, SplitsWorkers) {
  const Deployment setup = setup_of({"search.gpus=4", "search.tensor=[1,2]", "search.pipeline=[1]",
                                     "search.batches=[8]", "search.modes=[\"disaggregated\"]", "gpu.catalog=H200"});
  const SearchResult result = *search(setup, filled(setup));
  // Prefill x decode degrees: 1x1 splits 4 GPUs in 6 ways, 1x2 in 2, 2x1 in 2, 2x2 in 1.
  EXPECT_EQ(result.tried + result.too_large, 11);
  ASSERT_TRUE(result.best.has_value());
  for (const Outcome& o : result.front) {
    EXPECT_LE(o.gpus, 4);
    EXPECT_EQ(o.candidate.mode, Mode::disaggregated);
  }
}

// Between powers of two: the largest batch within the limit, which one more sequence would break.
TEST(InferenceSearch, RefinesTheBestBatch) {
  const Deployment setup = setup_of({"search.tpot_limit=20 ms", "search.ttft_limit=3 s", "search.tensor=[4]",
                                     "search.pipeline=[1]", "search.modes=[\"static\"]"});
  const SearchResult result = *search(setup, filled(setup));
  ASSERT_TRUE(result.best.has_value());
  Candidate c = result.best->candidate;
  const auto within = [&](double batch) {
    c.batch = c.decode_batch = batch;
    const Outcome o = *evaluate(setup, c);
    return o.times.tpot <= 0.020 && o.times.ttft <= 3;
  };
  const double best = result.best->candidate.batch;
  EXPECT_TRUE(within(best));
  EXPECT_FALSE(within(best + 1)) << best;
  EXPECT_NE(std::log2(best), std::round(std::log2(best))) << best;
  // Batches that are given are the only ones.
  const Deployment given = setup_of({"search.batches=[3]", "search.tensor=[4]", "search.pipeline=[1]"});
  EXPECT_EQ(search(given, filled(given))->best.value().candidate.batch, 3);
}

TEST(InferenceSearch, SaysWhatCanBeHadWhereNothingWillDo) {
  const Deployment setup = setup_of({"search.tpot_limit=1 us", "search.batches=[1]", "search.tensor=[4,8]",
                                     "search.pipeline=[1]", "search.modes=[\"static\"]"});
  const SearchResult result = *search(setup, filled(setup));
  EXPECT_FALSE(result.best.has_value());
  Candidate c = candidate_of(setup);
  c.batch = c.decode_batch = 1;
  c.parallel.tensor = 8;
  EXPECT_DOUBLE_EQ(result.least_tpot, evaluate(setup, c)->times.tpot);
  expect_holds(nothing_text(result), "the least TPOT");
}

TEST(InferenceSearch, RefusesTooMany) {
  Deployment setup = setup_of();
  SearchSpace space = filled(setup);
  space.batches.assign(400'000, 1);
  EXPECT_FALSE(search(setup, space).has_value());
}

// All formulas of the report can be evaluated, parts sum to the pass, and equal runs give equal bytes.
TEST(InferenceReport, NumbersHangTogether) {
  const auto doc = parse_inference(kText, "test.toml");
  const catalog::Catalog catalog = catalog_of();
  const Deployment setup = *resolve(doc->value, catalog);
  const Outcome o = *evaluate(setup, candidate_of(setup));
  const report::Report report = infer_report(*doc, setup, o, catalog, "test");
  const auto value = [&](const char* id) { return *report::value_of(report, report.cases[0], id); };
  EXPECT_NEAR(value("decode_linear") + value("decode_attention") + value("decode_collective") +
                  value("decode_pointwise") + value("decode_overhead"),
              value("decode_step"), 1e-12);
  EXPECT_DOUBLE_EQ(value("memory_used"), o.memory.total());
  EXPECT_DOUBLE_EQ(value("throughput_per_gpu"), o.per_gpu);
  EXPECT_DOUBLE_EQ(value("energy_per_token"), o.joules_per_token);
  EXPECT_EQ(report::render_json(report), report::render_json(infer_report(*doc, setup, o, catalog, "test")));
  expect_holds(report::render_text(report, {}), "Assumptions");
  EXPECT_TRUE(report::read_report(report::render_json(report), "r.json").has_value());
}

struct Shown {
  Outcome outcome;
  report::Report report;
  std::string text;  // unwrapped
  double value(const char* id) const { return *report::value_of(report, report.cases[0], id); }
};

Shown shown(std::string_view scenario, const std::vector<std::string>& sets = {}) {
  const auto doc = parse_inference(scenario, "test.toml", sets);
  EXPECT_TRUE(doc.has_value()) << doc.error().message;
  const catalog::Catalog catalog = catalog_of();
  const Deployment setup = *resolve(doc->value, catalog);
  const Outcome o = *evaluate(setup, candidate_of(setup));
  const report::Report report = infer_report(*doc, setup, o, catalog, "test");
  std::string text = report::render_text(report, {});
  for (std::size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at))
    text.replace(at, 3, " ");
  return {o, report, text};
}

constexpr const char* kContinuous = R"([model]
catalog = "llama-3.1-70b"
weights = "fp8"
[gpu]
catalog = "H100"
[parallel]
tensor = 4
[serving]
mode = "continuous"
concurrency = 64
input = 2048
output = 500
)";

constexpr const char* kSparse = R"([model]
catalog = "deepseek-v3"
weights = "fp8_block"
kv = "fp8"
[gpu]
catalog = "B200"
[parallel]
attention_data = 8
expert = 8
[serving]
batch = 64
input = 1024
output = 256
)";

// TPOT is a pass of the decoding requests and what prompts add: both are printed, and add up.
TEST(InferenceReport, TimePerTokenAddsUp) {
  const Shown run = shown(kContinuous);
  EXPECT_GT(run.value("tpot_prompts"), 0.2 * run.value("tpot"));
  EXPECT_DOUBLE_EQ(run.value("tpot_decode"), run.outcome.times.decode.seconds);
  expect_holds(run.text, "of it prompts");
  EXPECT_EQ(shown(kText).value("tpot_prompts"), 0);
}

// Between one token and the next of an answer of one there is no time: no number may stand for it.
TEST(InferenceReport, AnswersOfOneTokenHaveNoTimePerToken) {
  for (const char* text : {kText, kContinuous}) {
    const Shown run = shown(text, {"serving.output=1"});
    for (const char* metric : {"tpot", "tpot_decode", "tpot_prompts"}) {
      EXPECT_FALSE(report::value_of(run.report, run.report.cases.front(), metric)) << metric;
    }
    expect_holds(run.text, "none: the answer is one token");
    EXPECT_EQ(report::render_csv(run.report).find(",tpot"), std::string::npos);
  }
}

TEST(InferenceReport, EnergyWithoutThePoolIsSaid) {
  const Shown run = shown(kText, {"memory.rate=2 TB/s"});
  expect_holds(run.text, "WITHOUT the power of the pool");
  expect_holds(run.text, "energy and power leave out the pool");
  expect_holds(report::render_json(run.report), "without the power of the pool");
  EXPECT_EQ(shown(kText).text.find("leave out the pool"), std::string::npos);
}

// Routed experts have no table of their own; what is said of the sources does not contradict the passes.
TEST(InferenceReport, SourcesAreThoseOfTheFormats) {
  expect_holds(shown(kSparse).text, "routed experts fp8_block assumed");
  const std::string dense = shown(kText).text;
  expect_holds(dense, "matrix products by format: weights fp8 measured, head bf16 measured");
}

TEST(InferenceReport, BudgetIsThatOfAnAttentionCopy) {
  const Shown run = shown(kSparse);
  expect_holds(run.text, "8192 tokens on each of 8 attention copies in a pass");
  EXPECT_EQ(run.value("prompts_per_pass"), 64);
  EXPECT_EQ(shown(kText).text.find("on each of"), std::string::npos);
}

// Few prefill workers limit; few decode workers do; with few requests neither does.
TEST(InferenceReport, SaysWhichStationLimits) {
  const auto limit = [](int prefill, int decode, int requests) {
    const Shown run =
        shown(kContinuous, {"serving.mode=disaggregated", "gpu.catalog=H200", "parallel.tensor=2", "prefill.tensor=2",
                            "disaggregated.decode_batch=32", "disaggregated.prefill_workers=" + std::to_string(prefill),
                            "disaggregated.decode_workers=" + std::to_string(decode),
                            "serving.concurrency=" + std::to_string(requests)});
    expect_holds(run.text, limiting_station(run.outcome.times));
    EXPECT_LE(run.value("prefill_load"), 1 + 1e-9);
    EXPECT_LE(run.value("decode_load"), 1 + 1e-9);
    return std::string(limiting_station(run.outcome.times));
  };
  EXPECT_EQ(limit(1, 16, 512), "prefill workers");
  EXPECT_EQ(limit(8, 1, 512), "decode workers");
  EXPECT_EQ(limit(8, 8, 4), "requests in flight");
}

TEST(InferenceReport, EngineThatDoesNotRunThere) {
  expect_holds(shown(kText, {"gpu.catalog=MI300X"}).text, "engine trtllm does not run on AMD Instinct MI300X");
  EXPECT_EQ(shown(kText, {"gpu.catalog=MI300X", "engine.name=vllm"}).text.find("does not run"), std::string::npos);
}

}  // namespace
}  // namespace photonrail::inference
