#include "cli/study_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "cli/network_costs.h"
#include "cli/switch_text.h"
#include "cli/window_stats.h"
#include "model/scenario_describe.h"
#include "report/progress.h"
#include "report/simulate_report.h"
#include "study/names.h"
#include "workload/training.h"

namespace photonrail::cli {
namespace {

template <class T>
std::string name_of(T value) {
  for (const auto& entry : names_of(value)) {
    if (entry.value == value) return std::string(entry.name);
  }
  return "";
}

bool switches(const study::Case& c) { return c.policy && !study::is_static(*c.policy); }

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines generated_lines(const model::Scenario& s) {
  const model::TransformerModel& m = s.model;
  const model::Training& t = s.training;
  Lines lines;
  lines.emplace_back("model", fmt::format("{}: {} layers, hidden {}, {} heads ({} key/value), MLP {} x {} matrices",
                                          m.catalog.empty() ? "own" : m.catalog, m.layers, m.hidden, m.heads,
                                          m.kv_heads, m.feed_forward, m.feed_forward_matrices));
  lines.emplace_back("step", fmt::format("{} sequences of {} tokens, {} micro-batches, {}, {}, {}, recompute {}",
                                         t.global_batch, t.sequence, t.microbatches, name_of(t.schedule),
                                         name_of(t.precision), name_of(t.sharding), name_of(t.recompute)));
  lines.emplace_back("memory", "capacity is not checked");
  lines.emplace_back("parallelism", fmt::format("data {} x pipeline {} x tensor {}", s.parallelism.data,
                                                s.parallelism.pipeline, s.parallelism.tensor));
  return lines;
}

Lines workload_lines(const study::Study& study) {
  if (study.scenario.workload.trace.empty()) return generated_lines(study.scenario);
  Lines lines{{"trace", study.scenario.workload.trace}};
  for (const std::string& note : study.notes) lines.emplace_back("", note);
  return lines;
}

Power gpu_power(const study::Study& study) {
  if (study.scenario.cost.gpu_power.watts > 0) return study.scenario.cost.gpu_power;
  return {study.gpu.power.known() ? catalog::range_of(study.gpu.power).base : 0};
}

std::string gpu_power_source(const study::Study& study, const catalog::Catalog& catalog) {
  if (study.scenario.cost.gpu_power.watts > 0) return "the scenario, cost.gpu_power";
  if (!study.gpu.power.known()) return "not known: " + study.gpu.power.unknown;
  return fmt::format("catalog {}: {}", study.gpu.name, catalog.source_text(study.gpu.power.source));
}

std::string peak_source(const study::Study& study, const catalog::Catalog& catalog) {
  const auto precision = study.scenario.training.precision;
  const auto& figure = precision == model::Precision::fp32  ? study.gpu.fp32
                       : precision == model::Precision::fp8 ? study.gpu.fp8
                                                            : study.gpu.bf16;
  return fmt::format("catalog {}, {} dense: {}", study.gpu.name, name_of(precision),
                     catalog.source_text(figure.source));
}

void set_workload(report::SimulateInputs& in, const study::Study& study) {
  in.workload_lines = workload_lines(study);
  if (!study.scenario.workload.trace.empty()) return;
  in.tokens_per_step = study.scenario.training.global_batch * study.scenario.training.sequence;
  in.model_flops = workload::model_flops(workload::make_training_job(study.scenario, study.rates));
  in.model_flops_source = "matrix products of forward and backward pass, from the model's dimensions";
}

// Nothing where no policy switches.
std::vector<std::string> switch_lines(const study::Study& study, const std::vector<study::Case>& cases,
                                      const SwitchText& text) {
  if (std::none_of(cases.begin(), cases.end(), switches)) return {};
  if (!study.scenario.switching.times.empty()) {
    return {fmt::format("switching times swept; {} added to each", text.added)};
  }
  if (!text.own) return {text.own_text.substr(0, text.own_text.find('\n'))};
  return {text.own_text, fmt::format("and on top: {}", text.added)};
}

report::SimulateInputs inputs_of(const ScenarioInput& input, const study::Study& study) {
  report::SimulateInputs in;
  in.scenario = study.scenario;
  in.version = PHOTONRAIL_VERSION;
  in.scenario_hash = input.hash;
  in.scenario_text = model::show_scenario(input.loaded);
  in.gpu_peak = study.rates.peak;
  in.gpu_peak_source = peak_source(study, input.catalog);
  in.gpu_power = gpu_power(study);
  in.gpu_power_source = gpu_power_source(study, input.catalog);
  set_workload(in, study);
  return in;
}

report::CaseOutcome outcome_of(study::CaseRun&& run, const std::string& photonic_network, std::optional<Time> own) {
  const bool photonic = run.spec.policy.has_value();
  report::CaseOutcome outcome{run.spec.name,      photonic, run.spec.switching_time,
                              std::move(run.run), {},       photonic ? photonic_network : run.spec.name};
  if (switches(run.spec) && !run.spec.switching_time) outcome.own_switching_time = own;
  if (outcome.run) outcome.windows = window_stats(*outcome.run, report::used_switching_time(outcome));
  return outcome;
}

}  // namespace

Result<SimulatedReport> simulate(const ScenarioInput& input, unsigned threads, bool show_progress) {
  report::Progress progress(show_progress);
  PR_ASSIGN(const study::Study study, study::make_study(input.loaded.scenario, input.catalog, [&](std::size_t files) {
              progress.show(files, 0, "reading traces");
            }));
  const std::vector<study::Case> cases = study::cases_of(study.scenario);
  if (cases.empty()) {
    return fail(ErrorCode::invalid_input,
                "the scenario names no case to run\n  hint: set control.policies or "
                "electrical.fabrics");
  }
  report::SimulateInputs in = inputs_of(input, study);
  const SwitchText switching = switch_text(study.scenario.switching, input.catalog);
  in.switch_lines = switch_lines(study, cases, switching);
  // Times are worth reporting even where nobody sells the parts.
  NetworkCosts costs;
  Result<NetworkCosts> priced = network_costs(study.scenario, input.catalog);
  if (priced)
    costs = std::move(*priced);
  else
    in.workload_lines.emplace_back("not priced", priced.error().message);
  in.networks = std::move(costs.all);
  auto runs = study::run_cases(study, input.catalog, cases, threads,
                               [&](std::size_t done) { progress.show(done, cases.size(), "simulating"); });
  SimulatedReport result;
  const bool asks_photonic = !input.loaded.scenario.control.policies.empty();
  for (study::CaseRun& run : runs) {
    if (!run.run) result.failures.push_back(run.run.error());
    if (run.run) result.answers = result.answers || run.spec.policy.has_value() == asks_photonic;
    in.cases.push_back(outcome_of(std::move(run), costs.photonic, switching.own));
  }
  result.report = report::make_simulate_report(in);
  return result;
}

}  // namespace photonrail::cli
