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
