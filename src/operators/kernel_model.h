// Calibrated kernels of one GPU: GEMM, attention, collectives and memory-bound kernels, each a roofline times a measured
// residual.
//
// Theory. Every kernel takes  t = r(shape) * max(F / P_dtype, B / M) + t_0 : the roofline of F operations and B bytes
// at the *peak* rates, times a residual r >= 1 that is interpolated between measured shapes (in the logarithm of shape
// and residual), plus the launch floor. r is the inverse of the utilisation curves u_f, u_b of the photonic fabric
// paper (arXiv 2507.14000, Fig. 6). Because r multiplies a roofline, a curve can be carried over to rates that nobody
// measured (with_memory_rate, GPUs without tables), which is what that paper does; Basis says when that was done.
//
// The tables are calibration/*.csv, embedded in the program; tools/calibrate writes them from the measured tables and
// says how. A curve (GemmCurve, ...) fixes what is fixed in one configuration, so that evaluating it costs tens of
// nanoseconds and allocates nothing.
//
// Units: seconds, bytes, operations (a multiply-add is two). Everything is immutable; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "operators/attention.h"
#include "operators/collective_curve.h"
#include "operators/dtype.h"
#include "operators/gemm.h"
#include "operators/kernel_time.h"
#include "operators/tables.h"

namespace photonrail::operators {

class KernelModel {
 public:
  // Of a catalog GPU. Without tables of its own it borrows those of the GPU nearest in architecture (Basis).
  static Result<KernelModel> make(const catalog::Gpu& gpu);

  // The same kernels on other rates: what the photonic fabric paper does when it gives one chip a pool.
  KernelModel with_memory_rate(Rate memory) const;
  KernelModel with_network_rate(Rate per_gpu_and_direction) const;

  const DeviceRates& rates() const { return rates_; }
  const std::string& gpu() const { return gpu_; }
  std::string provenance() const;  // which tables serve which kernels, for reports

  // C[m, n] = A[m, k] B[k, n]. The curve fixes n, k, dtype and the form in which A arrives (gemm.h).
  GemmCurve gemm(std::int64_t n, std::int64_t k, Dtype dtype, Operands operands = Operands::prepared) const;
  // Any shape, no curve: about 100 ns.
  KernelTime gemm_time(double m, double n, double k, Dtype dtype, Operands operands = Operands::prepared) const;
  // `experts` products of one shape side by side, `m` rows each on average (a mixture of experts).
  GroupedGemmCurve grouped_gemm(std::int64_t experts, std::int64_t n, std::int64_t k, Dtype dtype,
                                Operands operands = Operands::prepared) const;

  PrefillAttentionCurve prefill_attention(const AttentionShape& shape) const;
  DecodeAttentionCurve decode_attention(const AttentionShape& shape) const;

  CollectiveCurve collective(Collective kind, const RankSpan& span, CollectiveLibrary library) const;

  // Norms, activations, residual sums, rotary embedding, sampling: bytes read and written, `kernels` launches.
  KernelTime pointwise_time(double bytes, double kernels) const;

 private:
  // What a format runs with on this GPU.
  struct Format {
    const GemmTable* table = nullptr;
    std::size_t form = 0;  // index of GemmTable::forms
    GemmScale scale;
    Basis basis = Basis::measured;
  };
  Format format_of(Dtype dtype, Operands operands) const;

  std::string gpu_;
  DeviceRates rates_;
  Basis basis_ = Basis::measured;  // of any kernel at best: carried_over with the tables or rates of another GPU
  double peak_share_ = 1;          // best measured share of the peak, over that of the GPU whose tables these are
  const GpuTables* own_ = nullptr;          // those of tables_ that serve this GPU
  const CalibrationTables* tables_ = nullptr;  // kept by the program
};

}  // namespace photonrail::operators
