// The kernels and collectives that a step is made of: calibrated (operators/kernel_model.h), or plain rates.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "operators/collective_curve.h"
#include "operators/kernel_time.h"
#include "recommendation/scenario.h"

namespace photonrail::recommendation {

// Immutable; any thread.
class Machine {
 public:
  virtual ~Machine() = default;
  // C[m, n] = A[m, k] B[k, n].
  virtual operators::KernelTime gemm(double m, double n, double k, Format format) const = 0;
  // Bytes read and written in order, by so many kernels.
  virtual operators::KernelTime stream(double bytes, double kernels) const = 0;
  // bytes as CollectiveCurve::at has them.
  virtual operators::KernelTime collective(operators::Collective kind, const operators::RankSpan& span,
                                           double bytes) const = 0;
  virtual std::string provenance() const = 0;
};

// Constant rates, for tests by hand and for what nobody measured. A collective across domains is bounded by its slower
// part: the share of bytes that leaves the domain at the network rate, or the rest at the scale-up rate.
struct PlainRates {
  double flops = 0;     // FLOP/s at fp16; twice that at int8, half at fp32
  double memory = 0;    // bytes/s
  double scale_up = 0;  // bytes/s, per GPU and direction
  double network = 0;
  double launch = 0;  // seconds of a kernel, and of a collective
};
class PlainMachine final : public Machine {
 public:
  explicit PlainMachine(const PlainRates& rates) : rates_(rates) {}
  operators::KernelTime gemm(double m, double n, double k, Format format) const override;
  operators::KernelTime stream(double bytes, double kernels) const override;
  operators::KernelTime collective(operators::Collective kind, const operators::RankSpan& span,
                                   double bytes) const override;
  std::string provenance() const override { return "plain rates"; }

 private:
  PlainRates rates_;
};

// Error: a GPU whose rates the catalog does not know.
Result<std::unique_ptr<Machine>> calibrated_machine(const catalog::Gpu& gpu, std::optional<Rate> network_rate);

}  // namespace photonrail::recommendation
