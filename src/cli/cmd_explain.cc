#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/output.h"
#include "cli/study_report.h"
#include "report/explain.h"
#include "report/files.h"
#include "report/progress.h"

namespace photonrail::cli {
namespace {

// JSON begins with a brace; TOML never does.
bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Result<report::Report> report_of(const ExplainOptions& options) {
  PR_ASSIGN(const std::string text, report::read_file(options.source.file));
  if (is_json(text)) return report::read_report(text, options.source.file);
  if (text.starts_with("simulate: ") || text.starts_with("case,")) {
    return fail(
        ErrorCode::invalid_input,
        fmt::format("{}: a report for readers\n  hint: give the report.json that lies beside it", options.source.file));
  }
  PR_TRY(check_is_training_scenario(options.source.file, text));
  PR_ASSIGN(const ScenarioInput input, read_scenario(options.source));
  PR_ASSIGN(SimulatedReport simulated, simulate(input, thread_count(options.threads), report::stderr_is_terminal()));
  return std::move(simulated.report);
}

}  // namespace

Status run(const ExplainOptions& options) {
  PR_ASSIGN(const report::Report report, report_of(options));
  if (options.metric.empty()) return print(report::explain_list(report, output_style()));
  PR_ASSIGN(const std::string told, report::explain(report, options.metric, options.on, output_style()));
  return print(told);
}

}  // namespace photonrail::cli
