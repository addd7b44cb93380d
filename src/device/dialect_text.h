// Small readers and writers that the text dialects (SCPI, TL1) share. All of them take hostile input: a length limit
// each, no exceptions, no locale. Free functions are reentrant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/types.h"

namespace photonrail::device {

inline constexpr std::size_t kDeviceTextMax = 4096;  // of Answer::device_text and Event::device_text

// What may be shown to people: `raw` cut at kDeviceTextMax bytes, with every occurrence of `secret` blanked.
std::string shown_text(std::string_view raw, std::string_view secret);
// Appends `more` on a line of its own, never beyond kDeviceTextMax.
void append_text(std::string& text, std::string_view more);

std::string_view trimmed(std::string_view text);             // without blanks, tabs, CR, LF at both ends
std::string upper_case(std::string_view text);               // ASCII only
bool equal_words(std::string_view a, std::string_view b);    // ASCII, case-insensitive
bool contains_word(std::string_view text, std::string_view word);  // case-insensitive substring

// Decimal digits only, at most `max`; no sign, no blanks.
std::optional<std::uint32_t> parse_natural(std::string_view text, std::uint32_t max);
// "-12.3", "25", "-0.5": finite, no exponent.
std::optional<double> parse_decimal(std::string_view text);
std::string two_decimals(double value);

// Cuts at each `separator` that is outside of double quotes (and of round brackets where `brackets`). Empty pieces
// count. Nothing when there would be more than `limit` pieces.
std::optional<std::vector<std::string_view>> split_outside(std::string_view text, char separator, std::size_t limit,
                                                           bool brackets = false);
// "text" -> text; anything else as it is.
std::string_view unquoted(std::string_view text);

// The first run of "<digits>x<digits>" or "<digits>xCC" between dashes in a model name: I-OST-24x24-LU1, OST-32xCC-LU1.
struct ModelSize {
  Position inputs = 0;
  Position outputs = 0;
  bool symmetric = false;  // any port to any port: one number space, a circuit joins both directions
};
std::optional<ModelSize> size_in_model(std::string_view model);

// Of a command, from the outcomes of its pairs: refused only where nothing of it was done.
Outcome outcome_of_pairs(const std::vector<Outcome>& pairs);

// `f` gets the items in their order, at most `size` at a time.
template <class T, class F>
void for_each_chunk(const std::vector<T>& items, std::size_t size, F&& f) {
  for (std::size_t from = 0; from < items.size(); from += size) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(from);
    f(std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, items.size() - from))));
  }
}

// Lines out of a byte stream that is cut anywhere. A line ends with LF or CR LF, which are taken off.
class LineReader {
 public:
  explicit LineReader(std::size_t line_max) : line_max_(line_max) {}

  void feed(std::string_view bytes);           // what is beyond `line_max` in one line is dropped with that line
  std::optional<std::string> next();
  void clear();
  std::size_t dropped() const { return dropped_; }  // lines that were too long, since clear()

 private:
  std::string pending_;
  std::size_t scanned_ = 0;   // no LF in pending_ before this
  std::size_t line_max_;
  std::size_t dropped_ = 0;
  bool dropping_ = false;
};

}  // namespace photonrail::device
