#include "energy/step_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/human.h"

namespace photonrail::energy {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kPico = 1e12;       // picojoules of a joule
constexpr double kPartRate = 400e9;  // b/s, that the constants of adapters, modules and ports are for

double count(std::int64_t n) { return static_cast<double>(n); }

void add(std::vector<Part>& parts, std::string name, double joules) {
  parts.push_back({std::move(name), joules, joules, false});
}

void add_gpu_parts(std::vector<Part>& parts, const GpuEnergy& gpu, double gpus) {
  add(parts, "GPU, idle", gpu.idle * gpus);
  add(parts, "GPU, busy", gpu.busy * gpus);
  add(parts, "GPU, matrix products", gpu.compute * gpus);
  add(parts, "GPU, memory", gpu.memory * gpus);
  add(parts, "GPU, scale-up links", gpu.scale_up * gpus);
  add(parts, "GPU, link to the adapter", gpu.network * gpus);
}

bool is_network(const NodePart& part) {
  return part.name == "network adapters" || part.name == "optical modules of adapters";
}

// Share of full power at this load.
double load_factor(const ComponentConstants& c, double utilisation) {
  return c.network_static + (1 - c.network_static) * std::clamp(utilisation, 0.0, 1.0);
}

struct NetworkWatts {  // per GPU
  double inside_electrical = 0;
  double inside_photonic = 0;
  double outside_electrical = 0;
  double outside_photonic = 0;
};

NetworkWatts network_watts(const EnergyScenario& s, const StepEnergy& e) {
  const double load = load_factor(s.components, e.utilisation);
  const double scale = e.rate / kPartRate;
  NetworkWatts w;
  w.inside_electrical = (s.components.adapter.watts + s.components.optic.watts) * scale * load;
  w.inside_photonic = (s.published.photonic_adapter.joules + s.published.protocol_engine.joules) * e.rate * load;
  w.outside_electrical =
      count(e.electrical_switches) * (s.components.switch_port.watts + s.components.optic.watts) * scale * load;
  w.outside_photonic = count(e.photonic_switches) * s.published.photonic_switch.joules * e.rate * load;
  return w;
}

// Fans and supplies act on what a node's electronics draw.
void add_losses(std::vector<Part>& parts, const Node& node) {
  double electrical = 0, photonic = 0;
  for (const Part& part : parts) electrical += part.electrical, photonic += part.photonic;
  parts.push_back({"fans", electrical * node.fans, photonic * node.fans, false});
  const double loss = (1 + node.fans) * (1 / node.supply_efficiency - 1);
  parts.push_back({"power supplies", electrical * loss, photonic * loss, false});
}

void set_paper(StepEnergy& e, const StepWork& work) {
  for (const Flow& flow : work.flows) {
    const PathEnergy joules = {kBitsPerByte * (flow.outside * e.path.electrical + flow.inside * e.tray.electrical),
                               kBitsPerByte * (flow.outside * e.path.photonic + flow.inside * e.tray.photonic)};
    e.flows.push_back({flow, joules});
    e.paper.electrical += joules.electrical;
    e.paper.photonic += joules.photonic;
  }
}

void set_parts(StepEnergy& e, const EnergyScenario& s, const Node& node, const GpuEnergy& gpu) {
  const double gpus = count(e.gpus), nodes = gpus / count(node.gpus);
  const NetworkWatts network = network_watts(s, e);
  add_gpu_parts(e.parts, gpu, gpus);
  for (const NodePart& part : node.parts) {
    if (!is_network(part)) add(e.parts, part.name, part.count * part.watts * nodes * e.seconds);
  }
  e.parts.push_back({"adapters and their modules", network.inside_electrical * gpus * e.seconds,
                     network.inside_photonic * gpus * e.seconds, true});
  add_losses(e.parts, node);
  double in_nodes = 0;
  for (const Part& part : e.parts) in_nodes += part.electrical;
  e.node_watts = in_nodes / e.seconds / nodes;
  e.parts.push_back({"network switches and their modules", network.outside_electrical * gpus * e.seconds,
                     network.outside_photonic * gpus * e.seconds, true});
  if (node.facility > 1) {
    double electrical = 0, photonic = 0;
    for (const Part& part : e.parts) electrical += part.electrical, photonic += part.photonic;
    e.parts.push_back({"facility", electrical * (node.facility - 1), photonic * (node.facility - 1), false});
  }
  e.network_outside_watts = network.outside_electrical * gpus;
  e.network_watts = e.network_outside_watts + network.inside_electrical * gpus;
}

}  // namespace

PathEnergy path_energy(const PublishedConstants& c, std::int64_t electrical_switches, std::int64_t photonic_switches) {
  return {
      2 * c.adapter.joules + count(electrical_switches) * c.electrical_switch.joules,
      2 * (c.photonic_adapter.joules + c.protocol_engine.joules) + count(photonic_switches) * c.photonic_switch.joules};
}

