// Measured serving: TTFT and TPOT of closed loops, and the offline throughput of in-flight batching.
//
// Columns of serving_silicon: `batch_or_concurrency` clients send prompts of `isl` tokens and want `osl`. tp,
// attention_dp, moe_tp, moe_ep: of one instance. In part of the rows tp * attention_dp is moe_tp * moe_ep although the
// id names the GPUs as moe_tp = moe_ep: those rows are read as the id says.
//
// Scored apart, whatever the error: precision not given; models that may speculate (the tables do not say whether the
// engine did); more requests than the cache holds, so that requests queue; TTFT where requests queue behind each other
// (concurrency x input beyond the prefill budget); disaggregated rows, whose load is not given.
#include <fmt/format.h>

#include <algorithm>

#include "inference/serving.h"
#include "inference/serving_loop.h"
#include "validation/inference_rows.h"
#include "validation/scorers.h"
#include "validation/serving_setup.h"

namespace photonrail::validation {
namespace {

using inference::Plan;
using inference::RequestTimes;

std::int64_t whole(const Csv& table, std::size_t row, std::string_view column) {
  return static_cast<std::int64_t>(std::max(1.0, table.number_or_none(row, column).value_or(1)));
}

// GPUs of a rack-scale NVLink domain, or of a board.
std::int64_t domain_of(const catalog::Gpu& gpu) {
  return gpu.domain.known() ? static_cast<std::int64_t>(catalog::range_of(gpu.domain).base) : 8;
}

inference::Parallel parallel_of(const Csv& table, std::size_t row, const InferenceSetup& setup) {
  inference::Parallel p;
  p.domain = domain_of(setup.gpu);
  p.tensor = whole(table, row, "tp");
  p.pipeline = whole(table, row, "pp");
  p.attention_data = whole(table, row, "attention_dp");
  const std::int64_t moe_tp = whole(table, row, "moe_tp");
  const std::int64_t moe_ep = whole(table, row, "moe_ep");
  if (setup.model.experts == 0) return p;
  const bool squared = moe_tp == moe_ep && moe_tp > 1 && p.tensor * p.attention_data == moe_tp * moe_ep;
  if (squared) {
    p.tensor = p.attention_data > 1 ? 1 : moe_tp;
    p.attention_data = p.attention_data > 1 ? moe_tp : 1;
  }
  p.expert = std::min(moe_ep, p.tensor * p.attention_data);
  return p;
}

Result<InferenceSetup> setup_of(const Csv& table, std::size_t row, const Scoring& scoring) {
  InferenceSetup setup;
  PR_ASSIGN(setup.model, model_of(table.text(row, "model"), scoring.catalog));
  PR_ASSIGN(setup.gpu, gpu_of(table.text(row, "system"), scoring.catalog));
  const std::string& backend = table.text(row, "backend");
  PR_ASSIGN(setup.engine, inference::engine_of(backend));
  PR_ASSIGN(setup.precision, precision_of(table.text(row, "precision"), setup.model, backend));
  setup.parallel = parallel_of(table, row, setup);
  return setup;
}

struct Load {
  double input = 0;
  double output = 0;
  double concurrency = 0;
  std::optional<inference::Disaggregation> split;
  std::int64_t prefill_tp = 1;
  std::int64_t decode_tp = 1;
};

Result<Load> load_of(const Csv& table, std::size_t row) {
  Load load;
  PR_ASSIGN(load.input, table.number(row, "isl"));
  PR_ASSIGN(load.output, table.number(row, "osl"));
  if (table.text(row, "mode") != "disagg") {
    PR_ASSIGN(load.concurrency, table.number(row, "batch_or_concurrency"));
    return load;
  }
  inference::Disaggregation split;
  PR_ASSIGN(split.prefill_workers, table.number(row, "prefill_workers"));
  PR_ASSIGN(split.decode_workers, table.number(row, "decode_workers"));
  PR_ASSIGN(split.decode_batch, table.number(row, "decode_batch"));
  load.prefill_tp = whole(table, row, "prefill_tp");
  load.decode_tp = whole(table, row, "decode_tp");
  load.split = split;
  return load;
}

Result<RequestTimes> evaluate(const InferenceSetup& setup, const Load& load, double of_nominal, PlanShelf& shelf) {
  if (!load.split) {
    PR_ASSIGN(const Plan* plan, shelf.plan(setup));
    return inference::continuous(*plan, load.concurrency, {of_nominal * load.input, of_nominal * load.output});
  }
  InferenceSetup prefill = setup;
  InferenceSetup decode = setup;
  prefill.parallel.tensor = load.prefill_tp;
  decode.parallel.tensor = load.decode_tp;
  PR_ASSIGN(const Plan* first, shelf.plan(prefill));
  PR_ASSIGN(const Plan* second, shelf.plan(decode));
  return inference::disaggregated(*first, *second, *load.split, {load.input, load.output});
}

// Who ran the benchmark, and how its client sends.
struct Client {
  double shortest = 1;     // of the nominal lengths
  bool warmed_up = false;  // two rounds before those that count

