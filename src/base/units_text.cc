#include "base/units_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace photonrail {
namespace {

constexpr std::size_t kTextLimit = 64;  // longest quantity text that is looked at
constexpr int kDigitsMax = 24;          // enough for every 64-bit number of bits as bytes, and for every double

// One unit: a value of `n` units is n * factor * 10^exponent base units.
struct Unit {
  const char* name;
  std::int64_t factor;
  int exponent;
  bool printed;  // to_text may use it
};

constexpr std::int64_t kKibi = std::int64_t{1} << 10, kMebi = kKibi << 10, kGibi = kMebi << 10, kTebi = kGibi << 10;

constexpr Unit kTimeUnits[] = {  // base: picosecond
    {"ms", 1, 9, true}, {"us", 1, 6, true},     {"ns", 1, 3, true},     {"s", 1, 12, true},
    {"ps", 1, 0, true}, {"min", 60, 12, false}, {"h", 3600, 12, false}, {"\u00b5s", 1, 6, false}};
constexpr Unit kSizeUnits[] = {  // base: byte
    {"GB", 1, 9, true},      {"MB", 1, 6, true},      {"KB", 1, 3, true},      {"B", 1, 0, true},
    {"TB", 1, 12, true},     {"GiB", kGibi, 0, true}, {"MiB", kMebi, 0, true}, {"KiB", kKibi, 0, true},
    {"TiB", kTebi, 0, true}, {"kB", 1, 3, false}};
constexpr Unit kRateUnits[] = {  // base: bit per second
    {"GB/s", 8, 9, true},          {"Gb/s", 1, 9, false},         {"MB/s", 8, 6, true},
    {"KB/s", 8, 3, true},          {"B/s", 8, 0, true},           {"TB/s", 8, 12, true},
    {"Tb/s", 1, 12, false},        {"Mb/s", 1, 6, false},         {"Kb/s", 1, 3, false},
    {"b/s", 1, 0, false},          {"GiB/s", 8 * kGibi, 0, true}, {"MiB/s", 8 * kMebi, 0, true},
    {"KiB/s", 8 * kKibi, 0, true}, {"TiB/s", 8 * kTebi, 0, true}, {"Tbps", 1, 12, false},
    {"Gbps", 1, 9, false},         {"Mbps", 1, 6, false},         {"Kbps", 1, 3, false},
    {"bps", 1, 0, false},          {"Tbit/s", 1, 12, false},      {"Gbit/s", 1, 9, false},
    {"Mbit/s", 1, 6, false},       {"Kbit/s", 1, 3, false},       {"bit/s", 1, 0, false}};
constexpr Unit kFlopUnits[] = {  // base: floating-point operation per second
    {"TFLOP/s", 1, 12, true}, {"PFLOP/s", 1, 15, true}, {"GFLOP/s", 1, 9, true},
    {"MFLOP/s", 1, 6, true},  {"FLOP/s", 1, 0, true},   {"EFLOP/s", 1, 18, true}};
constexpr Unit kPowerUnits[] = {  // base: watt
    {"W", 1, 0, true},
    {"kW", 1, 3, true},
    {"MW", 1, 6, true},
    {"mW", 1, -3, true}};
constexpr Unit kEnergyUnits[] = {  // base: joule
    {"J", 1, 0, true},   {"kJ", 1, 3, true},  {"MJ", 1, 6, true},   {"kWh", 36, 5, false},    {"mJ", 1, -3, true},
    {"uJ", 1, -6, true}, {"nJ", 1, -9, true}, {"pJ", 1, -12, true}, {"\u00b5J", 1, -6, false}};
constexpr Unit kMoneyUnits[] = {{"USD", 1, 0, true}};
constexpr Unit kLossUnits[] = {{"dB", 1, 0, true}};
constexpr Unit kRatioUnits[] = {{"%", 1, -2, true}};

struct QuantityInfo {
  Quantity quantity;
  const char* name;
  const char* example;
  std::span<const Unit> units;
};

const QuantityInfo kQuantities[] = {
    {Quantity::time, "a time", "25 ms", kTimeUnits},
    {Quantity::size, "a size", "80 GB", kSizeUnits},
    {Quantity::rate, "a rate", "50 GB/s", kRateUnits},
    {Quantity::flop_rate, "a FLOP rate", "989 TFLOP/s", kFlopUnits},
    {Quantity::power, "a power", "700 W", kPowerUnits},
    {Quantity::energy, "an energy", "5 pJ", kEnergyUnits},
    {Quantity::money, "an amount of money", "$12.50", kMoneyUnits},
    {Quantity::loss, "a loss", "1.5 dB", kLossUnits},
    {Quantity::ratio, "a ratio", "12 %", kRatioUnits},
};

const QuantityInfo& info_of(Quantity quantity) { return kQuantities[static_cast<std::size_t>(quantity)]; }

// mantissa * 10^exponent, exactly as written.
struct Decimal {
  Int128 mantissa = 0;  // at most kDigitsMax digits
  int exponent = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool starts_exponent(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  const bool signed_exponent = text[1] == '-' || text[1] == '+';
  return is_digit(text[1]) || (signed_exponent && text.size() > 2 && is_digit(text[2]));
}

// Takes a decimal number from the front of `text`; nothing when there is none or it has more than kDigitsMax digits.
std::optional<Decimal> take_decimal(std::string_view& text) {
  std::string_view rest = text;
  Decimal decimal;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  int digits = 0, significant = 0, zeros = 0;  // zeros: not yet in the mantissa, so that trailing ones cost nothing
  bool in_fraction = false;
  for (; !rest.empty() && (is_digit(rest[0]) || (rest[0] == '.' && !in_fraction)); rest.remove_prefix(1)) {
    if (rest[0] == '.') {
      in_fraction = true;
      continue;
    }
    ++digits;
    if (in_fraction) --decimal.exponent;
    ++zeros;
    if (rest[0] == '0') continue;
    if (significant > 0)
      significant += zeros;
    else
      significant = 1;
    if (significant > kDigitsMax) return std::nullopt;
    for (; zeros > 0 && decimal.mantissa != 0; --zeros) decimal.mantissa *= 10;
    zeros = 0;
    decimal.mantissa += rest[0] - '0';
  }
  decimal.exponent += zeros;
  if (digits == 0) return std::nullopt;
  if (starts_exponent(rest)) {
    rest.remove_prefix(rest[1] == '+' ? 2 : 1);
    int exponent = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (error != std::errc() || exponent < -400 || exponent > 400) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    decimal.exponent += exponent;
  }
  if (negative) decimal.mantissa = -decimal.mantissa;
  text = rest;
  return decimal;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (name == unit.name) return &unit;
  }
  return nullptr;
}

std::string nearest_unit(std::span<const Unit> units, std::string_view name) {
  const Unit* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 2) + 1;
  for (const Unit& unit : units) {
    const std::size_t distance = edit_distance(unit.name, name);
    if (distance >= best_distance) continue;
    best = &unit;
    best_distance = distance;
  }
  return best == nullptr ? std::string() : fmt::format("; did you mean \"{}\"?", best->name);
}

