// NVIDIA's own training runs: MLPerf Training (GPT-3 and Llama-3.1-405B) and the step tables of Megatron-Bridge.
//
// What is taken to be known, the same for all rows of a table:
//   all      Megatron-LM with Transformer Engine: sequence parallelism, fused attention, no dropout, distributed
//            optimizer with gradient reductions and parameter gathers overlapped, tensor-parallel collectives
//            overlapped with products (userbuffers), messages of interleaved pipelines overlapped; 16-bit gradients on
//            the wire
//   MLPerf   8-bit training with one scale for each tensor. One row is one run: rows that list the run of another again
//            (same model, number of accelerators and step time) stand apart, and so do rows without degrees
//   Bridge   "FP8" is one scale for each tensor. Where the activations do not fit, a Grace host takes them over
//            the chip-to-chip link behind computation; with any other host as many layers are recomputed as the memory
//            asks for (Megatron-LM: recompute-num-layers)
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/training_rows.h"

namespace photonrail::validation {
namespace {

using analytic::Precision;

analytic::TrainingConfig transformer_engine() {
  analytic::TrainingConfig c;
  c.sharding = analytic::Sharding::optimizer;
  c.overlap_tensor = true;
  c.overlap_messages = true;
  c.reduce_bytes = 2;
  return c;
}

std::string accelerator_of(const std::string& text) {
  for (const std::string_view name : {"GB300", "GB200", "B300", "B200", "H200", "H100"}) {
    if (text.find(name) != text.npos) return std::string(name);
  }
  return {};
}

Result<analytic::DecoderShape> shape_named(const std::string& name, const Scoring& scoring) {
  PR_ASSIGN(const catalog::Model model, scoring.catalog.model(name));
  return decoder_of(model);
}

void set_degrees(TrainingRun& run, const Csv& table, std::size_t row, std::int64_t gpus) {
  analytic::TrainingConfig& c = run.config;
  c.tensor = whole_or(table, row, "tp", 1);
  c.pipeline = whole_or(table, row, "pp", 1);
  c.context = std::max<std::int64_t>(1, whole_or(table, row, "cp", 1));
  c.interleave = std::max<std::int64_t>(1, whole_or(table, row, "vp", 1));
  if (c.pipeline == 1) c.interleave = 1;
  c.sequence_parallel = c.tensor > 1;
  c.data = gpus / std::max<std::int64_t>(1, c.tensor * c.pipeline * c.context);
}

Result<TrainingRun> mlperf_run(const Csv& table, std::size_t row, const Scoring& scoring) {
  TrainingRun run;
  run.model = table.text(row, "benchmark");
  run.gpu = accelerator_of(table.text(row, "accelerator"));
  if (run.gpu.empty()) {
    return fail(ErrorCode::infeasible, "no kernels of " + table.text(row, "accelerator") + " were measured");
  }
  PR_ASSIGN(run.shape, shape_named(run.model == "gpt3" ? "gpt-3-175b" : "llama-3.1-405b", scoring));
  run.config = transformer_engine();
  PR_ASSIGN(const std::int64_t gpus, whole(table, row, "num_accel"));
  set_degrees(run, table, row, gpus);
  PR_ASSIGN(run.config.sequence, whole(table, row, "seq_len"));
  PR_ASSIGN(run.config.global_batch, whole(table, row, "global_batch"));
  run.config.micro_batch = whole_or(table, row, "mbs", 1);
  run.config.precision = Precision::fp8;
  if (analytic::gpus_of(run.config) != gpus) return table.refuse(row, "the degrees do not divide the number of GPUs");
  return run;
}

bool training_benchmark(const std::string& name) { return name == "gpt3" || name == "llama31_405b"; }

Result<Precision> bridge_precision(const std::string& text) {
  if (text == "BF16") return Precision::bf16;
  if (text == "FP8" || text == "FP8-CS") return Precision::fp8;
  if (text == "MXFP8" || text == "FP8-MX") return Precision::mxfp8;
  if (text == "NVFP4") return Precision::nvfp4;
  return fail(ErrorCode::infeasible, "precision " + text + " is not modelled");
}

std::string bridge_model(const std::string& text) {
  static const std::map<std::string, std::string> kNames = {{"LLAMA3_8B", "llama-3-8b"},
                                                            {"LLAMA3_70B", "llama-3-70b"},
                                                            {"LLAMA3.1_405B", "llama-3.1-405b"},
                                                            {"Qwen3_30B_a3B", "qwen3-30b-a3b"},
                                                            {"Qwen3_235B_a22B", "qwen3-235b-a22b"},
                                                            {"GPT OSS 120B", "gpt-oss-120b"},
                                                            {"DeepSeekV3", "deepseek-v3"},
                                                            {"Kimi_K2", "kimi-k2"}};
  const auto found = kNames.find(text);
  return found == kNames.end() ? text : found->second;
}

Result<TrainingRun> bridge_run(const Csv& table, std::size_t row, const Scoring& scoring) {
  if (table.text(row, "task") != "pretrain") {
    return fail(ErrorCode::infeasible,
                table.text(row, "task") + " (packed sequences of unknown lengths) is not modelled");
  }
  TrainingRun run;
  run.model = table.text(row, "model");
  run.gpu = accelerator_of(table.text(row, "system"));
  if (run.gpu.empty()) return fail(ErrorCode::infeasible, table.text(row, "system") + " is not modelled");
  PR_ASSIGN(run.shape, shape_named(bridge_model(run.model), scoring));
  run.config = transformer_engine();
  PR_ASSIGN(const std::int64_t gpus, whole(table, row, "gpus"));
  set_degrees(run, table, row, gpus);
  PR_ASSIGN(run.config.sequence, whole(table, row, "seq_len"));
  PR_ASSIGN(run.config.global_batch, whole(table, row, "gbs"));
  PR_ASSIGN(run.config.micro_batch, whole(table, row, "mbs"));
  PR_ASSIGN(run.config.precision, bridge_precision(table.text(row, "precision")));
  if (run.shape.experts > 0) run.config.expert = std::max<std::int64_t>(1, whole_or(table, row, "ep", 1));
  if (whole_or(table, row, "fsdp", 0) > 1) run.config.sharding = analytic::Sharding::full;
  if (analytic::gpus_of(run.config) != gpus) return table.refuse(row, "the degrees do not divide the number of GPUs");
  return run;
}

bool grace_host(const std::string& gpu) { return gpu == "GB200" || gpu == "GB300"; }

Result<analytic::StepEstimate> estimate_bridge(EvaluatorShelf& shelf, TrainingRun run) {
  PR_ASSIGN(analytic::StepEstimate estimate, shelf.estimate(run));
  if (estimate.fits || grace_host(run.gpu)) return estimate;
  run.config.recompute = analytic::Recompute::full;
  PR_ASSIGN(const analytic::StepEstimate full, shelf.estimate(run));
  const double saved = estimate.memory.total() - full.memory.total();
  const double needed = estimate.memory.total() - estimate.capacity;
  const double layers = saved > 0 ? std::min(1.0, needed / saved) : 1.0;
  estimate.time.seconds += layers * (full.time.seconds - estimate.time.seconds);
  return estimate;
}

}  // namespace

Result<std::vector<Point>> score_mlperf_training(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"round", "submitter", "accelerator", "num_accel", "benchmark", "global_batch", "seq_len", "tp",
                        "pp", "mbs", "median_step_time_s"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  std::set<std::string> seen;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!training_benchmark(table.text(row, "benchmark"))) continue;  // others are scored elsewhere
    const auto measured = table.number_or_none(row, "median_step_time_s");
    if (!measured) continue;
    Point point = point_of(table, row, "iteration_time", "s");
    point.model = table.text(row, "benchmark");
    point.gpu = accelerator_of(table.text(row, "accelerator"));
    point.regime = "training, many nodes";
    point.row.published = measured;
    point.row.case_name =
        fmt::format("{} on {} x {} ({} {})", point.model, table.text(row, "num_accel"), table.text(row, "accelerator"),
                    table.text(row, "submitter"), table.text(row, "round"));
    const bool given =
        !table.text(row, "tp").empty() && !table.text(row, "pp").empty() && !table.text(row, "mbs").empty();
    const std::string run_key = fmt::format("{} {} {}", point.model, table.text(row, "num_accel"), *measured);
    if (!given) {
      point.apart = "degrees or micro-batch are not given (no interleaving and a micro-batch of 1 are taken)";
    } else if (!seen.insert(run_key).second) {
      point.apart = "the run of another row, listed again";
    } else if (!point.gpu.empty()) {
      point.gate = "mlperf-steps";
    }
    const auto run = mlperf_run(table, row, scoring);
    const auto estimate = run ? shelf.estimate(*run) : Result<analytic::StepEstimate>(tl::unexpected(run.error()));
    if (estimate) point.basis = estimate->basis;
    fill(point, estimate ? Result<double>(estimate->time.seconds) : Result<double>(tl::unexpected(estimate.error())));
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_megatron_bridge(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"container", "task", "model", "system", "gpus", "precision", "gbs", "mbs", "seq_len", "tp",
                        "pp", "tokens_per_s_per_gpu"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "throughput", "tokens/s per GPU");
    point.model = table.text(row, "model");
    point.gpu = accelerator_of(table.text(row, "system"));
    point.regime = fmt::format("{} {}", table.text(row, "task"), table.text(row, "precision"));
    PR_ASSIGN(point.row.published, table.number(row, "tokens_per_s_per_gpu"));
    point.row.case_name =
        fmt::format("{} {} on {} x {}, tp {} pp {} vp {} ({})", point.model, table.text(row, "precision"),
                    table.text(row, "gpus"), table.text(row, "system"), table.text(row, "tp"), table.text(row, "pp"),
                    table.text(row, "vp"), table.text(row, "container"));
    const bool measured_gpu = point.gpu == "H100" || point.gpu == "H200" || point.gpu == "B200" || point.gpu == "GB200";
    const bool llama = point.model.find("LLAMA") == 0 && table.text(row, "task") == "pretrain";
    if (llama && measured_gpu) point.gate = "bridge-llama";
    const auto run = bridge_run(table, row, scoring);
    const auto estimate =
        run ? estimate_bridge(shelf, *run) : Result<analytic::StepEstimate>(tl::unexpected(run.error()));
    if (estimate) {
      point.basis = estimate->basis;
      const auto& c = run->config;
      const double tokens = static_cast<double>(c.global_batch) * static_cast<double>(c.sequence);
      fill(point, tokens / estimate->time.seconds / static_cast<double>(analytic::gpus_of(c)));
    } else {
      fill(point, Result<double>(tl::unexpected(estimate.error())));
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
