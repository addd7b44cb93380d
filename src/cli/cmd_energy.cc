#include "cli/commands.h"
#include "cli/energy_input.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "energy/report.h"
#include "report/files.h"
#include "report/progress.h"
#include "report/render.h"

namespace photonrail::cli {
namespace {

std::string rendered(const report::Report& report, Format format) {
  if (format == Format::json) return report::render_json(report);
  if (format == Format::csv) return report::render_csv(report);
  return report::render_text(report, output_style());
}

Result<report::Report> answer(const EnergyOptions& options) {
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.source.catalog_directory));
  PR_ASSIGN(const EnergyInput input, read_energy(options.source.file, options.source.sets, catalog));
  PR_ASSIGN(const energy::StepEnergy energy, energy::step_energy(input.doc.value, input.work, catalog));
  PR_ASSIGN(const auto experiment, energy_experiment(options.source.file, options.source.sets, catalog));
  report::Progress progress(report::stderr_is_terminal() && !options.quiet);
  const sensitivity::RunOptions run{thread_count(options.threads), [&](std::size_t done, std::size_t of) {
                                      progress.show(done, of, "sampling constants");
                                    }};
  return energy::energy_report({input.doc, input.work, energy, catalog, experiment, PHOTONRAIL_VERSION, run});
}

}  // namespace

Status run(const EnergyOptions& options) {
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const report::Report report, answer(options));
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"report.txt", report::render_text(report, {})},
                                             {"report.json", report::render_json(report)},
                                             {"report.csv", report::render_csv(report)},
                                             {"scenario.toml", report.scenario_text}}));
  }
  return print(rendered(report, options.format));
}

}  // namespace photonrail::cli
