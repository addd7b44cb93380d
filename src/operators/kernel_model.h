// Calibrated kernels of one GPU: GEMM, attention, collectives and memory-bound kernels, each a roofline times a
// measured residual.
//
// Theory. Every kernel takes  t = r(shape) * max(F / P_dtype, B / M) + t_0 : the roofline of F operations and B bytes
// at the *peak* rates, times a residual r >= 1 that is interpolated between measured shapes (in the logarithm of shape
// and residual), plus the launch floor. r is the inverse of the utilisation curves u_f, u_b of the photonic fabric
// paper (arXiv 2507.14000, Fig. 6). Because r multiplies a roofline, a curve can be carried over to rates that nobody
// measured (with_memory_rate, GPUs without tables), which is what that paper does; Basis says when that was done.
//
// Matrix products: F = 2 m n k, B = operands read once and a bf16 result written once. ln r is linear in ln m, ln n and
// ln k between grid points; beyond the grid r of the edge stays (Basis::extended). t_0 is nine tenths of the quickest
// product of the format. Formats that a GPU does not compute in run in bf16 with weights expanded on the fly
// (Basis::assumed); so do int4 everywhere.
// A GPU without tables borrows them: B300 of B200, GB300 of GB200, else any with fp4 of B200, with fp8 of H100, without
// of A100. Where the best measured share of the bf16 peak of both is known, the peak is scaled by their ratio (MI300X
// 51.4 %, H100 80.3 %). A100 has H100's residuals in bf16 times a factor from its own measurements: by m
// below 512, by the work m n k from there. GH200 is the chip of H100 and counts as it.
// Memory-bound kernels: launches, and bytes at the share of the memory rate that a copy reaches.
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
  // Whether (m, n, k) in this format is one of the points that the tables of this GPU hold.
  bool gemm_is_grid_point(double m, double n, double k, Dtype dtype) const;
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
  double slower_issue() const;

  std::string gpu_;
  DeviceRates rates_;
  Basis basis_ = Basis::measured;   // of any kernel at best: carried_over with the tables or rates of another GPU
  double peak_share_ = 1;           // best measured share of the peak, over that of the GPU whose tables these are
  const GpuTables* own_ = nullptr;  // those of tables_ that serve this GPU
  const CalibrationTables* tables_ = nullptr;  // kept by the program
};

}  // namespace photonrail::operators
