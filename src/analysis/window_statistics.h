// Statistics of windows, and what a switch of a given speed makes of them.
//
// Quantiles are exact, linearly interpolated (type 7 of Hyndman and Fan, algo/quantile.h).
//
// A switch of duration T in a window of length W: W >= T hides it. Else the phase that follows waits, and the published
// stall max(0, T - W) falls into two parts: exposed = min(T, T - W), which a faster switch would save, and serialised =
// max(0, -W), which no switch can save, for there the phases overlapped and now take turns. All functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algo/quantile.h"
#include "analysis/windows.h"

namespace photonrail::analysis {

inline constexpr double kQuantiles[] = {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0};

struct WindowSummary {
  std::size_t count = 0;
  std::size_t negative = 0;
  std::size_t shorter = 0;      // than the switching time asked for, negative ones included
  std::vector<Time> quantiles;  // at kQuantiles; empty when there are no windows
  Bytes bytes_after;
  Time quantile(double q) const;  // one of kQuantiles; zero when there are no windows
};

struct KindSummary {  // of one transition, for example pipeline -> data
  Dimension from = Dimension::none;
  Dimension to = Dimension::none;
  WindowSummary summary;
};

struct TrafficSummary {  // of windows followed by [low, high) bytes in the phase that follows
  Bytes low;
  Bytes high;  // the last class has no upper end: the largest Bytes
  WindowSummary summary;
};

struct HidingSummary {  // what a switch of this duration finds
  Time switching_time;
  std::size_t hidden = 0;  // windows at least as long
  Time exposed;            // sum over windows of min(T, max(0, T - W))
  Time serialised;         // sum over windows of max(0, -W)
};

struct WindowStatistics {
  WindowSummary all;
  std::vector<KindSummary> kinds;       // by (from, to)
  std::vector<TrafficSummary> traffic;  // classes that occur, ascending
  std::vector<HidingSummary> hiding;    // per switching time, in the order given
  std::vector<algo::CdfPoint> cdf;      // value in picoseconds
};

WindowSummary summarise(std::span<const Window> windows, Time switching_time);

// Whole statistics; `shorter` counts are against the first of `switching_times`, or 0 when there is none.
WindowStatistics statistics_of(std::span<const Window> windows, std::span<const Time> switching_times);

HidingSummary hiding_of(std::span<const Window> windows, Time switching_time);

}  // namespace photonrail::analysis
