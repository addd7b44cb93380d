#include <fmt/format.h>

#include "analytic/estimate.h"
#include "base/digest.h"
#include "report/human.h"
#include "report/simulate_report.h"
#include "study/names.h"

namespace photonrail::analytic {
namespace {

using report::human;

constexpr const char* kStep = "src/analytic/step.h";
constexpr const char* kMemory = "src/analytic/memory.h";

struct Part {
  const char* id;
  const char* label;
  const char* rule;
  double StepTime::* field;
};
constexpr Part kParts[] = {
    {"compute", "computation", "of the stage that ends last, all its passes", &StepTime::compute},
    {"tensor", "tensor-parallel collectives, exposed", "what no computation hides", &StepTime::tensor},
    {"gather", "gathering of sharded parameters, exposed", "what no computation hides", &StepTime::gather},
    {"messages", "pipeline messages inside passes", "calibrated interleaved schedules only", &StepTime::messages},
    {"bubble", "waiting for other stages", "with the messages of the first and last micro-batches", &StepTime::bubble},
    {"reduce", "gradient reductions, exposed", "after the last backward pass", &StepTime::reduce},
    {"optimizer", "optimizer", "memory traffic of its states", &StepTime::optimizer},
    {"update", "gathering of updated parameters", "after the optimizer, exposed", &StepTime::update},
};

struct MemoryPart {
  const char* id;
  const char* label;
  double MemoryUse::* field;
};
constexpr MemoryPart kMemoryParts[] = {
    {"memory_weights", "memory: weights", &MemoryUse::weights},
    {"memory_gradients", "memory: gradients", &MemoryUse::gradients},
    {"memory_optimizer", "memory: optimizer states", &MemoryUse::optimizer},
    {"memory_activations", "memory: activations", &MemoryUse::activations},
    {"memory_workspace", "memory: workspace and reserve", &MemoryUse::workspace},
};

std::vector<std::string> assumptions_of(const study::Study& study, const Estimate& e) {
  std::vector<std::string> all = {
      "fabrics and policies: rooflines with the scenario's efficiencies and each communication alone on the fabric, so "
      "a "
      "lower bound of `photonrail simulate`, equal where nothing else waits (src/analytic/scenario_step.h)",
      fmt::format("matmul_efficiency {}, memory_efficiency {}", study.scenario.cluster.matmul_efficiency,
                  study.scenario.cluster.memory_efficiency),
      "gradients kept in 4 bytes, Adam with 12 bytes of state a parameter (src/analytic/memory.h)"};
  if (e.calibrated) {
    all.push_back(
        fmt::format("calibrated: measured kernels, basis {}; {}", operators::name_of(e.calibrated->basis), e.kernels));
    all.push_back(
        "calibrated: products of a long run below those of the tables by what Azure's sustained products show; "
        "collectives over the scenario's NICs, not its photonic ports (src/analytic/training_evaluator.cc)");
  }
  return all;
}

void add_metrics(report::Report& report, const std::vector<std::string>& assumptions) {
  const auto add = [&](const char* id, const char* label, const char* unit, const char* formula, const char* rule,
                       const char* source) {
    report.metrics.push_back({id, label, unit, formula, rule, assumptions, source});
  };
  add("iteration_time", "step time", "s", "", "longest chain of dependent work", kStep);
  for (const Part& p : kParts) add(p.id, p.label, "s", "", p.rule, kStep);
  add("throughput", "tokens per second", "tokens/s", "tokens / iteration_time", "of all GPUs", "");
  add("mfu", "model operations over peak", "ratio", "model_flops / iteration_time / peak",
      "6 per weight and token, and causal attention", "");
  for (const MemoryPart& p : kMemoryParts) add(p.id, p.label, "B", "", "of a GPU of the first pipeline stage", kMemory);
  add("memory", "memory of one GPU", "B",
      "memory_weights + memory_gradients + memory_optimizer + memory_activations + memory_workspace", "sum", "");
}

void add_case(report::Report& report, report::Case c, const StepTime* time, const MemoryUse& memory) {
  c.values.assign(report.metrics.size(), std::nullopt);
  const auto set = [&](const char* id, double value) { c.values[*report::find_metric(report, id)] = value; };
  Digest digest;
  digest.add(c.id);
  if (time != nullptr) {
    set("iteration_time", time->seconds);
    digest.add(fmt::format("{:.12g}", time->seconds));
    for (const Part& p : kParts) set(p.id, time->*p.field);
  }
  for (const MemoryPart& p : kMemoryParts) set(p.id, memory.*p.field);
  c.digest = digest.hex();
  report.cases.push_back(std::move(c));
}

std::string cell(const report::Report& report, const report::Case& c, const char* id, const char* unit) {
  return human(report::value_of(report, c, id), unit);
}

report::Table time_table(const report::Report& report) {
  report::Table table{"Step in closed form",
                      {{"case", false},
                       {"step", true},
                       {"computation", true},
                       {"tensor", true},
                       {"waiting", true},
                       {"gradients", true},
                       {"optimizer", true},
                       {"update", true},
                       {"MFU", true}},
                      {},
                      {}};
  for (const report::Case& c : report.cases) {
    if (!c.refusal.empty()) {
      table.notes.push_back(fmt::format("{}: {}", c.id, c.refusal));
      continue;
    }
    table.rows.push_back({c.id, cell(report, c, "iteration_time", "s"), cell(report, c, "compute", "s"),
                          cell(report, c, "tensor", "s"), cell(report, c, "bubble", "s"),
                          cell(report, c, "reduce", "s"), cell(report, c, "optimizer", "s"),
                          cell(report, c, "update", "s"), cell(report, c, "mfu", "ratio")});
  }
  return table;
}

report::Table memory_table(const Estimate& e) {
  std::string title = "Memory of one GPU";
  if (e.pipeline > 1) {
    title += fmt::format(", of the first of {} pipeline stages: the one that holds most activations", e.pipeline);
  }
  report::Table table{std::move(title), {{"", false}, {"", true}}, {}, {}};
  for (const MemoryPart& p : kMemoryParts) table.rows.push_back({p.label, human(e.memory.*p.field, "B")});
  table.rows.push_back({"sum", human(e.memory.total(), "B")});
  if (e.capacity <= 0) return table;
  table.rows.push_back({"capacity", human(e.capacity, "B")});
  if (const std::string text = shortfall_text(e); !text.empty()) table.notes.push_back(text);
  return table;
}

report::Table list_table(std::string title, const std::vector<std::string>& lines) {
  report::Table table{std::move(title), {}, {}, {}};
  for (const std::string& line : lines) table.notes.push_back("- " + line);
  return table;
}

}  // namespace

std::string shortfall_text(const Estimate& e) {
  const double short_by = e.memory.total() - e.capacity;
  if (e.capacity <= 0 || short_by <= 0) return "";
  return fmt::format("does not fit: a GPU{} is {} short of {}; recompute, shard or split further",
                     e.pipeline > 1 ? " of the first pipeline stage" : "", human(short_by, "B"),
                     human(e.memory.total(), "B"));
}

report::Report estimate_report(const study::Study& study, const Estimate& e, const ScenarioText& text) {
  const model::Scenario& s = study.scenario;
  report::Report report;
  report.command = "estimate";
  report.version = text.version;
  report.scenario_name = s.name;
  report.scenario_text = text.toml;
  report.scenario_hash = text.hash;
  report.seed = s.seed;
  report.header = {{"GPUs", fmt::format("{} x {}", s.cluster.gpus, study.gpu.title)},
                   {"split", fmt::format("data {} x pipeline {} x tensor {}", s.parallelism.data,
                                         s.parallelism.pipeline, s.parallelism.tensor)},
                   {"batch", fmt::format("{} sequences of {} tokens in {} micro-batches", s.training.global_batch,
                                         s.training.sequence, s.training.microbatches)}};
  report.constants = {
      {"tokens", "tokens of a step", e.tokens, "count", "the scenario"},
      {"model_flops", "operations that the mathematics needs", e.model_flops, "FLOP", "src/analytic/training_config.h"},
      {"peak", "dense peak of all GPUs at the precision", e.peak, "FLOP/s", "catalog, " + study.gpu.name}};
  const std::vector<std::string> assumptions = assumptions_of(study, e);
  add_metrics(report, assumptions);
  for (const CaseEstimate& one : e.cases) {
    report::Case c;
    c.id = report::case_id(one.spec.name, one.spec.switching_time);
    c.name = one.spec.name;
    c.kind = one.spec.electrical ? "electrical" : "photonic";
    c.switching_time = one.spec.switching_time;
    if (!one.time) c.refusal = one.time.error().message;
    add_case(report, std::move(c), one.time ? &*one.time : nullptr, e.memory);
  }
  if (e.calibrated || e.uncalibrated) {
    report::Case c;
    c.id = c.name = c.kind = "calibrated";
    if (e.uncalibrated) c.refusal = e.uncalibrated->message;
    add_case(report, std::move(c), e.calibrated ? &e.calibrated->time : nullptr, e.memory);
  }
  report::derive(report);
  Digest digest;
  for (const report::Case& c : report.cases) digest.add(c.digest);
  report.digest = digest.hex();
  report.tables = {time_table(report), memory_table(e), list_table("Assumptions", assumptions)};
  return report;
}

}  // namespace photonrail::analytic
