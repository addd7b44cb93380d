// What tables and curves of matrix products share: the roofline, and the residual between its measured positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "operators/gemm.h"
#include "operators/tables.h"

namespace photonrail::operators {

// Rates and element sizes of one product: A (m x k), B (k x n), C (m x n) are read and written once.
constexpr GemmScale gemm_scale(double peak, double memory, double a_bytes, double b_bytes) {
  return {1 / peak, 1 / memory, a_bytes, b_bytes, 2};
}

inline double interpolate(double low, double high, double share) { return low + share * (high - low); }

// Where x lies on an axis: the position below and the share of the way to the next, 0 to 1 (the edge beyond the ends).
struct Place {
  std::size_t at = 0;
  double share = 0;
};
inline Place place_on(const Axis& axis, double x) {
  const auto at = static_cast<std::size_t>(axis.below(x));
  const double low = axis.log[at];
  const double high = axis.log[at + 1];
  return {at, std::clamp((std::log(x) - low) / (high - low), 0.0, 1.0)};
}
inline bool outside(const Axis& axis, double x) {
  return x < axis.value[0] || x > axis.value[static_cast<std::size_t>(axis.size - 1)];
}

// ln r of the table at (n, k), for the m of column `im`.
inline double at_shape(const std::vector<float>& residual, const GemmTable& table, const Place& n, const Place& k,
                       std::size_t im) {
  const auto width = static_cast<std::size_t>(table.k.size) * Axis::kRoom;
  const float* corner = &residual[n.at * width + k.at * Axis::kRoom + im];
  const double low = interpolate(static_cast<double>(corner[0]), static_cast<double>(corner[Axis::kRoom]), k.share);
  const double high =
      interpolate(static_cast<double>(corner[width]), static_cast<double>(corner[width + Axis::kRoom]), k.share);
  return interpolate(low, high, n.share);
}

// The largest m that was measured at all the shapes that (n, k) is interpolated between.
inline double last_m(const GemmTable& table, const Place& n, const Place& k) {
  const auto width = static_cast<std::size_t>(table.k.size);
  std::uint8_t last = Axis::kRoom;
  for (std::size_t in = n.share < 1 ? 0 : 1; in <= (n.share > 0 ? 1 : 0); ++in) {
    for (std::size_t ik = k.share < 1 ? 0 : 1; ik <= (k.share > 0 ? 1 : 0); ++ik)
      last = std::min(last, table.last_m[(n.at + in) * width + k.at + ik]);
  }
  return table.m.value[last];
}

}  // namespace photonrail::operators
