#include "operators/roofline.h"

#include <algorithm>

namespace photonrail::operators {

double roofline_seconds(const Operator& op, const GpuRates& gpu) {
  const double compute = op.flops / (gpu.peak.flops_per_second * gpu.matmul_efficiency);
  const double memory = op.bytes / (bytes_per_second(gpu.memory) * gpu.memory_efficiency);
  return std::max(compute, memory) + to_seconds(gpu.launch);
}

Work work_of(const Operator& op, const GpuRates& gpu) { return {op.flops, op.bytes, roofline_seconds(op, gpu)}; }

}  // namespace photonrail::operators
