// A Report as text for readers, as JSON for programs, as CSV for spreadsheets; and JSON back to a Report.
// Pure functions; any thread. Equal reports give equal bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report.h"

namespace photonrail::report {

struct TextStyle {
  bool colour = false;  // ANSI codes: for terminals only, and not where NO_COLOR is set
  int width = 110;      // columns that paragraphs are wrapped at; tables are as wide as they are
};

std::string render_text(const Report& report, const TextStyle& style);

// Keys in a fixed order. Metrics and constants carry their unit, formula and source; each case holds plain numbers by
// metric id (seconds, bytes, dollars, watts), null where there is none.
std::string render_json(const Report& report);

// Tidy: one number a line; case,name,kind,switching_time_s,metric,value,unit. A refused case has the one metric
// "refused", whose value is the reason. First the declarations of the report, each as a metric of the case "report"
// with the kind "note" and its text as the value.
std::string render_csv(const Report& report);

// Reads what render_json wrote (tables are not kept). `file` is for messages. Refuses what is not such a report.
Result<Report> read_report(std::string_view json, std::string_view file);

// Aligned columns; `indent` spaces before each line.
std::string render_table(const Table& table, const TextStyle& style, int indent = 2);

// Breaks text into lines of at most `width` columns.
std::string wrapped(std::string_view text, int width, int indent);

}  // namespace photonrail::report
