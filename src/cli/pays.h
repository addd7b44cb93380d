// Up to which switching time the photonic rails of a scenario pay.
#pragma once

#include <optional>
#include <string>

#include "analysis/break_even.h"
#include "base/result.h"
#include "catalog/catalog.h"
#include "cli/options.h"
#include "study/study.h"

namespace photonrail::cli {

struct PaysUntil {
  std::optional<analysis::BreakEven> until;  // absent: `note` says why
  double overhead = 0;                       // at which the cost of a step on rails equals that on the baseline
  std::string compared;                      // "provisioned against rail_optimised"
  std::string note;                          // what was counted, or what is missing, in a sentence
};

// Runs the best switching policy of the scenario at every switching time, and the baseline. Nothing where there is no
// electrical baseline, no switching policy, no sweep, or no figure for the networks' cost.
Result<PaysUntil> pays_until(const study::Study& study, const catalog::Catalog& catalog, const WindowsOptions& options);

}  // namespace photonrail::cli
