#include "inference/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "inference/metrics.h"
#include "inference/pooled_memory.h"

namespace photonrail::inference {
namespace {

// A table that only one mode uses is refused in the others, unless it says nothing but the defaults: a scenario that
// was printed with all its values stays one.
void refuse_table(InferenceDocument& doc, const char* table, bool plain) {
  if (plain || !doc.given(table)) return;
  const config::Span place = doc.places.find(table)->second.key;
  doc.diagnostics.error(
      place,
      fmt::format("[{}] has no meaning with serving.mode = \"{}\"", table, config::enum_name(doc.value.serving.mode)),
      "set serving.mode = \"disaggregated\", or remove the table");
}

bool is_plain(const ParallelChoice& p) {
  return p.tensor == 1 && p.pipeline == 1 && p.expert == 1 && p.attention_data == 1;
}
bool is_plain(const DisaggregatedChoice& d) {
  return d.prefill_workers == 1 && d.decode_workers == 1 && !d.decode_batch && !d.transfer_rate;
}

void need(InferenceDocument& doc, std::int64_t value, const char* key, std::int64_t other_value, const char* other) {
  const char* mode = config::enum_name(doc.value.serving.mode);
  const std::string path = std::string("serving.") + key;
  const std::string wrong = std::string("serving.") + other;
  if (other_value != 0) {
    doc.diagnostics.error(doc.span(wrong), fmt::format("{} has no meaning with serving.mode = \"{}\"", wrong, mode),
                          fmt::format("give {} in its place", path));
  } else if (value < 1) {
    const config::Span place = doc.given(path)             ? doc.span(path)
                               : doc.given("serving.mode") ? doc.span("serving.mode")
                                                           : doc.span("serving.input");
    doc.diagnostics.error(place, fmt::format("serving.mode = \"{}\" needs {} of at least 1", mode, path),
                          fmt::format("add {} = 16 to [serving]", key));
  }
}

void check_parallel(InferenceDocument& doc, const ParallelChoice& p, const std::string& table) {
  const std::int64_t ranks = p.tensor * p.attention_data;
  if (ranks % p.expert == 0) return;
  doc.diagnostics.error(
      doc.span(table + ".expert"),
      fmt::format("{}.expert = {} does not divide tensor x attention_data = {}", table, p.expert, ranks),
      "experts are spread over the ranks of one pipeline stage");
}

void check_memory_choice(InferenceDocument& doc) {
  const MemoryChoice& m = doc.value.memory;
  if (!m.pool.empty() && m.rate) {
    doc.diagnostics.error(doc.span("memory.rate"), "memory.rate and memory.pool both give the rate",
                          "leave one of them out");
  }
  if (!m.pool.empty()) return;
  for (const char* key : {"memory.sharers", "memory.hit_rate"}) {
    if (!doc.given(key)) continue;
    doc.diagnostics.error(doc.span(key), fmt::format("{} has no meaning without memory.pool", key),
                          "name the file that declares the pool");
  }
}

void check_inference(InferenceDocument& doc) {
  const InferenceScenario& s = doc.value;
  if (s.serving.mode == Mode::static_batch) {
    need(doc, s.serving.batch, "batch", s.serving.concurrency, "concurrency");
  } else {
    need(doc, s.serving.concurrency, "concurrency", s.serving.batch, "batch");
  }
  if (s.serving.mode != Mode::disaggregated) {
    refuse_table(doc, "disaggregated", is_plain(s.disaggregated));
    refuse_table(doc, "prefill", is_plain(s.prefill));
  }
  check_parallel(doc, s.parallel, "parallel");
  check_parallel(doc, s.prefill, "prefill");
  check_memory_choice(doc);
  const bool by_tpot = s.search.tpot_limit || s.search.objective == Objective::tpot;
  if (by_tpot && s.serving.output == 1) {
    doc.diagnostics.error(doc.span("serving.output"), "[search] asks for a time per output token, but answers have one",
                          "give serving.output of 2 or more, or leave search.tpot_limit and that objective out");
  }
  if (s.memory.as_published && !s.memory.rate && !s.memory.capacity && !s.memory.hit_rate) {
    doc.diagnostics.error(doc.span("memory.as_published"),
                          "memory.as_published = true, but no figure of [memory] is given",
                          "give memory.rate, memory.capacity or memory.hit_rate");
  }
}

template <class T>
void lay_over(T& value, const std::optional<T>& given) {
  if (given) value = *given;
}

Result<Engine> engine_with(const EngineChoice& choice) {
  PR_ASSIGN(Engine engine, engine_of(choice.name));
  lay_over(engine.prefill_budget, choice.prefill_budget);
  lay_over(engine.chunked_prefill, choice.chunked_prefill);
  lay_over(engine.separate_prefill, choice.separate_prefill);
  lay_over(engine.largest_batch, choice.largest_batch);
  lay_over(engine.step_overhead, choice.step_overhead);
  lay_over(engine.sequence_overhead, choice.sequence_overhead);
  lay_over(engine.kernel_gap, choice.kernel_gap);
  lay_over(engine.rank_spread, choice.rank_spread);
  lay_over(engine.request_overhead, choice.request_overhead);
  lay_over(engine.memory_fraction, choice.memory_fraction);
  lay_over(engine.workspace, choice.workspace);
  lay_over(engine.block_tokens, choice.block_tokens);
  return engine;
}

std::string why(const MemoryChoice& memory) {
  const std::string source = memory.source.empty() ? "the scenario, without a source" : memory.source;
  return memory.as_published ? fmt::format("{}; as published, not checked against any limit", source) : source;
}

// Lays [memory] over the GPU and says so.
std::vector<std::string> lay_memory(const MemoryChoice& memory, catalog::Gpu& gpu) {
  std::vector<std::string> said;
  const auto lay = [&](auto& figure, const auto& given, const char* what) {
    if (!given) return;
    const std::string own = figure.known() ? to_text(figure.value ? *figure.value : *figure.low) : "unknown";
    said.push_back(fmt::format("{} of one GPU is {} in place of {} ({})", what, to_text(*given), own, why(memory)));
    const std::string source = figure.source;
    figure = {};
    figure.value = *given;
    figure.source = source;
  };
  lay(gpu.memory, memory.capacity, "memory");
  // The rate goes to the kernels apart: their utilisation was measured at the GPU's own.
  if (memory.rate) {
    catalog::Gpu shown = gpu;
    lay(shown.memory_rate, memory.rate, "memory bandwidth");
  }
  return said;
}

}  // namespace

Status use_memory(Deployment& setup) {
  const MemoryChoice& memory = setup.scenario.memory;
  setup.gpu = setup.listed;
  setup.overrides = lay_memory(memory, setup.gpu);
  PR_ASSIGN(setup.kernels, operators::KernelModel::make(setup.gpu));
  if (memory.rate) setup.kernels = setup.kernels.with_memory_rate(*memory.rate);
  return {};
}

Result<InferenceDocument> load_inference(const std::string& file, std::span<const std::string> sets) {
  PR_ASSIGN(InferenceDocument doc, config::load_document<InferenceScenario>(file, sets, {}, check_inference));
  doc.value.memory.pool = pool_path(doc);
  return doc;
}

Result<InferenceDocument> parse_inference(std::string_view text, std::string_view name,
                                          std::span<const std::string> sets) {
  return config::parse_document<InferenceScenario>(text, name, sets, {}, check_inference);
}

Parallel parallel_of(const ParallelChoice& choice, std::int64_t domain) {
  Parallel parallel;
  parallel.tensor = choice.tensor;
  parallel.pipeline = choice.pipeline;
  parallel.expert = choice.expert;
  parallel.attention_data = choice.attention_data;
  parallel.domain = domain;
  return parallel;
}

Result<Deployment> resolve(const InferenceScenario& scenario, const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Model model, catalog.model(scenario.model.catalog));
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu(scenario.gpu.catalog));
  PR_ASSIGN(operators::KernelModel kernels, operators::KernelModel::make(gpu));
  PR_ASSIGN(const Engine engine, engine_with(scenario.engine));
  if (!scenario.gpu.domain && !gpu.domain.known()) {
    return fail(
        ErrorCode::invalid_input,
        fmt::format("the catalog does not know the scale-up domain of {}\n  hint: add domain = 8 to [gpu]", gpu.name));
  }
  const ModelChoice& m = scenario.model;
  Deployment setup{
      .scenario = scenario,
      .model = model,
      .gpu = gpu,
      .kernels = std::move(kernels),
      .precision = {m.weights, m.experts.value_or(m.weights), m.kv, m.attention, m.head},
      .engine = engine,
      .request = {static_cast<double>(scenario.serving.input), static_cast<double>(scenario.serving.output)},
      .domain =
          scenario.gpu.domain ? *scenario.gpu.domain : static_cast<std::int64_t>(catalog::range_of(gpu.domain).base),
      .power = std::nullopt,
      .node = energy::node_of(gpu, {}),
      .transfer_rate = 0,
      .listed = gpu,
      .pool = std::nullopt,
      .overrides = {}};
  PR_TRY(use_memory(setup));
  PR_TRY(find_pool(setup, catalog));
  if (setup.pool) PR_TRY(use_pool(setup, candidate_of(setup)));
  if (auto power = energy::power_of(gpu)) setup.power = *power;
  const auto& rate = scenario.disaggregated.transfer_rate;
  setup.transfer_rate = rate ? bytes_per_second(*rate) : setup.kernels.rates().network;
  return setup;
}

Result<Plan> compile(const Deployment& setup, const Parallel& parallel) {
  return Plan::compile(setup.model, setup.kernels, setup.precision, parallel, setup.engine);
}

}  // namespace photonrail::inference
