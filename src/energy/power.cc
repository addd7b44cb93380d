#include "energy/power.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::energy {
namespace {

using operators::Dtype;

constexpr double kBitsPerByte = 8;
constexpr double kMemoryShareOfProduct = 0.2;  // of the memory's rate, in a large matrix product
constexpr double kBestShareOfPeak = 0.79;      // median of the NVIDIA parts measured: H100, H200, B200, GB200, A100
constexpr double kSwitchChipsPerNode = 4;      // HGX H100: four NVSwitch chips; HGX B200: two larger ones
constexpr double kAdapterRate = 400e9;         // b/s, that the adapter's and the module's power is for
constexpr double kRackDomain = 16;             // a scale-up domain of more GPUs is a rack
constexpr double kRackFans = 0.02;             // cold plates; fans for the rest (assumed)
constexpr double kGraceWatts = 250;            // per processor with its memory (assumed)
constexpr double kSwitchTrayWatts = 1100;      // NVLink switch tray, two chips and cables (assumed)
constexpr double kSwitchTraysPer72 = 9;

std::size_t index_of(Dtype dtype) { return static_cast<std::size_t>(dtype); }

tl::unexpected<Error> unknown_figure(const catalog::Gpu& gpu, const char* what) {
  return fail(
      ErrorCode::invalid_input,
      fmt::format("the catalog does not know {} of {}\n  hint: give it in a file of --catalog DIR", what, gpu.name));
}

double best_bf16(const catalog::Gpu& gpu) {
  if (gpu.achievable_bf16.known()) return catalog::range_of(gpu.achievable_bf16).base;
  return kBestShareOfPeak * catalog::range_of(gpu.bf16).base;
}

void set_per_flop(GpuPower& power, const catalog::Gpu& gpu, const ComponentConstants& c) {
  const double memory = kMemoryShareOfProduct * catalog::range_of(gpu.memory_rate).base * c.memory_bit.joules;
  const double free = std::max(0.0, power.limit - power.idle - power.busy);
  const double bf16 = std::max(0.0, free - memory) / best_bf16(gpu);
  power.per_flop.fill(bf16);
  for (const Dtype dtype : {Dtype::fp8, Dtype::fp8_block, Dtype::int8}) {
    power.per_flop[index_of(dtype)] = bf16 * c.flop_8bit;
  }
  power.per_flop[index_of(Dtype::nvfp4)] = bf16 * c.flop_4bit;
  if (gpu.fp32.known()) power.per_flop[index_of(Dtype::fp32)] = free / catalog::range_of(gpu.fp32).base;
}

void add_rack_parts(Node& node, const ComponentConstants& c, double adapter_scale) {
  const double gpus = static_cast<double>(node.gpus);
  node.fans = std::min(c.fans, kRackFans);
  node.parts = {{"processors with memory", gpus / 2, kGraceWatts},
                {"scale-up switch trays", kSwitchTraysPer72 * gpus / 72, kSwitchTrayWatts},
                {"network adapters", gpus, c.adapter.watts * adapter_scale},
                {"optical modules of adapters", gpus, c.optic.watts * adapter_scale},
                {"storage", gpus / 4, c.storage.watts / 2},
                {"boards", gpus / 4, c.board.watts}};
}

void add_node_parts(Node& node, const ComponentConstants& c, double adapter_scale) {
  const double gpus = static_cast<double>(node.gpus);
  node.parts = {{"processors", static_cast<double>(c.cpus), c.cpu.watts},
                {"host memory", 1, c.host_memory.watts},
                {"scale-up switches", kSwitchChipsPerNode, c.scale_up_switch.watts},
                {"network adapters", gpus, c.adapter.watts * adapter_scale},
                {"optical modules of adapters", gpus, c.optic.watts * adapter_scale},
                {"storage", 1, c.storage.watts},
                {"boards", 1, c.board.watts}};
}

}  // namespace

Result<GpuPower> power_of(const catalog::Gpu& gpu, const ComponentConstants& c) {
  if (!gpu.power.known()) return unknown_figure(gpu, "the power limit");
  if (!gpu.bf16.known()) return unknown_figure(gpu, "the bf16 peak");
  if (!gpu.memory_rate.known()) return unknown_figure(gpu, "the memory rate");
  GpuPower power;
  power.limit = catalog::range_of(gpu.power).base;
  power.idle = c.gpu_idle * power.limit;
  power.busy = c.gpu_busy * power.limit;
  set_per_flop(power, gpu, c);
  power.per_memory_byte = c.memory_bit.joules * kBitsPerByte;
  power.per_scale_up_byte = c.scale_up_bit.joules * kBitsPerByte;
  power.per_network_byte = c.host_bit.joules * kBitsPerByte;
  return power;
}

Result<GpuPower> power_of(const catalog::Gpu& gpu) { return power_of(gpu, ComponentConstants{}); }

GpuEnergy energy_of(const GpuPower& power, const Activity& activity) {
  GpuEnergy energy;
  energy.idle = power.idle * activity.seconds;
  energy.busy = power.busy * activity.seconds;
  for (std::size_t d = 0; d < activity.flops.size(); ++d) energy.compute += power.per_flop[d] * activity.flops[d];
  energy.memory = power.per_memory_byte * activity.memory_bytes;
  energy.scale_up = power.per_scale_up_byte * activity.scale_up_bytes;
  energy.network = power.per_network_byte * activity.network_bytes;
  const double most = power.limit * activity.seconds;
  energy.capped = energy.total() > most;
  if (!energy.capped) return energy;
  const double dynamic = energy.total() - energy.idle;
  const double scale = dynamic > 0 ? std::max(0.0, most - energy.idle) / dynamic : 0;
  for (double* part : {&energy.busy, &energy.compute, &energy.memory, &energy.scale_up, &energy.network})
    *part *= scale;
  return energy;
}

double joules(const GpuPower& power, const Activity& activity) { return energy_of(power, activity).total(); }

Node node_of(const catalog::Gpu& gpu, const ComponentConstants& c) {
  Node node;
  node.fans = c.fans;
  node.supply_efficiency = c.supply_efficiency;
  node.facility = c.facility;
  const double rate = gpu.nic_rate.known() ? catalog::range_of(gpu.nic_rate).base : kAdapterRate;
  const double domain = gpu.domain.known() ? catalog::range_of(gpu.domain).base : 8;
  node.gpus = domain > kRackDomain ? static_cast<std::int64_t>(domain) : 8;
  if (domain > kRackDomain) {
    add_rack_parts(node, c, rate / kAdapterRate);
  } else {
    add_node_parts(node, c, rate / kAdapterRate);
  }
  return node;
}

double parts_watts(const Node& node) {
  double watts = 0;
  for (const NodePart& part : node.parts) watts += part.count * part.watts;
  return watts;
}

double plug_watts(const Node& node, double gpus_watts) {
  return (gpus_watts + parts_watts(node)) * (1 + node.fans) / node.supply_efficiency * node.facility;
}

double overhead_watts_per_gpu(const Node& node, double gpu_watts) {
  const double gpus = static_cast<double>(node.gpus);
  return plug_watts(node, gpu_watts * gpus) / gpus - gpu_watts;
}

}  // namespace photonrail::energy
