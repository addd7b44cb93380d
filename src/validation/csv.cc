#include "validation/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace photonrail::validation {
namespace {

constexpr std::size_t kBytesMax = std::size_t{64} << 20;
constexpr std::size_t kLinesMax = 2'000'000;
constexpr std::size_t kColumnsMax = 256;

struct Reader {
  std::string_view text;
  std::string_view name;
  std::size_t at = 0;
  std::size_t line = 1;

  bool end() const { return at >= text.size(); }

  tl::unexpected<Error> refuse(std::string_view what) const {
    return fail(ErrorCode::invalid_input, fmt::format("{}:{}: {}", name, line, what));
  }

  Result<std::string> quoted_cell() {
    std::string cell;
    const std::size_t start = line;
    for (++at; !end(); ++at) {
      const char c = text[at];
      if (c == '\n') ++line;
      if (c != '"') {
        cell += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        cell += '"';
        ++at;
      } else {
        ++at;
        if (!end() && text[at] != ',' && text[at] != '\n' && text[at] != '\r')
          return refuse("text after a closing quote; double the quotes inside a quoted cell");
        return cell;
      }
    }
    line = start;
    return refuse("a quoted cell never closes; is the file truncated?");
  }

  Result<std::string> cell() {
    if (!end() && text[at] == '"') return quoted_cell();
    const std::size_t start = at;
    while (!end() && text[at] != ',' && text[at] != '\n') ++at;
    std::size_t stop = at;
    if (stop > start && (end() || text[at] == '\n') && text[stop - 1] == '\r') --stop;
    return std::string(text.substr(start, stop - start));
  }

  // One line into `cells`; the reader stands behind its end.
  Status row(std::vector<std::string>& cells) {
    for (std::size_t count = 0;; ++count) {
      if (count == kColumnsMax) return refuse("more than 256 cells");
      PR_ASSIGN(std::string value, cell());
      cells.push_back(std::move(value));
      if (!end() && text[at] == '\r') ++at;
      if (end()) return {};
      if (text[at++] == '\n') {
        ++line;
        return {};
      }
    }
  }
};

Status check_text(std::string_view text, std::string_view name) {
  if (text.size() > kBytesMax) return fail(ErrorCode::invalid_input, fmt::format("{}: larger than 64 MiB", name));
  std::size_t line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F)
      return fail(ErrorCode::invalid_input, fmt::format("{}:{}: byte {:#04x}: not a text table", name, line, byte));
  }
  return {};
}

Status check_headers(const Reader& reader, const std::vector<std::string>& headers) {
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (headers[i].empty()) return reader.refuse(fmt::format("column {} has no name", i + 1));
    if (std::find(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(i), headers[i]) !=
        headers.begin() + static_cast<std::ptrdiff_t>(i))
      return reader.refuse(fmt::format("column '{}' twice", headers[i]));
  }
  return {};
}

std::string file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

}  // namespace

Result<Csv> Csv::parse(std::string_view text, std::string_view name) {
  PR_TRY(check_text(text, name));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Csv csv;
  csv.name_ = file_name(name);
  Reader reader{text, csv.name_};
  if (reader.end()) return reader.refuse("empty; a line with the names of the columns is wanted");
  PR_TRY(reader.row(csv.headers_));
  reader.line = 1;
  PR_TRY(check_headers(reader, csv.headers_));
  reader.line = 2;
  while (!reader.end()) {
    if (csv.lines_.size() == kLinesMax) return reader.refuse("more than 2,000,000 lines");
    const std::size_t line = reader.line;
    const std::size_t before = csv.cells_.size();
    PR_TRY(reader.row(csv.cells_));
    const std::size_t count = csv.cells_.size() - before;
    if (count == 1 && csv.cells_.back().empty()) {  // an empty line
      csv.cells_.pop_back();
      continue;
    }
    if (count != csv.headers_.size()) {
      reader.line = line;
      return reader.refuse(fmt::format("{} cells, but the header has {}", count, csv.headers_.size()));
    }
    csv.lines_.push_back(line);
  }
  return csv;
}

Result<Csv> Csv::read(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::io, fmt::format("{}: a folder, where a table is wanted", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, fmt::format("{}: cannot be opened", path));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return fail(ErrorCode::io, fmt::format("{}: cannot be read", path));
  return parse(text.str(), path);
}

std::optional<std::size_t> Csv::column(std::string_view header) const {
  const auto found = std::find(headers_.begin(), headers_.end(), header);
  if (found == headers_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - headers_.begin());
}

Status Csv::require(const std::vector<std::string_view>& columns) const {
  for (const std::string_view name : columns) {
    if (!column(name)) return fail(ErrorCode::invalid_input, fmt::format("{}:1: no column '{}'", name_, name));
  }
  return {};
}

const std::string& Csv::text(std::size_t row, std::string_view name) const {
  const std::optional<std::size_t> at = column(name);
  PR_CHECK(at.has_value(), "a column that was not required");
  return cells_[row * headers_.size() + *at];
}

std::optional<double> Csv::number_or_none(std::size_t row, std::string_view name) const {
  const std::string& cell = text(row, name);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<double> Csv::number(std::size_t row, std::string_view name) const {
  const std::optional<double> value = number_or_none(row, name);
  if (!value) return refuse(row, fmt::format("{}: '{}' is no number", name, text(row, name)));
  return *value;
}

tl::unexpected<Error> Csv::refuse(std::size_t row, std::string_view what) const {
  return fail(ErrorCode::invalid_input, fmt::format("{}:{}: {}", name_, lines_[row], what));
}

}  // namespace photonrail::validation