PathEnergy tray_energy(const PublishedConstants& c) { return {c.electrical_tray.joules, c.photonic_tray.joules}; }

std::int64_t switches_of_clos(std::int64_t gpus, std::int64_t radix) {
  // t tiers of radix r hold 2 (r/2)^t ports.
  double ports = count(radix);
  std::int64_t switches = 1;
  for (; ports < count(gpus) && switches < 9; switches += 2) ports *= count(radix) / 2;
  return switches;
}

namespace {

// FLOP/s of one GPU; none where the catalog does not know.
std::optional<double> peak_of(const catalog::Gpu& gpu, operators::Dtype dtype) {
  using operators::Dtype;
  const auto base = [](const auto& figure) {
    return figure.known() ? std::optional(catalog::range_of(figure).base) : std::nullopt;
  };
  switch (dtype) {
    case Dtype::fp32: return base(gpu.fp32);
    case Dtype::bf16:
    case Dtype::int4: return base(gpu.bf16);
    case Dtype::fp8:
    case Dtype::fp8_block: return base(gpu.fp8);
    case Dtype::nvfp4: return base(gpu.fp4);
    case Dtype::int8: return base(gpu.int8);
  }
  return std::nullopt;
}

// A GPU does not compute, read or send faster than its data sheet has it. Of a step whose time is stated; a computed
// time has the rates in it.
Status check_rates(const StepWork& work, const catalog::Gpu& gpu) {
  const double seconds_of_all = count(work.gpus) * work.seconds;
  const auto check = [&](const std::string& what, double amount, std::optional<double> rate,
                         const char* unit) -> Status {
    if (!rate || amount <= *rate * seconds_of_all * (1 + 1e-9)) return {};
    return fail(ErrorCode::infeasible,
                fmt::format("{} take {:.3g} times the {} of each {} in a step of {:.4g} s\n  hint: a longer step_time, "
                            "or less of them ([work] is per GPU and step)",
                            what, amount / (*rate * seconds_of_all), report::human(*rate, unit), gpu.name,
                            work.seconds));
  };
  const auto bytes = [](const auto& figure) {
    return figure.known() ? std::optional(catalog::range_of(figure).base / kBitsPerByte) : std::nullopt;
  };
  PR_TRY(check(fmt::format("{} operations", operators::name_of(work.dtype)), work.flops, peak_of(gpu, work.dtype),
               "FLOP/s"));
  PR_TRY(check("bytes of memory", work.memory_bytes, bytes(gpu.memory_rate), "B/s"));
  return check("bytes inside scale-up domains", work.inside(), bytes(gpu.scale_up_rate), "B/s");
}

}  // namespace

Result<StepEnergy> step_energy(const EnergyScenario& s, const StepWork& work, const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu(work.gpu));
  PR_ASSIGN(const GpuPower power, power_of(gpu, s.components));
  if (s.paths.rate.bits_per_second == 0 && !gpu.nic_rate.known()) {
    return fail(ErrorCode::invalid_input,
                fmt::format("the catalog does not know the network rate of {}\n  hint: set paths.rate", gpu.name));
  }
  StepEnergy e;
  e.gpus = work.gpus;
  e.seconds = work.seconds;
  e.tokens = work.tokens;
  e.electrical_switches =
      s.paths.electrical_switches > 0 ? s.paths.electrical_switches : switches_of_clos(work.gpus, s.paths.radix);
  e.photonic_switches = s.paths.photonic_switches > 0 ? s.paths.photonic_switches : e.electrical_switches;
  e.path = path_energy(s.published, e.electrical_switches, e.photonic_switches);
  e.tray = tray_energy(s.published);
  set_paper(e, work);

  const double gpus = count(work.gpus);
  e.rate = s.paths.rate.bits_per_second > 0 ? static_cast<double>(s.paths.rate.bits_per_second)
                                            : catalog::range_of(gpu.nic_rate).base;
  e.utilisation = kBitsPerByte * work.outside() / (gpus * e.rate * e.seconds);
  if (e.utilisation > 1 + 1e-9) {
    return fail(ErrorCode::infeasible,
                fmt::format("the traffic between nodes takes {:.3g} times the network's {:.4g} Gb/s of each GPU in a "
                            "step of {:.4g} s\n  hint: a longer step_time, a larger paths.rate, or less traffic",
                            e.utilisation, e.rate / 1e9, e.seconds));
  }
  if (work.time_is_given) PR_TRY(check_rates(work, gpu));
  e.per_bit_watts =
      kBitsPerByte * work.outside() * count(e.electrical_switches) * s.published.electrical_switch.joules / e.seconds;
  Activity activity;
  activity.seconds = e.seconds;
  activity.flops[static_cast<std::size_t>(work.dtype)] = work.flops / gpus;
  activity.memory_bytes = work.memory_bytes / gpus;
  activity.scale_up_bytes = work.inside() / gpus;
  activity.network_bytes = work.outside() / gpus;
  const GpuEnergy of_gpu = energy_of(power, activity);
  e.capped = of_gpu.capped;
  e.gpu_watts = of_gpu.total() / e.seconds;
  const Node node = node_of(gpu, s.components);
  e.node_gpus = node.gpus;
  set_parts(e, s, node, of_gpu);
  return e;
}

