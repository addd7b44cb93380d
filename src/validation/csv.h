// A comma-separated table (RFC 4180) with named columns. Every cell knows its line, for messages.
//
// Limits: 64 MiB, 2,000,000 lines, 256 columns. Refused: no header, a repeated column, a line with another number of
// cells than the header, a quote that never closes, text that is not printable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::validation {

class Csv {
 public:
  static Result<Csv> parse(std::string_view text, std::string_view name);
  static Result<Csv> read(const std::string& path);

  const std::string& name() const { return name_; }  // file name without folder
  std::size_t rows() const { return lines_.size(); }
  std::size_t line(std::size_t row) const { return lines_[row]; }  // in the file, from 1
  std::optional<std::size_t> column(std::string_view header) const;
  const std::vector<std::string>& headers() const { return headers_; }

  // Cells of a column that the table must have: require() first, then text() and number() may be used freely.
  Status require(const std::vector<std::string_view>& columns) const;
  const std::string& text(std::size_t row, std::string_view column) const;  // "" is an empty cell
  Result<double> number(std::size_t row, std::string_view column) const;    // invalid_input where it is none
  std::optional<double> number_or_none(std::size_t row, std::string_view column) const;  // empty or no number: none

  // "serving.csv:12: what", as an invalid_input.
  tl::unexpected<Error> refuse(std::size_t row, std::string_view what) const;

 private:
  std::string name_;
  std::vector<std::string> headers_;
  std::vector<std::string> cells_;  // row-major
  std::vector<std::size_t> lines_;
};

}  // namespace photonrail::validation
