#include "operators/attention_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "operators/tables.h"

namespace photonrail::operators {
namespace {

constexpr const char* kDecodeName = "attention_decode_h100.csv";
constexpr const char* kPrefillName = "attention_prefill_h100.csv";

// Node i of an axis by half octaves from `first` on: first * {1, 1.5, 2, 3, ...}.
double half_octave(double first, int i) { return std::ldexp(i % 2 ? first * 1.5 : first, i / 2); }

Result<Dtype> format_of(std::string_view cell, const char* name) {
  if (cell == "bf16") return Dtype::bf16;
  if (cell == "fp8") return Dtype::fp8;
  return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: unknown format \"{}\"", name, cell));
}

std::optional<int> node_of(double value, double (*position)(int), int size) {
  for (int i = 0; i < size; ++i) {
    if (position(i) == value) return i;
  }
  return std::nullopt;
}

// The columns of a table as nodes of the grid's second axis.
Result<std::vector<int>> columns_of(const CsvTable& csv, std::size_t from, double (*position)(int), int size,
                                    const char* name) {
  std::vector<int> columns;
  for (std::size_t i = from; i < csv.heading.size(); ++i) {
    PR_ASSIGN(const double value, number_of(csv.heading[i], name));
    const std::optional<int> node = node_of(value, position, size);
    if (!node) return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: column {} is no node", name, value));
    columns.push_back(*node);
  }
  return columns;
}

// Seconds by row node and column node as far as measured, 0 elsewhere.
using Cells = std::map<int, std::vector<float>>;

Status add_row(Cells& cells, const std::vector<std::string_view>& row, std::size_t from,
               const std::vector<int>& columns, double (*row_position)(int), int row_count, int column_count,
               const char* name) {
  PR_ASSIGN(const double rows, number_of(row[from - 1], name));
  const std::optional<int> node = node_of(rows, row_position, row_count);
  if (!node) return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: {} rows are no node", name, rows));
  std::vector<float>& line = cells[*node];
  line.assign(static_cast<std::size_t>(column_count), 0);
  for (std::size_t i = from; i < row.size(); ++i) {
    if (row[i].empty()) break;
    PR_ASSIGN(const double microseconds, number_of(row[i], name));
    line[static_cast<std::size_t>(columns[i - from])] = static_cast<float>(microseconds * 1e-6);
  }
  if (line[0] <= 0)
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: {} rows without a time", name, rows));
  return {};
}

// Straight in the square of the length, as attention grows (attention.h).
float between_lengths(float low, float high) { return low + (high - low) * (1.5F * 1.5F - 1) / 3; }

std::uint8_t measured_of(const std::vector<float>& line) {
  std::uint8_t count = 0;
  while (count < line.size() && line[count] > 0) ++count;
  return count;
}

Result<DecodeGrid> decode_grid(const Cells& cells) {
  DecodeGrid grid;
  for (int row = 0; row < DecodeGrid::kRows; ++row) {
    const auto line = cells.find(row);
    if (line != cells.end()) grid.measured[static_cast<std::size_t>(row)] = measured_of(line->second);
    for (int context = 0; context < DecodeGrid::kContexts; ++context) {
      const float cell = line == cells.end() ? 0 : line->second[static_cast<std::size_t>(context)];
      if (cell > 0)
        grid.at(row, context) = cell;
      else if (row % 2 == 0 && row > 0)
        grid.at(row, context) = 2 * grid.at(row - 2, context);
      else if (row == 0 && context > 0)
        grid.at(row, context) = 2 * grid.at(row, context - 1);
      else if (row == 0)
        return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: a gap in one row", kDecodeName));
    }
  }
  for (int row = 1; row < DecodeGrid::kRows; row += 2) {
    const auto at = static_cast<std::size_t>(row);
    const bool last = row + 1 == DecodeGrid::kRows;
    const std::uint8_t around = last ? std::uint8_t{0} : std::min(grid.measured[at - 1], grid.measured[at + 1]);
    for (int context = 0; context < DecodeGrid::kContexts; ++context) {
      const float below = grid.at(row - 1, context);
      const float middle = last ? 1.5F * below : (below + grid.at(row + 1, context)) / 2;
      if (context >= grid.measured[at]) grid.at(row, context) = middle;
    }
    grid.measured[at] = std::max(grid.measured[at], around);
  }
  return grid;
}

// `fewer`: the same with fewer heads to a group, which has rows that a wider group cannot have; null for a group of
// one.
Result<PrefillGrid> prefill_grid(const Cells& cells, const PrefillGrid* fewer) {
  PrefillGrid grid;
  const int first = cells.begin()->first;
  for (int row = 0; row < PrefillGrid::kRows; ++row) {
    const auto line = cells.find(row);
    if (row < first && fewer)
      grid.measured[static_cast<std::size_t>(row)] = fewer->measured[static_cast<std::size_t>(row)];
    const auto cell = [&](int length) {
      return line == cells.end() ? 0.0F : line->second[static_cast<std::size_t>(length)];
    };
    for (int length = 0; length < PrefillGrid::kLengths; ++length) {
      float value = cell(length);
      if (value == 0 && length % 2 == 1 && cell(length + 1) > 0)
        value = between_lengths(cell(length - 1), cell(length + 1));
      if (value > 0 && grid.measured[static_cast<std::size_t>(row)] == length)
        grid.measured[static_cast<std::size_t>(row)] = static_cast<std::uint8_t>(length + 1);
      if (value == 0 && row < first && fewer) value = fewer->at(row, length);
      if (value == 0 && row > 0) value = 2 * grid.at(row - 1, length);
      // The longest prompts of one head: in proportion to the square, from the last measured.
      if (value == 0 && length > 1) value = 4 * grid.at(row, length - 2);
      if (value == 0)
        return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: a gap in one row", kPrefillName));
      grid.at(row, length) = value;
    }
  }
  return grid;
}

