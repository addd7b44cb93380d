#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/reproduce_rows.h"
#include "published/reproduce.h"
#include "report/files.h"
#include "report/progress.h"
#include "study/opus_physics.h"

namespace photonrail::cli {
namespace {

using Rows = std::vector<model::ReproduceRow>;

// The catalog's name for what targets.csv calls a model.
std::string catalog_model(const std::string& name) { return name + "-80b-opus"; }

model::ReproduceRow row_of(const study::Rung& rung, const std::string& id, const std::string& name, bool reasons) {
  model::ReproduceRow row;
  row.id = fmt::format("{}{}{}", id, kOwnRow, rung.id);
  row.case_name = name;
  row.quantity = reasons ? fmt::format("step time: {}", rung.reason)
                         : "step time: the same traces by Photonrail's own physics, in true units";
  row.unit = "ns";
  row.ours = static_cast<double>(rung.step_ns);
  row.source = "own physics; no figure is published";
  return row;
}

// The same run by Photonrail's own physics: the whole ladder of reasons, or the last rung with the same workload.
Result<Rows> own_physics(const published::Target& target, const workload::TraceSet& traces, const std::string& id,
                         const std::string& name, bool reasons) {
  study::OpusJob job;
  job.model = catalog_model(target.model);
  study::LadderOptions options;
  options.own_physics_only = !reasons;
  PR_ASSIGN(const std::vector<study::Rung> rungs, study::physics_ladder(traces, target.config, job, options));
  Rows rows;
  for (const study::Rung& rung : rungs) {
    if (rung.refused.empty()) rows.push_back(row_of(rung, id, name, reasons));
  }
  return rows;
}

published::ReproduceOptions options_of(const ReproduceOptions& options) {
  published::ReproduceOptions out;
  out.only = options.only;
  out.threads = thread_count(options.threads);
  if (options.physics == Physics::published) return out;
  const bool reasons = options.physics == Physics::reasons;
  out.beside = [reasons](const published::Target& target, const workload::TraceSet& traces, const std::string& id,
                         const std::string& name) { return own_physics(target, traces, id, name, reasons); };
  return out;
}

std::string rendered(const Rows& rows, Format format, const report::TextStyle& style) {
  if (format == Format::json) return rows_json(rows);
  if (format == Format::csv) return rows_csv(rows);
  return rows_text(rows, style);
}

}  // namespace

Status run(const ReproduceOptions& options) {
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  report::Progress progress(report::stderr_is_terminal());
  PR_ASSIGN(const Rows rows, published::reproduce_opus(options.data, options_of(options),
                                                       [&](std::size_t done, std::size_t all, const std::string& id) {
                                                         progress.show(done, all, id);
                                                       }));
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"reproduce.txt", rows_text(rows, {})},
                                             {"reproduce.json", rows_json(rows)},
                                             {"reproduce.csv", rows_csv(rows)}}));
  }
  return print(rendered(rows, options.format, output_style()));
}

}  // namespace photonrail::cli
