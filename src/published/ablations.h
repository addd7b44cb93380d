// What each convention and defect of the published simulator does to the step time: the same traces with one of them
// changed at a time, and with all up to there changed together.
//
// Not here, because they need other traces: attention without its quadratic term, and the single micro-batch.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "published/published.h"

namespace photonrail::published {

struct Ablation {
  std::string id;                // "wake", "link", "gigabyte", "elements", "operations"
  std::string change;            // in words
  std::int64_t alone_ns = 0;     // step time with this change only
  std::int64_t together_ns = 0;  // with this and all changes before it
};

struct Ablations {
  std::int64_t published_ns = 0;
  std::vector<Ablation> changes;
};

// `bytes_per_element`: of the precision that is compared with, 2 for bf16. Changes that cannot matter in the mode of
// `config` (votes in a static network) are left out.
Result<Ablations> run_ablations(const workload::TraceSet& traces, const PublishedConfig& config,
                                std::int64_t bytes_per_element);

}  // namespace photonrail::published
