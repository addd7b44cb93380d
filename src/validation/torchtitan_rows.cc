// torchtitan tables of Llama 3: tokens/s and peak memory of a GPU under FSDP, with TP, PP and CP beside it.
//
// The configuration is prose. Words that decide something are read: the model, GPUs, FSDP, TP, PP and CP degrees, local
// and global batch, sequence length, activation checkpointing, schedule, Float8, AsyncTP; a row without the
// model, GPUs or local batch is refused. Defaults of the project (December 2024): sequences of 8,192 tokens, sequence
// and loss parallelism beside TP, parameters, gradients and Adam's moments in 4 bytes, sharded over FSDP and CP and
// split by TP, as many micro-batches as pipeline stages, two stages a rank where they are interleaved; "selective"
// is the policy "op". Memory is what PyTorch's allocator reserved at most: analytic/reserved.h.
//
// Throughput is scored apart: these H100 have 96 GB of HBM2e at 2.4 TB/s and 500 W, and no such GPU was calibrated.
#include <fmt/format.h>

#include <optional>
#include <regex>

#include "analytic/reserved.h"
#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/training_rows.h"

namespace photonrail::validation {
namespace {

constexpr double kGiB = 1 << 30;

// The number behind `pattern`, which has one group.
std::optional<std::int64_t> number_in(const std::string& text, const char* pattern) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(pattern, std::regex::icase))) return std::nullopt;
  return std::stoll(match[1].str());
}

bool says(const std::string& text, const char* pattern) {
  return std::regex_search(text, std::regex(pattern, std::regex::icase));
}

Result<std::string> model_in(const std::string& text) {
  if (says(text, R"(\b405B\b)")) return std::string("llama-3.1-405b");
  if (says(text, R"(\b70B\b)")) return std::string("llama-3.1-70b");
  if (says(text, R"(\b8B\b)")) return std::string("llama-3.1-8b");
  return fail(ErrorCode::infeasible, "the configuration names no Llama of 8B, 70B or 405B");
}

Result<TrainingRun> run_of(const std::string& text, const Scoring& scoring) {
  TrainingRun run;
  PR_ASSIGN(run.model, model_in(text));
  run.gpu = "H100";
  run.memory = gigabytes_per_second(2400);
  PR_ASSIGN(const catalog::Model model, scoring.catalog.model(run.model));
  PR_ASSIGN(run.shape, decoder_of(model));
  const auto gpus = number_in(text, R"((\d{1,6}) GPUs)");
  const auto local = number_in(text, R"(local batch size(?: of)? (\d{1,5}))");
  if (!gpus || !local)
    return fail(ErrorCode::infeasible, "the configuration gives no number of GPUs or no local batch");
  analytic::TrainingConfig& c = run.config;
  c.tensor = number_in(text, R"(\bTP ?(\d{1,3})\b)").value_or(1);
  c.pipeline = number_in(text, R"(\bPP ?(\d{1,3})\b)").value_or(1);
  c.context = number_in(text, R"(\bCP ?(\d{1,3})\b)").value_or(1);
  const std::int64_t split = c.tensor * c.pipeline * c.context;
  if (*gpus % split != 0) return fail(ErrorCode::infeasible, "the degrees do not divide the GPUs");
  c.data = *gpus / split;
  if (number_in(text, R"(\bFSDP ?(\d{1,5})\b)").value_or(c.data) != c.data)
    return fail(ErrorCode::infeasible, "FSDP, TP, PP and CP do not make up the GPUs");
  c.sequence = number_in(text, R"(sequence length(?: of|=|:)? ?(\d{3,7}))").value_or(8192);
  if (c.pipeline > 1 && says(text, "interleaved")) c.interleave = 2;
  const std::int64_t stages = c.pipeline * c.interleave;
  if (*local % stages != 0) return fail(ErrorCode::infeasible, "the local batch has no micro-batch for each stage");
  c.micro_batch = *local / stages;
  c.global_batch = number_in(text, R"(global batch size(?: of)? (\d{1,6}))").value_or(*local * c.data);
  c.sequence_parallel = c.tensor > 1;
  c.sharding = c.data * c.context > 1 ? analytic::Sharding::full : analytic::Sharding::none;
  if (says(text, "activation checkpoint") && !says(text, "no activation checkpoint")) {
    c.recompute = says(text, "selective|op-level|per-op") ? analytic::Recompute::selective : analytic::Recompute::full;
  }
  c.precision = says(text, "float8") ? analytic::Precision::fp8 : analytic::Precision::bf16;
  c.overlap_tensor = says(text, "asynctp");
  c.eager = true;
  return run;
}

Result<double> reserved_gib(const Result<TrainingRun>& run) {
  if (!run) return tl::unexpected(run.error());
  PR_TRY(analytic::check(run->shape, run->config));
  return analytic::reserved_memory(run->shape, run->config).total() / kGiB;
}

Result<double> tokens_per_second(const Result<TrainingRun>& run, EvaluatorShelf& shelf, Point& point) {
  if (!run) return tl::unexpected(run.error());
  const analytic::TrainingConfig& c = run->config;
  if (c.recompute == analytic::Recompute::selective)
    return fail(ErrorCode::infeasible, "the time of recomputing every second product is not modelled");
  PR_ASSIGN(const analytic::StepEstimate estimate, shelf.estimate(*run));
  point.basis = estimate.basis;
  const double tokens = static_cast<double>(c.global_batch) * static_cast<double>(c.sequence);
  return tokens / estimate.time.seconds / static_cast<double>(analytic::gpus_of(c));
}

}  // namespace

Result<std::vector<Point>> score_torchtitan(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"configuration", "row", "metric", "value"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& metric = table.text(row, "metric");
    const bool memory = metric == "Memory(GiB)";
    if (!memory && metric != "TPS/GPU") continue;
    Point point = point_of(table, row, memory ? "memory" : "throughput", memory ? "GiB" : "tokens/s per GPU");
    PR_ASSIGN(point.row.published, table.number(row, "value"));
    const std::string text = table.text(row, "configuration") + " " + table.text(row, "row");
    point.row.case_name = text;
    point.gpu = "H100";
    point.regime = "torchtitan";
    if (memory) {
      point.gate = "memory-measured";
    } else {
      point.apart = "an H100 of 2.4 TB/s and 500 W, which no kernel table has";
    }
    const auto run = run_of(text, scoring);
    if (run) point.model = run->model;
    fill(point, memory ? reserved_gib(run) : tokens_per_second(run, shelf, point));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
