#include "algo/quantile.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::algo {

double quantile(std::span<const double> sorted, double q) {
  PR_CHECK(!sorted.empty(), "a quantile needs a sample");
  PR_CHECK(q >= 0 && q <= 1, "a quantile lies between 0 and 1");
  const double h = static_cast<double>(sorted.size() - 1) * q;
  const std::size_t i = std::min(static_cast<std::size_t>(h), sorted.size() - 1);
  if (i + 1 == sorted.size()) return sorted[i];
  return sorted[i] + (h - static_cast<double>(i)) * (sorted[i + 1] - sorted[i]);
}

std::vector<double> quantiles(std::vector<double> sample, std::span<const double> qs) {
  if (sample.empty()) return {};
  std::sort(sample.begin(), sample.end());
  std::vector<double> values;
  values.reserve(qs.size());
  for (const double q : qs) values.push_back(quantile(sample, q));
  return values;
}

std::vector<CdfPoint> empirical_cdf(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  std::vector<CdfPoint> points;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const bool last_of_value = i + 1 == sample.size() || sample[i + 1] != sample[i];
    if (last_of_value) points.push_back({sample[i], static_cast<double>(i + 1) / static_cast<double>(sample.size())});
  }
  return points;
}

double fraction_below(std::span<const double> sorted, double value) {
  if (sorted.empty()) return 0;
  const auto end = std::lower_bound(sorted.begin(), sorted.end(), value);
  return static_cast<double>(end - sorted.begin()) / static_cast<double>(sorted.size());
}

}  // namespace photonrail::algo
