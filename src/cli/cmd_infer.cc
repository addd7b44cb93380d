#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "inference/report.h"
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

Result<report::Report> searched(const inference::InferenceDocument& doc, const inference::Deployment& setup,
                                const catalog::Catalog& catalog) {
  const inference::SearchSpace space = inference::filled(setup);
  PR_ASSIGN(const inference::SearchResult result, inference::search(setup, space));
  if (!result.best) return fail(ErrorCode::infeasible, inference::nothing_text(result));
  return inference::search_report(doc, setup, space, result, catalog, PHOTONRAIL_VERSION);
}

Result<report::Report> answer(const InferOptions& options, const inference::InferenceDocument& doc) {
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.source.catalog_directory));
  PR_ASSIGN(const inference::Deployment setup, inference::resolve(doc.value, catalog));
  if (options.search) return searched(doc, setup, catalog);
  PR_ASSIGN(const inference::Outcome outcome, inference::evaluate(setup, inference::candidate_of(setup)));
  return inference::infer_report(doc, setup, outcome, catalog, PHOTONRAIL_VERSION);
}

}  // namespace

Status run(const InferOptions& options) {
  PR_ASSIGN(const inference::InferenceDocument doc,
            inference::load_inference(options.source.file, options.source.sets));
  if (options.show) return print(config::show_document(doc));
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const report::Report report, answer(options, doc));
  if (!options.out.empty()) PR_TRY(write_all(report, options.out));
  return print(rendered(report, options.format));
}

}  // namespace photonrail::cli
