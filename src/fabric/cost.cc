#include "fabric/cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "fabric/cost_builders.h"
#include "fabric/cost_parts.h"
#include "model/scenario_check.h"

namespace photonrail::fabric {
namespace {

constexpr std::int64_t kGpusMax = 10'000'000;
constexpr std::int64_t kSamplesMax = 1'000'000;

Status check(const CostInput& input) {
  const auto refuse = [](std::string text) { return fail(ErrorCode::usage, std::move(text)); };
  if (input.gpus < 1 || input.gpus > kGpusMax) {
    return refuse(fmt::format("{} GPUs; give 1 to {}", input.gpus, kGpusMax));
  }
  if (input.domain < 1) return refuse("a scale-up domain has at least one GPU");
  if (input.gpus % input.domain != 0) {
    const std::int64_t below = input.gpus / input.domain * input.domain;
    return refuse(
        fmt::format("domains of {} do not divide {} GPUs\n  hint: {} or {} GPUs, or another domain (the Opus paper "
                    "has domains of 8 for H200 and 32 for GB200)",
                    input.domain, input.gpus, below > 0 ? below : input.domain, below + input.domain));
  }
  if (input.nic_rate.bits_per_second < 2) return refuse("the rate per GPU must be positive");
  if (input.photonic_ports < 0 || input.photonic_ports > 64) return refuse("photonic ports per GPU must be 0 to 64");
  if (input.photonic_ports > 0 && input.photonic_port_rate.bits_per_second <= 0) {
    return refuse("photonic ports need a positive rate");
  }
  if (input.oversubscription < 1 || input.oversubscription > 64) return refuse("oversubscription must be 1 to 64");
  if (input.spare_ocs_ports < 0 || input.spare_ocs_ports > 1)
    return refuse("the share of spare OCS ports must be 0 to 1");
  if (input.spare_modules < 0 || input.spare_modules > 1) return refuse("the share of spare modules must be 0 to 1");
  if (input.fibre_price.amount < 0) return refuse("the price of fibre must not be negative");
  if (input.published_ports < 1 || input.published_fibre_pairs < 1) return refuse("published departures start at 1");
  if (input.samples < 0 || input.samples > kSamplesMax)
    return refuse(fmt::format("samples must be 0 to {}", kSamplesMax));
  return {};
}

bool inside(double value, const Quantiles& q) { return q.p5 <= value && value <= q.p95; }

// Nominal figures may stand at an end of their range (a maximum, a list price); then the nominal ratio may lie outside
// what the draws give, and a reader must know.
void note_nominal_outside(CostReport& report) {
  if (report.input.samples == 0) return;
  for (const CostRatio& r : report.ratios) {
    if (inside(r.cost, r.cost_spread) && inside(r.power, r.power_spread)) continue;
    report.notes.push_back(fmt::format("{} over {}: the ratio of nominal figures lies outside p5 to p95, as nominal "
                                       "figures that stand at an end of their range outweigh others",
                                       r.fabric, r.photonic));
  }
}

void add_notes(CostReport& report) {
  note_nominal_outside(report);
  report.notes.push_back("not counted: GPUs, scale-up, racks, cooling, installation, management network, controllers");
  if (report.input.mode == model::CostMode::as_published) {
    report.notes.push_back("switch radix is solved for and may be fractional boxes; fibre and adapters are left out");
    return;
  }
  if (!report.input.include_nics) {
    report.notes.push_back("network adapters are not counted; two full-rate ports need twice the adapter bandwidth");
  }
  report.notes.push_back(
      "boxes, modules and fibre for one network; electrical rail-only joins no rails, and photonic rails do not "
      "either");
}

}  // namespace

CostInput cost_input(const model::Scenario& scenario) {
  CostInput input;
  input.mode = scenario.cost.mode;
  input.gpus = scenario.cluster.gpus;
  input.domain = scenario.cluster.domain;
  input.gpu = scenario.cluster.gpu;
  input.nic_rate = scenario.electrical.nic_rate;
  input.network_switch = scenario.electrical.network_switch;
  input.ocs = scenario.switching.ocs;
  input.transceiver = scenario.cost.transceiver;
  const std::int64_t ports = scenario.cost.duplex_ports_per_gpu;
  input.photonic_ports = ports > 0 ? ports : scenario.rail.ports;
  input.photonic_port_rate = scenario.rail.port_rate;
  input.oversubscription = scenario.electrical.oversubscription;
  input.include_nics = scenario.cost.include_nics;
  input.include_fibre = scenario.cost.include_fibre;
  input.spare_ocs_ports = scenario.cost.spare_ports;
  input.fibre_price = scenario.cost.fibre_price;
  input.seed = scenario.seed;
  return input;
}

void replace_unfit_defaults(CostInput& input, const NamedParts& named, const catalog::Catalog& catalog) {
  if (input.mode == model::CostMode::as_published) return;
  const Result<catalog::ElectricalSwitch> box = catalog.network_switch(input.network_switch);
  if (!named.network_switch && box && *box->port_rate.value != input.nic_rate) {
    input.choices.push_back(fmt::format(
        "ports of {}, the default of electrical.network_switch, have {}: priced with the cheapest that has {}",
        box->name, to_text(*box->port_rate.value), to_text(input.nic_rate)));
    input.network_switch.clear();
  }
  const Result<catalog::Ocs> ocs = catalog.ocs(input.ocs);
  const std::int64_t servers = input.domain > 0 ? input.gpus / input.domain : 0;
  if (!named.ocs && ocs && ocs->duplex_ports.known() && *ocs->duplex_ports.value < servers) {
    input.choices.push_back(fmt::format(
        "{}, the default of switching.ocs, has {} duplex ports and a rail has {} servers: priced with the cheapest "
        "that holds a rail",
        ocs->name, *ocs->duplex_ports.value, servers));
    input.ocs.clear();
  }
}

std::string parts_of(const std::vector<BillOfMaterials>& bills, bool photonic, std::string_view item) {
  std::vector<std::string> names;
  for (const BillOfMaterials& bill : bills) {
    if (bill.photonic != photonic) continue;
    for (const BomLine& line : bill.lines) {
      const bool seen = std::find(names.begin(), names.end(), line.part) != names.end();
      if (line.item.find(item) != std::string::npos && !seen) names.push_back(line.part);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<PartLine> CostReport::parts() const {
  std::vector<PartLine> lines;
  const auto add = [&](const char* label, bool photonic, const char* item) {
    if (std::string names = parts_of(bills, photonic, item); !names.empty()) lines.emplace_back(label, names);
  };
  const bool real = input.mode == model::CostMode::real;
  add("electrical switches", false, real ? "leaf switches" : "switch ports");
  if (real) add("  modules at switches", false, "modules at switches");
  add(real ? "  modules at GPUs" : "  modules", false, real ? "modules at GPUs" : "modules");
  add("  fibre", false, "fibre");
  add("optical switches", true, real ? "optical switches" : "OCS ports");
  add("  modules at GPUs", true, real ? "modules at GPUs" : "modules");
  add("  fibre", true, "fibre");
  return lines;
}

const BillOfMaterials* CostReport::bill(std::string_view key) const {
  for (const BillOfMaterials& bill : bills) {
    if (bill.key == key) return &bill;
  }
  return nullptr;
}

Result<Bills> make_bills(const CostInput& input, const catalog::Catalog& catalog) {
  PR_TRY(check(input));
  Bills bills;
  if (input.mode == model::CostMode::as_published) {
    PR_TRY(add_published_bills(input, catalog, bills));
  } else {
    PR_TRY(add_real_bills(input, catalog, bills));
  }
  return bills;
}

TotalRange total_range(const BillOfMaterials& bom, const AssumptionTable& assumptions) {
  std::vector<double> low;
  std::vector<double> high;
  for (const Assumption& assumption : assumptions.all) {
    low.push_back(assumption.range.low);
    high.push_back(assumption.range.high);
  }
  return {total_of(bom, low), total_of(bom, assumptions.base_values()), total_of(bom, high)};
}

Result<CostReport> make_cost_report(const CostInput& input, const catalog::Catalog& catalog) {
  PR_ASSIGN(Bills bills, make_bills(input, catalog));
  CostReport report;
  report.input = input;
  report.ratios = ratios_of(bills, bills.assumptions.base_values());
  report.assumptions = std::move(bills.assumptions);
  report.bills = std::move(bills.all);
  const bool real = input.mode == model::CostMode::real;
  if (real && input.photonic_ports > 0) {
    const auto note = model::unequal_rates_note(input.photonic_ports, input.photonic_port_rate, input.nic_rate);
    if (note) report.warnings.push_back(*note);
  }
  PR_TRY(add_sensitivity(report, catalog));
  if (published_covers(input.nic_rate)) {
    Result<std::vector<WalkStep>> walk = walk_to_real(input, catalog);
    if (walk)
      report.walk = std::move(*walk);
    else
      report.notes.push_back("no walk from published to real: " + walk.error().message);
  }
  add_notes(report);
  return report;
}

}  // namespace photonrail::fabric
