// Energy of a training step, twice.
//
// As the photonic fabric paper has it (arXiv 2507.14000, section 4.2): bits times a constant per bit,
//   E_path(k) = E_adapter + k E_switch + E_adapter   between nodes, k switches on the way
//   E_tray    = one constant                          inside the scale-up domain
//   E = 8 (B_outside E_path + B_inside E_tray),  saving = 1 - E_photonic / E_electrical
// so the saving is an algebraic restatement of six constants, and no workload changes it beyond the mix of two ratios:
// with k switches on both sides (130 + 35 k) pJ become (10 + 25 k) pJ.
//
// Properly: components with static and dynamic power (power.h). The network of N GPUs with rate R each:
//   P = sum over parts of P_full (sigma + (1 - sigma) u),  u = 8 B_outside / (N R t)
// with sigma the static share. Electrical: adapter and module at the GPU, and k switch ports and modules per GPU
// (folded Clos of t tiers: k = 2 t - 1 ports per GPU). Photonic: the paper's constants as watts at full rate,
// endpoint (E_adapter + E_engine) R and k' E_switch R, with the same sigma. The scale-up domain stays electrical.
//
// Pure functions; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "energy/power.h"
#include "energy/scenario.h"
#include "energy/traffic.h"
#include "sensitivity/experiment.h"

namespace photonrail::energy {

struct PathEnergy {  // J per bit
  double electrical = 0;
  double photonic = 0;
  double saving() const { return electrical > 0 ? 1 - photonic / electrical : 0; }
};
PathEnergy path_energy(const PublishedConstants& c, std::int64_t electrical_switches, std::int64_t photonic_switches);
PathEnergy tray_energy(const PublishedConstants& c);

// Switches that a path of a folded Clos crosses at most: 1, 3, 5, ... by the tiers that the GPUs need.
std::int64_t switches_of_clos(std::int64_t gpus, std::int64_t radix);

struct FlowEnergy {
  Flow flow;
  PathEnergy joules;  // of the step
};

// One part of the step's energy, J.
struct Part {
  std::string name;
  double electrical = 0;
  double photonic = 0;
  bool network = false;  // adapters, modules, switches
};

struct StepEnergy {
  std::int64_t electrical_switches = 0;
  std::int64_t photonic_switches = 0;
  PathEnergy path;
  PathEnergy tray;
  std::vector<FlowEnergy> flows;
  PathEnergy paper;  // J of the step, all flows

  std::int64_t gpus = 0;
  double seconds = 0;
  double tokens = 0;
  double rate = 0;         // b/s per GPU
  double utilisation = 0;  // of the network's injection rate
  double gpu_watts = 0;    // one GPU
  double node_watts = 0;   // one node at the plug, electrical network
  std::int64_t node_gpus = 0;
  bool capped = false;  // the GPU's work would draw more than its limit
  std::vector<Part> parts;
  double network_watts = 0;          // electrical: adapters, modules, switches
  double network_outside_watts = 0;  // of it, what is not inside nodes
  double per_bit_watts = 0;          // what per-bit constants make of the switches: traffic times k E_switch

  double total_electrical() const;
  double total_photonic() const;
};

// Errors: invalid_input where the catalog lacks a figure of the GPU.
Result<StepEnergy> step_energy(const EnergyScenario& scenario, const StepWork& work, const catalog::Catalog& catalog);

// The work that [work] states.
StepWork stated_work(const EnergyScenario& scenario);

std::string flow_name(const Flow& flow);  // "tensor all_gather"
// The step's energy with the electrical network, J, in four groups.
std::vector<std::pair<std::string, double>> groups_of(const StepEnergy& energy);

std::vector<sensitivity::Metric> metrics_of(const StepEnergy& energy);

}  // namespace photonrail::energy
