#include "inference/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/digest.h"
#include "base/units_text.h"
#include "inference/pooled_memory.h"
#include "inference/report_metrics.h"
#include "report/human.h"

namespace photonrail::inference {
namespace {

using report::human;

std::string workers_text(const Candidate& c) {
  const auto degrees = [](const Parallel& p) {
    std::string text = fmt::format("tensor {}", p.tensor);
    if (p.pipeline > 1) text += fmt::format(" x pipeline {}", p.pipeline);
    if (p.attention_data > 1) text += fmt::format(" x attention_data {}", p.attention_data);
    if (p.expert > 1) text += fmt::format(", expert {}", p.expert);
    return text;
  };
  if (c.mode != Mode::disaggregated) return degrees(c.parallel);
  return fmt::format("{:.0f} prefill ({}), {:.0f} decode ({}; {:.0f} requests each)", c.prefill_workers,
                     degrees(c.prefill), c.decode_workers, degrees(c.parallel), c.decode_batch);
}

std::string requests_text(const Candidate& c, const RequestShape& request) {
  const char* what = c.mode == Mode::static_batch ? "static batch of" : "requests in flight:";
  return fmt::format("{} {:.0f}, {:.0f} tokens in, {:.0f} out", what, c.batch, request.input, request.output);
}

std::string formats_text(const Precision& p, bool sparse) {
  std::string text = fmt::format("weights {}, ", operators::name_of(p.weights));
  if (sparse) text += fmt::format("experts {}, ", operators::name_of(p.experts));
  return text + fmt::format("cache {}, attention {}, head {}", operators::name_of(p.kv),
                            operators::name_of(p.attention), operators::name_of(p.head));
}

std::string candidate_id(const Candidate& c) {
  const Parallel& p = c.parallel;
  std::string id = fmt::format("tp{}", p.tensor);
  if (p.pipeline > 1) id += fmt::format("_pp{}", p.pipeline);
  if (p.attention_data > 1) id += fmt::format("_dp{}", p.attention_data);
  if (p.expert > 1) id += fmt::format("_ep{}", p.expert);
  if (c.mode == Mode::disaggregated) {
    const Parallel& q = c.prefill;
    id = fmt::format("{:.0f}x{}_{:.0f}x_tp{}", c.decode_workers, id, c.prefill_workers, q.tensor);
    if (q.pipeline > 1) id += fmt::format("_pp{}", q.pipeline);
    if (q.attention_data > 1) id += fmt::format("_dp{}", q.attention_data);
    if (q.expert > 1) id += fmt::format("_ep{}", q.expert);
  }
  return fmt::format("{}_{}_b{:.0f}", id, config::enum_name(c.mode), c.batch);
}

Dtype mfu_format(const Deployment& setup) {
  return peak_format(setup.precision, setup.model.experts > 0, setup.kernels.rates());
}

std::string share(double part, double whole) { return whole > 0 ? human(part / whole, "ratio") : "-"; }

// The GPU reads from something whose own power nobody has given.
bool other_memory(const Deployment& setup) { return setup.pool || setup.scenario.memory.rate; }

std::string load_text(const RequestTimes& times) {
  return fmt::format("prefill workers at {}, decode workers hold {} of their requests",
                     human(times.prefill_load, "ratio"), human(times.decode_load, "ratio"));
}

// Copies of attention where prompts run; the engine's budget is that of each.
std::int64_t prompt_copies(const Candidate& c) {
  return c.mode == Mode::disaggregated ? c.prefill.attention_data : c.parallel.attention_data;
}

std::string budget_text(const Engine& engine, const Candidate& c) {
  const std::int64_t copies = prompt_copies(c);
  if (copies == 1) return fmt::format("{} tokens", engine.prefill_budget);
  return fmt::format("{} tokens on each of {} attention copies", engine.prefill_budget, copies);
}

report::Table key_table(const Deployment& setup, const Outcome& o) {
  report::Table table{"Result", {{"", false}, {"", true}, {"", false}}, {}, {}};
  const auto row = [&](const char* label, std::optional<double> value, const char* unit, std::string note) {
    table.rows.push_back({label, human(value, unit), std::move(note)});
  };
  const bool is_static = o.candidate.mode == Mode::static_batch;
  row("TTFT", o.times.ttft, "s", is_static ? "prefill of the whole batch" : "mean, queueing included");
  const bool several = tpot_of(setup, o).has_value();
  row("TPOT", tpot_of(setup, o), "s", several ? "(latency - TTFT) / (output - 1)" : "none: the answer is one token");
  if (several && o.candidate.mode == Mode::continuous) {
    row("  of it decoding", o.times.tpot - prompts_in_tpot(o), "s",
        fmt::format("a pass of the {:.1f} requests that decode in the mean", o.times.decoding));
    row("  of it prompts", prompts_in_tpot(o), "s", "of entering requests, which ride in the passes");
  }
  row("latency", o.times.latency, "s", "of a whole request");
  row("throughput", o.times.tokens_per_second, "tokens/s", "output tokens, whole system");
  row("  per GPU", o.per_gpu, "tokens/s", fmt::format("{:.0f} GPUs", o.gpus));
  row("  per box", o.per_box, "tokens/s", fmt::format("{} GPUs in a box", setup.domain));
  if (setup.power) {
    row("  per watt", o.times.tokens_per_second / o.plug_watts, "tokens/s",
        fmt::format("{} at the plug, {} of {} in each GPU", human(o.plug_watts, "W"), human(o.gpu_watts, "W"),
                    human(setup.power->limit, "W")));
    row("energy per token", o.joules_per_token, "J/token",
        other_memory(setup) ? "output tokens, nodes included; WITHOUT the power of the pool or other memory"
                            : "output tokens, nodes included");
  }
  if (o.dollars > 0) {
    row("  per dollar", o.times.tokens_per_second / o.dollars, "tokens/s",
        fmt::format("of {} for the GPUs with their servers", human(o.dollars, "USD")));
    row("cost per million tokens", o.dollars_per_token * 1e6, "USD", "output tokens, with electricity");
  }
  row("MFU", o.times.mfu, "ratio",
      fmt::format("of {}, the dense {} peak",
                  human(setup.kernels.rates().peak[static_cast<std::size_t>(mfu_format(setup))], "FLOP/s"),
                  operators::name_of(mfu_format(setup))));
  table.rows.push_back({"decoding is bound by", name_of(o.decode.bound), "the largest part of a decode pass"});
  if (o.candidate.mode == Mode::disaggregated) {
    table.rows.push_back({"limited by", limiting_station(o.times), load_text(o.times)});
  }
  return table;
}

// Of a kind of kernel that the pass has none of, nothing is said.
std::string basis_text(double seconds, Basis basis) { return seconds > 0 ? operators::name_of(basis) : "-"; }

report::Table step_table(const Deployment& setup, const Outcome& o) {
  report::Table table{
      "Where the time goes",
      {{"", false},
       {"decode pass", true},
       {"", true},
       {"calibration", false},
       {"prefill pass", true},
       {"", true},
       {"calibration", false}},
      {},
      {fmt::format("Decode: the whole batch at the middle of the answer. Prefill: {:.0f} whole prompts, "
                   "as the engine's budget of {} holds.",
                   o.prompts_per_pass, budget_text(setup.engine, o.candidate))}};
  const auto row = [&](const char* label, double StepTime::* field, Basis KernelBasis::* basis) {
    const auto cells = [&](const StepTime& pass) {
      table.rows.back().push_back(human(pass.*field, "s"));
      table.rows.back().push_back(share(pass.*field, pass.seconds));
      table.rows.back().push_back(basis != nullptr ? basis_text(pass.*field, pass.basis_of.*basis) : "");
    };
    table.rows.push_back({label});
    cells(o.decode);
    cells(o.prefill);
  };
  row("matrix products", &StepTime::linear, &KernelBasis::linear);
  row("attention", &StepTime::attention, &KernelBasis::attention);
  row("collectives", &StepTime::collective, &KernelBasis::collective);
  row("norms, activations, sampling", &StepTime::pointwise, &KernelBasis::pointwise);
  row("host and gaps", &StepTime::overhead, nullptr);
  row("whole pass", &StepTime::seconds, nullptr);
  table.rows.push_back({"bound by", name_of(o.decode.bound), "", "", name_of(o.prefill.bound), "", ""});
  return table;
}

report::Table memory_table(const Outcome& o) {
  report::Table table{"Memory of one GPU", {{"", false}, {"", true}, {"", true}}, {}, {}};
  const auto row = [&](const char* label, double bytes) {
    table.rows.push_back({label, human(bytes, "B"), share(bytes, o.memory.capacity)});
  };
  row("weights", o.memory.weights);
  row("cache, requests at their longest", o.memory.cache);
  row("activations", o.memory.activations);
  row("workspace", o.memory.workspace);
  row("kept free by the engine", o.memory.reserve);
  row("capacity", o.memory.capacity);
  table.rows.push_back({"largest batch that fits", fmt::format("{:.0f}", o.largest_batch), ""});
  return table;
}

report::Table list_table(std::string title, const std::vector<std::string>& lines) {
  report::Table table{std::move(title), {}, {}, {}};
  for (const std::string& line : lines) table.notes.push_back("- " + line);
  return table;
}

// Of the tables of matrix products, what each format of this result has. A product of no rows tells the format's basis.
std::string products_text(const Deployment& setup) {
  const auto format = [&](const char* what, Dtype dtype) {
    return fmt::format("{} {} {}", what, operators::name_of(dtype),
                       operators::name_of(setup.kernels.gemm_time(0, 1, 1, dtype).basis));
  };
  const Precision& p = setup.precision;
  std::string text =
      fmt::format("matrix products by format: {}, {}", format("weights", p.weights), format("head", p.head));
  if (setup.model.experts > 0) {
    text += fmt::format(", routed experts {} assumed (grouped products, by the tables of single ones)",
                        operators::name_of(p.experts));
  }
  if (setup.model.kv_rank > 0) text += ", absorbed latent attention assumed (likewise)";
  return text + "; beyond the edge of a table extended";
}

report::Table source_table(const Deployment& setup, const catalog::Catalog& catalog) {
  std::vector<std::string> lines = {fmt::format("kernels, at best: {}", setup.kernels.provenance()),
                                    products_text(setup),
                                    fmt::format("{}: {}", setup.gpu.name, catalog.source_text(setup.gpu.source)),
                                    fmt::format("{}: {}", setup.model.name, catalog.source_text(setup.model.source))};
  return list_table("Sources", lines);
}

std::vector<std::string> result_assumptions(const Deployment& setup, const Candidate& c) {
  std::vector<std::string> all = assumptions_of(setup, c);
  for (const std::string& line : setup.overrides) all.push_back("OVERRIDE: " + line);
  return all;
}

void add_case(report::Report& report, const std::vector<ReportMetric>& metrics, const Deployment& setup,
              const Outcome& o) {
  report::Case c;
  c.id = candidate_id(o.candidate);
  c.name = c.id;
  c.kind = config::enum_name(o.candidate.mode);
  Digest digest;
  for (const ReportMetric& m : metrics) {
    c.values.push_back(m.take ? m.take(setup, o) : std::nullopt);
    if (c.values.back()) digest.add(report::exact(*c.values.back()));
  }
  c.digest = digest.hex();
  if (other_memory(setup)) {
    c.sources.emplace_back("power", "without the power of the pool or other memory");
    c.sources.emplace_back("energy_per_token", "without the power of the pool or other memory");
  }
  if (o.candidate.mode == Mode::disaggregated) {
    c.sources.emplace_back("throughput_per_gpu", fmt::format("limited by {}", limiting_station(o.times)));
  }
  const auto calibrated = [&c](const char* metric, Basis basis) {
    c.sources.emplace_back(metric, fmt::format("calibration {}", operators::name_of(basis)));
  };
  calibrated("throughput", o.times.basis);
  calibrated("decode_step", o.decode.basis);
  calibrated("decode_linear", o.decode.basis_of.linear);
  calibrated("decode_attention", o.decode.basis_of.attention);
  calibrated("decode_collective", o.decode.basis_of.collective);
  calibrated("prefill_step", o.prefill.basis);
  calibrated("prefill_linear", o.prefill.basis_of.linear);
  calibrated("prefill_attention", o.prefill.basis_of.attention);
  calibrated("prefill_collective", o.prefill.basis_of.collective);
  report.cases.push_back(std::move(c));
}

report::Report begin(const InferenceDocument& doc, const Deployment& setup, std::string_view version,
                     const Candidate& shown, const std::vector<ReportMetric>& metrics,
                     const std::vector<std::string>& assumptions) {
  report::Report report;
  report.command = "infer";
  report.version = version;
  report.scenario_name = doc.value.name;
  config::OwnTable<InferenceScenario> as_run(doc.value);
  report.scenario_text = config::write_toml(as_run, {});
  Digest hash;
  hash.add(config::canonical_document(doc.value));
  report.scenario_hash = hash.hex();
  report.header = {
      {"model", fmt::format("{} ({} parameters, {} active)", setup.model.title,
                            report::with_separators(catalog::count_parameters(setup.model).total),
                            report::with_separators(catalog::count_parameters(setup.model).active))},
      {"formats", formats_text(setup.precision, setup.model.experts > 0)},
      {"GPU", fmt::format("{}, {} of memory at {}", setup.gpu.title, human(setup.kernels.rates().memory_bytes, "B"),
                          human(setup.kernels.rates().memory, "B/s"))},
      {"engine", fmt::format("{}, {} in a pass", setup.engine.name, budget_text(setup.engine, shown))}};
  for (const ReportMetric& m : metrics) {
    report.metrics.push_back(m.metric);
    report.metrics.back().assumptions = assumptions;
  }
  report.constants.push_back({"gpu_peak", "dense peak of one GPU that MFU is of",
                              setup.kernels.rates().peak[static_cast<std::size_t>(mfu_format(setup))], "FLOP/s",
                              fmt::format("catalog, {}, {}", setup.gpu.name, operators::name_of(mfu_format(setup)))});
  report.constants.push_back({"memory_rate", "memory bandwidth of one GPU", setup.kernels.rates().memory, "B/s",
                              setup.scenario.memory.rate ? setup.overrides.back() : "catalog, " + setup.gpu.name});
  report.constants.push_back(
      {"input_tokens", "tokens of a prompt", setup.request.input, "count", "the scenario, serving.input"});
  report.constants.push_back(
      {"output_tokens", "tokens of an answer", setup.request.output, "count", "the scenario, serving.output"});
  return report;
}

void finish(report::Report& report) {
  report::derive(report);
  Digest digest;
  for (const report::Case& c : report.cases) digest.add(c.digest);
  report.digest = digest.hex();
}

std::string limits_text(const SearchSpace& space) {
  std::string text;
  if (space.ttft_limit) text += fmt::format(", TTFT at most {}", to_text(*space.ttft_limit));
  if (space.tpot_limit) text += fmt::format(", TPOT at most {}", to_text(*space.tpot_limit));
  if (!text.empty()) return text.substr(2);
  return "none, so that a batch as large as fits may win with a long TTFT: set search.ttft_limit and search.tpot_limit";
}

// Batching, and with prefill apart the workers; the degrees in the table are those of decoding.
std::string batching_text(const Candidate& c) {
  if (c.mode != Mode::disaggregated) return config::enum_name(c.mode);
  std::string prefill = fmt::format("TP{}", c.prefill.tensor);
  if (c.prefill.pipeline > 1) prefill += fmt::format(" PP{}", c.prefill.pipeline);
  if (c.prefill.attention_data > 1) prefill += fmt::format(" DP{}", c.prefill.attention_data);
  return fmt::format("{:.0f} decode, {:.0f} prefill {}", c.decode_workers, c.prefill_workers, prefill);
}

report::Table search_table(const Deployment& setup, const SearchResult& result, bool energy) {
  report::Table table{"Pareto front: tokens per second and GPU against time per token",
                      {{"GPUs", true},
                       {"TP", true},
                       {"PP", true},
                       {"EP", true},
                       {"DP", true},
                       {"batching", false},
                       {"batch", true},
                       {"TTFT", true},
                       {"TPOT", true},
                       {"tokens/s/GPU", true},
                       {"tokens/s", true},
                       {"memory", true},
                       {"J/token", true},
                       {"MFU", true},
                       {"bound", false}},
                      {},
                      {"DP: copies of attention. No configuration that was tried beats one of these in both."}};
  const auto row = [&](const Outcome& o) {
    const Parallel& p = o.candidate.parallel;
    table.rows.push_back({fmt::format("{:.0f}", o.gpus), fmt::format("{}", p.tensor), fmt::format("{}", p.pipeline),
                          fmt::format("{}", p.expert), fmt::format("{}", p.attention_data), batching_text(o.candidate),
                          fmt::format("{:.0f}", o.candidate.batch), human(o.times.ttft, "s"),
                          human(tpot_of(setup, o), "s"), fmt::format("{:.1f}", o.per_gpu),
                          fmt::format("{:.0f}", o.times.tokens_per_second),
                          share(o.memory.total(), o.memory.capacity),
                          energy ? fmt::format("{:.3f}", o.joules_per_token) : "-", human(o.times.mfu, "ratio"),
                          name_of(o.decode.bound)});
  };
  for (const Outcome& o : result.front) row(o);
  return table;
}

// With the rate that the candidate shown gets from a pool.
Deployment of_candidate(Deployment setup, const Candidate& c) {
  if (setup.pool) PR_CHECK(use_pool(setup, c).has_value(), "a candidate that was evaluated");
  return setup;
}

// TensorRT-LLM is for NVIDIA GPUs only.
bool runs_elsewhere(const Deployment& setup) {
  return setup.engine.name.starts_with("trtllm") && setup.gpu.title.starts_with("AMD ");
}

bool same(const Outcome& a, const Outcome& b) { return candidate_id(a.candidate) == candidate_id(b.candidate); }

}  // namespace

std::vector<std::string> assumptions_of(const Deployment& setup, const Candidate& c) {
  std::vector<std::string> all = {
      "all requests have the same lengths; every GPU runs at the same speed; nothing fails",
      "no speculative decoding, no prefix cache, no adapters, no beam search",
      fmt::format("a prompt pass has at most {}{}; host work of {} per pass and {} for each sequence of an attention "
                  "copy",
                  budget_text(setup.engine, c), setup.engine.chunked_prefill ? ", prompts may be split" : "",
                  to_text(setup.engine.step_overhead), to_text(setup.engine.sequence_overhead)),
      fmt::format("MFU counts all products against the dense {} peak, the largest of the formats that they run in; "
                  "attention runs in {}",
                  operators::name_of(mfu_format(setup)), operators::name_of(setup.precision.attention))};
  if (setup.model.experts > 0) all.push_back("tokens choose experts uniformly; all ranks wait for the busiest");
  if (setup.precision.kv == Dtype::bf16 && setup.precision.weights != Dtype::bf16) {
    all.push_back("the cache is kept in bf16 although weights are not (model.kv)");
  }
  if (c.mode == Mode::continuous) all.push_back("steady state of a closed loop: a new request for each that ends");
  if (c.mode == Mode::disaggregated) {
    all.push_back(
        fmt::format("the cache goes from prefill to decode at {} for each GPU", human(setup.transfer_rate, "B/s")));
  }
  if (runs_elsewhere(setup)) {
    all.push_back(
        fmt::format("engine {} does not run on {}: its fusions and host times are taken all the same (vllm and "
                    "sglang run there)",
                    setup.engine.name, setup.gpu.title));
  }
  if (other_memory(setup)) {
    all.push_back(
        "energy and power leave out the pool or other memory itself: its bytes cost what those of the GPU's "
        "own memory cost, so joules beside those of GPUs with their own memory favour it");
  }
  if (setup.power) {
    all.push_back("energy: static and dynamic power of GPUs and nodes, constants of src/energy/constants.h");
  } else {
    all.push_back(fmt::format("no energy: the catalog does not know the power of {}", setup.gpu.name));
  }
  if (!setup.scenario.cost.gpu_price) all.push_back("nothing per dollar: no price is given (cost.gpu_price)");
  return all;
}

report::Report infer_report(const InferenceDocument& doc, const Deployment& setup, const Outcome& outcome,
                            const catalog::Catalog& catalog, std::string_view version) {
  const std::vector<ReportMetric> metrics = report_metrics();
  const std::vector<std::string> assumptions = result_assumptions(setup, outcome.candidate);
  report::Report report = begin(doc, setup, version, outcome.candidate, metrics, assumptions);
  report.header.emplace_back("GPUs", workers_text(outcome.candidate));
  report.header.emplace_back("requests", requests_text(outcome.candidate, setup.request));
  add_case(report, metrics, setup, outcome);
  finish(report);
  report.tables = {key_table(setup, outcome), step_table(setup, outcome), memory_table(outcome),
                   list_table("Assumptions", assumptions), source_table(setup, catalog)};
  return report;
}

report::Report search_report(const InferenceDocument& doc, const Deployment& searched, const SearchSpace& space,
                             const SearchResult& result, const catalog::Catalog& catalog, std::string_view version) {
  const std::vector<ReportMetric> metrics = report_metrics();
  const Candidate shown = result.best ? result.best->candidate : candidate_of(searched);
  const Deployment setup = of_candidate(searched, shown);
  const std::vector<std::string> assumptions = result_assumptions(setup, shown);
  report::Report report = begin(doc, setup, version, shown, metrics, assumptions);
  report.header.emplace_back("requests",
                             fmt::format("{:.0f} tokens in, {:.0f} out", setup.request.input, setup.request.output));
  report.header.emplace_back("limits", limits_text(space));
  report.header.emplace_back(
      "tried",
      fmt::format("{} configurations, {} of them beyond a limit; {} more do not fit the memory; {} sets of degrees do "
                  "not divide the model",
                  result.tried, result.too_slow, result.too_large, result.indivisible));
  if (result.best) {
    report.header.emplace_back(fmt::format("best by {}", config::enum_name(space.objective)),
                               fmt::format("{}, {}", workers_text(shown), requests_text(shown, setup.request)));
    add_case(report, metrics, setup, *result.best);
    report.baseline = report.cases.front().id;
  }
  for (const Outcome& o : result.front) {
    if (!same(o, *result.best)) add_case(report, metrics, setup, o);
  }
  finish(report);
  report.tables = {search_table(setup, result, setup.power.has_value())};
  if (result.best) {
    report.tables.push_back(key_table(setup, *result.best));
    report.tables.back().title = "The best";
    report.tables.push_back(step_table(setup, *result.best));
    report.tables.push_back(memory_table(*result.best));
  }
  report.tables.push_back(list_table("Assumptions", assumptions));
  report.tables.push_back(source_table(setup, catalog));
  return report;
}

}  // namespace photonrail::inference
