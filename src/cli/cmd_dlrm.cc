#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "recommendation/report.h"
#include "report/files.h"
#include "report/render.h"

namespace photonrail::cli {
namespace {

Result<report::Report> answer(const DlrmOptions& options) {
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.source.catalog_directory));
  PR_ASSIGN(const auto doc, recommendation::load_scenario(options.source.file, options.source.sets, catalog));
  if (options.map) {
    PR_ASSIGN(const recommendation::Map map, recommendation::make_map(doc.value, catalog));
    return recommendation::map_report(doc, map, PHOTONRAIL_VERSION);
  }
  PR_ASSIGN(const recommendation::Comparison comparison, recommendation::compare(doc.value, catalog));
  return recommendation::dlrm_report(doc, comparison, PHOTONRAIL_VERSION);
}

}  // namespace

Status run(const DlrmOptions& options) {
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const report::Report report, answer(options));
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"report.txt", report::render_text(report, {})},
                                             {"report.json", report::render_json(report)},
                                             {"report.csv", report::render_csv(report)},
                                             {"scenario.toml", report.scenario_text}}));
  }
  if (options.format == Format::json) return print(report::render_json(report));
  if (options.format == Format::csv) return print(report::render_csv(report));
  return print(report::render_text(report, output_style()));
}

}  // namespace photonrail::cli
