// Time of matrix products from calibrated utilisation. See kernel_model.h for the theory.
#pragma once

#include <array>
#include <cstdint>

#include "operators/dtype.h"
#include "operators/kernel_time.h"
#include "operators/tables.h"

namespace photonrail::operators {

// Peak rates of one GPU. FLOP/s by format (0: the format is not supported; fp8_block as fp8, int4 as bf16), bytes/s.
struct DeviceRates {
  std::array<double, kDtypes> peak{};  // dense
  double memory = 0;                   // local memory
  double scale_up = 0;                 // NVLink, per GPU and direction
  double network = 0;                  // NIC, per GPU and direction
  double memory_bytes = 0;             // capacity
};

// How the activations arrive. The fp8, fp8_block and nvfp4 tables were measured from bf16 activations, so they contain
// the quantisation kernels (at 2048 x 2048 and m = 1 on an H100 fp8 takes 13.8 us where bf16 takes 6.7 us).
//   unquantised: as measured (dynamic scales computed by kernels of their own);
//   prepared: static scales, quantisation rides in the norm or activation before. What it costs:
//     fp8: t_fp8(m, n, k) - t_bf16(m, n, k / 2), a product of the same bytes at twice the rate, is the same from
//     n = 128 to 16384; its median over small n is a curve of m k (calibration/quantise.csv): 9.6 us and, for large
//     m k, 2.5 ns for each 1,000 elements on an H100;
//     nvfp4 and fp8_block: the difference from bf16 at the smallest shape, and one pass over the activations (2 bytes
//     read, the new format written) at the streaming rate. (Their depth is not split at small n, so a difference at
//     larger k would not be quantisation.)
//   A prepared product is never below the roofline at the best rate that anybody measured for the format.
// bf16 is the same in both forms.
//
// Splitting K. The nvfp4 tables are of kernels that never split K, slow where few output tiles fill the GPU: 128
// columns over a depth of 16384 take 36 us on a B200. Engines tune this away, so the time of a prepared nvfp4 product
// is the smallest of those of s in {1, 2, 4, 8} parts of the depth: a product with s times the columns and 1/s of the
// depth (k / s >= 512, n s <= 65536) and a reduction that reads and writes m n (s + 1) 4-byte sums, 1 us at least. The
// other formats come from libraries that split where it pays (bf16, fp8) or serve engines as measured (fp8_block).
enum class Operands : std::uint8_t { prepared, unquantised };

// The roofline of C[m, n] = A[m, k] B[k, n]: operands read once, result written once, in bf16.
struct GemmScale {
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  double a_bytes = 0;  // of an element of A, B, C
  double b_bytes = 0;
  double c_bytes = 0;

  double bytes(double m, double n, double k) const { return m * k * a_bytes + n * k * b_bytes + m * n * c_bytes; }
  double roofline(double m, double n, double k) const {
    const double compute = 2 * m * n * k * seconds_per_flop;
    const double memory = bytes(m, n, k) * seconds_per_byte;
    return compute > memory ? compute : memory;
  }
};

// One (n, k, dtype) on one GPU, as a function of the rows m. A value; copying is cheap enough for set-up only.
class GemmCurve {
 public:
  KernelTime at(double m) const;
  double flops(double m) const { return 2 * m * n_ * k_; }
  double bytes(double m) const { return scale_.bytes(m, n_, k_); }  // operands read once, result written once

 private:
  friend class KernelModel;
  double n_ = 0;
  double k_ = 0;
  GemmScale scale_;
  double floor_ = 0;
  double last_m_ = 0;  // beyond it the time is extended
  Basis basis_ = Basis::measured;
  const Axis* rows_ = nullptr;
  std::array<float, Axis::kRoom> residual_{};  // ln r at each of *rows_
};

// Products of `experts` weight matrices with unequal shares of `rows` rows in all. Rule (stated, not measured): all
// weights that are touched are read once, with the residual of one product of the mean rows and the columns of all
// touched matrices side by side, which has the same tiles. Basis::assumed.
class GroupedGemmCurve {
 public:
  // `rows`: all rows of all experts; `touched`: experts that have any, at most all. 0 for no rows.
  KernelTime at(double rows, double touched) const;

 private:
  friend class KernelModel;
  double experts_ = 0;
  double n_ = 0;
  double k_ = 0;
  GemmScale scale_;
  double floor_ = 0;
  const GemmTable* table_ = nullptr;
  std::array<std::array<float, Axis::kRoom>, Axis::kRoom> residual_{};  // ln r by columns and rows, at this depth
};

}  // namespace photonrail::operators
