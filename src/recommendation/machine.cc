#include "recommendation/machine.h"

#include <algorithm>

namespace photonrail::recommendation {

using operators::Basis;
using operators::Collective;
using operators::KernelTime;

KernelTime PlainMachine::gemm(double m, double n, double k, Format format) const {
  return {rates_.launch + 2 * m * n * k * bytes_of(format) / 2 / rates_.flops, Basis::assumed};
}

KernelTime PlainMachine::stream(double bytes, double kernels) const {
  return {rates_.launch * kernels + bytes / rates_.memory, Basis::assumed};
}

KernelTime PlainMachine::collective(Collective kind, const operators::RankSpan& span, double bytes) const {
  if (span.ranks <= 1 || bytes <= 0) return {0, Basis::assumed};
  const auto n = static_cast<double>(span.ranks);
  const auto inside = static_cast<double>(std::min(span.ranks, span.per_domain));
  const double passes = kind == Collective::all_reduce ? 2 : 1;
  const double up = passes * bytes * (inside - 1) / n / rates_.scale_up;
  if (inside == n) return {rates_.launch + up, Basis::assumed};
  // Reductions cross the network with what is left after the domain has added its own: one part in `inside`.
  const double share = kind == Collective::all_to_all ? (n - inside) / n : (n - inside) / n / inside;
  return {rates_.launch + std::max(up, passes * bytes * share / rates_.network), Basis::assumed};
}

}  // namespace photonrail::recommendation