// Says why `unit` is no unit of the wanted quantity.
std::string unit_problem(const QuantityInfo& wanted, std::string_view text, std::string_view unit) {
  for (const QuantityInfo& other : kQuantities) {
    if (find_unit(other.units, unit) == nullptr) continue;
    return fmt::format("\"{}\" is {}, but {} is wanted, such as \"{}\"", text, other.name, wanted.name, wanted.example);
  }
  const std::string hint = nearest_unit(wanted.units, unit);
  std::string known;
  if (hint.empty()) {
    for (const std::string& name : unit_names(wanted.quantity)) known += (known.empty() ? "; known: " : " ") + name;
  }
  return fmt::format("\"{}\": unknown unit \"{}\" for {}{}{}", text, unit, wanted.name, hint, known);
}

struct Measure {
  Decimal decimal;
  const Unit* unit;
};

constexpr Unit kPlain = {"", 1, 0, false};

// Number and unit of `text`; the unit is kPlain for a plain number, allowed where `plain` says so and for zero.
Result<Measure> parse_measure(Quantity quantity, std::string_view whole, bool plain = false) {
  const QuantityInfo& wanted = info_of(quantity);
  if (whole.size() > kTextLimit) {
    return fail(ErrorCode::invalid_input, fmt::format("a text of {} characters is not {}", whole.size(), wanted.name));
  }
  std::string_view rest = trim(whole);
  const std::optional<Decimal> decimal = take_decimal(rest);
  if (!decimal) {
    return fail(ErrorCode::invalid_input,
                fmt::format("\"{}\" is not {}; write a number of at most 24 digits and a unit, "
                            "such as \"{}\"",
                            whole, wanted.name, wanted.example));
  }
  const std::string_view name = trim(rest);
  if (!name.empty()) {
    const Unit* unit = find_unit(wanted.units, name);
    if (unit == nullptr) return fail(ErrorCode::invalid_input, unit_problem(wanted, whole, name));
    return Measure{*decimal, unit};
  }
  if (decimal->mantissa == 0 || plain) return Measure{*decimal, &kPlain};
  return fail(ErrorCode::invalid_input,
              fmt::format("\"{}\" has no unit; {} is wanted, such as \"{}\"", whole, wanted.name, wanted.example));
}

