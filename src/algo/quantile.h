// Exact quantiles and the empirical distribution of a sample.
//
// Quantile q of a sorted sample x[0..n-1]: with h = (n - 1) * q and i = floor(h), x[i] + (h - i) * (x[i+1] - x[i]).
// This is type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50 (1996),
// the default of R and NumPy. Pure functions, safe from any thread.
#pragma once

#include <span>
#include <vector>

namespace photonrail::algo {

// `sorted` ascending and not empty, 0 <= q <= 1; anything else aborts.
double quantile(std::span<const double> sorted, double q);

// Several quantiles of a sample in any order; empty when the sample is empty.
std::vector<double> quantiles(std::vector<double> sample, std::span<const double> qs);

struct CdfPoint {
  double value = 0;
  double fraction = 0;  // of the sample that is <= value
};

// One point for each distinct value, ascending; the last fraction is exactly 1. Empty for an empty sample.
std::vector<CdfPoint> empirical_cdf(std::vector<double> sample);

// Part of the sample that is strictly below `value`; 0 for an empty sample. `sorted` ascending.
double fraction_below(std::span<const double> sorted, double value);

}  // namespace photonrail::algo
