// TensorRT-LLM 0.5 to 0.9: static batches and first-token latencies, from the performance pages of its documentation.
//
// Engines of that time. The pages up to 0.8 call both "tokens/s" and "tokens/s/GPU" what later ones call the latter;
// the unit that a row gives is taken as it is written. Attention while decoding: up to 0.6 one kernel for all models,
// in which every query head reads the cache ("masked multi-head attention", docs/source/gpt_attention.md of 0.5.0);
// from 0.7 a kernel for grouped queries for a few configurations ("LLAMA2 70B is one model that it supports", the same
// page of 0.7), so for groups of eight. FP8 engines had an fp8 cache, FP16 engines an fp16 one.
#include <fmt/format.h>

#include "inference/serving.h"
#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/serving_setup.h"

namespace photonrail::validation {
namespace {

bool counts_each_gpu(const Csv& table, std::size_t row) {
  return table.text(row, "throughput_unit_as_published").find("/gpu") != std::string::npos;
}

// Rows without a version are of pages before 0.8: that of 0.5 counts tokens of all GPUs; that of 0.6 tokens of one, and
// repeats the latencies of 0.5 ("The following data is from TensorRT-LLM v0.5").
std::string_view engine_name(const Csv& table, std::size_t row) {
  if (!table.text(row, "trtllm_version").empty()) return "trtllm-0.7";
  const bool throughput = table.column("throughput_unit_as_published").has_value();
  return throughput && counts_each_gpu(table, row) ? "trtllm-0.6" : "trtllm-0.5";
}

std::string format_of(std::string_view gpu_and_precision) {
  if (gpu_and_precision.find("FP8") != std::string_view::npos) return "fp8";
  if (gpu_and_precision.find("FP16") != std::string_view::npos) return "fp16";
  return "?";
}

Result<InferenceSetup> setup_of(const Csv& table, std::size_t row, const Scoring& scoring) {
  InferenceSetup setup;
  PR_ASSIGN(setup.model, model_of(table.text(row, "model"), scoring.catalog));
  PR_ASSIGN(setup.gpu, gpu_of(table.text(row, "gpu_and_precision"), scoring.catalog));
  PR_ASSIGN(setup.precision, precision_of(format_of(table.text(row, "gpu_and_precision")), setup.model, "trtllm"));
  PR_ASSIGN(const double tp, table.number(row, "tp"));
  setup.parallel.tensor = static_cast<std::int64_t>(tp);
  PR_ASSIGN(setup.engine, inference::engine_of(engine_name(table, row)));
  return setup;
}

// Of one row; a row that is not understood is refused, not the table.
template <class Evaluate>
void score_row(Point& point, const Csv& table, std::size_t row, const Scoring& scoring, PlanShelf& shelf,
               std::string_view gate, Evaluate evaluate) {
  const Result<InferenceSetup> setup = setup_of(table, row, scoring);
  point.model = table.text(row, "model");
  if (!setup) {
    point.row.refused = setup.error();
    return;
  }
  point.gpu = setup->gpu.name;
  point.row.case_name = text_of(*setup);
  if (is_dense(setup->model) && has_kernel_tables(setup->gpu)) point.gate = std::string(gate);
  const Result<const inference::Plan*> plan = shelf.plan(*setup);
  if (!plan) {
    point.row.refused = plan.error();
    return;
  }
  fill(point, evaluate(**plan));
}

}  // namespace

Result<std::vector<Point>> score_static_batch(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"trtllm_version", "gpu_and_precision", "model", "batch_size", "tp", "input_len", "output_len",
                        "throughput_value", "throughput_unit_as_published"}));
  PlanShelf shelf;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "throughput", "output tokens/s");
    PR_ASSIGN(const double batch, table.number(row, "batch_size"));
    PR_ASSIGN(const double input, table.number(row, "input_len"));
    PR_ASSIGN(const double output, table.number(row, "output_len"));
    PR_ASSIGN(point.row.published, table.number(row, "throughput_value"));
    const bool per_gpu = counts_each_gpu(table, row);
    if (per_gpu) point.row.unit += "/GPU";
    point.regime = fmt::format("static batch, {} input", input >= 1024 ? "long" : "short");
    score_row(point, table, row, scoring, shelf, "static-throughput",
              [&](const inference::Plan& plan) -> Result<double> {
                const auto times = inference::static_batch(plan, batch, {input, output});
                point.basis = times.basis;
                return times.tokens_per_second / (per_gpu ? static_cast<double>(plan.gpus()) : 1.0);
              });
    point.row.case_name += fmt::format(", batch {}, {} in, {} out", batch, input, output);
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_first_token(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require(
      {"trtllm_version", "gpu_and_precision", "model", "batch_size", "tp", "input_len", "first_token_latency_ms"}));
  PlanShelf shelf;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "ttft", "ms");
    PR_ASSIGN(const double batch, table.number(row, "batch_size"));
    PR_ASSIGN(const double input, table.number(row, "input_len"));
    PR_ASSIGN(point.row.published, table.number(row, "first_token_latency_ms"));
    point.regime = fmt::format("first token, {} input", input >= 1024 ? "long" : "short");
    score_row(point, table, row, scoring, shelf, "ttft-unqueued", [&](const inference::Plan& plan) -> Result<double> {
      const auto times = inference::static_batch(plan, batch, {input, 1});
      point.basis = times.basis;
      return (times.ttft + to_seconds(plan.engine().request_overhead)) * 1e3;
    });
    point.row.case_name += fmt::format(", batch {}, {} in", batch, input);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
