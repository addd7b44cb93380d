// Serving against what the parts add up to. Theory: the heads of serving.h and serving_loop.h. Little's law ties
// requests in the system, rate and residence; a closed loop of one client has no queue; more clients give more
// throughput.
#include "inference/serving.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "inference/serving_loop.h"

namespace photonrail::inference {
namespace {

Plan plan_of(std::string_view name, std::string_view gpu, const Parallel& parallel, const Engine& engine = {}) {
  static const catalog::Catalog kCatalog = catalog::Catalog::builtin().value();
  const Precision precision{Dtype::fp8, Dtype::fp8, Dtype::fp8, Dtype::bf16, Dtype::bf16};
  return Plan::compile(kCatalog.model(name).value(), operators::KernelModel::make(kCatalog.gpu(gpu).value()).value(),
                       precision, parallel, engine)
      .value();
}

Engine without_overhead() {
  Engine engine;
  engine.request_overhead = Time{};
  return engine;
}

TEST(Prefill, SharesPassesUpToTheBudget) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  // 8192 / 1000: 8 prompts in a pass; 20 take two full passes and one of four.
  const double expected = 2 * plan.prefill(8, 1000, 0).seconds + plan.prefill(4, 1000, 0).seconds;
  EXPECT_NEAR(prefill_prompts(plan, 20, 1000).seconds, expected, 1e-12);
}

TEST(Prefill, ChunksLongPrompts) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  for (const int chunks : {1, 2, 6, 9, 15, 40}) {
    double sum = 0;
    for (int i = 0; i < chunks; ++i) sum += plan.prefill(1, 8192, 8192.0 * i).seconds;
    sum += plan.prefill(1, 1000, 8192.0 * chunks).seconds;
    const double tolerance = chunks <= 9 ? 1e-9 : 3e-3;
    EXPECT_NEAR(prefill_prompts(plan, 1, 8192 * chunks + 1000).seconds / sum, 1, tolerance) << chunks;
    EXPECT_NEAR(prefill_prompts(plan, 3, 8192 * chunks + 1000).seconds / sum, 3, 3 * tolerance) << chunks;
  }
}

TEST(StaticBatch, IsPrefillAndEveryDecode) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  const RequestTimes times = static_batch(plan, 16, {500, 101});
  double decodes = 0;
  for (int i = 1; i <= 100; ++i) decodes += plan.decode(16, 500 + i).seconds;
  EXPECT_NEAR(times.ttft, prefill_prompts(plan, 16, 500).seconds, 1e-12);
  EXPECT_NEAR(times.latency, times.ttft + decodes, 1e-3 * decodes);
  EXPECT_NEAR(times.tpot, decodes / 100, 1e-3 * times.tpot);
  EXPECT_NEAR(times.tokens_per_second, 16 * 101 / times.latency, 1e-9);
  EXPECT_GT(times.mfu, 0);
  EXPECT_LT(times.mfu, 1);
}

TEST(StaticBatch, OneTokenIsPrefillAlone) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  const RequestTimes times = static_batch(plan, 4, {512, 1});
  EXPECT_DOUBLE_EQ(times.latency, times.ttft);
  EXPECT_EQ(times.tpot, 0);
}

TEST(Continuous, ObeysLittlesLaw) {
  const Plan plan = plan_of("llama-3-70b", "H200", {.tensor = 4});
  for (const double clients : {1.0, 4.0, 32.0, 128.0, 2000.0}) {
    const RequestTimes times = continuous(plan, clients, {1024, 1024});
    EXPECT_NEAR(times.tokens_per_second / 1024 * times.latency, clients, 1e-2 * clients) << clients;
  }
}

TEST(Continuous, AgreesWithTheLoopInTheLongRun) {
  // Lengths that differ keep the clients of the loop out of step, as the mean field takes them to be.
  const Plan plan = plan_of("llama-3-70b", "H200", {.tensor = 4});
  for (const std::int64_t clients : {4, 16, 64}) {
    const RequestTimes mean = continuous(plan, static_cast<double>(clients), {900, 900});
    const LoopOptions options{
        .concurrency = clients, .requests = 40 * clients, .uncounted = 10 * clients, .shortest = 0.8};
    const LoopTimes loop = closed_loop(plan, {1000, 1000}, options).value();
    EXPECT_NEAR(mean.tpot / loop.tpot, 1, 0.05) << clients;
  }
}

