// Time of matrix products from calibrated utilisation. See kernel_model.h for the theory.
#pragma once

#include <array>
#include <cstdint>

#include "operators/dtype.h"
#include "operators/kernel_time.h"

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
//   prepared: static scales, quantisation rides in the norm or activation before. The tables themselves say what it costs:
//     fp8: t_fp8(m, n_min, k) - t_bf16(m, n_min, k) with the smallest n measured, where the product itself is negligible;
//     nvfp4 and fp8_block: the difference at the smallest shape (their K loop is not split at small n, so a difference
//     at larger k would not be quantisation). Never below the roofline.
// bf16 is the same in both forms.
//
// Splitting K. Some tables (nvfp4) are of kernels that never split K, and are slow where few output tiles fill the GPU.
// Engines tune this away, so the time of a product is the smallest of those of s in {1, 2, 4, 8} parts of the depth: a
// product with s times the columns and 1/s of the depth (k / s >= 512, n s <= 65536) and a reduction that reads and
// writes m n (s + 1) 4-byte sums, 1 us at least.
enum class Operands : std::uint8_t { prepared, unquantised };

// One (n, k, dtype) on one GPU, as a function of the rows m. A value; copying is cheap enough for set-up only.
class GemmCurve {
 public:
  KernelTime at(double m) const;
  double flops(double m) const { return 2 * m * n_ * k_; }
  double bytes(double m) const;  // operands read once, result written once

 private:
  friend class KernelModel;
  double n_ = 0;
  double k_ = 0;
};

// Products of `experts` weight matrices with unequal shares of `rows` rows in all. Rule (stated, not measured): all
// weights that are touched are read once, at the bandwidth that one product of the mean shape reaches.
class GroupedGemmCurve {
 public:
  // `rows`: all rows of all experts; `touched`: experts that have any.
  KernelTime at(double rows, double touched) const;

 private:
  friend class KernelModel;
};

}  // namespace photonrail::operators