StepWork stated_work(const EnergyScenario& s) {
  const double gpus = count(s.work.gpus);
  StepWork work;
  work.gpu = s.work.gpu;
  work.gpus = s.work.gpus;
  work.seconds = to_seconds(s.step_time);
  work.seconds_source = "given";
  work.time_is_given = true;
  work.dtype = dtype_of(s.work.format);
  work.flops = s.work.teraflop * 1e12 * gpus;
  work.memory_bytes = static_cast<double>(s.work.memory.count) * gpus;
  work.tokens = s.work.tokens;
  Flow flow;
  flow.dimension = model::Dimension::other;
  flow.inside = static_cast<double>(s.work.scale_up.count) * gpus;
  flow.outside = static_cast<double>(s.work.network.count) * gpus;
  flow.payload = flow.inside + flow.outside;
  work.flows = {flow};
  return work;
}

double StepEnergy::total_electrical() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.electrical;
  return sum;
}

double StepEnergy::total_photonic() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.photonic;
  return sum;
}

std::string flow_name(const Flow& flow) {
  if (flow.dimension == model::Dimension::other) return "stated traffic";
  const char* kind = flow.collective == model::Collective::none ? "messages" : to_text(flow.collective);
  return fmt::format("{} {}", to_text(flow.dimension), kind);
}

std::vector<std::pair<std::string, double>> groups_of(const StepEnergy& e) {
  double gpus = 0, network = 0, losses = 0, hosts = 0;
  for (const Part& part : e.parts) {
    const bool loss = part.name == "fans" || part.name == "power supplies" || part.name == "facility";
    (part.network ? network : loss ? losses : part.name.starts_with("GPU") ? gpus : hosts) += part.electrical;
  }
  return {{"GPUs", gpus}, {"network", network}, {"rest of the nodes", hosts}, {"cooling and supplies", losses}};
}

std::vector<sensitivity::Metric> metrics_of(const StepEnergy& e) {
  double inside = 0, outside = 0;
  for (const FlowEnergy& f : e.flows) inside += f.flow.inside, outside += f.flow.outside;
  const double electrical = e.total_electrical(), photonic = e.total_photonic();
  std::vector<sensitivity::Metric> metrics = {
      {"path_electrical", e.path.electrical * kPico, "pJ/bit"},
      {"path_photonic", e.path.photonic * kPico, "pJ/bit"},
      {"path_saving", e.path.saving(), "ratio"},
      {"tray_saving", e.tray.saving(), "ratio"},
      {"traffic_inside", inside, "B"},
      {"traffic_outside", outside, "B"},
      {"traffic_electrical", e.paper.electrical, "J"},
      {"traffic_photonic", e.paper.photonic, "J"},
      {"saving", e.paper.saving(), "ratio"},
      {"step_time", e.seconds, "s"},
      {"gpu_power", e.gpu_watts, "W"},
      {"node_power", e.node_watts, "W"},
      {"network_utilisation", e.utilisation, "ratio"},
      {"network_power", e.network_watts, "W"},
      {"network_power_outside_nodes", e.network_outside_watts, "W"},
      {"network_power_per_bit", e.per_bit_watts, "W"},
      {"network_share", e.network_watts * e.seconds / electrical, "ratio"},
      {"step_energy", electrical, "J"},
      {"photonic_step_energy", photonic, "J"},
      {"step_saving", 1 - photonic / electrical, "ratio"},
  };
  if (e.tokens > 0) {
    metrics.push_back({"token_energy", electrical / e.tokens, "J/token"});
    metrics.push_back({"photonic_token_energy", photonic / e.tokens, "J/token"});
  }
  for (const FlowEnergy& f : e.flows) metrics.push_back({"flow/" + flow_name(f.flow), f.joules.electrical, "J"});
  for (const FlowEnergy& f : e.flows)
    metrics.push_back({"flow_saving/" + flow_name(f.flow), f.joules.saving(), "ratio"});
  for (const auto& [group, joules] : groups_of(e)) metrics.push_back({"group/" + group, joules, "J"});
  for (const Part& part : e.parts) metrics.push_back({"part/" + part.name, part.electrical, "J"});
  return metrics;
}

}  // namespace photonrail::energy
