#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/reproduce_papers.h"
#include "cli/reproduce_rows.h"
#include "report/files.h"

namespace photonrail::cli {
namespace {

Result<Rows> rows_of(const ReproduceOptions& options) {
  if (options.paper == "photonic-fabric") return photonic_fabric_rows(options);
  if (options.data.empty()) {
    return fail(ErrorCode::usage, "reproduce opus needs --data DIR, the folder with targets.csv, traces/ and configs/");
  }
  return opus_rows(options);
}

// After everything has been printed: the exit status says that rows are missing.
Status refusals(const Rows& rows) {
  std::size_t refused = 0;
  bool deadlock = false;
  for (const model::ReproduceRow& row : rows) {
    if (!row.refused) continue;
    ++refused;
    deadlock = deadlock || row.refused->code == ErrorCode::deadlock;
  }
  if (refused == 0) return {};
  return fail(deadlock ? ErrorCode::deadlock : ErrorCode::incomplete,
              fmt::format("{} of {} rows could not be made; each of them says why", refused, rows.size()));
}

std::string rendered(const Rows& rows, Format format, const report::TextStyle& style) {
  if (format == Format::json) return rows_json(rows);
  if (format == Format::csv) return rows_csv(rows);
  return rows_text(rows, style);
}

}  // namespace

Status run(const ReproduceOptions& options) {
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const Rows rows, rows_of(options));
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"reproduce.txt", rows_text(rows, {})},
                                             {"reproduce.json", rows_json(rows)},
                                             {"reproduce.csv", rows_csv(rows)}}));
  }
  PR_TRY(print(rendered(rows, options.format, output_style())));
  return refusals(rows);
}

}  // namespace photonrail::cli
