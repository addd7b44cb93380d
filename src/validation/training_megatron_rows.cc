// Runs of the Megatron papers and of vTrain on A100: iteration times, and memory in closed form.
//
// What is taken to be known of these runs, the same for all rows of a table:
//   all             fp16 with Adam in fp32, gradients kept and reduced in 4 bytes (the 18 bytes a parameter of
//                   Korthikanti et al.), attention with scores in memory and dropout (FlashAttention came later), GPT
//                   with a padded vocabulary of 51,200 and tied embeddings (Narayanan et al. 2021; Korthikanti et al.
//                   2022), pipeline messages not overlapped
//   vTrain          Megatron-DeepSpeed (Bang et al., "vTrain", MICRO 2024): full recomputation, all-reduce over the
//                   tensor group after the products, gradients reduced after the last backward pass; nodes
//                   of 8 A100 with four HDR links, so 12.5 GB/s for a GPU
//   Korthikanti     Selene: 8 HDR links for 8 GPUs, 25 GB/s; the tensor group's sums overlap with the products for
//                   weights (its section 4.2.2); interleaved where the row says so
//   Narayanan 2021  Selene; full recomputation; the micro-batch is not in the table, so rows stand apart
#include <fmt/format.h>

#include "analytic/memory.h"
#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/training_rows.h"

