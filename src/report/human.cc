#include "report/human.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "base/units_text.h"

namespace photonrail::report {
namespace {

struct Scale {
  double factor;
  std::string_view unit;
};

constexpr std::array kTime = {Scale{3600, "h"}, Scale{1, "s"}, Scale{1e-3, "ms"}, Scale{1e-6, "us"}, Scale{1e-9, "ns"}};
constexpr std::array kBytes = {Scale{1e15, "PB"}, Scale{1e12, "TB"}, Scale{1e9, "GB"},
                               Scale{1e6, "MB"},  Scale{1e3, "KB"},  Scale{1, "B"}};
constexpr std::array kByteRate = {Scale{1e12, "TB/s"}, Scale{1e9, "GB/s"}, Scale{1e6, "MB/s"}, Scale{1, "B/s"}};
constexpr std::array kPower = {Scale{1e6, "MW"}, Scale{1e3, "kW"}, Scale{1, "W"}, Scale{1e-3, "mW"}};
constexpr std::array kEnergy = {Scale{1e9, "GJ"}, Scale{1e6, "MJ"}, Scale{1e3, "kJ"}, Scale{1, "J"}, Scale{1e-3, "mJ"}};
constexpr std::array kTokenEnergy = {Scale{1, "J/token"}, Scale{1e-3, "mJ/token"}};
constexpr std::array kFlops = {Scale{1e18, "EFLOP"}, Scale{1e15, "PFLOP"}, Scale{1e12, "TFLOP"}, Scale{1, "FLOP"}};
constexpr std::array kFlopRate = {Scale{1e15, "PFLOP/s"}, Scale{1e12, "TFLOP/s"}, Scale{1, "FLOP/s"}};
constexpr double kHourFrom = 2 * 3600;  // seconds; below it seconds read better

std::string four_digits(double value) {
  const double size = std::fabs(value) * (1 + 1e-9);  // so that 99.9999999 is shown as the 100.0 that it rounds to
  if (size >= 1000) return with_separators(std::llround(value));
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string scaled(double value, std::span<const Scale> scales) {
  if (std::fpclassify(value) == FP_ZERO)
    return fmt::format("0 {}", scales.size() > 1 ? scales[1].unit : scales[0].unit);
  const double size = std::fabs(value) * (1 + 1e-9);
  for (const Scale& scale : scales) {
    if (size >= scale.factor) return fmt::format("{} {}", four_digits(value / scale.factor), scale.unit);
  }
  return fmt::format("{:.3g} {}", value / scales.back().factor, scales.back().unit);
}

std::string dollars(double value) {
  const char* sign = value < 0 ? "-" : "";
  const double size = std::fabs(value);
  if (size >= 1e9) return fmt::format("{}${:.2f}B", sign, size / 1e9);
  if (size >= 1e6) return fmt::format("{}${:.2f}M", sign, size / 1e6);
  if (size >= 1e4) return fmt::format("{}${:.0f}k", sign, size / 1e3);
  return fmt::format("{}${:.2f}", sign, size);
}

std::string time_text(double value) {
  if (std::fpclassify(value) == FP_ZERO) return "0 s";
  return scaled(value, std::fabs(value) >= kHourFrom ? std::span<const Scale>(kTime) : std::span(kTime).subspan(1));
}

std::string percent(double value, bool sign) {
  constexpr double kFactorFrom = 1000;  // per cent; above it nobody reads a percentage
  const double p = value * 100;
  if (std::fabs(p) < 0.005) return "0.00 %";  // no sign: it would say more than is shown
  if (sign && p >= kFactorFrom) return "x " + four_digits(value + 1);
  const char* format = std::fabs(p) >= 100 ? "{:.0f} %" : std::fabs(p) >= 10 ? "{:.1f} %" : "{:.2f} %";
  const std::string text = fmt::format(fmt::runtime(format), p);
  return sign && p >= 0 ? "+" + text : text;
}

std::string plain(double value, std::string_view unit) {
  if (unit == "s") return time_text(value);
  if (unit == "B") return scaled(value, kBytes);
  if (unit == "B/s") return scaled(value, kByteRate);
  if (unit == "W") return scaled(value, kPower);
  if (unit == "J") return scaled(value, kEnergy);
  if (unit == "J/token") return scaled(value, kTokenEnergy);
  if (unit == "FLOP") return scaled(value, kFlops);
  if (unit == "FLOP/s") return scaled(value, kFlopRate);
  if (unit == "USD") return dollars(value);
  if (unit == "ratio") return percent(value, false);
  if (unit == "relative") return percent(value, true);
  if (unit == "times") return fmt::format("{:.2f}x", value);
  if (unit == "count") return with_separators(std::llround(value));
  return fmt::format("{} {}", four_digits(value), unit);
}

}  // namespace

std::string human(std::optional<double> value, std::string_view unit) {
  if (!value || !std::isfinite(*value)) return "-";
  return plain(*value, unit);
}

std::string time_label(Time value) { return value.ps == 0 ? "0 s" : to_text(value); }

double seconds_of(Time value) { return static_cast<double>(value.ps) / 1e12; }

std::string with_separators(std::int64_t value) {
  const std::string digits = fmt::format("{}", value < 0 ? -value : value);
  std::string text = value < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string exact(double value) {
  if (!std::isfinite(value)) return "null";
  if (std::fabs(value) < 9e15 && std::trunc(value) == value) return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace photonrail::report
