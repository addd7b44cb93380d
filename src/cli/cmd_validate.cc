// `validate`: measured tables beside ours, row by row, and how far off by gate, table, model, GPU and regime.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/reproduce_rows.h"
#include "cli/scenario_input.h"
#include "report/files.h"
#include "report/human.h"
#include "report/json_writer.h"
#include "report/progress.h"
#include "report/render.h"
#include "validation/score.h"

namespace photonrail::cli {
namespace {

using validation::Point;
using validation::Summary;

std::string percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }
std::string signed_percent(double ratio) { return fmt::format("{:+.1f} %", ratio * 100); }

report::Table summary_table(const std::string& title, const std::vector<Summary>& all, std::string_view prefix) {
  report::Table table{
      title,
      {{"", false}, {"rows"}, {"refused"}, {"mean"}, {"median"}, {"bias"}, {"P90"}, {"worst"}, {"at", false}},
      {},
      {}};
  for (const Summary& s : all) {
    if (!s.group.starts_with(prefix)) continue;
    const std::string name = s.group.substr(prefix.size() + 1);
    const std::string refused = fmt::format("{}", s.refused);
    if (s.points == 0) {
      table.rows.push_back({name, "0", refused, "", "", "", "", "", ""});
      continue;
    }
    table.rows.push_back({name, fmt::format("{}", s.points), refused, percent(s.mape), percent(s.median),
                          signed_percent(s.bias), percent(s.p90), percent(s.worst), s.worst_id});
  }
  return table;
}

// Of the rows of a gate, those whose every kernel was measured on the row's own GPU.
std::string measured_only(const std::vector<Point>& points, std::string_view gate) {
  std::vector<const Point*> measured;
  for (const Point& point : points) {
    if (point.gate == gate && point.basis == operators::Basis::measured) measured.push_back(&point);
  }
  const Summary s = validation::summarise("", measured);
  return s.points == 0 ? "-" : fmt::format("{} of {}", percent(s.mape), s.points);
}

report::Table gate_table(const std::vector<Summary>& all, const std::vector<Point>& points) {
  report::Table table{"Gates: mean absolute percentage error against its limit",
                      {{"gate", false},
                       {"limit"},
                       {"mean"},
                       {"", false},
                       {"rows"},
                       {"refused"},
                       {"all kernels measured"},
                       {"rows of the gate", false}},
                      {},
                      {}};
  for (const validation::Gate& gate : validation::gates()) {
    for (const Summary& s : all) {
      if (s.group != fmt::format("gate {}", gate.name)) continue;
      const bool met = s.points > 0 && s.mape <= gate.largest_mape + 1e-12;
      table.rows.push_back({std::string(gate.name), percent(gate.largest_mape), s.points > 0 ? percent(s.mape) : "",
                            s.points == 0 ? "no rows"
                            : met         ? "met"
                                          : "MISSED",
                            fmt::format("{}", s.points), fmt::format("{}", s.refused), measured_only(points, gate.name),
                            std::string(gate.what)});
    }
  }
  return table;
}

std::string summary_text(const validation::Validation& result, const std::vector<Summary>& all,
                         const report::TextStyle& style) {
  std::string out = report::render_table(gate_table(all, result.points), style) + "\n";
  const std::pair<const char*, const char*> kParts[] = {
      {"table", "By table and quantity"},
      {"model", "By model"},
      {"gpu", "By GPU"},
      {"regime", "By regime"},
      {"basis", "By basis of the kernels"},
      {"apart", "Scored apart"},
      {"aggregated", "Aggregated serving as peers were scored: every row, whatever is unknown of it"}};
  for (const auto& [prefix, title] : kParts) {
    const report::Table table = summary_table(title, all, prefix);
    if (!table.rows.empty()) out += report::render_table(table, style) + "\n";
  }
  report::Table peers{
      "What peers reach (figures of the folder, not ours)",
      {{"tool", false}, {"rows", false}, {"metric", false}, {"value"}, {"unit", false}, {"note", false}},
      {},
      {}};
  for (const validation::PeerScore& p : result.peers)
    peers.rows.push_back({p.tool, p.dataset, p.metric, p.value, p.unit, p.note});
  if (!peers.rows.empty()) out += report::render_table(peers, style) + "\n";
  std::size_t refused = 0;
  for (const Point& point : result.points) refused += point.row.refused ? 1U : 0U;
  out += fmt::format("{} points, {} of them refused (each says why with --format csv or json)\n", result.points.size(),
                     refused);
  for (const std::string& file : result.passed_over) out += fmt::format("passed over: {} (no scorer)\n", file);
  return out +
         "Nothing of the model is fitted to these tables; kernels are calibrated from kernel and collective tables.\n";
}

std::string points_json(const std::vector<Point>& points) {
  report::JsonWriter json;
  json.begin_array();
  for (const Point& point : points) {
    const model::ReproduceRow& row = point.row;
    json.begin_object(true);
    json.field("id", row.id);
    json.field("case", row.case_name);
    json.field("quantity", row.quantity);
    json.field("unit", row.unit);
    json.field("published", row.published);
    json.field("ours", row.ours);
    json.field("relative_error", row.relative_error);
    json.field("source", row.source);
    json.field("model", point.model);
    json.field("gpu", point.gpu);
    json.field("regime", point.regime);
    json.field("basis", std::string(operators::name_of(point.basis)));
    json.field("gate", point.gate);
    json.field("apart", point.apart);
    if (row.refused) json.field("refused", row.refused->message);
    json.end();
  }
  json.end();
  return json.take();
}

std::string points_csv(const std::vector<Point>& points) {
  std::string out =
      "id,quantity,unit,published,ours,relative_error,model,gpu,regime,basis,gate,apart,case,source,refused\n";
  const auto number = [](std::optional<double> value) { return value ? report::exact(*value) : std::string(); };
  for (const Point& p : points) {
    const model::ReproduceRow& row = p.row;
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.id, row.quantity, csv_cell(row.unit),
                    number(row.published), number(row.ours), number(row.relative_error), csv_cell(p.model),
                    csv_cell(p.gpu), csv_cell(p.regime), operators::name_of(p.basis), p.gate, csv_cell(p.apart),
                    csv_cell(row.case_name), csv_cell(row.source), row.refused ? csv_cell(row.refused->message) : "");
  }
  return out;
}

