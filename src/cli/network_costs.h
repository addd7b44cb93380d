// Cost and power of the networks that a scenario compares, as the simulate report wants them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "model/scenario.h"
#include "report/simulate_report.h"

namespace photonrail::cli {

struct NetworkCosts {
  std::vector<report::NetworkCost> all;  // every bill of materials; an electrical fabric's key is its name
  std::string photonic;                  // key of the rails with the scenario's ports
};

Result<NetworkCosts> network_costs(const model::Scenario& scenario, const catalog::Catalog& catalog);

}  // namespace photonrail::cli
