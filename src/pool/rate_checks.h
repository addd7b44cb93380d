// What a training scenario of `photonrail simulate` models, against what the parts that it names can do: the GPU's
// scale-up links and network interface, ports of switches, sizes of optical switches.
//
// A published range counts with its upper end; a figure that nobody publishes is not checked, and listed as such.
// Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "model/scenario.h"
#include "report/report.h"

namespace photonrail::pool {

struct RateCheck {
  std::string id;    // "rail_rate"
  std::string what;  // "rail.ports x rail.port_rate"
  double modelled = 0;
  std::optional<double> limit;  // absent: not known
  std::string unit;             // "B/s" or "count"
  std::string part;             // "network interface of H200"
  std::string source;

  bool broken() const { return limit && modelled > *limit * (1 + 1e-9); }
};

// Errors: invalid_input where the scenario names a part that the catalog lacks.
Result<std::vector<RateCheck>> training_rate_checks(const model::Scenario& scenario, const catalog::Catalog& catalog);

// "rail.ports x rail.port_rate: 100 GB/s modelled, network interface of H200 has 50 GB/s: 2 times"
std::string check_text(const RateCheck& check);

report::Report rate_report(const std::vector<RateCheck>& checks, const std::string& name,
                           const std::string& scenario_text, const std::string& hash, std::string_view version);

}  // namespace photonrail::pool
