#include "sensitivity/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"

namespace photonrail::sensitivity {
namespace {

constexpr int kMostPoints = 100'000;
constexpr std::size_t kMostListed = 4096;
constexpr std::size_t kLongestText = 65'536;
constexpr double kQuantile95 = 1.6448536269514722;  // of the standard normal distribution
constexpr const char* kExample =
    "write --vary 'path=LOW..HIGH', such as --vary 'rail.port_rate=100 Gb/s..800 Gb/s:8:log'";

constexpr std::array kQuantities = {Quantity::time,      Quantity::size,  Quantity::rate,
                                    Quantity::flop_rate, Quantity::power, Quantity::energy,
                                    Quantity::money,     Quantity::loss,  Quantity::ratio};

tl::unexpected<Error> refuse(std::string_view text, std::string_view what) {
  return fail(ErrorCode::usage, fmt::format("'{}': {}\n  hint: {}", text, what, kExample));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

template <class T>
std::optional<double> base_of(const Result<T>& parsed, double (*measure)(const T&)) {
  if (!parsed) return std::nullopt;
  return measure(*parsed);
}

std::optional<double> measure(Quantity quantity, std::string_view text) {
  switch (quantity) {
    case Quantity::time:
      return base_of<Time>(parse_time(text), [](const Time& v) { return static_cast<double>(v.ps); });
    case Quantity::size:
      return base_of<Bytes>(parse_bytes(text), [](const Bytes& v) { return static_cast<double>(v.count); });
    case Quantity::rate:
      return base_of<Rate>(parse_rate(text), [](const Rate& v) { return static_cast<double>(v.bits_per_second); });
    case Quantity::flop_rate:
      return base_of<FlopRate>(parse_flop_rate(text), [](const FlopRate& v) { return v.flops_per_second; });
    case Quantity::power: return base_of<Power>(parse_power(text), [](const Power& v) { return v.watts; });
    case Quantity::energy: return base_of<Energy>(parse_energy(text), [](const Energy& v) { return v.joules; });
    case Quantity::money: return base_of<Dollars>(parse_dollars(text), [](const Dollars& v) { return v.amount; });
    case Quantity::loss: return base_of<Loss>(parse_loss(text), [](const Loss& v) { return v.decibels; });
    case Quantity::ratio: return base_of<double>(parse_ratio(text), [](const double& v) { return v; });
  }
  return std::nullopt;
}

bool is_integral(Quantity quantity) {
  return quantity == Quantity::time || quantity == Quantity::size || quantity == Quantity::rate;
}

const char* base_unit(Quantity quantity) {
  switch (quantity) {
    case Quantity::time: return " ps";
    case Quantity::size: return " B";
    case Quantity::rate: return " b/s";
    case Quantity::flop_rate: return " FLOP/s";
    case Quantity::power: return " W";
    case Quantity::energy: return " J";
    case Quantity::money: return " USD";
    case Quantity::loss: return " dB";
    case Quantity::ratio: return "";
  }
  return "";
}

std::int64_t to_integer(double value) {
  constexpr double kMost = 9.2e18;
  return static_cast<std::int64_t>(std::llround(std::clamp(value, -kMost, kMost)));
}

// The quantity that all ends have; a plain zero goes with any.
std::optional<Quantity> quantity_of(const std::vector<std::string_view>& ends) {
  for (const Quantity quantity : kQuantities) {
    const auto fits = [&](std::string_view end) { return measure(quantity, end).has_value(); };
    if (std::all_of(ends.begin(), ends.end(), fits)) return quantity;
  }
  return std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(at, start);
    parts.push_back(trim(text.substr(start, end == text.npos ? text.npos : end - start)));
    if (end == text.npos) return parts;
    start = end + at.size();
  }
}

// Takes one ":option" from the end of `values`; false when there is none.
Result<bool> take_option(std::string_view& values, Parameter& parameter, std::string_view whole) {
  const std::size_t colon = values.rfind(':');
  if (colon == values.npos) return false;
  const std::string_view word = trim(values.substr(colon + 1));
  constexpr std::array<std::pair<std::string_view, Shape>, 4> kShapes = {{{"uniform", Shape::uniform},
                                                                          {"normal", Shape::normal},
                                                                          {"lognormal", Shape::lognormal},
                                                                          {"triangular", Shape::triangular}}};
  const auto shape = std::find_if(kShapes.begin(), kShapes.end(), [&](const auto& s) { return s.first == word; });
  values = values.substr(0, colon);
  if (shape != kShapes.end()) {
    parameter.shape = shape->second;
    return true;
  }
  if (word == "log") {
    parameter.log = true;
    return true;
  }
  if (word == "lin") return true;
  int points = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), points);
  if (error != std::errc() || end != word.data() + word.size() || points < 2 || points > kMostPoints) {
    return refuse(whole, fmt::format("':{}' is neither a number of points (2 to {}), nor log, uniform, normal, "
                                     "lognormal or triangular",
                                     word, kMostPoints));
  }
  parameter.points = points;
  return true;
}

bool looks_whole(std::string_view text) { return !text.empty() && text.find_first_not_of("+-0123456789") == text.npos; }

Status set_range(Parameter& parameter, const std::vector<std::string_view>& ends, std::string_view whole) {
  std::vector<double> values;
  const auto all_plain =
      std::all_of(ends.begin(), ends.end(), [](std::string_view e) { return plain_number(e).has_value(); });
  if (all_plain) {
    parameter.whole = std::all_of(ends.begin(), ends.end(), looks_whole);
    for (const std::string_view end : ends) values.push_back(*plain_number(end));
  } else {
    parameter.quantity = quantity_of(ends);
    if (!parameter.quantity) return refuse(whole, "the ends are not numbers with units of one kind");
    for (const std::string_view end : ends) values.push_back(*measure(*parameter.quantity, end));
  }
  parameter.low = values.front();
  parameter.high = values.back();
  if (values.size() == 3) parameter.base = values[1];
  return {};
}

