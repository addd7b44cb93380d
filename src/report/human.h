// Numbers for readers: four significant digits and a unit that fits. Not meant to be read back; JSON and CSV have the
// full numbers. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace photonrail::report {

// `unit` is one of report.h. No value gives "-".
std::string human(std::optional<double> value, std::string_view unit);

// A time as it was given, with all its digits: "100 ms", "0 s".
std::string time_label(Time value);

// Seconds as the nearest double: 100 ms is 0.1, not a neighbour of it.
double seconds_of(Time value);

// "12,345"
std::string with_separators(std::int64_t value);

// "1 rail", "8 rails"; `one` is the singular of a regular noun.
std::string counted(std::int64_t count, std::string_view one);

// Shortest text that parses back to the same double; "null" for what is not finite.
std::string exact(double value);

}  // namespace photonrail::report