namespace photonrail::validation {
namespace {

using analytic::Recompute;

TrainingRun megatron_run(std::int64_t hidden, std::int64_t heads, std::int64_t layers) {
  TrainingRun run;
  run.gpu = "A100";
  run.domain = 8;
  run.shape = megatron_gpt(hidden, heads, layers);
  run.config.attention = analytic::Attention::scores;
  run.config.dropout = true;
  run.config.loss_scaling = true;
  run.config.overlap_gradients = false;
  run.config.overlap_parameters = false;
  return run;
}

Result<TrainingRun> vtrain_run(const Csv& table, std::size_t row) {
  PR_ASSIGN(const std::int64_t hidden, whole(table, row, "hidden"));
  PR_ASSIGN(const std::int64_t heads, whole(table, row, "heads"));
  PR_ASSIGN(const std::int64_t layers, whole(table, row, "layers"));
  TrainingRun run = megatron_run(hidden, heads, layers);
  PR_ASSIGN(run.config.sequence, whole(table, row, "seq_len"));
  PR_ASSIGN(run.config.global_batch, whole(table, row, "global_batch"));
  PR_ASSIGN(run.config.micro_batch, whole(table, row, "micro_batch"));
  PR_ASSIGN(run.config.tensor, whole(table, row, "tp"));
  PR_ASSIGN(run.config.pipeline, whole(table, row, "pp"));
  PR_ASSIGN(run.config.data, whole(table, row, "dp"));
  PR_ASSIGN(const std::int64_t gpus, whole(table, row, "gpus"));
  if (analytic::gpus_of(run.config) != gpus) return table.refuse(row, "tp x pp x dp is not the number of GPUs");
  run.config.recompute = Recompute::full;
  run.network = gigabits_per_second(100);
  run.model = run.shape.layers > 0 ? fmt::format("gpt h{} l{}", hidden, layers) : "";
  return run;
}

void set_estimate(Point& point, const Result<analytic::StepEstimate>& estimate) {
  if (estimate) point.basis = estimate->basis;
  fill(point, estimate ? Result<double>(estimate->time.seconds) : Result<double>(tl::unexpected(estimate.error())));
}

// The modes of the paper's figures and tables, by the words of the row.
void set_mode(analytic::TrainingConfig& config, std::string_view mode) {
  const auto says = [&](std::string_view word) { return mode.find(word) != mode.npos; };
  config.recompute = says("full") ? Recompute::full : says("selective") ? Recompute::selective : Recompute::none;
  config.sequence_parallel = says("seq") && !says("no seq");
}

bool known_mode(std::string_view mode) {
  for (const std::string_view word : {"recompute", "seq", "baseline", "none", "full", "selective"}) {
    if (mode.find(word) != mode.npos) return true;
  }
  return false;
}

// The four models of Korthikanti et al. 2022, table 3.
struct PaperModel {
  std::string_view name;
  std::int64_t hidden, heads, layers, tensor, pipeline, interleave, micro_batch;
};
constexpr PaperModel kPaperModels[] = {{"22B", 6144, 64, 48, 8, 1, 1, 4},
                                       {"175B", 12288, 96, 96, 8, 8, 3, 1},
                                       {"530B", 20480, 128, 105, 8, 35, 3, 1},
                                       {"1T", 25600, 160, 128, 8, 64, 1, 1}};

// What the paper counts: layers, gradients in 4 bytes, no embedding.
Result<analytic::MemoryUse> paper_memory(const Csv& table, std::size_t row) {
  const std::string& name = table.text(row, "model");
  const std::string& mode = table.text(row, "mode");
  if (!known_mode(mode)) return table.refuse(row, fmt::format("mode \"{}\" is not known", mode));
  for (const PaperModel& m : kPaperModels) {
    if (name.find(m.name) == name.npos) continue;
    TrainingRun run = megatron_run(m.hidden, m.heads, m.layers);
    run.config.sequence = 2048;
    run.config.micro_batch = m.micro_batch;
    run.config.tensor = m.tensor;
    run.config.pipeline = m.pipeline;
    run.config.interleave = m.interleave;
    run.config.global_batch = m.micro_batch * m.pipeline * m.interleave;  // enough to fill the pipeline
    set_mode(run.config, mode);
    return analytic::memory_of_layers(run.shape, run.config);
  }
  return table.refuse(row, fmt::format("\"{}\" is none of the paper's models (22B, 175B, 530B, 1T)", name));
}

}  // namespace

Result<std::vector<Point>> score_vtrain(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"set", "gpus", "global_batch", "micro_batch", "hidden", "heads", "layers", "seq_len", "tp",
                        "dp", "pp", "iteration_time_ms"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "iteration_time", "s");
    point.gpu = "A100";
    const bool many = table.text(row, "set") == "multi-node";
    point.regime = many ? "training, many nodes" : "training, one node, small model";
    if (many) point.gate = "vtrain-multi-node";
    PR_ASSIGN(const double milliseconds, table.number(row, "iteration_time_ms"));
    point.row.published = milliseconds * 1e-3;
    const auto run = vtrain_run(table, row);
    if (run) {
      point.model = run->model;
      point.row.case_name = fmt::format("{}, tp {} pp {} dp {} micro-batch {}", run->model, run->config.tensor,
                                        run->config.pipeline, run->config.data, run->config.micro_batch);
      set_estimate(point, shelf.estimate(*run));
    } else {
      point.row.refused = run.error();
    }
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_korthikanti_times(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"model", "hidden", "layers", "heads", "seq_len", "tp", "pp", "dp", "pp_interleave",
                        "global_batch", "micro_batch", "activation_mode", "iteration_time_s"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "iteration_time", "s");
    point.gpu = "A100";
    point.model = table.text(row, "model");
    point.regime = "training, many nodes";
    point.gate = "korthikanti-time";
    point.row.case_name = fmt::format("{}, {}", point.model, table.text(row, "activation_mode"));
    PR_ASSIGN(point.row.published, table.number(row, "iteration_time_s"));
    PR_ASSIGN(const std::int64_t hidden, whole(table, row, "hidden"));
    PR_ASSIGN(const std::int64_t heads, whole(table, row, "heads"));
    PR_ASSIGN(const std::int64_t layers, whole(table, row, "layers"));
    TrainingRun run = megatron_run(hidden, heads, layers);
    PR_ASSIGN(run.config.sequence, whole(table, row, "seq_len"));
    PR_ASSIGN(run.config.global_batch, whole(table, row, "global_batch"));
    PR_ASSIGN(run.config.micro_batch, whole(table, row, "micro_batch"));
    PR_ASSIGN(run.config.tensor, whole(table, row, "tp"));
    PR_ASSIGN(run.config.pipeline, whole(table, row, "pp"));
    PR_ASSIGN(run.config.data, whole(table, row, "dp"));
    PR_ASSIGN(run.config.interleave, whole(table, row, "pp_interleave"));
    run.config.interleave = std::max<std::int64_t>(1, run.config.interleave);
    run.config.overlap_backward_tensor = true;
    set_mode(run.config, table.text(row, "activation_mode"));
    set_estimate(point, shelf.estimate(run));
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_korthikanti_memory(const Csv& table, const Scoring&) {
  PR_TRY(table.require({"model", "mode", "params_and_optimizer_GiB_per_gpu", "activations_GiB_per_gpu"}));
  constexpr double kGiB = 1 << 30;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto use = paper_memory(table, row);
    for (const bool activations : {false, true}) {
      Point point = point_of(table, row, activations ? "memory_activations" : "memory_params_and_optimizer", "GiB");
      point.row.case_name = fmt::format("{}, {}, {}", table.text(row, "model"), table.text(row, "mode"),
                                        activations ? "activations" : "parameters and optimizer");
      point.model = table.text(row, "model");
      point.gpu = "A100";
      point.regime = "training memory";
      point.gate = "memory-closed-form";
      PR_ASSIGN(point.row.published,
                table.number(row, activations ? "activations_GiB_per_gpu" : "params_and_optimizer_GiB_per_gpu"));
      if (use) {
        fill(point, activations ? use->activations / kGiB : (use->weights + use->gradients + use->optimizer) / kGiB);
      } else {
        point.row.refused = use.error();
      }
      points.push_back(std::move(point));
    }
  }
  return points;
}

