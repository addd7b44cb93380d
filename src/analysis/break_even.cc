#include "analysis/break_even.h"

#include <cmath>

#include "base/check.h"

namespace photonrail::analysis {

double break_even_overhead(Dollars rails_per_second, Dollars baseline_per_second) {
  PR_CHECK(rails_per_second.amount > 0 && baseline_per_second.amount > 0, "costs per second are above 0");
  return baseline_per_second.amount / rails_per_second.amount - 1.0;
}

BreakEven break_even(std::span<const OverheadPoint> points, double limit) {
  PR_CHECK(!points.empty(), "at least one sampled point");
  if (points.front().overhead > limit) return {BreakEven::Kind::never, {}};
  for (std::size_t i = 1; i < points.size(); ++i) {
    const OverheadPoint& low = points[i - 1];
    const OverheadPoint& high = points[i];
    PR_CHECK(low.switching_time < high.switching_time, "points ascend");
    if (high.overhead <= limit) continue;
    const double share = (limit - low.overhead) / (high.overhead - low.overhead);
    const double span = static_cast<double>((high.switching_time - low.switching_time).ps);
    return {BreakEven::Kind::at, low.switching_time + Time{std::llround(share * span)}};
  }
  return {BreakEven::Kind::always, {}};
}

}  // namespace photonrail::analysis