TEST(Continuous, SeparatePrefillsDelayDecodesMore) {
  Engine apart;
  apart.separate_prefill = true;
  const RequestTimes mixed = continuous(plan_of("llama-3-70b", "H200", {.tensor = 4}), 64, {4096, 256});
  const RequestTimes separate = continuous(plan_of("llama-3-70b", "H200", {.tensor = 4}, apart), 64, {4096, 256});
  EXPECT_GT(separate.tpot, mixed.tpot);
}

TEST(Continuous, QueuesWhatDoesNotFit) {
  const Plan plan = plan_of("llama-3-70b", "H100", {});
  const double held = plan.largest_batch(2000);
  const RequestTimes full = continuous(plan, held, {1000, 1000});
  const RequestTimes over = continuous(plan, 4 * held, {1000, 1000});
  EXPECT_NEAR(over.tokens_per_second, full.tokens_per_second, 0.02 * full.tokens_per_second);
  EXPECT_GT(over.ttft, full.latency);
}

// ---- the loop -------------------------------------------------------------------------------------------------------

TEST(ClosedLoop, OneClientNeverWaits) {
  const Plan plan = plan_of("llama-3-8b", "H100", {}, without_overhead());
  const LoopTimes loop = closed_loop(plan, {1000, 200}, {.concurrency = 1, .requests = 5}).value();
  const RequestTimes batch = static_batch(plan, 1, {1000, 200});
  EXPECT_NEAR(loop.ttft, batch.ttft, 1e-9);
  EXPECT_NEAR(loop.tpot, batch.tpot, 1e-4 * batch.tpot);
  EXPECT_NEAR(loop.in_system, 1, 1e-9);
  EXPECT_EQ(loop.passes, 5 * 200);
}

TEST(ClosedLoop, RequestsThatComeTogetherAreAStaticBatch) {
  const Plan plan = plan_of("llama-3-8b", "H100", {}, without_overhead());
  const LoopTimes loop = closed_loop(plan, {512, 128}, {.concurrency = 8, .requests = 8}).value();
  const RequestTimes batch = static_batch(plan, 8, {512, 128});
  EXPECT_NEAR(loop.ttft, batch.ttft, 1e-9);
  EXPECT_NEAR(loop.latency, batch.latency, 1e-4 * batch.latency);
}

RC_GTEST_PROP(ClosedLoopProperty, LittlesLaw, ()) {
  const Plan plan = plan_of("llama-3-8b", "H100", {}, without_overhead());
  const auto clients = *rc::gen::inRange<std::int64_t>(1, 64);
  const double input = *rc::gen::inRange(1, 12000);
  const double output = *rc::gen::inRange(1, 300);
  const LoopTimes loop =
      closed_loop(plan, {input, output}, {.concurrency = clients, .requests = 8 * clients, .shortest = 0.8}).value();
  const double rate = static_cast<double>(loop.requests) / loop.seconds;
  RC_ASSERT(std::abs(rate * loop.latency / loop.in_system - 1) < 1e-9);
  RC_ASSERT(loop.in_system <= static_cast<double>(clients) * (1 + 1e-9));
  RC_ASSERT(loop.ttft <= loop.latency);
}

TEST(ClosedLoop, TheBurstAtTheStartRaisesMeanTtft) {
  const Plan plan = plan_of("llama-3-70b", "H200", {.tensor = 4});
  const LoopOptions with{.concurrency = 64, .requests = 640, .shortest = 0.8};
  LoopOptions without = with;
  without.uncounted = 64;
  EXPECT_GT(closed_loop(plan, {1024, 1024}, with)->ttft, 1.2 * closed_loop(plan, {1024, 1024}, without)->ttft);
}

TEST(ClosedLoop, SameSeedSameResult) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  LoopOptions options{.concurrency = 16, .shortest = 0.5, .seed = 7};
  const double first = closed_loop(plan, {800, 200}, options)->ttft;
  EXPECT_EQ(first, closed_loop(plan, {800, 200}, options)->ttft);
  options.seed = 8;
  EXPECT_NE(first, closed_loop(plan, {800, 200}, options)->ttft);
}

// Two clients whose lengths differ: a request that arrives during a pass of the other also waits for the one laid out.
TEST(ClosedLoop, PassesLaidOutAheadDelayTheFirstToken) {
  const auto ttft = [](std::int64_t ahead) {
    Engine engine;
    engine.passes_ahead = ahead;
    const Plan plan = plan_of("llama-3-70b", "H200", {.tensor = 4}, engine);
    const LoopOptions options{.concurrency = 2, .requests = 200, .uncounted = 10, .shortest = 0.5};
    return closed_loop(plan, {1000, 300}, options).value();
  };
  const LoopTimes now = ttft(0);
  const LoopTimes ahead = ttft(1);
  EXPECT_NEAR((ahead.ttft - now.ttft) / now.tpot, 1, 0.15);
}

