#include "cli/reproduce_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/human.h"
#include "report/json_writer.h"

namespace photonrail::cli {
namespace {

using model::ReproduceRow;

// A published figure has few digits and is shown with all; what is calculated would have 17 and is shown with six. JSON
// and CSV have every digit.
constexpr std::size_t kLongestFigure = 12;

std::string number_text(std::optional<double> value) {
  if (!value) return "";
  const bool whole = std::trunc(*value) == *value && std::fabs(*value) < 9e15;
  if (whole) return report::with_separators(static_cast<std::int64_t>(*value));
  const std::string exact = report::exact(*value);
  return exact.size() <= kLongestFigure ? exact : fmt::format("{:.6g}", *value);
}

std::string ours_text(const ReproduceRow& row) { return row.refused ? "refused" : number_text(row.ours); }

std::string error_text(const ReproduceRow& row) {
  if (!row.relative_error) return "";
  if (std::fpclassify(*row.relative_error) == FP_ZERO) return "exact";
  return fmt::format("{:+.3g} %", *row.relative_error * 100);
}

std::string csv_number(std::optional<double> value) { return value ? report::exact(*value) : ""; }

std::string refused_count(const std::vector<ReproduceRow>& rows) {
  const auto refused = std::count_if(rows.begin(), rows.end(), [](const ReproduceRow& row) { return !!row.refused; });
  return refused == 0 ? "" : fmt::format("{} of {} rows could not be made\n", refused, rows.size());
}

std::string verdict(const std::vector<ReproduceRow>& rows) {
  std::size_t published = 0;
  std::size_t equal = 0;
  double worst = 0;
  for (const ReproduceRow& row : rows) {
    if (!row.relative_error) continue;
    ++published;
    if (std::fpclassify(*row.relative_error) == FP_ZERO) ++equal;
    worst = std::max(worst, std::fabs(*row.relative_error));
  }
  if (published == 0) return "no published figure to compare with\n";
  return fmt::format("{} of {} published figures are met to the last digit; the largest relative error is {:.3g}\n",
                     equal, published, worst);
}

bool is_own(const ReproduceRow& row) { return row.id.find(kOwnRow) != std::string::npos; }

constexpr std::string_view kLadder = "step time: ";

// Own figures of one quantity under changes that add up: each is compared with the one before.
bool is_ladder(const std::vector<ReproduceRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const ReproduceRow& row) { return !is_own(row) || row.quantity.starts_with(kLadder); });
}

report::Table own_table(bool ladder) {
  if (ladder) {
    return {
        "", {{"own physics, one change after the other", false}, {"step time"}, {"unit", false}, {"change"}}, {}, {}};
  }
  return {"", {{"own figures", false}, {"ours"}, {"unit", false}}, {}, {}};
}

// The rows of one case: figures beside published ones, then, line by line, what own physics make of it.
std::string case_text(const std::vector<ReproduceRow>& rows, const report::TextStyle& style) {
  report::Table compared{
      rows.front().case_name, {{"", false}, {"published"}, {"ours"}, {"unit", false}, {"error"}}, {}, {}};
  const bool ladder = is_ladder(rows);
  report::Table own = own_table(ladder);
  const ReproduceRow* before = nullptr;
  std::string refused;
  for (const ReproduceRow& row : rows) {
    if (row.refused) refused += fmt::format("refused: {}: {}\n", row.quantity, row.refused->message);
    if (!is_own(row)) {
      compared.rows.push_back({row.quantity, number_text(row.published), ours_text(row), row.unit, error_text(row)});
      continue;
    }
    if (!ladder) {
      own.rows.push_back({row.quantity, ours_text(row), row.unit});
      continue;
    }
    const bool compares = before != nullptr && before->ours && row.ours;
    const std::string change = compares ? fmt::format("{:+.2f} %", (*row.ours / *before->ours - 1) * 100) : "";
    own.rows.push_back({row.quantity.substr(kLadder.size()), ours_text(row), row.unit, change});
    before = &row;
  }
  if (compared.rows.empty()) std::swap(own.title, compared.title);
  return (compared.rows.empty() ? "" : report::render_table(compared, style)) +
         (own.rows.empty() ? "" : report::render_table(own, style)) + refused;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string rows_text(const std::vector<ReproduceRow>& rows, const report::TextStyle& style) {
  std::string out;
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && rows[end].case_name == rows[first].case_name) ++end;
    out +=
        case_text({rows.begin() + static_cast<std::ptrdiff_t>(first), rows.begin() + static_cast<std::ptrdiff_t>(end)},
                  style) +
        "\n";
  }
  return out + refused_count(rows) + verdict(rows);
}

std::string rows_json(const std::vector<ReproduceRow>& rows) {
  report::JsonWriter json;
  json.begin_array();
  for (const ReproduceRow& row : rows) {
    json.begin_object(true);
    json.field("id", row.id);
    json.field("case", row.case_name);
    json.field("quantity", row.quantity);
    json.field("unit", row.unit);
    json.field("published", row.published);
    json.field("ours", row.ours);
    json.field("relative_error", row.relative_error);
    json.field("source", row.source);
    if (row.refused) json.field("refused", row.refused->message);
    json.end();
  }
  json.end();
  return json.take();
}

std::string rows_csv(const std::vector<ReproduceRow>& rows) {
  std::string out = "id,case,quantity,unit,published,ours,relative_error,source,refused\n";
  for (const ReproduceRow& row : rows) {
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(row.id), csv_cell(row.case_name), csv_cell(row.quantity),
                    csv_cell(row.unit), csv_number(row.published), csv_number(row.ours), csv_number(row.relative_error),
                    csv_cell(row.source), csv_cell(row.refused ? row.refused->message : ""));
  }
  return out;
}

}  // namespace photonrail::cli
