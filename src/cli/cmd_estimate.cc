#include "analytic/estimate.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "report/files.h"
#include "report/render.h"

namespace photonrail::cli {
namespace {

std::string rendered(const report::Report& report, Format format) {
  if (format == Format::json) return report::render_json(report);
  if (format == Format::csv) return report::render_csv(report);
  return report::render_text(report, output_style());
}

Status write_all(const report::Report& report, const std::string& directory) {
  return report::write_files(directory, {{"report.txt", report::render_text(report, {})},
                                         {"report.json", report::render_json(report)},
                                         {"report.csv", report::render_csv(report)},
                                         {"scenario.toml", report.scenario_text}});
}

}  // namespace

Status run(const EstimateCommandOptions& options) {
  PR_ASSIGN(const ScenarioInput input, read_scenario(options.source));
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const study::Study study, study::make_study(input.loaded.scenario, input.catalog, {}));
  PR_ASSIGN(const analytic::Estimate estimate,
            analytic::estimate(study, input.catalog, {!options.rooflines_only, options.overlap_tensor}));
  const report::Report report = analytic::estimate_report(
      study, estimate, {model::scenario_toml(input.loaded.scenario), input.hash, PHOTONRAIL_VERSION});
  if (!options.out.empty()) PR_TRY(write_all(report, options.out));
  PR_TRY(print(rendered(report, options.format)));
  // The figures stand, as those of `check` do; a script must still see that the step cannot run.
  if (const std::string shortfall = analytic::shortfall_text(estimate); !shortfall.empty()) {
    return fail(ErrorCode::infeasible, shortfall);
  }
  return {};
}

}  // namespace photonrail::cli
