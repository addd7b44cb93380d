#include <fmt/format.h>

#include "report/human.h"
#include "report/render.h"

namespace photonrail::report {
namespace {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string render_csv(const Report& report) {
  std::string out = "case,name,kind,switching_time_s,metric,value,unit\n";
  for (const auto& [what, text] : declarations(report)) {
    out += fmt::format("report,report,note,,{},{},\n", csv_cell(what), csv_cell(text));
  }
  for (const Case& c : report.cases) {
    const std::string time = c.switching_time ? exact(seconds_of(*c.switching_time)) : "";
    const std::string prefix = fmt::format("{},{},{},{},", csv_cell(c.id), csv_cell(c.name), c.kind, time);
    if (!c.refusal.empty()) out += fmt::format("{}refused,{},\n", prefix, csv_cell(c.refusal));
    for (std::size_t i = 0; i < report.metrics.size() && i < c.values.size(); ++i) {
      if (!c.values[i]) continue;
      const Metric& metric = report.metrics[i];
      out += fmt::format("{}{},{},{}\n", prefix, csv_cell(metric.id), exact(*c.values[i]), csv_cell(metric.unit));
    }
  }
  return out;
}

}  // namespace photonrail::report
