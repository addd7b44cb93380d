// `photonrail estimate`: the cases of a scenario in closed form, beside the same step on calibrated kernels, with
// memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analytic/scenario_step.h"
#include "analytic/training_evaluator.h"
#include "report/report.h"
#include "sensitivity/experiment.h"

namespace photonrail::analytic {

struct EstimateOptions {
  bool calibrated = true;       // also on calibrated kernels
  bool overlap_tensor = false;  // calibrated: collectives of the tensor group pipelined with products
};

struct CaseEstimate {
  study::Case spec;
  Result<StepTime> time;
};

struct Estimate {
  std::vector<CaseEstimate> cases;         // rooflines of the scenario, one for each fabric and policy
  std::optional<StepEstimate> calibrated;  // measured kernels and collectives, network of the scenario's NICs
  std::optional<Error> uncalibrated;       // why there is none
  std::string kernels;                     // which tables served
  MemoryUse memory;
  std::int64_t pipeline = 1;  // stages; memory is of the first
  double capacity = 0;     // bytes of a GPU; 0: not known
  double model_flops = 0;  // of the whole step
  double peak = 0;         // of all GPUs, at the training precision
  double tokens = 0;       // of a step
};

// Refuses what make_study refuses, and steps from traces.
Result<Estimate> estimate(const study::Study& study, const catalog::Catalog& catalog, const EstimateOptions& options);

// Why the step does not fit the memory of a GPU; "" where it does, or its capacity is not known.
std::string shortfall_text(const Estimate& estimate);

struct ScenarioText {
  std::string toml;
  std::string hash;
  std::string version;
};
report::Report estimate_report(const study::Study& study, const Estimate& estimate, const ScenarioText& text);

// The experiment of `photonrail sensitivity estimate FILE`.
Result<std::vector<sensitivity::Metric>> evaluate_estimate(const std::string& file,
                                                           const std::vector<std::string>& sets,
                                                           const catalog::Catalog& catalog);

}  // namespace photonrail::analytic
