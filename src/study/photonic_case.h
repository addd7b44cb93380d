// One photonic policy on a prepared Study.
#pragma once

#include <functional>

#include "study/study.h"

namespace photonrail::study {

// Policies: static plans split whole ports by traffic (or its square root) and never switch; on_demand, provisioned and
// oracle give every port to whoever needs it, and run steps before the measured one until circuits and what was learnt
// are in steady state.
Result<model::RunResult> run_photonic(const Study& study, const catalog::Catalog& catalog, const Case& spec,
                                      const std::function<void(double)>& progress);

// Bytes per GPU that each dimension puts on its ring or chain, by model::Dimension; what static plans weigh.
std::vector<double> traffic_by_dimension(const model::TaskGraph& graph);

}  // namespace photonrail::study
