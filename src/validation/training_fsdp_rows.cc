// MosaicML's throughput tables of MPT models under FSDP (llm-foundry).
//
// What is taken to be known, the same for all rows: PyTorch FSDP with every layer a unit, gathered one ahead;
// FlashAttention-2 (the tables are of 2023), operators one by one; plain feed-forward of 4 h, embeddings tied;
// parameters gathered in 2 bytes, gradients reduced in 4 bytes in the mode DEFAULT and in 2 in PURE; activation
// checkpointing recomputes whole layers; nodes of 8 GPUs with the catalog's NIC for each. A100 40 GB: the same chip
// with 1.555 TB/s (its data sheet). "amp_fp8" is FP8 by Transformer Engine.
#include <fmt/format.h>

#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/training_rows.h"

namespace photonrail::validation {
namespace {

Result<TrainingRun> fsdp_run(const Csv& table, std::size_t row, const Scoring& scoring) {
  if (table.text(row, "activation_cpuoffload") == "True") {
    return fail(ErrorCode::infeasible, "activations on the host are not modelled");
  }
  TrainingRun run;
  run.model = "mpt-" + table.text(row, "model");
  const std::string& gpu = table.text(row, "gpu");
  run.gpu = gpu.find("h100") == 0 ? "H100" : gpu.find("a100") == 0 ? "A100" : "";
  if (run.gpu.empty()) return fail(ErrorCode::infeasible, "no kernels of " + gpu + " were measured");
  if (gpu == "a100_40gb") run.memory = gigabytes_per_second(1555);
  run.domain = 8;
  PR_ASSIGN(const catalog::Model model, scoring.catalog.model(run.model));
  PR_ASSIGN(run.shape, decoder_of(model));
  analytic::TrainingConfig& c = run.config;
  PR_ASSIGN(c.sequence, whole(table, row, "seqlen_t"));
  PR_ASSIGN(c.data, whole(table, row, "gpus"));
  PR_ASSIGN(c.micro_batch, whole(table, row, "microbatchsize"));
  PR_ASSIGN(c.global_batch, whole(table, row, "globalbatchsize"));
  c.attention = analytic::Attention::flash2;
  c.eager = true;
  c.sharding = c.data > 1 ? analytic::Sharding::full : analytic::Sharding::none;
  c.recompute =
      table.text(row, "activation_checkpointing") == "True" ? analytic::Recompute::full : analytic::Recompute::none;
  c.precision = table.text(row, "precision") == "amp_fp8" ? analytic::Precision::fp8 : analytic::Precision::bf16;
  c.reduce_bytes = table.text(row, "mp_mode") == "PURE" ? 2 : 4;
  return run;
}

}  // namespace

Result<std::vector<Point>> score_mosaic(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"model", "seqlen_t", "gpus", "gpu", "microbatchsize", "globalbatchsize",
                        "throughput_t_per_s_per_gpu", "precision", "mp_mode", "activation_checkpointing",
                        "activation_cpuoffload"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "throughput", "tokens/s per GPU");
    point.model = "mpt-" + table.text(row, "model");
    point.gpu = table.text(row, "gpu").find("h100") == 0 ? "H100" : "A100";
    point.regime = fmt::format("FSDP {}", table.text(row, "precision"));
    PR_ASSIGN(point.row.published, table.number(row, "throughput_t_per_s_per_gpu"));
    point.row.case_name =
        fmt::format("{} on {} x {}, {} tokens, micro-batch {}", point.model, table.text(row, "gpus"),
                    table.text(row, "gpu"), table.text(row, "seqlen_t"), table.text(row, "microbatchsize"));
    const auto run = fsdp_run(table, row, scoring);
    const auto estimate = run ? shelf.estimate(*run) : Result<analytic::StepEstimate>(tl::unexpected(run.error()));
    if (estimate) {
      point.basis = estimate->basis;
      const auto& c = run->config;
      const double tokens = static_cast<double>(c.global_batch) * static_cast<double>(c.sequence);
      fill(point, tokens / estimate->time.seconds / static_cast<double>(c.data));
    } else {
      fill(point, Result<double>(tl::unexpected(estimate.error())));
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
