#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/window_count.h"
#include "analysis/window_report.h"
#include "base/units_text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/pays.h"
#include "cli/scenario_input.h"
#include "cli/switch_text.h"
#include "report/human.h"
#include "report/progress.h"
#include "report/simulate_report.h"
#include "study/names.h"

namespace photonrail::cli {
namespace {

// A directory, an archive, or ASTRA-sim's DIRECTORY/PREFIX is a trace; what ends in .toml is a scenario.
bool is_scenario(const std::string& path) { return path.ends_with(".toml"); }

// The scenario that a bare trace stands for: its ranks on an electrical rail-optimised network.
Result<ScenarioInput> read_trace(const WindowsOptions& options) {
  const std::string text = fmt::format(
      "name = \"traces\"\n[workload]\ntrace = '{}'\n[cluster]\ndomain = {}\ngpu = '{}'\n[electrical]\n"
      "fabrics = [\"rail_optimised\"]\n",
      std::filesystem::absolute(options.source.file).lexically_normal().string(), options.domain, options.gpu);
  PR_ASSIGN(model::LoadedScenario loaded,
            model::parse_scenario(text, "scenario of " + options.source.file, options.source.sets));
  PR_ASSIGN(catalog::Catalog catalog, read_catalog(options.source.catalog_directory));
  return ScenarioInput{std::move(loaded), std::move(catalog), ""};
}

bool switches(const study::Case& c) { return c.policy && !study::is_static(*c.policy); }

// For "provisioned@25ms" of a policy that the scenario has, but not at that time.
std::string sweep_hint(const std::vector<study::Case>& cases, const std::string& id) {
  const std::size_t at = id.find('@');
  if (at == std::string::npos) return "";
  const Result<Time> time = parse_time(id.substr(at + 1));
  const std::string name = id.substr(0, at);
  const bool known =
      std::any_of(cases.begin(), cases.end(), [&](const study::Case& c) { return switches(c) && c.name == name; });
  if (!time || !known) return "";
  return fmt::format("; for this one add --set 'switching.times=[\"{}\"]'", report::time_label(*time));
}

Result<study::Case> case_of(const study::Study& study, const std::string& wanted) {
  const std::vector<study::Case> cases = study::cases_of(study.scenario);
  std::vector<std::string> ids;
  for (const study::Case& c : cases) ids.push_back(report::case_id(c.name, c.switching_time));
  const std::string& id = wanted.empty() ? study.scenario.baseline : wanted;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (ids[i] == id || (wanted.empty() && cases[i].name == id)) return cases[i];
  }
  return fail(ErrorCode::usage, fmt::format("no case '{}' in the scenario\n  hint: there are {}{}", id,
                                            fmt::join(ids, ", "), sweep_hint(cases, id)));
}

// Switching times to try: the one asked for, else that of the scenario's switch and the sweep.
Result<std::vector<Time>> times_of(const study::Study& study, std::optional<Time> own, const std::string& wanted) {
  if (!wanted.empty()) {
    PR_ASSIGN(const Time time, parse_time(wanted));
    if (time < Time{}) return fail(ErrorCode::usage, "--switching-time: a time of less than nothing");
    return std::vector<Time>{time};
  }
  std::vector<Time> times = study.scenario.switching.times;
  if (own) times.push_back(*own);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

std::optional<std::int64_t> closed_form(const model::Scenario& s) {
  if (!s.workload.trace.empty()) return std::nullopt;
  analysis::WindowCountInputs inputs;
  inputs.schedule = s.training.schedule;
  inputs.sharding = s.training.sharding;
  inputs.reshard_after_forward = s.training.reshard_after_forward;
  inputs.tied_embeddings = s.model.tied_embeddings;
  inputs.stages = s.parallelism.pipeline;
  inputs.microbatches = s.training.microbatches;
  inputs.data = s.parallelism.data;
  return analysis::closed_form_windows(inputs);
}

std::uint32_t stages_of(const model::TaskGraph& graph) {
  const auto last = std::max_element(graph.stage_of.begin(), graph.stage_of.end());
  return last == graph.stage_of.end() ? 1 : *last + 1;
}

// On the scenario's own switch, or how to name a time where nobody knows it.
std::string switch_note(const SwitchText& switching) {
  if (switching.own) return "switch " + switching.own_text;
  return switching.own_text + "; or here: --switching-time '25 ms'";
}

// The command that tells what a step takes at the time most likely meant: the longest tried.
std::string prediction(const WindowsOptions& options, const std::vector<Time>& times) {
  const std::string time = times.empty() ? "25 ms" : report::time_label(times.back());
  const std::string sweep = fmt::format("--set 'switching.times=[\"{}\"]'", time);
  if (is_scenario(options.source.file)) return fmt::format("photonrail simulate {} {}", options.source.file, sweep);
  return fmt::format("photonrail simulate, with a scenario whose [workload] trace is this one, and {}", sweep);
}

std::string no_traffic(const WindowsOptions& options, const model::Scenario& scenario) {
  const std::string how = is_scenario(options.source.file) ? "--set cluster.domain=N" : "--domain N";
  return fmt::format("All traffic stays in scale-up domains of {}; {} makes them smaller.", scenario.cluster.domain,
                     how);
}

Status add_pays(analysis::WindowReport& report, const study::Study& study, const catalog::Catalog& catalog,
                const WindowsOptions& options) {
  PR_ASSIGN(const PaysUntil pays, pays_until(study, catalog, options));
  // Who asks for no price may not miss the answer.
  if (pays.until || !options.gpu_price.empty()) report.notes.push_back(pays.note);
  if (!pays.until) return {};
  report.pays_until = pays.until;
  report.break_even_overhead = pays.overhead;
  report.pays_for = pays.compared;
  return {};
}

Result<analysis::WindowReport> report_of(const WindowsOptions& options, const ScenarioInput& input) {
  report::Progress reading(report::stderr_is_terminal());
  PR_ASSIGN(const study::Study study, study::make_study(input.loaded.scenario, input.catalog, [&](std::size_t files) {
              reading.show(files, 0, "reading traces");
            }));
  PR_ASSIGN(const study::Case wanted, case_of(study, options.on));
  PR_ASSIGN(const model::RunResult run, study::run_case(study, input.catalog, wanted));
  const SwitchText switching = switch_text(study.scenario.switching, input.catalog);
  PR_ASSIGN(const std::vector<Time> times, times_of(study, switching.own, options.switching_time));
  analysis::WindowReport report = analysis::make_window_report(run, stages_of(study.graph), times);
  report.title = fmt::format("{}: {}", study.scenario.name, report::case_id(wanted.name, wanted.switching_time));
  report.notes = study.notes;
  if (options.switching_time.empty()) report.notes.push_back(switch_note(switching));
  report.run_switches = !run.switches.empty();
  report.prediction = prediction(options, times);
  report.no_traffic = no_traffic(options, study.scenario);
  report.closed_form = closed_form(study.scenario);
  PR_TRY(add_pays(report, study, input.catalog, options));
  return report;
}

}  // namespace

Status run(const WindowsOptions& options) {
  const bool scenario = is_scenario(options.source.file);
  PR_ASSIGN(const ScenarioInput input, scenario ? read_scenario(options.source) : read_trace(options));
  PR_ASSIGN(const analysis::WindowReport report, report_of(options, input));
  if (options.format == Format::json) return print(analysis::to_json(report));
  if (options.format == Format::csv) return print(analysis::to_csv(report));
  return print(analysis::to_text(report));
}

}  // namespace photonrail::cli