Result<int> whole(std::string_view cell, const char* name) {
  PR_ASSIGN(const double value, number_of(cell, name));
  if (value < 1 || value > 4096 || value != std::floor(value))
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: {} is no count", name, value));
  return static_cast<int>(value);
}

Result<std::vector<DecodeTable>> parse_decode() {
  PR_ASSIGN(const CsvTable csv, read_csv(kDecodeName, calibration_text(kDecodeName)));
  constexpr std::size_t kFrom = 4;
  PR_ASSIGN(const std::vector<int> columns,
            columns_of(csv, kFrom, DecodeGrid::context, DecodeGrid::kContexts, kDecodeName));
  std::map<std::tuple<Dtype, int, int>, Cells> tables;
  for (const auto& row : csv.rows) {
    PR_ASSIGN(const Dtype kv, format_of(row[0], kDecodeName));
    PR_ASSIGN(const int head_size, whole(row[1], kDecodeName));
    PR_ASSIGN(const int group, whole(row[2], kDecodeName));
    PR_TRY(add_row(tables[{kv, head_size, group}], row, kFrom, columns, DecodeGrid::rows, DecodeGrid::kRows,
                   DecodeGrid::kContexts, kDecodeName));
  }
  std::vector<DecodeTable> result;
  for (const auto& [key, cells] : tables) {
    PR_ASSIGN(const DecodeGrid grid, decode_grid(cells));
    result.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), grid});
  }
  return result;
}

Result<std::vector<PrefillTable>> parse_prefill() {
  PR_ASSIGN(const CsvTable csv, read_csv(kPrefillName, calibration_text(kPrefillName)));
  constexpr std::size_t kFrom = 5;
  PR_ASSIGN(const std::vector<int> columns,
            columns_of(csv, kFrom, PrefillGrid::length, PrefillGrid::kLengths, kPrefillName));
  std::map<std::tuple<Dtype, Dtype, int, int>, Cells> tables;
  for (const auto& row : csv.rows) {
    PR_ASSIGN(const Dtype compute, format_of(row[0], kPrefillName));
    PR_ASSIGN(const Dtype kv, format_of(row[1], kPrefillName));
    PR_ASSIGN(const int head_size, whole(row[2], kPrefillName));
    PR_ASSIGN(const int group, whole(row[3], kPrefillName));
    PR_TRY(add_row(tables[{compute, kv, head_size, group}], row, kFrom, columns, PrefillGrid::rows, PrefillGrid::kRows,
                   PrefillGrid::kLengths, kPrefillName));
  }
  std::vector<PrefillTable> result;
  for (const auto& [key, cells] : tables) {
    const auto& [compute, kv, head_size, group] = key;
    const PrefillTable* last = result.empty() ? nullptr : &result.back();
    const bool alike = last && last->compute == compute && last->kv == kv && last->head_size == head_size;
    PR_ASSIGN(const PrefillGrid grid, prefill_grid(cells, alike ? &last->grid : nullptr));
    result.push_back({compute, kv, head_size, group, grid});
  }
  return result;
}

// Long contexts only: a short cache may lie in the last-level cache of the GPU.
double best_read_rate(const std::vector<DecodeTable>& tables) {
  constexpr int kFirst = 5;  // 1024 tokens
  double best = 0;
  for (const DecodeTable& table : tables) {
    const double bytes = 2 * bytes_of(table.kv) * table.head_size;
    for (int row = 0; row < DecodeGrid::kRows; ++row) {
      for (int context = kFirst; context < table.grid.measured[static_cast<std::size_t>(row)]; ++context) {
        const double seconds = table.grid.at(row, context);
        best = std::max(best, bytes * DecodeGrid::rows(row) * DecodeGrid::context(context) / seconds);
      }
    }
  }
  return best;
}

template <class Grid>
bool holds(const Grid& grid, std::optional<int> row, std::optional<int> column) {
  return row && column && *column < grid.measured[static_cast<std::size_t>(*row)];
}

}  // namespace

bool holds_decode(const AttentionTables& tables, Dtype kv, double head_size, double group, double rows,
                  double context) {
  return std::any_of(tables.decode.begin(), tables.decode.end(), [&](const DecodeTable& t) {
    return t.kv == kv && t.head_size == head_size && t.group == group &&
           holds(t.grid, node_of(rows, DecodeGrid::rows, DecodeGrid::kRows),
                 node_of(context, DecodeGrid::context, DecodeGrid::kContexts));
  });
}

bool holds_prefill(const AttentionTables& tables, Dtype compute, Dtype kv, double head_size, double group, double rows,
                   double length) {
  return std::any_of(tables.prefill.begin(), tables.prefill.end(), [&](const PrefillTable& t) {
    return t.compute == compute && t.kv == kv && t.head_size == head_size && t.group == group &&
           holds(t.grid, node_of(rows, PrefillGrid::rows, PrefillGrid::kRows),
                 node_of(length, PrefillGrid::length, PrefillGrid::kLengths));
  });
}

double DecodeGrid::rows(int row) { return half_octave(1, row); }
double DecodeGrid::context(int column) { return column == 0 ? 2 : std::ldexp(32, column); }
double PrefillGrid::rows(int row) { return std::ldexp(1, row); }
double PrefillGrid::length(int column) { return half_octave(16, column); }

Result<AttentionTables> parse_attention_tables() {
  AttentionTables tables;
  PR_ASSIGN(tables.decode, parse_decode());
  PR_ASSIGN(tables.prefill, parse_prefill());
  tables.read_rate = best_read_rate(tables.decode);
  return tables;
}

}  // namespace photonrail::operators
