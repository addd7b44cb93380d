// A parameter of an experiment: a dotted path of its scenario and the values that it takes.
//
//   PATH=LOW..HIGH           a range; both ends with units, or both plain. Whole plain ends: whole values only
//   PATH=LOW..BASE..HIGH     with a base, else the base is what the scenario has
//   PATH=V1,V2,V3            a list of any texts (only swept, never sampled)
// followed by any of  :N  (points of a sweep, 5 unless told),  :log  (points and samples even in the logarithm),
// :uniform :normal :lognormal :triangular  (distribution of samples; uniform unless told):
//   uniform     over [LOW, HIGH], with :log over the logarithms
//   normal      mean in the middle, LOW and HIGH the 5 % and 95 % quantiles (1.6449 deviations), cut half a range
//               beyond either, and at zero where LOW is not negative
//   lognormal   the same of the logarithms
//   triangular  mode BASE, or the middle
//
// Values are doubles in the base unit (s as ps, B, b/s, FLOP/s, W, J, USD, dB, or the number itself); text() turns one
// into the text for the scenario, rounded to what the quantity can hold. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/units_text.h"

namespace photonrail::sensitivity {

enum class Shape : std::uint8_t { uniform, normal, lognormal, triangular };

struct Parameter {
  std::string path;
  std::vector<std::string> list;     // as given; empty for a range
  std::optional<Quantity> quantity;  // absent: a plain number
  bool whole = false;                // plain whole numbers only
  double low = 0;
  double high = 0;
  std::optional<double> base;
  int points = 5;
  bool log = false;
  Shape shape = Shape::uniform;

  bool is_range() const { return list.empty(); }
  double middle() const;                     // base, or the middle (of the logarithms with `log` or lognormal)
  std::string text(double value) const;      // "7200000000000 b/s"
  std::string set(double value) const;       // "pool.port_rate=7200000000000 b/s"
  double rounded(double value) const;        // what text(value) says, as a number
  std::string readable(double value) const;  // "900 GB/s"
};

// Errors: usage, with what is wrong and an example.
Result<Parameter> parse_parameter(std::string_view text);

// The "a.b=c" texts of a sweep, in order; equal neighbours (whole numbers) once.
std::vector<std::string> sweep_sets(const Parameter& parameter);

// "pool.port_rate=900 GB/s" for "pool.port_rate=7200000000000 b/s": for readers, to six digits. A text in any unit but
// the base units of text() stays as it is.
std::string readable_set(const std::string& set);

// One sample; takes exactly one draw from the stream.
double sample(const Parameter& parameter, RandomStream& stream);

}  // namespace photonrail::sensitivity