Result<std::vector<Point>> score_narayanan(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"params_billion", "heads", "hidden", "layers", "tp", "pp", "gpus", "global_batch",
                        "achieved_tflops_per_gpu_with_recompute"}));
  EvaluatorShelf shelf(scoring);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "throughput", "TFLOP/s per GPU");
    point.gpu = "A100";
    point.model = fmt::format("gpt {}B", table.text(row, "params_billion"));
    point.regime = "training, many nodes";
    point.apart = "the micro-batch and the interleaving are not given (1 and none are taken)";
    point.row.case_name = point.model;
    PR_ASSIGN(point.row.published, table.number(row, "achieved_tflops_per_gpu_with_recompute"));
    PR_ASSIGN(const std::int64_t hidden, whole(table, row, "hidden"));
    PR_ASSIGN(const std::int64_t heads, whole(table, row, "heads"));
    PR_ASSIGN(const std::int64_t layers, whole(table, row, "layers"));
    PR_ASSIGN(const std::int64_t gpus, whole(table, row, "gpus"));
    TrainingRun run = megatron_run(hidden, heads, layers);
    run.config.sequence = 2048;
    PR_ASSIGN(run.config.global_batch, whole(table, row, "global_batch"));
    PR_ASSIGN(run.config.tensor, whole(table, row, "tp"));
    PR_ASSIGN(run.config.pipeline, whole(table, row, "pp"));
    run.config.data =
        std::max<std::int64_t>(1, gpus / std::max<std::int64_t>(1, run.config.tensor * run.config.pipeline));
    run.config.recompute = Recompute::full;
    const auto estimate = shelf.estimate(run);
    // The paper's count of operations, its equation 3: 8 per weight and token with recomputation, all scores.
    const double flops = analytic::model_flops(run.shape, run.config, false);
    const double head = 6 * analytic::table_weights(run.shape) * static_cast<double>(run.config.global_batch) * 2048;
    const double counted = (flops - head) * 4 / 3 + head;
    if (estimate) point.basis = estimate->basis;
    fill(point, estimate ? Result<double>(counted / estimate->time.seconds / static_cast<double>(gpus) * 1e-12)
                         : Result<double>(tl::unexpected(estimate.error())));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
