// From a scenario to its simulate report: runs the cases and brings together what other modules know of them.
#pragma once

#include "base/result.h"
#include "cli/scenario_input.h"
#include "report/report.h"
#include "study/study.h"

namespace photonrail::cli {

struct SimulatedReport {
  report::Report report;
  std::vector<Error> failures;  // of cases that could not be run, in order
  bool answers = false;         // some case ran, and a photonic one where the scenario asks for any
};

// Runs every case of the scenario on `threads` threads; progress on standard error if `show_progress`. Cases that
// cannot be run are part of the report; only what concerns all cases is an error.
Result<SimulatedReport> simulate(const ScenarioInput& input, unsigned threads, bool show_progress);

}  // namespace photonrail::cli
