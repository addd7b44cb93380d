// A photonic memory system as plain data: modules, the appliance that they make, tiers of appliances, and the
// accelerators that read from it.
//
// What is what (Photonic Fabric, arXiv 2507.14000, section 3): a *module* (PFM) holds optical ports, an embedded
// switch, a tier of HBM3E stacks and a tier of DDR5. Sixteen modules make an *appliance* (PFA), joined all to all: any
// port reaches any module's memory. Some ports of each appliance may go up to further appliances that only switch
// (*spines*), so that several serve 128 to 256 accelerators. An *accelerator* enters at a port; it has memory of its
// own besides.
//
// Figures that the paper does not print are assumptions, each said at its field: rate and size of a stack, channels.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "config/value.h"

namespace photonrail::pool {

struct Module {  // [module]
  std::int64_t ports = 1;
  Rate port_rate = gigabits_per_second(7'200);    // per port and direction
  Rate switch_rate = gigabits_per_second(8'000);  // embedded switch
  bool switch_shared = false;                     // one budget for both sides of the switch
  std::int64_t hbm_stacks = 2;
  Bytes hbm_stack = {36'000'000'000};
  Rate hbm_stack_rate = {9'600'000'000'000};  // 1.2 TB/s
  Bytes ddr = {2'000'000'000'000};
  std::int64_t ddr_channels = 8;
  Rate ddr_channel_rate = {409'600'000'000};  // 51.2 GB/s: DDR5-6400

  Rate hbm_rate() const { return hbm_stack_rate * hbm_stacks; }
  Rate ddr_rate() const { return ddr_channel_rate * ddr_channels; }
  Bytes hbm() const { return hbm_stack * hbm_stacks; }
};

struct Appliance {  // [appliance]
  std::int64_t modules = 16;
  std::optional<Rate> all_to_all;  // absent: all ports together
};

struct Tier {  // [tier]
  std::int64_t appliances = 1;
  std::int64_t uplinks = 0;  // ports of each appliance that go to the spines
};

struct Accelerator {  // [accelerator]
  std::string gpu = "H100";
  std::int64_t count = 1;
  std::int64_t ports = 1;                  // ports of the pool that one accelerator enters at
  std::optional<Bytes> outstanding;        // bytes in flight; absent: what keeps its own memory busy
  Time local_latency = nanoseconds(600);   // load from its own memory
  Time fabric_latency = nanoseconds(200);  // added by the way through one appliance
  Time ddr_latency = nanoseconds(100);     // added by a miss of the HBM tier
};

struct System {
  Module module;
  Appliance appliance;
  Tier tier;
  Accelerator accelerator;

  std::int64_t radix() const { return appliance.modules * module.ports; }  // ports of one appliance
  Rate all_to_all() const { return appliance.all_to_all.value_or(module.port_rate * radix()); }
  std::int64_t modules() const { return appliance.modules * tier.appliances; }
  // Bytes of all HBM tiers, and of all DDR tiers; 0 where the modules have none.
  double hbm_bytes() const {
    return module.hbm_stacks > 0 ? static_cast<double>(module.hbm().count) * static_cast<double>(modules()) : 0;
  }
  double ddr_bytes() const {
    return module.ddr_channels > 0 ? static_cast<double>(module.ddr.count) * static_cast<double>(modules()) : 0;
  }
  // Spines that take all uplinks, each as large as an appliance.
  std::int64_t spines() const { return (tier.appliances * tier.uplinks + radix() - 1) / radix(); }
  std::int64_t accelerators_max() const { return tier.appliances * ((radix() - tier.uplinks) / accelerator.ports); }
};

void describe(config::Fields& fields, Module& module);
void describe(config::Fields& fields, Appliance& appliance);
void describe(config::Fields& fields, Tier& tier);
void describe(config::Fields& fields, Accelerator& accelerator);

// What is wrong between the fields, with a hint; nothing when all is well. Fields alone are checked by describe().
struct Fault {
  std::string path;  // of the field to blame
  std::string what;
  std::string hint;
};
std::optional<Fault> fault_of(const System& system);

// A system with the figures of its accelerator from the catalog.
struct Resolved {
  System system;
  std::string gpu;
  Rate local_rate;  // of the accelerator's own memory
  Bytes local_bytes;
  Bytes outstanding;  // bytes in flight of one accelerator
  std::string outstanding_source;
};
// Errors: invalid_input for an unknown GPU, one without a memory rate, or a fault.
Result<Resolved> resolve(const System& system, const catalog::Catalog& catalog);

}  // namespace photonrail::pool
