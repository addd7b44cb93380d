#include "base/units.h"

#include <cmath>

#include "base/check.h"

namespace photonrail {

Time time_from_seconds(double seconds) {
  const double ps = std::nearbyint(seconds * 1e12);
  PR_CHECK(ps >= -9.2e18 && ps <= 9.2e18, "a time of more than 106 days");
  return {static_cast<std::int64_t>(ps)};
}

}  // namespace photonrail
