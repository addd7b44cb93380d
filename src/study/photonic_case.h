// One photonic policy on a prepared Study.
#pragma once

#include <functional>

#include "fabric/photonic.h"
#include "study/study.h"

namespace photonrail::study {

// Policies: static plans split whole ports by traffic (or its square root) and never switch; on_demand, provisioned and
// oracle give every port to whoever needs it, and run steps before the measured one until circuits and what was learnt
// are in steady state.
Result<model::RunResult> run_photonic(const Study& study, const catalog::Catalog& catalog, const Case& spec,
                                      const std::function<void(double)>& progress);

// The scenario's own switch without a sweep: terms from the scenario, else from the catalog; of a distribution its
// median or mean, of a range its middle.
struct SwitchTime {
  Time dark;
  Time settle;
  Time link_up;
  Time relock;
  Time total;
};
// infeasible, with what to give, where nobody knows a term.
Result<SwitchTime> switch_time(const model::Switching& switching, const catalog::Catalog& catalog);

// Whole ports of every GPU, split among the dimensions that leave a domain by their traffic or its square root.
// infeasible, with the shortfall, where there are too few.
Result<fabric::PortSplit> static_split(const model::TaskGraph& graph, const fabric::Layout& layout, std::int64_t ports,
                                       model::Policy policy);

}  // namespace photonrail::study
