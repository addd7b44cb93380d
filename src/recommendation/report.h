// `photonrail dlrm`: a recommendation step with its tables in one memory beside the others, and the map of the claim of
// 22.8x. Also the experiment that `photonrail sensitivity` runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "recommendation/map.h"
#include "recommendation/step.h"
#include "report/report.h"
#include "sensitivity/declarations.h"
#include "sensitivity/experiment.h"

namespace photonrail::recommendation {

// Every store of scenario.compare, or why it has no result.
struct Comparison {
  Setup setup;
  std::string provenance;  // of the kernels
  std::vector<std::pair<Store, Result<Outcome>>> outcomes;
};
// Error: no GPU figures, or no store has a result (the first refusal).
Result<Comparison> compare(const Scenario& scenario, const catalog::Catalog& catalog);

report::Report dlrm_report(const config::Document<Scenario>& doc, const Comparison& comparison,
                           std::string_view version);
report::Report map_report(const config::Document<Scenario>& doc, const Map& map, std::string_view version);

// "nvlink/step_time", "pool/pooling_time", ... of every store that has a result, and "pool/pooling_gain" over nvlink.
Result<std::vector<sensitivity::Metric>> evaluate_dlrm(const std::string& file, const std::vector<std::string>& sets,
                                                       const catalog::Catalog& catalog,
                                                       sensitivity::Declarations& said);

}  // namespace photonrail::recommendation
