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
#include "report/human.h"
#include "report/progress.h"
#include "report/simulate_report.h"

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

Result<study::Case> case_of(const study::Study& study, const std::string& wanted) {
  const std::vector<study::Case> cases = study::cases_of(study.scenario);
  std::vector<std::string> ids;
  for (const study::Case& c : cases) ids.push_back(report::case_id(c.name, c.switching_time));
  const std::string& id = wanted.empty() ? study.scenario.baseline : wanted;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (ids[i] == id || (wanted.empty() && cases[i].name == id)) return cases[i];
  }
  return fail(ErrorCode::usage,
              fmt::format("no case '{}' in the scenario\n  hint: there are {}", id, fmt::join(ids, ", ")));
}

struct OcsTime {
  Time value;
  std::string note;
};

// Dark, settle, link-up and relock of the scenario's own switch; nothing where the catalog does not know it.
std::optional<OcsTime> ocs_time(const study::Study& study, const catalog::Catalog& catalog) {
  const model::Switching& s = study.scenario.switching;
  const Result<catalog::Ocs> ocs = catalog.ocs(s.ocs);
  if (!ocs) return std::nullopt;
  const auto term = [](const std::optional<model::Distribution>& given, const catalog::Figure<Time>& figure) {
    if (given) return std::optional(given->typical);
    return figure.known() ? std::optional(time_from_seconds(catalog::range_of(figure).base)) : std::nullopt;
  };
  const std::optional<Time> dark = term(s.dark, ocs->dark);
  const std::optional<Time> settle = term(s.settle, ocs->settle);
  if (!dark || !settle) return std::nullopt;
  const Time total = *dark + *settle + s.link_up.typical + s.relock.typical;
  return OcsTime{total, fmt::format("{} needs {}: dark {}, settle {}, link-up {}, relock {}", ocs->name,
                                    report::time_label(total), report::time_label(*dark), report::time_label(*settle),
                                    report::time_label(s.link_up.typical), report::time_label(s.relock.typical))};
}

// Switching times to try: the one asked for, else that of the scenario's switch and the sweep.
Result<std::vector<Time>> times_of(const study::Study& study, const std::optional<OcsTime>& ocs,
                                   const std::string& wanted) {
  if (!wanted.empty()) {
    PR_ASSIGN(const Time time, parse_time(wanted));
    return std::vector<Time>{time};
  }
  std::vector<Time> times = study.scenario.switching.times;
  if (ocs) times.push_back(ocs->value);
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

Result<analysis::WindowReport> report_of(const WindowsOptions& options, const ScenarioInput& input) {
  report::Progress reading(report::stderr_is_terminal());
  PR_ASSIGN(const study::Study study, study::make_study(input.loaded.scenario, input.catalog, [&](std::size_t files) {
              reading.show(files, 0, "reading traces");
            }));
  PR_ASSIGN(const study::Case wanted, case_of(study, options.on));
  PR_ASSIGN(const model::RunResult run, study::run_case(study, input.catalog, wanted));
  const std::optional<OcsTime> ocs = ocs_time(study, input.catalog);
  PR_ASSIGN(const std::vector<Time> times, times_of(study, ocs, options.switching_time));
  analysis::WindowReport report = analysis::make_window_report(run, stages_of(study.graph), times);
  report.title = fmt::format("{}: {}", study.scenario.name, report::case_id(wanted.name, wanted.switching_time));
  report.notes = study.notes;
  if (ocs && options.switching_time.empty()) report.notes.push_back(ocs->note);
  report.closed_form = closed_form(study.scenario);
  PR_ASSIGN(const std::optional<PaysUntil> pays, pays_until(study, input.catalog, options));
  if (!pays) return report;
  report.pays_until = pays->until;
  report.break_even_overhead = pays->overhead;
  report.notes.push_back(pays->note);
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
