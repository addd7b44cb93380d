// Strong types for the quantities of a fabric. Only operations with a physical meaning exist.
//
// Time is an integer number of picoseconds (range +-106 days), so that an order of events never depends on rounding.
// Products and quotients go through 128 bits: 1 GiB at 800 Gb/s overflows 64 bits when written the obvious way.
// Text always carries a unit (units_text.h): GB is 1e9 bytes, GiB is 2^30, b is bit, B is byte.
// All types are values; every function is pure and safe to call from any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace photonrail {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// An instant or a duration, in picoseconds.
struct Time {
  std::int64_t ps = 0;
  static constexpr Time max() { return {std::numeric_limits<std::int64_t>::max()}; }
  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Time b) { return {a.ps + b.ps}; }
  friend constexpr Time operator-(Time a, Time b) { return {a.ps - b.ps}; }
  friend constexpr Time operator*(Time a, std::int64_t n) { return {a.ps * n}; }
  friend constexpr Time operator*(std::int64_t n, Time a) { return {a.ps * n}; }
  friend constexpr Time operator/(Time a, std::int64_t n) { return {a.ps / n}; }
  constexpr Time& operator+=(Time b) { ps += b.ps; return *this; }
  constexpr Time& operator-=(Time b) { ps -= b.ps; return *this; }
};
constexpr Time picoseconds(std::int64_t n) { return {n}; }
constexpr Time nanoseconds(std::int64_t n) { return {n * 1'000}; }
constexpr Time microseconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Time milliseconds(std::int64_t n) { return {n * 1'000'000'000}; }
constexpr Time seconds(std::int64_t n) { return {n * 1'000'000'000'000}; }
constexpr double to_seconds(Time t) { return static_cast<double>(t.ps) * 1e-12; }
constexpr double to_milliseconds(Time t) { return static_cast<double>(t.ps) * 1e-9; }

// A number of bytes.
struct Bytes {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.count * n}; }
  friend constexpr Bytes operator/(Bytes a, std::int64_t n) { return {a.count / n}; }
  constexpr Bytes& operator+=(Bytes b) { count += b.count; return *this; }
};

// A data rate, in bits per second.
struct Rate {
  std::int64_t bits_per_second = 0;
  friend constexpr auto operator<=>(Rate, Rate) = default;
  friend constexpr Rate operator+(Rate a, Rate b) { return {a.bits_per_second + b.bits_per_second}; }
  friend constexpr Rate operator*(Rate a, std::int64_t n) { return {a.bits_per_second * n}; }
  friend constexpr Rate operator/(Rate a, std::int64_t n) { return {a.bits_per_second / n}; }
};
constexpr Rate gigabytes_per_second(std::int64_t n) { return {n * 8'000'000'000}; }
constexpr Rate gigabits_per_second(std::int64_t n) { return {n * 1'000'000'000}; }
constexpr double bytes_per_second(Rate r) { return static_cast<double>(r.bits_per_second) / 8.0; }

// Time that `bytes` occupy a link of rate `rate`, rounded up to a picosecond. Needs rate > 0.
constexpr Time serialization_time(Bytes bytes, Rate rate) {
  const Int128 bit_picoseconds = static_cast<Int128>(bytes.count) * 8 * 1'000'000'000'000;
  const Int128 r = rate.bits_per_second;
  return {static_cast<std::int64_t>((bit_picoseconds + r - 1) / r)};
}

// Floating-point operations per second; a multiply-add counts as two.
struct FlopRate {
  double flops_per_second = 0;
  friend constexpr auto operator<=>(FlopRate, FlopRate) = default;
};

struct Power {
  double watts = 0;
  friend constexpr auto operator<=>(Power, Power) = default;
  friend constexpr Power operator+(Power a, Power b) { return {a.watts + b.watts}; }
  friend constexpr Power operator*(Power a, double n) { return {a.watts * n}; }
};
struct Energy {
  double joules = 0;
  friend constexpr auto operator<=>(Energy, Energy) = default;
};
constexpr Energy operator*(Power p, Time t) { return {p.watts * to_seconds(t)}; }

// United States dollars, of the date that the source states.
struct Dollars {
  double amount = 0;
  friend constexpr auto operator<=>(Dollars, Dollars) = default;
  friend constexpr Dollars operator+(Dollars a, Dollars b) { return {a.amount + b.amount}; }
  friend constexpr Dollars operator*(Dollars a, double n) { return {a.amount * n}; }
};

// Optical loss in decibels.
struct Loss {
  double decibels = 0;
  friend constexpr auto operator<=>(Loss, Loss) = default;
};

// A length of time computed in floating point, rounded to the nearest picosecond; the only such conversion.
Time time_from_seconds(double seconds);

}  // namespace photonrail
