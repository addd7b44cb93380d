#include <algorithm>

#include "report/render.h"

namespace photonrail::report {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

// Columns that a UTF-8 text takes; every character counts as one.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = columns_of(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

std::string styled(std::string text, std::string_view code, const TextStyle& style) {
  if (!style.colour) return text;
  return std::string(code) + text + std::string(kPlain);
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Table::Column& column : table.columns) widths.push_back(columns_of(column.header));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  return widths;
}

std::string line_of(const Table& table, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) line += "  ";
    line += padded(i < cells.size() ? cells[i] : "", widths[i], table.columns[i].right);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string wrapped(std::string_view text, int width, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out = margin;
  std::size_t column = margin.size();
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t needed = columns_of(word) + (first ? 0 : 1);
    if (!first && column + needed > static_cast<std::size_t>(width)) {
      out += "\n" + margin;
      column = margin.size();
      first = true;
    }
    if (!first) out += ' ', ++column;
    out += word;
    column += columns_of(word);
    first = false;
  }
  return out + "\n";
}

std::string render_table(const Table& table, const TextStyle& style, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const std::vector<std::size_t> widths = widths_of(table);
  std::string out;
  if (!table.title.empty()) out += styled(table.title, kBold, style) + "\n";
  std::vector<std::string> headers;
  for (const Table::Column& column : table.columns) headers.push_back(column.header);
  const bool has_header = std::any_of(headers.begin(), headers.end(), [](const auto& h) { return !h.empty(); });
  if (has_header) out += margin + styled(line_of(table, headers, widths), kDim, style) + "\n";
  for (const auto& row : table.rows) out += margin + line_of(table, row, widths) + "\n";
  for (const std::string& note : table.notes) out += wrapped(note, style.width, indent);
  return out;
}

}  // namespace photonrail::report