TEST(ClosedLoop, PromptsThatAreHeldBackWaitAsManyPasses) {
  Engine engine;
  const LoopOptions options{.concurrency = 4, .requests = 200, .uncounted = 10, .shortest = 0.8};
  const RequestShape shape{1000, 1000};
  const LoopTimes at_once = closed_loop(plan_of("llama-3-70b", "H200", {.tensor = 4}, engine), shape, options).value();
  engine.prompt_wait = 20;
  engine.prompt_wait_fill = 0.9;
  const Plan waiting = plan_of("llama-3-70b", "H200", {.tensor = 4}, engine);
  EXPECT_NEAR((closed_loop(waiting, shape, options)->ttft - at_once.ttft) / at_once.tpot, 20, 2);
  EXPECT_NEAR(continuous(waiting, 4, {900, 900}).ttft / closed_loop(waiting, shape, options)->ttft, 1, 0.1);
}

TEST(ClosedLoop, MemoryLimitsWhoRuns) {
  const Plan plan = plan_of("llama-3-70b", "H100", {});
  const LoopTimes few = closed_loop(plan, {1000, 1000}, {.concurrency = 4}).value();
  const LoopTimes many = closed_loop(plan, {1000, 1000}, {.concurrency = 64}).value();
  EXPECT_GT(many.ttft, 5 * few.ttft);  // they queue for the cache
}

TEST(ClosedLoop, RefusesWhatCannotRun) {
  const Plan plan = plan_of("llama-3-70b", "H100", {});
  EXPECT_EQ(closed_loop(plan, {200000, 1000}, {}).error().code, ErrorCode::infeasible);
  EXPECT_EQ(closed_loop(plan, {1000, 1000}, {.concurrency = 0}).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(closed_loop(plan, {0, 1000}, {}).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(closed_loop(plan, {10, 10}, {.requests = 5, .uncounted = 5}).error().code, ErrorCode::invalid_input);
}

// ---- disaggregation -------------------------------------------------------------------------------------------------

TEST(Disaggregated, TheSlowerStationLimits) {
  const Plan plan = plan_of("llama-3-70b", "H200", {.tensor = 4});
  const RequestShape shape{4096, 256};
  Disaggregation workers{.prefill_workers = 1, .decode_workers = 8, .decode_batch = 256};
  const RequestTimes starved = disaggregated(plan, plan, workers, shape);
  const PrefillTimes pair = prefill_prompts(plan, 2, 4096);
  EXPECT_NEAR(starved.tokens_per_second / 256, 2 / pair.seconds, 1e-6);
  workers.prefill_workers = 100;
  workers.decode_workers = 1;
  const RequestTimes fed = disaggregated(plan, plan, workers, shape);
  EXPECT_GT(fed.tpot, starved.tpot);
  EXPECT_NEAR(fed.tokens_per_second / 256 * fed.latency, 256, 3);
}

// Little's law: requests in flight = requests a second x seconds each takes, also where next to nothing is generated.
TEST(Disaggregated, RequestsInFlightAreRateTimesLatency) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  for (const double output : {1.0, 2.0, 16.0, 512.0}) {
    for (const double concurrency : {1.0, 8.0, 256.0}) {
      Disaggregation workers{.prefill_workers = 3, .decode_workers = 4, .decode_batch = 64};
      workers.concurrency = concurrency;
      const RequestTimes times = disaggregated(plan, plan, workers, {128, output});
      EXPECT_NEAR(times.tokens_per_second / output * times.latency, concurrency, 1e-3 * concurrency)
          << output << " tokens, " << concurrency << " in flight";
    }
  }
}

TEST(Disaggregated, TransferAddsToTheFirstToken) {
  const Plan plan = plan_of("llama-3-8b", "H100", {});
  Disaggregation workers{.prefill_workers = 2, .decode_workers = 1, .decode_batch = 8};
  const double without = disaggregated(plan, plan, workers, {1024, 512}).ttft;
  workers.transfer_rate = 50e9;
  const double with = disaggregated(plan, plan, workers, {1024, 512}).ttft;
  EXPECT_NEAR(with - without, 1024 * plan.cache_bytes_per_token() / 50e9, 1e-4);
}

}  // namespace
}  // namespace photonrail::inference
