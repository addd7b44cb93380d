// Instants and durations of the control plane, in nanoseconds (the data plane counts picoseconds: units.h).
// An Instant is read from a monotonic clock whose origin means nothing; only differences do. Sans-IO code never reads a
// clock: its caller hands in `now`.
#pragma once

#include <chrono>

namespace photonrail {

using Duration = std::chrono::nanoseconds;

struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};
using Instant = MonotonicClock::time_point;

inline constexpr Instant kNever = Instant::max();

}  // namespace photonrail
