// Builders of bills, one per mode. Internal to this folder; make_bills() in cost.h chooses.
#pragma once

#include "fabric/cost.h"

namespace photonrail::fabric {

Status add_published_bills(const CostInput& input, const catalog::Catalog& catalog, Bills& bills);
Status add_real_bills(const CostInput& input, const catalog::Catalog& catalog, Bills& bills);

bool published_covers(Rate nic_rate);  // 400 or 800 Gb/s
Result<std::vector<WalkStep>> walk_to_real(const CostInput& input, const catalog::Catalog& catalog);
// Inverse of the triangular distribution function over low, base (the mode), high at 0 <= u < 1.
double triangular(const catalog::Range& range, double u);
Status add_sensitivity(CostReport& report, const catalog::Catalog& catalog);
// Distinct parts, of photonic or of electrical bills, of the lines whose item has `item` in it: "a, b".
std::string parts_of(const std::vector<BillOfMaterials>& bills, bool photonic, std::string_view item);
std::vector<CostRatio> ratios_of(const Bills& bills, std::span<const double> values);

// Port counts of the published formulas.
struct PublishedPorts {
  std::int64_t fat_tree = 0;
  std::int64_t rail_optimised = 0;
  std::int64_t ocs = 0;
};
PublishedPorts published_ports(std::int64_t gpus, std::int64_t domain);

}  // namespace photonrail::fabric
