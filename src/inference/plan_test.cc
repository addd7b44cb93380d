// Plans against hand formulas. Theory: the head of plan.h. Bytes of a decoder's weights are its parameters times their
// format; the cache of a token is 2 * layers * kv_heads * head_size * bytes; a pass multiplies 2 operations for each
// weight and row. A pass is a sum of parts, and mixed passes contain both pure kinds.
#include "inference/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace photonrail::inference {
namespace {

const catalog::Catalog& builtin() {
  static const catalog::Catalog kCatalog = catalog::Catalog::builtin().value();
  return kCatalog;
}

operators::KernelModel kernels(std::string_view gpu) {
  return operators::KernelModel::make(builtin().gpu(gpu).value()).value();
}

Precision fp8() { return {Dtype::fp8, Dtype::fp8, Dtype::fp8, Dtype::bf16, Dtype::bf16}; }

Result<Plan> compile(std::string_view model, std::string_view gpu, const Precision& precision, const Parallel& parallel,
                     const Engine& engine = {}) {
  return Plan::compile(builtin().model(model).value(), kernels(gpu), precision, parallel, engine);
}

Plan plan_of(std::string_view model, std::string_view gpu, const Precision& precision, const Parallel& parallel,
             const Engine& engine = {}) {
  return compile(model, gpu, precision, parallel, engine).value();
}

double parts(const StepTime& step) {
  return step.linear + step.attention + step.collective + step.pointwise + step.overhead;
}

// Each attention copy has a scheduler of its own: 5 us for each of its 256 / 8 sequences, beside 300 us a pass.
TEST(Plan, HostTimeIsThatOfOneAttentionCopy) {
  const Plan plan = plan_of("deepseek-v3", "H200", fp8(), {.expert = 8, .attention_data = 8});
  EXPECT_NEAR(plan.decode(256, 1000).overhead, 300e-6 + 32 * 5e-6, 1e-12);
  EXPECT_NEAR(plan_of("llama-3-70b", "H200", fp8(), {.tensor = 8}).decode(256, 1000).overhead, 300e-6 + 256 * 5e-6,
              1e-12);
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

TEST(Plan, CacheOfOneTokenByHand) {
  // 2 * 126 layers * 8 heads * 128 * 1 byte; 2 * 80 * 8 * 128 * 1 or 2.
  EXPECT_DOUBLE_EQ(plan_of("llama-3.1-405b", "H100", fp8(), {}).cache_bytes_per_token(), 258048);
  EXPECT_DOUBLE_EQ(plan_of("llama-3-70b", "H100", fp8(), {}).cache_bytes_per_token(), 163840);
  EXPECT_DOUBLE_EQ(plan_of("llama-3-70b", "H100", {}, {}).cache_bytes_per_token(), 327680);
}

TEST(Plan, CacheIsReplicatedBeyondTheHeadsOfKeysAndValues) {
  const double whole = plan_of("llama-3-70b", "H100", {}, {}).cache_bytes_per_token();
  EXPECT_DOUBLE_EQ(plan_of("llama-3-70b", "H100", {}, {.tensor = 8}).cache_bytes_per_token(), whole / 8);
  EXPECT_DOUBLE_EQ(plan_of("llama-3-70b", "H100", {}, {.tensor = 16}).cache_bytes_per_token(), whole / 8);
}

TEST(Plan, LatentCacheIsNotDivided) {
  // (512 + 64) * 61 layers * 1 byte, on every tensor rank.
  EXPECT_DOUBLE_EQ(plan_of("deepseek-v3", "H200", fp8(), {}).cache_bytes_per_token(), 576 * 61);
  EXPECT_DOUBLE_EQ(plan_of("deepseek-v3", "H200", fp8(), {.tensor = 8, .expert = 8}).cache_bytes_per_token(), 576 * 61);
}

TEST(Plan, WeightsAreTheParameters) {
  for (const char* name : {"llama-3-8b", "llama-3-70b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3"}) {
    const auto total = static_cast<double>(catalog::count_parameters(builtin().model(name).value()).total);
    EXPECT_NEAR(plan_of(name, "B200", {}, {}).weight_bytes() / (2 * total), 1, 2e-3) << name;
  }
}

TEST(Plan, WeightsByFormat) {
  // 70B in fp8: 80 layers * (8192 * 128 * (2 * 64 + 2 * 8) + 3 * 8192 * 28672) bytes, embedding and head of
  // 128256 * 8192 in bf16 each, norms of 2 * 8192 in bf16 for each layer.
  const double layers = 80.0 * (8192.0 * 128 * 144 + 3.0 * 8192 * 28672 + 2 * 8192 * 2);
  const double ends = 2.0 * 128256 * 8192 * 2;
  EXPECT_DOUBLE_EQ(plan_of("llama-3-70b", "H100", fp8(), {}).weight_bytes(), layers + ends);
}

TEST(Plan, ExpertsCountWhole) {
  // All experts lie in memory, whatever a token uses.
  const catalog::ParameterCount count = catalog::count_parameters(builtin().model("mixtral-8x7b").value());
  EXPECT_GT(plan_of("mixtral-8x7b", "H100", {}, {}).weight_bytes(), 2.5 * static_cast<double>(count.active));
}

TEST(Plan, ShardsOfWeightsMakeTheWhole) {
  const double whole = plan_of("llama-3-70b", "H100", {}, {}).weight_bytes();
  const double norms = 80 * 2 * 8192 * 2;
  EXPECT_NEAR(8 * plan_of("llama-3-70b", "H100", {}, {.tensor = 8}).weight_bytes(), whole + 7 * norms, 1);
  const Parallel expert{.tensor = 1, .expert = 8, .attention_data = 8};
  const Plan spread = plan_of("deepseek-v3", "H200", fp8(), expert);
  // Attention, dense and shared blocks are copied, routed experts are not: 58 * 256 / 8 experts of 3 * 7168 * 2048.
  const double experts = 58.0 * 32 * 3 * 7168 * 2048;
  EXPECT_GT(spread.weight_bytes(), experts);
  EXPECT_LT(spread.weight_bytes(), experts + 21e9);
}

// ---- operations -----------------------------------------------------------------------------------------------------

TEST(Plan, OperationsOfAPassByHand) {
  const Plan plan = plan_of("llama-3-70b", "H100", {}, {});
  const StepTime step = plan.prefill(1, 1000, 0);
  const double layers = 2.0 * 1000 * 80 * (8192.0 * 128 * 144 + 3.0 * 8192 * 28672);
  const double head = 2.0 * 128256 * 8192;                     // of the last token alone
  const double attention = 80 * 2.0 * 1000 * 1000 * 64 * 128;  // causal half of 4 s^2 h d
  EXPECT_NEAR(step.flops, layers + head + attention, 1e-3 * step.flops);
}

TEST(Plan, DecodeReadsWeightsAndCacheOnce) {
  const Plan plan = plan_of("llama-3-70b", "H100", fp8(), {.tensor = 8});
  const double embedding = 128256.0 * 8192 * 2 / 8;
  const double expected = plan.weight_bytes() - embedding + 16 * 4096 * plan.cache_bytes_per_token();
  EXPECT_NEAR(plan.decode(16, 4096).memory_bytes / expected, 1, 0.02);
}

TEST(Plan, TouchedExpertsFollowTheirFormula) {
  // 16 tokens of Mixtral, 2 of 8 experts each: 8 (1 - (3/4)^16) = 7.92 experts of 3 * 4096 * 14336 in 32 layers.
  const Plan plan = plan_of("mixtral-8x7b", "H100", {}, {});
  const double expert = 2.0 * 3 * 4096 * 14336 * 32;
  const double one = plan.decode(1, 1).memory_bytes;
  const double many = plan.decode(16, 1).memory_bytes;
  EXPECT_NEAR((many - one) / expert, 8 * (1 - std::pow(0.75, 16)) - 2, 0.05);
}

TEST(Plan, ModelOperations) {
  const catalog::ParameterCount count = catalog::count_parameters(builtin().model("llama-3-8b").value());
  const Plan plan = plan_of("llama-3-8b", "H100", {}, {});
  const double embedding = 128256.0 * 4096;
  EXPECT_DOUBLE_EQ(plan.model_flops(0), 2 * (static_cast<double>(count.active) - embedding));
  EXPECT_DOUBLE_EQ(plan.model_flops(1000) - plan.model_flops(0), 4.0 * 32 * 32 * 128 * 1000);
}

// Red if MFU were of the format of the weights alone: fp32 weights beside bf16 attention came to more than 1.
TEST(Plan, PeakIsTheLargestOfTheFormatsInvolved) {
  const Precision fp32{Dtype::fp32, Dtype::fp32, Dtype::bf16, Dtype::bf16, Dtype::bf16};
  const auto rates = kernels("B300").rates();
  const auto peak = [&](Dtype d) { return rates.peak[static_cast<std::size_t>(d)]; };
  ASSERT_GT(peak(Dtype::bf16), 10 * peak(Dtype::fp32));
  EXPECT_EQ(plan_of("gpt-3-13b", "B300", fp32, {.tensor = 2}).peak(), 2 * peak(Dtype::bf16));
  EXPECT_EQ(plan_of("llama-3-8b", "B300", fp8(), {}).peak(), peak(Dtype::fp8));
  EXPECT_EQ(peak_format({Dtype::fp8, Dtype::nvfp4, Dtype::fp8, Dtype::bf16, Dtype::bf16}, true, rates), Dtype::nvfp4);
  EXPECT_EQ(peak_format({Dtype::fp8, Dtype::nvfp4, Dtype::fp8, Dtype::bf16, Dtype::bf16}, false, rates), Dtype::fp8);
  EXPECT_EQ(peak_format({Dtype::int4, Dtype::int4, Dtype::bf16, Dtype::bf16, Dtype::bf16}, false, rates), Dtype::int4);
}

// ---- passes ---------------------------------------------------------------------------------------------------------

RC_GTEST_PROP(PlanProperty, PartsMakeTheWhole, ()) {
  const auto tensor = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  const Plan plan = plan_of("llama-3-70b", "H100", fp8(), {.tensor = tensor});
  const double batch = *rc::gen::inRange(1, 512);
  const double context = *rc::gen::inRange(1, 16384);
  const double tokens = *rc::gen::inRange(0, 8192);
  const StepTime step = plan.mixed(batch, context, tokens, 0);
  RC_ASSERT(std::abs(step.seconds - parts(step)) <= 1e-12 * step.seconds);
  double flops = 0;
  for (const double of : step.flops_of) flops += of;
  RC_ASSERT(std::abs(step.flops - flops) <= 1e-9 * flops);
}

TEST(Plan, MixedContainsBothPureKinds) {
  for (const char* name : {"llama-3-8b", "deepseek-v3", "mixtral-8x7b"}) {
    const Plan plan = plan_of(name, "H200", fp8(), {});
    EXPECT_DOUBLE_EQ(plan.mixed(0, 0, 2048, 512).seconds, plan.prefill(1, 2048, 512).seconds) << name;
    EXPECT_DOUBLE_EQ(plan.mixed(32, 1000, 0, 0).seconds, plan.decode(32, 1000).seconds) << name;
    const double both = plan.mixed(32, 1000, 2048, 0).seconds;
    EXPECT_GT(both, plan.decode(32, 1000).seconds) << name;
    EXPECT_LT(both, plan.decode(32, 1000).seconds + plan.prefill(1, 2048, 0).seconds) << name;
  }
}

RC_GTEST_PROP(PlanProperty, MoreContextIsNeverQuicker, ()) {
  const Plan plan = plan_of("llama-3-70b", "H100", fp8(), {.tensor = 4});
  const double batch = *rc::gen::inRange(1, 256);
  const double context = *rc::gen::inRange(64, 32768);
  RC_ASSERT(plan.decode(batch, 2 * context).seconds >= plan.decode(batch, context).seconds);
  RC_ASSERT(plan.memory(batch, context).total() <= plan.memory(batch + 1, context).total());
}

// The sum over growing contexts by four nodes against the sum of every step.
RC_GTEST_PROP(PlanProperty, RunsAreSumsOfSteps, ()) {
  const Plan plan = plan_of("llama-3-8b", "H100", {}, {});
  const double batch = *rc::gen::inRange(1, 128);
  const double first = *rc::gen::inRange(32, 4096);
  const int steps = *rc::gen::inRange(1, 1500);
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += plan.decode(batch, first + i).seconds;
  RC_ASSERT(std::abs(plan.decode_run(batch, first, steps).seconds / sum - 1) < 1e-3);
}

TEST(Plan, AParallelBlockReducesOncePerLayer) {
  const double apart = plan_of("llama-3-70b", "H100", {}, {.tensor = 8}).prefill(1, 1000, 0).link_bytes;
  catalog::Model model = builtin().model("llama-3-70b").value();
  model.parallel_block = true;
  const Plan joined = Plan::compile(model, kernels("H100"), {}, {.tensor = 8}, {}).value();
  EXPECT_NEAR(joined.prefill(1, 1000, 0).link_bytes / apart, 81.0 / 161, 1e-3);
}

// Releases up to 0.5 of TensorRT-LLM reduce both halves apart, and no release up to 0.9 has a norm in the all-reduce.
TEST(Plan, OldEnginesReduceAndNormApart) {
  EXPECT_FALSE(engine_of("trtllm-0.5")->parallel_reduced_once);
  EXPECT_TRUE(engine_of("trtllm-0.6")->parallel_reduced_once);
  const auto prefill = [](bool fused, bool once) {
    Engine engine = *engine_of("trtllm-0.6");
    engine.rank_spread = 0;
    engine.fused_norm_reduce = fused;
    engine.parallel_reduced_once = once;
    return plan_of("falcon-180b", "A100", {}, {.tensor = 8}, engine).prefill(1, 2048, 0);
  };
  EXPECT_FALSE(engine_of("trtllm-0.7")->fused_norm_reduce);
  // One in each of 80 layers and one of the embedding become 161; beside them one all-gather of logits.
  EXPECT_NEAR(prefill(true, false).collective / prefill(true, true).collective, 161.0 / 81, 0.02);
  // 81 norms of 2048 tokens read two and write two times 14,848 elements of 2 bytes, at 1.61 TB/s, and a launch each.
  EXPECT_NEAR(prefill(false, true).pointwise - prefill(true, true).pointwise,
              81 * (2048 * 4 * 14848 * 2.0 / 1.61e12 + 2.64e-6), 1e-4);
}

// The host needs 35 us for each kernel; captured or long passes do not wait for it.
TEST(Plan, PassesOfPromptsWaitForTheirLaunches) {
  Engine launched = *engine_of("vllm");
  launched.rank_spread = 0;
  Engine captured = launched;
  captured.launch_time = Time{};
  const Precision precision{Dtype::fp8, Dtype::fp8, Dtype::fp8, Dtype::bf16, Dtype::bf16};
  const Plan with = plan_of("llama-3.1-70b", "B200", precision, {.tensor = 8}, launched);
  const Plan without = plan_of("llama-3.1-70b", "B200", precision, {.tensor = 8}, captured);
  // A layer: 4 products, attention, 2 all-reduces, rotary embedding, cache, activation, 4 quantisations. Embedding,
  // its all-reduce, head, all-gather, 3 of sampling. And what the host does for a pass and a sequence.
  EXPECT_NEAR(with.prefill(1, 1024, 0).seconds, (80 * 14 + 7) * 35e-6 + 610e-6, 1e-9);
  EXPECT_LT(without.prefill(1, 1024, 0).seconds, 0.8 * with.prefill(1, 1024, 0).seconds);
  EXPECT_DOUBLE_EQ(with.prefill(1, 512, 0).seconds, without.prefill(1, 512, 0).seconds);
  EXPECT_DOUBLE_EQ(with.prefill(1, 8192, 0).seconds, without.prefill(1, 8192, 0).seconds);
  EXPECT_DOUBLE_EQ(with.decode(600, 1000).seconds, without.decode(600, 1000).seconds);
}

TEST(Plan, PipelineStagesShareABatchAsMicroBatches) {
  const Plan one = plan_of("llama-3-70b", "H100", {}, {.tensor = 4});
  const Plan two = plan_of("llama-3-70b", "H100", {}, {.tensor = 4, .pipeline = 2});
  const double sends = two.decode(64, 1000).collective - one.decode(32, 1000).collective;
  EXPECT_GT(sends, 0);
  EXPECT_NEAR(two.decode(64, 1000).seconds, one.decode(32, 1000).seconds + sends, 1e-12);
  EXPECT_NEAR(two.weight_bytes() / one.weight_bytes(), 0.5, 0.01);
}

TEST(Plan, AFewStagesMoreThanLayersAllowAreUneven) {
  const Plan even = plan_of("llama-3.1-405b", "H100", {}, {.pipeline = 2});    // 63 layers each
  const Plan uneven = plan_of("llama-3.1-405b", "H100", {}, {.pipeline = 4});  // 32, 32, 32, 30: counted as 128
  EXPECT_NEAR(uneven.decode(4, 100).linear / even.decode(2, 100).linear, 128.0 / 126, 1e-3);
}

TEST(Plan, WindowedLayersStopGrowing) {
  catalog::Model model = builtin().model("llama-3-8b").value();
  model.window = 1024;
  model.window_layers = 32;
  const Plan windowed = Plan::compile(model, kernels("H100"), {}, {}, {}).value();
  EXPECT_DOUBLE_EQ(windowed.decode(16, 1024).seconds, windowed.decode(16, 9000).seconds);
  EXPECT_DOUBLE_EQ(windowed.memory(16, 1024).cache, windowed.memory(16, 9000).cache);
  EXPECT_LT(windowed.prefill(1, 8192, 0).attention,
            plan_of("llama-3-8b", "H100", {}, {}).prefill(1, 8192, 0).attention);
}

TEST(Plan, RefusesDegreesThatDoNotDivide) {
  const auto message = [](std::string_view model, const Parallel& parallel) {
    const Result<Plan> plan = compile(model, "H100", {}, parallel);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_NE(message("llama-3-70b", {.tensor = 3}).find("64 attention heads"), std::string::npos);
  EXPECT_NE(message("llama-3-70b", {.expert = 2}).find("is dense"), std::string::npos);
  EXPECT_NE(message("mixtral-8x7b", {.tensor = 4, .expert = 3}).find("cannot be divided"), std::string::npos);
  EXPECT_NE(message("llama-3-8b", {.pipeline = 33}).find("too few"), std::string::npos);
  EXPECT_NE(message("llama-3-8b", {.tensor = 0}).find("at least 1"), std::string::npos);
}

TEST(Plan, RefusesFormatsThatTheGpuLacks) {
  const Result<Plan> plan = compile("llama-3-8b", "A100", fp8(), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("A100 has no fp8"), std::string::npos) << plan.error().message;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// 70B in FP8 has 68.5 GB in its layers and 4.2 GB in embedding and head: on 80 GB no batch worth the name is left
// (published: 410 against 2585 tokens/s on an H200 at 1000/1000), and none of 8 x 8192 tokens fits.
TEST(Plan, SeventyBillionOnOne80GigabyteGpu) {
  const Plan small = plan_of("llama-3-70b", "H100", fp8(), {});
  const Plan large = plan_of("llama-3-70b", "H200", fp8(), {});
  EXPECT_LT(small.largest_batch(2000), 20);
  EXPECT_GT(large.largest_batch(2000), 100);
  const MemoryUse use = small.memory(64, 2000);
  EXPECT_FALSE(use.fits());
  const std::string text = small.shortfall_text(use, 2000);
  EXPECT_NE(text.find("too few"), std::string::npos) << text;
}

RC_GTEST_PROP(PlanProperty, TheLargestBatchFitsAndTheNextDoesNot, ()) {
  const Plan plan = plan_of("llama-3-70b", "H200", fp8(), {.tensor = *rc::gen::element<std::int64_t>(1, 2, 4)});
  const double context = *rc::gen::inRange(256, 65536);
  const double batch = plan.largest_batch(context);
  RC_ASSERT(batch >= 1);
  RC_ASSERT(plan.memory(batch, context).fits());
  RC_ASSERT(batch == static_cast<double>(plan.engine().largest_batch) || !plan.memory(batch + 1, context).fits());
}

TEST(Engine, NamesAreKnownOrRefused) {
  for (const char* name : {"trtllm", "vllm", "sglang", "trtllm-0.5", "trtllm-0.6", "trtllm-0.7"})
    EXPECT_EQ(engine_of(name)->name, name);
  EXPECT_NE(engine_of("tgi").error().message.find("\"vllm\""), std::string::npos);
}

}  // namespace
}  // namespace photonrail::inference
