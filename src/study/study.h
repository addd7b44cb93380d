// A Study: one scenario, resolved against the catalog and prepared once, and its cases: every electrical fabric, every
// photonic policy at every switching time.
//
// Fabrics come from [cluster], [scale_up], [rail], [electrical]; the step from [model], [training], [parallelism] or
// from the traces of [workload]. A Study is immutable; run_case may be called from several threads at once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "fabric/layout.h"
#include "model/run_result.h"
#include "model/scenario.h"
#include "model/task_graph.h"
#include "operators/roofline.h"

namespace photonrail::study {

struct Case {
  std::string name;                         // text of the policy or the fabric
  std::optional<model::Policy> policy;      // photonic
  std::optional<model::Fabric> electrical;  // or electrical
  std::optional<Time> switching_time;       // swept; absent for electrical, static, and the catalog's own switch
};

struct CaseRun {
  Case spec;
  Result<model::RunResult> run;  // or why it cannot be run
};

struct Study {
  model::Scenario scenario;  // with [model] resolved
  catalog::Gpu gpu;
  operators::GpuRates rates;  // of one GPU, at the training precision
  fabric::Layout layout;
  model::TaskGraph graph;
  std::vector<std::string> notes;  // what was inferred from traces, one sentence each
};

// Fills the fields that are 0 from the catalog's model, where one is named. Refuses models with experts.
Status resolve_model(model::TransformerModel& model, const catalog::Catalog& catalog);

// Progress of reading traces: files read so far.
using ReadProgress = std::function<void(std::size_t files)>;

Result<Study> make_study(const model::Scenario& scenario, const catalog::Catalog& catalog, const ReadProgress& read);

std::vector<Case> cases_of(const model::Scenario& scenario);

// One case. `progress` gets the share done, 0..1; may be empty.
Result<model::RunResult> run_case(const Study& study, const catalog::Catalog& catalog, const Case& spec,
                                  const std::function<void(double)>& progress = {});

// All cases on `threads` threads, results in the order of `cases`. `done` is called after each, one call at a time.
std::vector<CaseRun> run_cases(const Study& study, const catalog::Catalog& catalog, const std::vector<Case>& cases,
                               unsigned threads, const std::function<void(std::size_t done)>& done);

}  // namespace photonrail::study