std::string no_row_text(const validation::Validation& result) {
  std::vector<std::string> gates;
  for (const validation::Gate& gate : validation::gates()) gates.emplace_back(gate.name);
  return fmt::format(
      "--only leaves no row\n  hint: it is part of an id, of a GPU or of a model, or a whole gate; GPUs here: {}; "
      "models: {}; gates: {}",
      fmt::join(result.gpus, ", "), fmt::join(result.models, ", "), fmt::join(gates, ", "));
}

}  // namespace

Status run(const ValidateOptions& options) {
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.catalog_directory));
  report::Progress progress(report::stderr_is_terminal() && !options.quiet);
  PR_ASSIGN(const validation::Validation result,
            validation::validate(
                options.data, {catalog}, options.only,
                [&](std::size_t done, std::size_t all, const std::string& what) { progress.show(done, all, what); }));
  if (result.points.empty() && options.only.empty())
    return fail(ErrorCode::invalid_input, options.data + ": none of its known tables has a row that is scored");
  if (result.points.empty()) return fail(ErrorCode::usage, no_row_text(result));
  const std::vector<Summary> all = validation::summaries(result.points);
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"validate.txt", summary_text(result, all, {})},
                                             {"points.json", points_json(result.points)},
                                             {"points.csv", points_csv(result.points)}}));
  }
  if (options.format == Format::json) return print(points_json(result.points));
  if (options.format == Format::csv) return print(points_csv(result.points));
  return print(summary_text(result, all, output_style()));
}

}  // namespace photonrail::cli
