#include "cli/network_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fabric/cost.h"

namespace photonrail::cli {
namespace {

const char* mode_text(model::CostMode mode) {
  return mode == model::CostMode::real ? "whole boxes, modules and fibres counted, priced from the catalog"
                                       : "the formulas and prices of the Opus paper";
}

// "price of calient-s320: that of polatis-6000n, a range (own not published)"; empty where all figures are its own.
std::string borrowed_text(const fabric::BillOfMaterials& bill, const fabric::AssumptionTable& assumptions) {
  std::string out;
  for (const fabric::BomLine& line : bill.lines) {
    const auto add = [&](const std::optional<fabric::AssumptionId>& id, const char* what) {
      if (!id || assumptions.all[*id].borrowed_from.empty()) return;
      out += fmt::format("{}{} of {}: that of {}, a range (own not published)", out.empty() ? "" : "; ", what,
                         line.part, assumptions.all[*id].borrowed_from);
    };
    add(line.price, "price");
    add(line.watts, "power");
  }
  return out;
}

report::NetworkCost network_cost(const fabric::BillOfMaterials& bill, const fabric::AssumptionTable& assumptions,
                                 model::CostMode mode) {
  report::NetworkCost cost;
  cost.key = bill.key;
  cost.title = bill.title;
  cost.shortfall = bill.shortfall;
  if (!bill.shortfall.empty()) return cost;
  const fabric::TotalRange range = fabric::total_range(bill, assumptions);
  cost.low = {range.low.dollars};
  cost.base = {range.base.dollars};
  cost.high = {range.high.dollars};
  cost.power = {range.base.watts};
  cost.power_low = {range.low.watts};
  cost.power_high = {range.high.watts};
  const std::string borrowed = borrowed_text(bill, assumptions);
  cost.source = fmt::format("bill of materials of {}: {}{}", bill.title, mode_text(mode),
                            borrowed.empty() ? "" : "; " + borrowed);
  cost.note = borrowed;
  return cost;
}

// The bill of the rails with the scenario's own ports.
std::string photonic_key(const fabric::CostInput& input, const fabric::Bills& bills) {
  if (input.mode == model::CostMode::as_published) return "photonic";
  const bool full = input.photonic_port_rate == input.nic_rate;
  if (input.photonic_ports == 1 && full) return "photonic_one_port";
  if (input.photonic_ports == 2 && full) return "photonic_two_full";
  const bool own = std::any_of(bills.all.begin(), bills.all.end(),
                               [](const fabric::BillOfMaterials& bill) { return bill.key == "photonic_scenario"; });
  return own ? "photonic_scenario" : "photonic_two_half";
}

}  // namespace

Result<NetworkCosts> network_costs(const model::Scenario& scenario, const catalog::Catalog& catalog) {
  const fabric::CostInput input = fabric::cost_input(scenario);
  PR_ASSIGN(const fabric::Bills bills, fabric::make_bills(input, catalog));
  NetworkCosts costs;
  for (const fabric::BillOfMaterials& bill : bills.all) {
    costs.all.push_back(network_cost(bill, bills.assumptions, scenario.cost.mode));
  }
  costs.photonic = photonic_key(input, bills);
  return costs;
}

}  // namespace photonrail::cli
