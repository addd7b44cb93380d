// Choosing parts from the catalog and turning their figures into assumptions. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "fabric/bill_of_materials.h"
#include "fabric/cost.h"

namespace photonrail::fabric {

// A single quote is not a price: list prices move by a quarter either way (assumed). A single wattage is a nominal or
// maximum figure: the draw may be a quarter lower (assumed). Ranges of the catalog are taken as they are.
constexpr double kQuoteSpread = 0.25;
constexpr double kDrawBelowNominal = 0.25;

AssumptionId add_price(AssumptionTable& table, const std::string& part, const std::string& title,
                       const catalog::Figure<Dollars>& figure);
AssumptionId add_watts(AssumptionTable& table, const std::string& part, const std::string& title,
                       const catalog::Figure<Power>& figure);
// The same for a figure of a box that is shared by `shares` ports.
AssumptionId add_price_per_port(AssumptionTable& table, const catalog::ElectricalSwitch& box);
AssumptionId add_watts_per_port(AssumptionTable& table, const catalog::ElectricalSwitch& box);
// Per duplex port. A box without its own figures gets those of its class: see ocs_class_note().
AssumptionId add_ocs_price(AssumptionTable& table, const catalog::Ocs& ocs, const catalog::Catalog& catalog);
AssumptionId add_ocs_watts(AssumptionTable& table, const catalog::Ocs& ocs, const catalog::Catalog& catalog);

// Duplex lanes of at least `rate` that one line port of a module gives: one, or one per fibre pair where a pair alone
// is fast enough (breakout). Lanes of a port belong to one GPU; ports of a twin-port module may belong to two.
struct Lanes {
  std::int64_t per_port = 0;        // 0: too slow
  std::int64_t pairs_per_lane = 1;  // fibre pairs, and so OCS ports, of one lane
};
Lanes lanes_of(const catalog::Optic& optic, Rate rate);

// Module ports that one GPU takes for `lanes_wanted` lanes.
std::int64_t ports_per_gpu(const Lanes& lanes, std::int64_t lanes_wanted);

// Ports of a box, seen by NICs of `nic_rate`: faster ports are split, slower ones joined. 0: they do not divide.
std::int64_t radix_at(const catalog::ElectricalSwitch& box, Rate nic_rate);

// By name, or the cheapest per port with ports of exactly the rate, or failing that with ports that divide or multiply.
Result<catalog::ElectricalSwitch> pick_switch(const catalog::Catalog& catalog, const std::string& name,
                                              bool co_packaged, Rate nic_rate);
// For a GPU, electrical fabrics: cheapest single-mode lane.
Result<catalog::Optic> pick_gpu_module(const catalog::Catalog& catalog, Rate rate, bool twin_modules);
// For a cage of `box`.
Result<catalog::Optic> pick_switch_module(const catalog::Catalog& catalog, const catalog::ElectricalSwitch& box);
// For a GPU on photonic rails, cheapest for `ports` lanes first: single mode, one OCS port per lane, or several where
// input.parallel_through_ocs asks for it.
Result<std::vector<catalog::Optic>> rail_modules(const catalog::Catalog& catalog, const CostInput& input,
                                                 std::int64_t ports, Rate rate);

// Whether the light of a module gets through an optical switch and its connectors. Unknown figures: nothing is known.
struct LossCheck {
  bool known = false;
  double loss = 0;    // dB, switch at the high end of its range, connectors included
  double budget = 0;  // dB
  bool fits() const { return known && loss <= budget; }
  int rank() const { return !known ? 1 : fits() ? 2 : 0; }  // for choosing: certain, unknown, impossible
};
LossCheck check_loss(const catalog::Ocs& ocs, const catalog::Optic& optic);

struct NicChoice {
  catalog::Nic nic;
  std::int64_t per_gpu = 1;
};
Result<NicChoice> pick_nic(const catalog::Catalog& catalog, std::int64_t ports, Rate port_rate, bool breakout);

}  // namespace photonrail::fabric
