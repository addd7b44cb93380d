#include "operators/gemm.h"

#include <cmath>

#include "operators/gemm_residual.h"

namespace photonrail::operators {

KernelTime GemmCurve::at(double m) const {
  if (!(m > 0)) return {0, basis_};
  const Place row = place_on(*rows_, m);
  const double residual =
      interpolate(static_cast<double>(residual_[row.at]), static_cast<double>(residual_[row.at + 1]), row.share);
  const double seconds = std::exp(residual) * scale_.roofline(m, n_, k_) + floor_;
  return {seconds, m > last_m_ ? std::max(basis_, Basis::extended) : basis_};
}

KernelTime GroupedGemmCurve::at(double rows, double touched) const {
  if (!(rows > 0) || !(touched > 0)) return {0, Basis::assumed};
  touched = std::min(touched, experts_);
  const double mean = std::max(rows / touched, 1.0);
  const Place row = place_on(table_->m, mean);
  const Place column = place_on(table_->n, n_ * touched);
  const auto at_rows = [&](std::size_t i) {
    const auto& values = residual_[i];
    return interpolate(static_cast<double>(values[row.at]), static_cast<double>(values[row.at + 1]), row.share);
  };
  const double residual = interpolate(at_rows(column.at), at_rows(column.at + 1), column.share);
  // All rows, and the weights of the touched experts: n_ * touched columns of B, but n_ columns of C for each row.
  const double compute = 2 * rows * n_ * k_ * scale_.seconds_per_flop;
  const double bytes = rows * k_ * scale_.a_bytes + touched * n_ * k_ * scale_.b_bytes + rows * n_ * scale_.c_bytes;
  const double seconds = std::exp(residual) * std::max(compute, bytes * scale_.seconds_per_byte) + floor_;
  return {seconds, Basis::assumed};
}

}  // namespace photonrail::operators
