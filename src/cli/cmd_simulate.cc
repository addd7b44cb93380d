#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/study_report.h"
#include "report/files.h"
#include "report/progress.h"
#include "report/render.h"

namespace photonrail::cli {
namespace {

std::string rendered(const report::Report& report, Format format, const report::TextStyle& style) {
  if (format == Format::json) return report::render_json(report);
  if (format == Format::csv) return report::render_csv(report);
  return report::render_text(report, style);
}

Status write_all(const report::Report& report, const std::string& directory) {
  return report::write_files(directory, {{"report.txt", report::render_text(report, {})},
                                         {"report.json", report::render_json(report)},
                                         {"report.csv", report::render_csv(report)},
                                         {"scenario.toml", report.scenario_text}});
}

// A case that cannot be built (too few ports) is an answer. One that deadlocks, or a scenario of which no photonic
// policy runs, is a failure of the whole, told after the report.
Status verdict(const SimulatedReport& simulated) {
  const auto& failures = simulated.failures;
  const auto bad =
      std::find_if(failures.begin(), failures.end(), [](const Error& e) { return e.code != ErrorCode::infeasible; });
  if (bad != failures.end()) return fail(*bad);
  if (!simulated.answers) return fail(failures.front());
  return {};
}

}  // namespace

Status run(const SimulateOptions& options) {
  PR_ASSIGN(const ScenarioInput input, read_scenario(options.source));
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  const bool progress = report::stderr_is_terminal() && !options.quiet;
  PR_ASSIGN(const SimulatedReport simulated, simulate(input, thread_count(options.threads), progress));
  if (!options.out.empty()) PR_TRY(write_all(simulated.report, options.out));
  PR_TRY(print(rendered(simulated.report, options.format, output_style())));
  return verdict(simulated);
}

}  // namespace photonrail::cli
