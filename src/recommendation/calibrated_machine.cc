#include "operators/kernel_model.h"
#include "recommendation/machine.h"

namespace photonrail::recommendation {
namespace {

using operators::Dtype;
using operators::KernelTime;

Dtype dtype_of(Format format) {
  return format == Format::fp32 ? Dtype::fp32 : format == Format::fp16 ? Dtype::bf16 : Dtype::int8;
}

class CalibratedMachine final : public Machine {
 public:
  explicit CalibratedMachine(operators::KernelModel kernels) : kernels_(std::move(kernels)) {}

  KernelTime gemm(double m, double n, double k, Format format) const override {
    return kernels_.gemm_time(m, n, k, dtype_of(format));
  }
  KernelTime stream(double bytes, double count) const override { return kernels_.pointwise_time(bytes, count); }
  KernelTime collective(operators::Collective kind, const operators::RankSpan& span, double bytes) const override {
    if (span.ranks <= 1 || bytes <= 0) return {};
    return kernels_.collective(kind, span, operators::CollectiveLibrary::nccl).at(bytes);
  }
  std::string provenance() const override { return kernels_.provenance(); }

 private:
  operators::KernelModel kernels_;
};

}  // namespace

Result<std::unique_ptr<Machine>> calibrated_machine(const catalog::Gpu& gpu, std::optional<Rate> network_rate) {
  PR_ASSIGN(operators::KernelModel kernels, operators::KernelModel::make(gpu));
  if (network_rate) kernels = kernels.with_network_rate(*network_rate);
  return std::unique_ptr<Machine>(std::make_unique<CalibratedMachine>(std::move(kernels)));
}

}  // namespace photonrail::recommendation