  double mean() const { return (1 + shortest) / 2; }  // of the nominal lengths
};

// The note of a row names its collection. InferenceMAX (SemiAnalysisAI/InferenceX): lengths between 0.8 and 1 of the
// nominal ones, ten requests for each client, all counted. AIConfigurator's own runs ("source_file=data/"): fixed
// lengths, two rounds of warm-up, ten that count (eval/benchmarks/genai_perf_runner.py).
Client client_of(const Csv& table, std::size_t row) {
  const bool noted = table.column("data_origin_note").has_value();
  const bool own = noted && table.text(row, "data_origin_note").find("source_file=data/") != std::string::npos;
  return own ? Client{1, true} : Client{0.8, false};
}

// What the published scripts set beside the engine's defaults, for TensorRT-LLM.
// InferenceX, Llama 70B on B200 (benchmarks/70b_fp8_b200_trt_slurm.sh): passes of 16,384 tokens; at 1024 in, 1024 out
// and fewer than 8 GPUs batch_wait_timeout_iters 20 and batch_wait_max_tokens_ratio 0.9: prompts wait for up to 20
// passes.
//   AIConfigurator (its generator of deployments): passes of the largest batch, one prompt and 1,500 tokens.
void apply_recipe(const Load& load, const Client& client, InferenceSetup& setup) {
  if (setup.engine.name != "trtllm" || load.split) return;
  if (client.warmed_up) {
    setup.engine.prefill_budget = static_cast<std::int64_t>(load.concurrency + load.input) + 1500;
    return;
  }
  if (setup.gpu.name != "B200" || setup.model.name != "llama-3.1-70b") return;
  setup.engine.prefill_budget = 16'384;
  if (load.input > 1024 || load.output > 1024 || setup.parallel.tensor >= 8) return;
  setup.engine.prompt_wait = 20;
  setup.engine.prompt_wait_fill = 0.9;
}

// What the clients of a benchmark see: a whole run of them.
Result<double> mean_ttft(const InferenceSetup& setup, const Load& load, const Client& client, PlanShelf& shelf) {
  PR_ASSIGN(const Plan* plan, shelf.plan(setup));
  inference::LoopOptions options;
  options.concurrency = static_cast<std::int64_t>(load.concurrency);
  options.shortest = client.shortest;
  options.requests = (client.warmed_up ? 12 : 10) * options.concurrency;
  options.uncounted = client.warmed_up ? 2 * options.concurrency : 0;
  PR_ASSIGN(const inference::LoopTimes times, inference::closed_loop(*plan, {load.input, load.output}, options));
  return times.ttft;
}

// Why the row is scored apart, from its set-up alone.
std::string apart_of(const Csv& table, std::size_t row, const InferenceSetup& setup, const Load& load,
                     PlanShelf& shelf) {
  if (table.text(row, "precision").empty()) return "precision not given";
  if (may_speculate(setup.model)) return "the engine may speculate";
  if (load.split) return "disaggregated: load not given";
  const Result<const Plan*> plan = shelf.plan(setup);
  if (plan && (*plan)->largest_batch(inference::held_tokens(**plan, {load.input, load.output})) < load.concurrency)
    return "requests queue for the cache";
  return "";
}

std::string regime_of(const Csv& table, std::size_t row, const InferenceSetup& setup) {
  return fmt::format("{} {} {}", is_dense(setup.model) ? "dense" : "experts", table.text(row, "mode"),
                     table.text(row, "backend"));
}

}  // namespace

Result<std::vector<Point>> score_serving(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"backend",      "model",
                        "system",       "precision",
                        "mode",         "isl",
                        "osl",          "batch_or_concurrency",
                        "tp",           "pp",
                        "attention_dp", "moe_tp",
                        "moe_ep",       "prefill_workers",
                        "prefill_tp",   "decode_workers",
                        "decode_tp",    "decode_batch",
                        "ttft_ms",      "tpot_ms"}));
  PlanShelf shelf;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point ttft = point_of(table, row, "ttft", "ms");
    Point tpot = point_of(table, row, "tpot", "ms");
    ttft.row.published = table.number_or_none(row, "ttft_ms");
    tpot.row.published = table.number_or_none(row, "tpot_ms");
    const Client client = client_of(table, row);
    Result<InferenceSetup> setup = setup_of(table, row, scoring);
    const Result<Load> load = load_of(table, row);
    ttft.model = tpot.model = table.text(row, "model");
    if (!setup || !load) {
      ttft.row.refused = tpot.row.refused = !setup ? setup.error() : load.error();
      ttft.apart = tpot.apart = "set-up not given or not known";
      points.push_back(std::move(ttft));
      points.push_back(std::move(tpot));
      continue;
    }
    if (load) apply_recipe(*load, client, *setup);
    ttft.gpu = tpot.gpu = setup->gpu.name;
    ttft.regime = tpot.regime = regime_of(table, row, *setup);
    ttft.row.case_name = tpot.row.case_name =
        fmt::format("{}, {} clients, {} in, {} out", text_of(*setup), load->concurrency, load->input, load->output);
    const std::string apart = apart_of(table, row, *setup, *load, shelf);
    const bool unqueued = load->concurrency * load->input <= static_cast<double>(setup->engine.prefill_budget);
    ttft.apart = apart.empty() && !unqueued ? "requests queue behind each other's prefill" : apart;
    tpot.apart = apart;
    if (is_dense(setup->model) && has_kernel_tables(setup->gpu) && apart.empty()) {
      tpot.gate = "tpot-dense";
      if (unqueued) ttft.gate = "ttft-unqueued";
    }
    const Result<RequestTimes> times = evaluate(*setup, *load, client.mean(), shelf);
    if (times) {
      ttft.basis = tpot.basis = times->basis;
      const Result<double> first = load->split ? Result<double>(times->ttft) : mean_ttft(*setup, *load, client, shelf);
      fill(ttft, first.map([](double seconds) { return seconds * 1e3; }));
      fill(tpot, times->tpot * 1e3);
    } else {
      ttft.row.refused = tpot.row.refused = times.error();
    }
    points.push_back(std::move(ttft));
    points.push_back(std::move(tpot));
  }
  return points;
}