Status check_range(const Parameter& p, std::string_view whole) {
  if (!(p.low < p.high)) return refuse(whole, "the low end must be below the high end");
  if (p.base && (*p.base < p.low || *p.base > p.high)) return refuse(whole, "the base lies outside of its range");
  if ((p.log || p.shape == Shape::lognormal) && p.low <= 0)
    return refuse(whole, "a logarithmic range must be above zero");
  return {};
}

// Rounded to six significant digits, for readers.
double six_digits(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

double interpolated(const Parameter& p, double share) {
  if (!p.log) return p.low + share * (p.high - p.low);
  return p.low * std::exp(share * std::log(p.high / p.low));
}

// `z`: a standard normal draw.
double normal_between(double low, double high, double z) {
  const double mean = (low + high) / 2, half = (high - low) / 2;
  return std::clamp(mean + half / kQuantile95 * z, low - half, high + half);
}

double triangular_between(double low, double mode, double high, double u) {
  const double left = (mode - low) / (high - low);
  if (u < left) return low + std::sqrt(u * (high - low) * (mode - low));
  return high - std::sqrt((1 - u) * (high - low) * (high - mode));
}

}  // namespace

double Parameter::middle() const {
  if (base) return *base;
  if (log || shape == Shape::lognormal) return std::sqrt(low) * std::sqrt(high);
  return (low + high) / 2;
}

double Parameter::rounded(double value) const {
  if (whole || (quantity && is_integral(*quantity))) return static_cast<double>(to_integer(value));
  return value;
}

std::string Parameter::text(double value) const {
  if (!quantity) return whole ? fmt::format("{}", to_integer(value)) : fmt::format("{}", value);
  if (is_integral(*quantity)) return fmt::format("{}{}", to_integer(value), base_unit(*quantity));
  return fmt::format("{}{}", value, base_unit(*quantity));
}

std::string Parameter::set(double value) const { return path + "=" + text(value); }

std::string Parameter::readable(double value) const {
  if (!quantity) return whole ? fmt::format("{}", to_integer(value)) : fmt::format("{:.4g}", value);
  const std::int64_t digits = to_integer(six_digits(value));
  switch (*quantity) {
    case Quantity::time: return to_text(Time{digits});
    case Quantity::size: return to_text(Bytes{digits});
    case Quantity::rate: return to_text(Rate{digits});
    case Quantity::energy:
      return value < 1e-6 ? fmt::format("{:.4g} pJ", value * 1e12) : fmt::format("{:.4g} J", value);
    default: return fmt::format("{:.4g}{}", value, base_unit(*quantity));
  }
}

std::string readable_set(const std::string& set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos) return set;
  const std::string_view value = std::string_view(set).substr(equals + 1);
  for (const Quantity quantity : {Quantity::time, Quantity::size, Quantity::rate, Quantity::energy}) {
    const std::string_view unit = base_unit(quantity);
    if (!value.ends_with(unit)) continue;
    const std::optional<double> number = plain_number(value.substr(0, value.size() - unit.size()));
    if (!number) continue;
    Parameter parameter;
    parameter.quantity = quantity;
    return set.substr(0, equals + 1) + parameter.readable(*number);
  }
  return set;
}

Result<Parameter> parse_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (text.size() > kLongestText) return refuse(text.substr(0, 40), "is too long");
  if (equals == text.npos || equals == 0) return refuse(text, "a path and its values are wanted");
  Parameter parameter;
  parameter.path = trim(text.substr(0, equals));
  std::string_view values = text.substr(equals + 1);
  if (values.find("..") == values.npos) {
    for (const std::string_view item : split(values, ",")) {
      if (item.empty()) return refuse(text, "an empty value in the list");
      parameter.list.emplace_back(item);
    }
    if (parameter.list.size() > kMostListed)
      return refuse(parameter.path, fmt::format("more than {} values", kMostListed));
    return parameter;
  }
  while (true) {
    PR_ASSIGN(const bool taken, take_option(values, parameter, text));
    if (!taken) break;
  }
  const std::vector<std::string_view> ends = split(values, "..");
  if (ends.size() > 3) return refuse(text, "two ends, or low..base..high, are wanted");
  PR_TRY(set_range(parameter, ends, text));
  PR_TRY(check_range(parameter, text));
  return parameter;
}

std::vector<std::string> sweep_sets(const Parameter& p) {
  std::vector<std::string> sets;
  if (!p.is_range()) {
    for (const std::string& value : p.list) sets.push_back(p.path + "=" + value);
    return sets;
  }
  for (int i = 0; i < p.points; ++i) {
    const double value = i + 1 == p.points ? p.high : interpolated(p, static_cast<double>(i) / (p.points - 1));
    std::string set = p.set(value);
    if (sets.empty() || sets.back() != set) sets.push_back(std::move(set));
  }
  return sets;
}

double sample(const Parameter& p, RandomStream& stream) {
  PR_CHECK(p.is_range(), "only ranges are sampled");
  switch (p.shape) {
    case Shape::uniform: return interpolated(p, stream.uniform());
    case Shape::normal: {
      const double value = normal_between(p.low, p.high, stream.normal());
      return p.low >= 0 ? std::max(value, 0.0) : value;
    }
    case Shape::lognormal: return std::exp(normal_between(std::log(p.low), std::log(p.high), stream.normal()));
    case Shape::triangular: return triangular_between(p.low, p.middle(), p.high, stream.uniform());
  }
  return p.middle();
}

}  // namespace photonrail::sensitivity
