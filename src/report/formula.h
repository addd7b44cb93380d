// Arithmetic over named values. A derived metric is computed by evaluating its formula's text, so that what `explain`
// prints is what was computed.
//
//   expression = term { ("+" | "-") term }      factor = number | name | "(" expression ")" | "-" factor
//   term       = factor { ("*" | "/") factor }  name   = letter or "_", then letters, digits, "_" and "."
//
// Pure functions; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace photonrail::report {

// Gives the value of a name, or nothing where the name has no value in this case.
using Lookup = std::function<std::optional<double>(std::string_view name)>;

// Value of `formula`, or nothing when a name has no value or a divisor is zero. A malformed formula is a bug of the
// program or a damaged report; it has no value either (formula_is_valid tells the difference).
std::optional<double> evaluate(std::string_view formula, const Lookup& lookup);

bool formula_is_valid(std::string_view formula);

// Names that `formula` uses, in order of first use.
std::vector<std::string> names_in(std::string_view formula);

}  // namespace photonrail::report
