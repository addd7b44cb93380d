#include <fmt/format.h>

#include "report/render.h"

namespace photonrail::report {
namespace {

Table header_table(const Report& report) {
  Table table;
  table.columns = {{"", false}, {"", false}};
  for (const auto& [name, value] : report.header) table.rows.push_back({name, value});
  return table;
}

std::string footer(const Report& report, const TextStyle& style) {
  return wrapped(fmt::format("scenario {}, seed {}, photonrail {}, digest {}", report.scenario_hash, report.seed,
                             report.version, report.digest),
                 style.width, 0);
}

}  // namespace

std::string render_text(const Report& report, const TextStyle& style) {
  const char* bold = style.colour ? "\x1b[1m" : "";
  const char* plain = style.colour ? "\x1b[0m" : "";
  std::string out = fmt::format("{}{}: {}{}\n", bold, report.command, report.scenario_name, plain);
  out += render_table(header_table(report), style);
  for (const Table& table : report.tables) out.append("\n").append(render_table(table, style));
  for (const std::string& paragraph : report.reading) out.append("\n").append(wrapped(paragraph, style.width, 0));
  return out.append("\n").append(footer(report, style));
}

}  // namespace photonrail::report
