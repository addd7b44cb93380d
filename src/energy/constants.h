// Constants of the energy models, each with its range and its source. All are fields of an energy scenario, so that any
// of them can be set, swept and sampled. None was fitted to a measured power or changed after scoring one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"
#include "config/value.h"

namespace photonrail::energy {

// [published]: energy of a bit, per crossing, as the photonic fabric paper has it (arXiv 2507.14000, section 4.2). The
// electrical figures are full-load power over full rate of ConnectX and Spectrum parts, the photonic ones assumed.
struct PublishedConstants {
  Energy adapter{65e-12};  // electrical network adapter: DMA, transport, PCIe and line
  Energy electrical_switch{35e-12};
  Energy electrical_tray{50e-12};  // a bit that stays in the scale-up domain
  Energy photonic_adapter{5e-12};  // transceiver alone
  Energy photonic_switch{25e-12};
  Energy photonic_tray{10e-12};
  Energy protocol_engine{0};  // added to each photonic endpoint: what the 65 pJ adapter does and 5 pJ light does not
};

// [components]: static plus dynamic power of what a GPU node and its network are made of.
struct ComponentConstants {
  double gpu_idle = 0.12;   // share of the GPU's limit that it draws without work
  double gpu_busy = 0.13;   // share of the limit added while kernels run, whatever they do
  double flop_8bit = 0.54;  // energy of an 8-bit operation over that of a bf16 one
  double flop_4bit = 0.30;
  Energy memory_bit{6e-12};          // HBM, device and interface
  Energy scale_up_bit{6.5e-12};      // sender, switch and receiver, dynamic part
  Energy host_bit{13e-12};           // GPU to network adapter: two ends of a PCIe link
  std::int64_t cpus = 2;             // per 8-GPU node
  Power cpu{200};                    // under the light load of a training host
  Power host_memory{130};            // per node
  Power scale_up_switch{80};         // one of the four NVSwitch chips of a node, static
  Power adapter{26};                 // 400 Gb/s adapter, per GPU
  Power optic{9};                    // 400 Gb/s module, each end
  Power switch_port{11.7};           // one 400 Gb/s port of a network switch, without module; scales with the rate
  Power storage{60};                 // per node
  Power board{60};                   // per node: management, regulators of the base board
  double fans = 0.10;                // share of what the node's electronics draw; 0.02 with cold plates
  double supply_efficiency = 0.945;  // of power supplies between plug and electronics
  double facility = 1.0;             // power usage effectiveness; 1: nodes and network alone
  double network_static = 0.85;      // share of full power that switches, adapters and optics draw without traffic
};

void describe(config::Fields& fields, PublishedConstants& constants);
void describe(config::Fields& fields, ComponentConstants& constants);

// How far a constant may reasonably be from its default, in the base unit.
struct ConstantRange {
  std::string_view path;  // "components.memory_bit"
  double low = 0;
  double high = 0;
  std::string_view unit;        // "J" (per bit), "W", or "" of a share
  bool photonic_claim = false;  // of a part that nobody can buy
  std::string_view source;
};
std::span<const ConstantRange> constant_ranges();

}  // namespace photonrail::energy