// decimal * factor * 10^exponent as an integer; nothing and a reason when it is not one of 64 bits.
Result<std::int64_t> exact_integer(const Measure& m, std::string_view text, const char* finest) {
  // The mantissa has at most 80 bits and a factor at most 43 bits, so this fits.
  Int128 value = m.decimal.mantissa * m.unit->factor;
  int exponent = m.decimal.exponent + m.unit->exponent;
  for (; exponent < 0 && value != 0; ++exponent) {
    if (value % 10 != 0) {
      return fail(ErrorCode::invalid_input, fmt::format("\"{}\" is finer than {}; write fewer digits", text, finest));
    }
    value /= 10;
  }
  constexpr Int128 kLimit = std::numeric_limits<std::int64_t>::max();
  for (; exponent > 0 && value != 0 && value <= kLimit && value >= -kLimit - 1; --exponent) value *= 10;
  if (value > kLimit || value < -kLimit - 1) {
    return fail(ErrorCode::invalid_input, fmt::format("\"{}\" is too large", text));
  }
  return static_cast<std::int64_t>(value);
}

// The same as the nearest double: one rounding, in the decimal conversion.
Result<double> nearest_double(const Measure& m, std::string_view text) {
  Int128 value = m.decimal.mantissa * m.unit->factor;
  std::string digits;
  const bool negative = value < 0;
  for (value = negative ? -value : value; value != 0; value /= 10)
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
  if (digits.empty()) return 0.0;
  std::reverse(digits.begin(), digits.end());
  const std::string number = fmt::format("{}{}e{}", negative ? "-" : "", digits, m.decimal.exponent + m.unit->exponent);
  double result = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), result);
  if (error != std::errc() || end != number.data() + number.size()) {
    return fail(ErrorCode::invalid_input, fmt::format("\"{}\" is out of range", text));
  }
  return result;
}

Result<double> parse_double(Quantity quantity, std::string_view text) {
  PR_ASSIGN(const Measure m, parse_measure(quantity, text));
  return nearest_double(m, text);
}

