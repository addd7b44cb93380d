// What `photonrail infer` prints: a report::Report of one configuration, or of a search.
// Pure functions; any thread.
#pragma once

#include <string_view>

#include "catalog/catalog.h"
#include "inference/metrics.h"
#include "inference/search.h"
#include "report/report.h"

namespace photonrail::inference {

report::Report infer_report(const InferenceDocument& doc, const Deployment& setup, const Outcome& outcome,
                            const catalog::Catalog& catalog, std::string_view version);

// One case for each configuration of the Pareto front, and the best by the objective first.
report::Report search_report(const InferenceDocument& doc, const Deployment& setup, const SearchSpace& space,
                             const SearchResult& result, const catalog::Catalog& catalog, std::string_view version);

// What every result rests on.
std::vector<std::string> assumptions_of(const Deployment& setup, const Candidate& candidate);

}  // namespace photonrail::inference
