// Power of a component: what it draws while it is on, and what each unit of work adds.
//
// Theory: E = sum over components of (P_static t + sum over kinds of work e_kind * amount). Per-bit constants alone
// (the photonic fabric paper) leave out P_static, which dominates links and switches: they draw nearly full power when
// idle.
//
// A GPU:  E = min(P_limit t, (P_idle + P_busy) t + sum_d e_d F_d + e_mem B_mem + e_up B_up).
// P_limit is the data-sheet power, which firmware enforces by lowering clocks; the minimum stands for that.
// P_idle, P_busy: shares of it (constants.h). e_bf16 comes from two published figures and no power reading: the best
// matrix product that anybody measured runs at the power limit,
//   e_bf16 = (P_limit - P_idle - P_busy - P_mem) / F_best,
// with P_mem a fifth of the memory's rate (a large product reads little). Where no best product is known, 0.79 of the
// peak (median of the NVIDIA parts measured). fp32 is taken to reach the limit at its own peak.
//
// A node:  P_plug = (P_gpus + P_others) (1 + fans) / supply_efficiency * facility.
//
// All functions are pure and safe to call from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "energy/constants.h"
#include "operators/dtype.h"

namespace photonrail::energy {

// What one GPU did in a span of time.
struct Activity {
  double seconds = 0;
  std::array<double, operators::kDtypes> flops{};  // by format
  double memory_bytes = 0;
  double scale_up_bytes = 0;  // sent
  double network_bytes = 0;   // sent
};

struct GpuPower {
  double idle = 0;                                    // W
  double busy = 0;                                    // W, added while kernels run
  double limit = 0;                                   // W
  std::array<double, operators::kDtypes> per_flop{};  // J, by format
  double per_memory_byte = 0;                         // J
  double per_scale_up_byte = 0;                       // J per byte sent
  double per_network_byte = 0;                        // J per byte sent, up to the adapter
};

// What a GPU's energy went into. `capped`: the sum was above the limit and all dynamic parts are scaled down.
struct GpuEnergy {
  double idle = 0;
  double busy = 0;
  double compute = 0;
  double memory = 0;
  double scale_up = 0;
  double network = 0;
  bool capped = false;
  double total() const { return idle + busy + compute + memory + scale_up + network; }
};

// Error: invalid_input where the catalog does not know the power or the peak of the GPU.
Result<GpuPower> power_of(const catalog::Gpu& gpu, const ComponentConstants& constants);
Result<GpuPower> power_of(const catalog::Gpu& gpu);  // with the default constants

GpuEnergy energy_of(const GpuPower& power, const Activity& activity);
double joules(const GpuPower& power, const Activity& activity);  // the total of energy_of

// What a node holds beside its GPUs.
struct NodePart {
  std::string name;
  double count = 0;
  double watts = 0;  // each, at full load
};
struct Node {
  std::int64_t gpus = 8;
  std::vector<NodePart> parts;
  double fans = 0;
  double supply_efficiency = 1;
  double facility = 1;
};
// An 8-GPU air-cooled node, or, for GPUs with domains of more than 16, a liquid-cooled rack of that many GPUs with a
// Grace-class processor per two GPUs and nine switch trays per 72.
Node node_of(const catalog::Gpu& gpu, const ComponentConstants& constants);

double parts_watts(const Node& node);                               // of all parts, without GPUs
double plug_watts(const Node& node, double gpus_watts);             // of the node, its GPUs together drawing gpus_watts
double overhead_watts_per_gpu(const Node& node, double gpu_watts);  // plug power of a GPU's share, less the GPU itself

}  // namespace photonrail::energy
