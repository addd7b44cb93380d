// Up to which switching time photonic rails pay.
//
// A step of t seconds on a cluster that costs c per second (purchase spread over its life, plus energy) costs c t.
// Against a baseline with c0, t0, rails pay while c t <= c0 t0, that is, while the overhead t / t0 - 1 stays at or
// below c0 / c - 1. Overhead as a function of the switching time is known at sampled points and taken as linear in
// between, which it is wherever the set of exposed switches does not change. All functions are pure.
#pragma once

#include <span>

#include "base/units.h"

namespace photonrail::analysis {

// Both costs per second of the whole cluster, above 0.
double break_even_overhead(Dollars rails_per_second, Dollars baseline_per_second);

struct OverheadPoint {
  Time switching_time;
  double overhead = 0;  // step time / baseline step time - 1
};

struct BreakEven {
  enum class Kind { never, at, always } kind = Kind::never;  // always: still pays at the longest time sampled
  Time switching_time;                                       // meaningful for `at`
};

// The switching time at which the overhead first rises above `limit`. Points in ascending order of switching time, at
// least one. `never` when the first point is already above it.
BreakEven break_even(std::span<const OverheadPoint> points, double limit);

}  // namespace photonrail::analysis
