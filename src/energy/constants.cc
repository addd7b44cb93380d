#include "energy/constants.h"

#include <array>

namespace photonrail::energy {
namespace {

constexpr double kPico = 1e-12;

constexpr std::array kRanges = {
    ConstantRange{"published.adapter", 40 * kPico, 65 * kPico, "J", false,
                  "high: paper, 26 W of ConnectX-7 at 400 Gb/s; low: 20 W adapter at 800 Gb/s with transport, catalog"},
    ConstantRange{"published.electrical_switch", 29 * kPico, 61 * kPico, "J", false,
                  "low: QM9700, 747 W at 25.6 Tb/s, no optics; high: 7.0 kW at 115.2 Tb/s with pluggable optics"},
    ConstantRange{"published.electrical_tray", 10 * kPico, 50 * kPico, "J", false,
                  "high: paper; low: SerDes of 5 to 8 pJ/bit at both ends (estimate)"},
    ConstantRange{"published.photonic_adapter", 3.1 * kPico, 22.5 * kPico, "J", true,
                  "low: maker's claim of 2.4 + 0.7 pJ/bit; high: 400G DR4 module, 9 W"},
    ConstantRange{"published.photonic_switch", 15 * kPico, 34.3 * kPico, "J", true,
                  "high: switch with co-packaged optics, 3.95 kW at 115.2 Tb/s; low: assumed"},
    ConstantRange{"published.photonic_tray", 3.1 * kPico, 20 * kPico, "J", true, "low: maker's claim; high: assumed"},
    ConstantRange{"published.protocol_engine", 0, 25 * kPico, "J", true,
                  "low: paper, none; high: critique of the paper's comparison of unlike endpoints"},
    ConstantRange{"components.gpu_idle", 0.09, 0.16, "", false,
                  "assumed from commonly seen idle readings, 60 to 110 W of 700 W"},
    ConstantRange{"components.gpu_busy", 0.06, 0.20, "", false,
                  "assumed: clocks, schedulers and caches of a running GPU"},
    ConstantRange{
        "components.flop_8bit", 0.50, 0.57, "", false,
        "best measured products at the power limit, bf16 over fp8: H100 0.57, H200 0.55, B200 0.51 (ml-engineering)"},
    ConstantRange{"components.flop_4bit", 0.25, 0.40, "", false, "assumed"},
    ConstantRange{"components.memory_bit", 3.9 * kPico, 9 * kPico, "J", false,
                  "HBM2 access 3.9 (O'Connor 2017), HBM2E device 6.0, HBM3E 7 to 9 pJ/bit (market report, low trust)"},
    ConstantRange{"components.scale_up_bit", 1.3 * kPico, 16 * kPico, "J", false,
                  "low: NVLink-C2C; high: SerDes of 8 pJ/bit at both ends (estimate)"},
    ConstantRange{"components.host_bit", 10 * kPico, 16 * kPico, "J", false,
                  "PCIe 5 SerDes 5 to 8 pJ/bit, two ends (estimate)"},
    ConstantRange{"components.cpu", 120, 350, "W", false, "high: limit of a 56-core Xeon; low: near idle (assumed)"},
    ConstantRange{"components.host_memory", 80, 250, "W", false, "32 modules of 2.5 to 8 W (assumed)"},
    ConstantRange{"components.scale_up_switch", 40, 140, "W", false, "assumed; no figure is published"},
    ConstantRange{"components.adapter", 17, 26, "W", false,
                  "high: paper, ConnectX-7 at 400 Gb/s; low: adapter without load (assumed)"},
    ConstantRange{"components.optic", 8, 10, "W", false,
                  "400G SR4 8 W, DR4 9 W (NVIDIA documents), 10 W (Opus script)"},
    ConstantRange{"components.switch_port", 8.75, 18.4, "W", false,
                  "QM9700, 64 ports: 747 W typical, 560 to 1176 W (catalog)"},
    ConstantRange{"components.storage", 30, 100, "W", false, "8 to 10 NVMe drives, 4 to 10 W each (assumed)"},
    ConstantRange{"components.board", 30, 120, "W", false, "assumed"},
    ConstantRange{"components.fans", 0.05, 0.15, "", false, "assumed for an air-cooled 8-GPU node at full load"},
    ConstantRange{"components.supply_efficiency", 0.92, 0.96, "", false,
                  "80 PLUS Platinum to Titanium at half to full load"},
    ConstantRange{"components.network_static", 0.70, 0.95, "", false,
                  "assumed: SerDes and optics have no idle state; QM9700 is typical 747 W with links up"},
};

}  // namespace

void describe(config::Fields& fields, PublishedConstants& c) {
  fields("adapter", c.adapter, {.doc = "Electrical adapter, per bit and end. Paper: 65 pJ."});
  fields("electrical_switch", c.electrical_switch, {.doc = "One electrical switch, per bit. Paper: 35 pJ."});
  fields("electrical_tray", c.electrical_tray,
         {.doc = "Electrical path inside the scale-up domain, per bit. Paper: 50 pJ."});
  fields("photonic_adapter", c.photonic_adapter,
         {.doc = "Photonic transceiver, per bit and end. Paper: 5 pJ, assumed."});
  fields("photonic_switch", c.photonic_switch, {.doc = "One photonic switch, per bit. Paper: 25 pJ, assumed."});
  fields("photonic_tray", c.photonic_tray, {.doc = "Photonic path inside a tray, per bit. Paper: 10 pJ, assumed."});
  fields("protocol_engine", c.protocol_engine,
         {.doc = "Added to each photonic endpoint for DMA and transport, which the electrical adapter includes."});
}

void describe(config::Fields& fields, ComponentConstants& c) {
  const auto share = [](std::string_view doc) { return config::Meta{.doc = doc, .min = 0, .max = 1}; };
  fields("gpu_idle", c.gpu_idle, share("Share of the GPU's power limit drawn without work."));
  fields("gpu_busy", c.gpu_busy, share("Share of the limit added while kernels run."));
  fields("flop_8bit", c.flop_8bit, share("Energy of an 8-bit operation over that of a bf16 one."));
  fields("flop_4bit", c.flop_4bit, share("Energy of a 4-bit operation over that of a bf16 one."));
  fields("memory_bit", c.memory_bit, {.doc = "GPU memory, per bit read or written."});
  fields("scale_up_bit", c.scale_up_bit, {.doc = "Scale-up link and switch, dynamic part, per bit."});
  fields("host_bit", c.host_bit, {.doc = "Link between GPU and network adapter, per bit."});
  fields("cpus", c.cpus, {.doc = "Processors of an 8-GPU node.", .min = 0, .max = 64});
  fields("cpu", c.cpu, {.doc = "One processor."});
  fields("host_memory", c.host_memory, {.doc = "Host memory of a node."});
  fields("scale_up_switch", c.scale_up_switch, {.doc = "One scale-up switch chip, static; four per 8-GPU node."});
  fields("adapter", c.adapter, {.doc = "One 400 Gb/s network adapter, one per GPU; scales with the rate."});
  fields("optic", c.optic, {.doc = "One 400 Gb/s optical module, one per link end; scales with the rate."});
  fields("switch_port", c.switch_port,
         {.doc = "One 400 Gb/s port of a network switch, without module; scales with the rate."});
  fields("storage", c.storage, {.doc = "Drives of a node."});
  fields("board", c.board, {.doc = "Management and regulators of a node's boards."});
  fields("fans", c.fans, share("Fans, as a share of what the electronics draw."));
  fields("supply_efficiency", c.supply_efficiency, {.doc = "Efficiency of the power supplies.", .min = 0.5, .max = 1});
  fields("facility", c.facility,
         {.doc = "Power usage effectiveness of the building; 1 leaves it out.", .min = 1, .max = 3});
  fields("network_static", c.network_static, share("Share of full power that network parts draw without traffic."));
}

std::span<const ConstantRange> constant_ranges() { return kRanges; }

}  // namespace photonrail::energy