// In-flight batching at its maximum: all requests are there from the beginning, so as many run as the cache holds.
Result<std::vector<Point>> score_inflight(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"trtllm_version", "model", "gpu", "precision", "tp", "pp", "input_len", "output_len",
                        "output_tokens_per_s_total"}));
  PlanShelf shelf;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point point = point_of(table, row, "throughput", "output tokens/s");
    PR_ASSIGN(point.row.published, table.number(row, "output_tokens_per_s_total"));
    PR_ASSIGN(const double input, table.number(row, "input_len"));
    PR_ASSIGN(const double output, table.number(row, "output_len"));
    point.model = table.text(row, "model");
    point.regime = fmt::format("in-flight, {} input", input >= 1024 ? "long" : "short");
    const auto make = [&]() -> Result<double> {
      InferenceSetup setup;
      PR_ASSIGN(setup.model, model_of(table.text(row, "model"), scoring.catalog));
      PR_ASSIGN(setup.gpu, gpu_of(table.text(row, "gpu"), scoring.catalog));
      std::string format = table.text(row, "precision");
      std::transform(format.begin(), format.end(), format.begin(),
                     [](char c) { return static_cast<char>(std::tolower(c)); });
      PR_ASSIGN(setup.precision, precision_of(format, setup.model, "trtllm"));
      PR_ASSIGN(setup.engine, inference::engine_of("trtllm"));
      setup.parallel.tensor = whole(table, row, "tp");
      setup.parallel.pipeline = whole(table, row, "pp");
      setup.parallel.domain = domain_of(setup.gpu);
      if (setup.model.experts > 0) setup.parallel.expert = setup.parallel.tensor;
      point.gpu = setup.gpu.name;
      point.row.case_name = fmt::format("{}, offline, {} in, {} out", text_of(setup), input, output);
      PR_ASSIGN(const Plan* plan, shelf.plan(setup));
      const double held = plan->largest_batch(input + output);
      if (held < 1)
        return fail(ErrorCode::infeasible, plan->shortfall_text(plan->memory(1, input + output), input + output));
      const RequestTimes times = inference::continuous(
          *plan, std::min(held, static_cast<double>(setup.engine.largest_batch)), {input, output});
      point.basis = times.basis;
      return times.tokens_per_second;
    };
    fill(point, make());
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
