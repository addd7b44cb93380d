// Definitions of the metrics of a simulate report, and how each measured one is taken from a RunResult.
#pragma once

#include <optional>
#include <vector>

#include "report/simulate_report.h"

namespace photonrail::report {

// Measured metrics first, then derived ones, in an order in which each uses only earlier ones.
std::vector<Metric> simulate_metrics();

// Values parallel to simulate_metrics(): those that are measured, and nothing for those that are derived or that the
// case does not have (an electrical fabric switches nothing). `cost` may be null.
std::vector<std::optional<double>> measure(const CaseOutcome& outcome, const model::RunResult& run,
                                           const NetworkCost* cost);

}  // namespace photonrail::report
