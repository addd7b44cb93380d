#include "pool/system.h"

#include <fmt/format.h>

#include "base/units_text.h"

namespace photonrail::pool {
namespace {

// Guards against slips of the keyboard, far above what anybody announces.
constexpr double kRateMax = 1e15;  // b/s
constexpr double kSizeMax = 1e15;  // B
constexpr double kCountMax = 4096;
constexpr double kLatencyMax = 1;  // s
constexpr std::int64_t kModulesMax = 1024;
constexpr double kTotalRateMax = 1e17;  // b/s of all links of a kind; sums stay far inside 64 bits

}  // namespace

void describe(config::Fields& fields, Module& m) {
  fields("ports", m.ports, {.doc = "Optical ports of a module (paper: 1).", .min = 1, .max = 64});
  fields("port_rate", m.port_rate,
         {.doc = "Rate of a port and direction (paper 3.3: 7.2 Tb/s; next generation, 9: 28.8 Tb/s).",
          .max = kRateMax,
          .above = 0});
  fields("switch_rate", m.switch_rate,
         {.doc = "Embedded switch (paper 3: 8 Tb/s): towards the ports, and again out of the memory.",
          .max = kRateMax,
          .above = 0});
  fields("switch_shared", m.switch_shared,
         {.doc = "One switch_rate for both sides together, as a stricter reading of the paper."});
  fields("hbm_stacks", m.hbm_stacks, {.doc = "HBM3E stacks (paper 3: 2).", .min = 0, .max = 64});
  fields("hbm_stack", m.hbm_stack, {.doc = "Size of a stack (assumed: 36 GB).", .max = kSizeMax, .above = 0});
  fields("hbm_stack_rate", m.hbm_stack_rate,
         {.doc = "Rate of a stack (assumed: 1.2 TB/s, 1024 pins at 9.4 Gb/s).", .max = kRateMax, .above = 0});
  fields("ddr", m.ddr, {.doc = "DDR5 of a module (32 TB over 16 modules: 2 TB).", .max = kSizeMax});
  fields("ddr_channels", m.ddr_channels, {.doc = "DDR5 channels (assumed: 8).", .min = 0, .max = 256});
  fields("ddr_channel_rate", m.ddr_channel_rate,
         {.doc = "Rate of a channel (assumed: DDR5-6400, 51.2 GB/s).", .max = kRateMax, .above = 0});
}

void describe(config::Fields& fields, Appliance& a) {
  fields("modules", a.modules, {.doc = "Modules of an appliance (paper 3.3: 16).", .min = 1, .max = 256});
  fields("all_to_all", a.all_to_all,
         {.doc = "Switching among the modules (paper 3.3: 115.2 Tb/s).",
          .max = kRateMax,
          .above = 0,
          .absent = "all ports together"});
}

void describe(config::Fields& fields, Tier& t) {
  fields("appliances", t.appliances, {.doc = "Appliances with memory.", .min = 1, .max = 256});
  fields("uplinks", t.uplinks,
         {.doc = "Ports of each appliance that go up to spines, appliances that only switch.", .min = 0, .max = 4096});
}

void describe(config::Fields& fields, Accelerator& a) {
  fields("gpu", a.gpu, {.doc = "GPU of the catalog: rate and size of its own memory."});
  fields("count", a.count, {.doc = "Accelerators, spread evenly over the appliances.", .min = 1, .max = kCountMax});
  fields("ports", a.ports, {.doc = "Ports of the pool that one accelerator enters at.", .min = 1, .max = 64});
  fields("outstanding", a.outstanding,
         {.doc = "Bytes that one accelerator keeps in flight.",
          .max = kSizeMax,
          .above = 0,
          .absent = "what keeps its own memory busy: memory rate x local_latency"});
  fields("local_latency", a.local_latency,
         {.doc = "Load latency of its own memory (600 ns, from memory of microbenchmarks, unchecked).",
          .max = kLatencyMax,
          .above = 0});
  fields("fabric_latency", a.fabric_latency,
         {.doc = "Added by the way through one appliance (below 200 ns, vendor claim, Hot Chips 2025).",
          .max = kLatencyMax});
  fields("ddr_latency", a.ddr_latency,
         {.doc = "Added by a miss of the HBM tier (assumed: 100 ns).", .max = kLatencyMax});
}

std::optional<Fault> fault_of(const System& s) {
  if (s.module.hbm_stacks == 0 && s.module.ddr_channels == 0) {
    return Fault{"module.hbm_stacks", "a module without any memory serves nothing", "give hbm_stacks or ddr_channels"};
  }
  if (s.modules() > kModulesMax) {
    return Fault{"tier.appliances", fmt::format("{} modules in all, the limit is {}", s.modules(), kModulesMax),
                 "fewer appliances or fewer modules in each"};
  }
  const double ports = static_cast<double>(s.module.port_rate.bits_per_second) * static_cast<double>(s.radix());
  const double spines = static_cast<double>(s.tier.appliances * s.tier.uplinks) / static_cast<double>(s.radix()) + 1;
  const double inside = s.appliance.all_to_all ? static_cast<double>(s.appliance.all_to_all->bits_per_second) : ports;
  if (ports > kTotalRateMax || inside * spines > kTotalRateMax) {
    return Fault{"module.port_rate", "the ports of the pool have more than 100 Pb/s together", "check the units"};
  }
  if (s.tier.uplinks >= s.radix()) {
    return Fault{"tier.uplinks",
                 fmt::format("{} uplinks leave no port of {} for accelerators", s.tier.uplinks, s.radix()),
                 "fewer uplinks, or more ports in a module"};
  }
  if (s.tier.appliances > 1 && s.tier.uplinks == 0) {
    return Fault{"tier.uplinks", fmt::format("{} appliances are not joined", s.tier.appliances),
                 "give each some uplinks, for example half of its ports"};
  }
  if (s.tier.appliances > s.radix()) {
    return Fault{"tier.appliances",
                 fmt::format("{} appliances, but a spine has {} ports and must reach each of them", s.tier.appliances,
                             s.radix()),
                 "fewer appliances, or more ports in a module"};
  }
  if (s.spines() > s.tier.uplinks) {
    return Fault{"tier.uplinks", fmt::format("{} uplinks cannot reach all {} spines", s.tier.uplinks, s.spines()),
                 "more uplinks"};
  }
  if (s.accelerator.count > s.accelerators_max()) {
    return Fault{"accelerator.count",
                 fmt::format("{} accelerators of {} ports each, but the pool has room for {}", s.accelerator.count,
                             s.accelerator.ports, s.accelerators_max()),
                 "more appliances (tier.appliances), fewer uplinks, or more ports in a module"};
  }
  return std::nullopt;
}

Result<Resolved> resolve(const System& system, const catalog::Catalog& catalog) {
  if (const auto fault = fault_of(system)) {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {}\n  hint: {}", fault->path, fault->what, fault->hint));
  }
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu(system.accelerator.gpu));
  if (!gpu.memory_rate.known() || !gpu.memory.known()) {
    return fail(ErrorCode::invalid_input,
                fmt::format("the catalog does not know size and rate of the memory of {}", gpu.name));
  }
  Resolved out;
  out.system = system;
  out.gpu = gpu.name;
  out.local_rate = {static_cast<std::int64_t>(catalog::range_of(gpu.memory_rate).base)};
  out.local_bytes = {static_cast<std::int64_t>(catalog::range_of(gpu.memory).base)};
  if (system.accelerator.outstanding) {
    out.outstanding = *system.accelerator.outstanding;
    out.outstanding_source = "accelerator.outstanding";
  } else {
    const double bytes = bytes_per_second(out.local_rate) * to_seconds(system.accelerator.local_latency);
    out.outstanding = {static_cast<std::int64_t>(bytes + 0.5)};
    out.outstanding_source = fmt::format("what keeps the memory of {} busy: {} x {}", gpu.name, to_text(out.local_rate),
                                         to_text(system.accelerator.local_latency));
  }
  return out;
}

}  // namespace photonrail::pool