// digits * 10^exponent without exponent notation.
std::string plain_decimal(std::string digits, int exponent) {
  while (digits.size() > 1 && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (exponent >= 0) return digits + std::string(static_cast<std::size_t>(exponent), '0');
  const std::size_t fraction = static_cast<std::size_t>(-exponent);
  std::string text;
  if (digits.size() <= fraction) text.append(fraction - digits.size() + 1, '0');
  text += digits;
  const std::size_t whole = text.size() - fraction;
  return fmt::format("{}.{}", std::string_view(text).substr(0, whole), std::string_view(text).substr(whole));
}

// value / (factor * 10^exponent) as an exact decimal; nothing when it has no short one.
std::optional<std::string> quotient(std::int64_t value, const Unit& unit) {
  UInt128 magnitude = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  int exponent = -unit.exponent;
  std::int64_t factor = unit.factor;
  // A factor is a power of two: 1/2 is 5/10.
  for (; factor > 1 && magnitude % 2 == 0; factor /= 2) magnitude /= 2;
  if (factor > 8) return std::nullopt;
  for (; factor > 1; factor /= 2, --exponent) magnitude *= 5;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  } while (magnitude != 0);
  std::reverse(digits.begin(), digits.end());
  return fmt::format("{}{}", value < 0 ? "-" : "", plain_decimal(std::move(digits), exponent));
}

// The exact form in the largest unit that is at most the value; a power of 1024 only where that is shorter.
std::string integer_text(std::int64_t value, Quantity quantity) {
  const UInt128 magnitude = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  std::string decimal, binary;
  UInt128 decimal_size = 0, binary_size = 0;
  for (const Unit& unit : info_of(quantity).units) {
    if (!unit.printed) continue;
    UInt128 size = static_cast<UInt128>(unit.factor);
    for (int i = 0; i < unit.exponent; ++i) size *= 10;
    const bool smallest = unit.exponent == 0 && unit.factor <= 8;
    if (size > magnitude && !smallest) continue;
    UInt128& best_size = unit.factor > 8 ? binary_size : decimal_size;
    if (size < best_size) continue;
    const std::optional<std::string> number = quotient(value, unit);
    if (!number) continue;
    best_size = size;
    (unit.factor > 8 ? binary : decimal) = fmt::format("{} {}", *number, unit.name);
  }
  return !binary.empty() && binary.size() < decimal.size() ? binary : decimal;
}

struct ShortestDigits {
  bool negative;
  std::string digits;
  int exponent;
};

ShortestDigits shortest_digits(double value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(result.ptr - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c != '.') digits += c;
  }
  return {std::signbit(value), digits, exponent - static_cast<int>(digits.size()) + 1};
}

// The unit is chosen so that the number is at least 1 and as small as can be; digits are those of the shortest
// decimal that rounds to the value, moved by a power of ten, so that reading gives the value back.
std::string double_text(double value, Quantity quantity) {
  const QuantityInfo& info = info_of(quantity);
  if (!std::isfinite(value)) return fmt::format("{} {}", value, info.units.front().name);
  const ShortestDigits s = shortest_digits(value);
  const int leading = s.exponent + static_cast<int>(s.digits.size()) - 1;
  const Unit* best = nullptr;
  for (const Unit& unit : info.units) {
    if (!unit.printed) continue;
    if (best == nullptr) best = &unit;
    if (value == 0) {
      if (unit.exponent == 0) best = &unit;
      continue;
    }
    const bool fits = unit.exponent <= leading, best_fits = best->exponent <= leading;
    if (fits ? (!best_fits || unit.exponent > best->exponent) : (!best_fits && unit.exponent < best->exponent))
      best = &unit;
  }
  const int exponent = s.exponent - best->exponent;
  if (exponent > 18 || exponent < -40) {
    return fmt::format("{}{}e{} {}", s.negative ? "-" : "", s.digits, exponent, best->name);
  }
  return fmt::format("{}{} {}", s.negative ? "-" : "", plain_decimal(s.digits, exponent), best->name);
}

// Multiplier letter of an amount such as "$1.2M".
int money_exponent(char letter) {
  switch (letter) {
    case 'k':
    case 'K': return 3;
    case 'M': return 6;
    case 'B':
    case 'G': return 9;
    default: return 0;
  }
}

}  // namespace

Result<Time> parse_time(std::string_view text) {
  PR_ASSIGN(const Measure m, parse_measure(Quantity::time, text));
  PR_ASSIGN(const std::int64_t ps, exact_integer(m, text, "one picosecond"));
  return Time{ps};
}

