// Offline throughput where the table leaves part of the set-up open: MLPerf Inference (parallelism not given) and the
// Azure benchmark guide (parallelism and precision not given). Reported, never gated.
//
// MLPerf Inference: Llama 2 70B answers questions of OpenOrca, 294 tokens in and 294 out in the mean (the benchmark's
// reference implementation). NVIDIA GPUs run it in fp8 with an fp8 cache. Each system is taken at the tensor
// parallelism that this program finds quickest; requests are all there from the beginning. Only the Offline scenario
// is offline; Server rows have a latency limit and are passed over, as are models whose mean lengths are not
// published.
//
// Azure: 128 tokens in, 8 out, static batches. Taken as bf16 on 8 GPUs for 70B and on one for smaller models.
#include <fmt/format.h>

#include <algorithm>

#include "inference/serving.h"
#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/serving_setup.h"

namespace photonrail::validation {
namespace {

constexpr double kOrcaTokens = 294;

// Output tokens/s of `gpus` GPUs at the best tensor degree.
Result<double> best_offline(InferenceSetup setup, std::int64_t gpus, double input, double output, PlanShelf& shelf,
                            operators::Basis& basis) {
  double best = 0;
  Error why{ErrorCode::infeasible, "fits with no tensor parallelism"};
  for (std::int64_t tp = 1; tp <= std::min<std::int64_t>(gpus, 8); tp *= 2) {
    setup.parallel.tensor = tp;
    const Result<const inference::Plan*> plan = shelf.plan(setup);
    if (!plan) {
      why = plan.error();
      continue;
    }
    const double held =
        std::min((*plan)->largest_batch(input + output), static_cast<double>(setup.engine.largest_batch));
    if (held < 1) continue;
    const auto times = inference::continuous(**plan, held, {input, output});
    const double rate = times.tokens_per_second * static_cast<double>(gpus / tp);
    if (rate <= best) continue;
    best = rate;
    basis = times.basis;
  }
  if (best > 0) return best;
  return fail(why);
}

}  // namespace

Result<std::vector<Point>> score_mlperf_inference(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"accelerator", "accel_per_node", "nodes", "benchmark", "scenario", "tokens_per_s"}));
  PlanShelf shelf;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!table.text(row, "benchmark").starts_with("llama2-70b") || table.text(row, "scenario") != "Offline") continue;
    Point point = point_of(table, row, "throughput", "output tokens/s");
    point.row.published = table.number_or_none(row, "tokens_per_s");
    point.model = "llama2-70b";
    point.regime = "MLPerf offline";
    const auto make = [&]() -> Result<double> {
      InferenceSetup setup;
      PR_ASSIGN(setup.model, scoring.catalog.model("llama-2-70b"));
      PR_ASSIGN(setup.gpu, gpu_of(table.text(row, "accelerator"), scoring.catalog));
      point.gpu = setup.gpu.name;
      PR_ASSIGN(setup.precision, precision_of("fp8", setup.model, "trtllm"));
      PR_ASSIGN(setup.engine, inference::engine_of("trtllm"));
      const double gpus =
          table.number_or_none(row, "accel_per_node").value_or(1) * table.number_or_none(row, "nodes").value_or(1);
      point.row.case_name = fmt::format("llama-2-70b fp8 on {} x {}, best tensor degree", gpus, setup.gpu.name);
      return best_offline(setup, static_cast<std::int64_t>(gpus), kOrcaTokens, kOrcaTokens, shelf, point.basis);
    };
    fill(point, make());
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_azure_inference(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"gpu", "model", "batch", "tokens_per_s"}));
  PlanShelf shelf;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "throughput", "output tokens/s");
    PR_ASSIGN(point.row.published, table.number(row, "tokens_per_s"));
    PR_ASSIGN(const double batch, table.number(row, "batch"));
    point.model = table.text(row, "model");
    point.regime = "static batch, short input";
    point.apart = "parallelism and precision not given";
    const auto make = [&]() -> Result<double> {
      InferenceSetup setup;
      PR_ASSIGN(setup.model, model_of(point.model, scoring.catalog));
      PR_ASSIGN(setup.gpu, gpu_of(table.text(row, "gpu"), scoring.catalog));
      point.gpu = setup.gpu.name;
      PR_ASSIGN(setup.engine, inference::engine_of("trtllm-0.7"));
      if (setup.model.name.find("70b") != std::string::npos) setup.parallel.tensor = 8;
      point.row.case_name = fmt::format("{}, batch {}, 128 in, 8 out", text_of(setup), batch);
      PR_ASSIGN(const inference::Plan* plan, shelf.plan(setup));
      const auto times = inference::static_batch(*plan, batch, {128, 8});
      point.basis = times.basis;
      return times.tokens_per_second;
    };
    fill(point, make());
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
