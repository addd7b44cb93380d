#include "fabric/cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "fabric/cost_builders.h"

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

void add_notes(CostReport& report) {
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
