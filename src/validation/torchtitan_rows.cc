// torchtitan tables of Llama 3: tokens/s and peak memory of a GPU under FSDP, with TP, PP and CP beside it.
//
// The configuration is prose. Words that decide something are read: the model, GPUs, FSDP, TP, PP and CP degrees, local
// and global batch, sequence length, activation checkpointing, Float8, AsyncTP; a row without the first of them, or
// with selective checkpointing of single operators, is refused. Defaults of the project: sequences of 8,192 tokens,
// sequence parallelism beside TP, parameters, gradients and Adam's moments in 4 bytes, sharded by FSDP and TP, whole
// layers recomputed. Memory is what PyTorch reserved at most, so with its allocator's gaps.
//
// Throughput is scored apart: these H100 have 96 GB of HBM2e at 2.4 TB/s and 500 W, and no such GPU was calibrated.
#include <fmt/format.h>

#include <optional>
#include <regex>

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
  if (says(text, "selective|op-level|per-op")) {
    return fail(ErrorCode::infeasible, "selective checkpointing of single operators is not modelled");
  }
  analytic::TrainingConfig& c = run.config;
  c.tensor = number_in(text, R"(\bTP (\d{1,3})\b)").value_or(1);
  c.pipeline = number_in(text, R"(\bPP (\d{1,3})\b)").value_or(1);
  c.context = number_in(text, R"(\bCP (\d{1,3})\b)").value_or(1);
  const std::int64_t split = c.tensor * c.pipeline * c.context;
  if (*gpus % split != 0) return fail(ErrorCode::infeasible, "the degrees do not divide the GPUs");
  c.data = *gpus / split;
  if (number_in(text, R"(\bFSDP (\d{1,5})\b)").value_or(c.data) != c.data)
    return fail(ErrorCode::infeasible, "FSDP, TP, PP and CP do not make up the GPUs");
  c.sequence = number_in(text, R"(sequence length(?: of)? (\d{3,7}))").value_or(8192);
  c.micro_batch = c.pipeline > 1 ? 1 : *local;
  c.global_batch = number_in(text, R"(global batch size(?: of)? (\d{1,6}))").value_or(*local * c.data);
  c.sequence_parallel = c.tensor > 1;
  c.sharding = c.data > 1 ? analytic::Sharding::full : analytic::Sharding::none;
  c.recompute = says(text, "activation checkpoint") && !says(text, "no activation checkpoint")
                    ? analytic::Recompute::full
                    : analytic::Recompute::none;
  c.precision = says(text, "float8") ? analytic::Precision::fp8 : analytic::Precision::bf16;
  c.overlap_tensor = says(text, "asynctp");
  c.eager = true;
  return run;
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
    const auto estimate = run ? shelf.estimate(*run) : Result<analytic::StepEstimate>(tl::unexpected(run.error()));
    if (!estimate) {
      point.row.refused = estimate.error();
    } else {
      point.basis = estimate->basis;
      const auto& c = run->config;
      const double tokens = static_cast<double>(c.global_batch) * static_cast<double>(c.sequence);
      const auto gpus = static_cast<double>(analytic::gpus_of(c));
      fill(point, memory ? estimate->memory.total() / kGiB : tokens / estimate->time.seconds / gpus);
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