Result<Bytes> parse_bytes(std::string_view text) {
  PR_ASSIGN(const Measure m, parse_measure(Quantity::size, text));
  PR_ASSIGN(const std::int64_t count, exact_integer(m, text, "one byte"));
  return Bytes{count};
}

Result<Rate> parse_rate(std::string_view text) {
  PR_ASSIGN(const Measure m, parse_measure(Quantity::rate, text));
  PR_ASSIGN(const std::int64_t bits, exact_integer(m, text, "one bit per second"));
  return Rate{bits};
}

Result<FlopRate> parse_flop_rate(std::string_view text) {
  PR_ASSIGN(const double value, parse_double(Quantity::flop_rate, text));
  return FlopRate{value};
}

Result<Power> parse_power(std::string_view text) {
  PR_ASSIGN(const double value, parse_double(Quantity::power, text));
  return Power{value};
}

Result<Energy> parse_energy(std::string_view text) {
  PR_ASSIGN(const double value, parse_double(Quantity::energy, text));
  return Energy{value};
}

Result<Loss> parse_loss(std::string_view text) {
  PR_ASSIGN(const double value, parse_double(Quantity::loss, text));
  return Loss{value};
}

Result<double> parse_ratio(std::string_view text) {
  PR_ASSIGN(const Measure m, parse_measure(Quantity::ratio, text, true));
  return nearest_double(m, text);
}

Result<Dollars> parse_dollars(std::string_view text) {
  std::string_view rest = trim(text);
  const bool negative = rest.size() > 1 && rest[0] == '-' && rest[1] == '$';
  if (negative) rest.remove_prefix(1);
  if (rest.empty() || rest[0] != '$' || text.size() > kTextLimit) {
    PR_ASSIGN(const double value, parse_double(Quantity::money, text));
    return Dollars{value};
  }
  rest.remove_prefix(1);
  std::optional<Decimal> decimal = !rest.empty() && is_digit(rest[0]) ? take_decimal(rest) : std::nullopt;
  const int exponent = rest.size() == 1 ? money_exponent(rest[0]) : 0;
  if (!decimal || (!rest.empty() && exponent == 0)) {
    return fail(ErrorCode::invalid_input,
                fmt::format("\"{}\" is not an amount of money; write \"$12.50\", \"$1.2M\" or \"12.50 USD\"", text));
  }
  decimal->exponent += exponent;
  if (negative) decimal->mantissa = -decimal->mantissa;
  PR_ASSIGN(const double value, nearest_double(Measure{*decimal, &kPlain}, text));
  return Dollars{value};
}

std::string to_text(Time value) { return integer_text(value.ps, Quantity::time); }
std::string to_text(Bytes value) { return integer_text(value.count, Quantity::size); }
std::string to_text(Rate value) { return integer_text(value.bits_per_second, Quantity::rate); }
std::string to_text(FlopRate value) { return double_text(value.flops_per_second, Quantity::flop_rate); }
std::string to_text(Power value) { return double_text(value.watts, Quantity::power); }
std::string to_text(Energy value) { return double_text(value.joules, Quantity::energy); }
std::string to_text(Loss value) { return double_text(value.decibels, Quantity::loss); }

std::string to_text(Dollars value) {
  std::string number = double_text(std::fabs(value.amount), Quantity::money);
  number.resize(number.size() - 4);  // " USD"
  if (const std::size_t dot = number.find('.'); dot != std::string::npos && dot + 2 == number.size()) number += '0';
  return (std::signbit(value.amount) ? "-$" : "$") + number;
}

const char* name_of(Quantity quantity) { return info_of(quantity).name; }
const char* example_of(Quantity quantity) { return info_of(quantity).example; }

std::vector<std::string> unit_names(Quantity quantity) {
  std::vector<std::string> names;
  for (const Unit& unit : info_of(quantity).units) names.emplace_back(unit.name);
  return names;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace photonrail
