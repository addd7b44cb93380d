#include <fmt/format.h>

#include <fstream>

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

// What `validate` and `reproduce` leave with --format json and --out: an array of rows, which no TOML file begins like.
bool is_list_of_rows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char bracket = 0, next = 0;
  return file >> bracket >> next && bracket == '[' && (next == '{' || next == ']');
}

Result<report::Report> report_of(const ExplainOptions& options) {
  if (is_list_of_rows(options.source.file)) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: a list of rows of validate or reproduce, not a report\n  hint: each row has its own "
                            "source, case and basis; explain takes the report.json of another command",
                            options.source.file));
  }
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
