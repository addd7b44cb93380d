// The report of `photonrail simulate`: electrical fabrics and photonic policies side by side.
//
// Measured numbers are taken from each RunResult; derived ones are formulas (simulate_metrics.cc), evaluated from their
// own text. Terms used in it:
//   switch command    one change of circuits on one rail (model::SwitchRecord)
//   switch time       from the decision to the last link usable, summed over commands; *exposed* is the part during
//                     which a fully issued operation waited for it, *hidden* the rest
//   window            time that a rail has between two phases of traffic (Opus, eq. 1-2); negative where they overlap
//   MFU               model FLOPs of a step / (step time x GPUs x peak FLOP/s) (Chowdhery et al., PaLM, 2022, app. B);
//                     recomputation does not count
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/run_result.h"
#include "model/scenario.h"
#include "report/report.h"

namespace photonrail::report {

// Windows between phases, of all rails of one case.
struct WindowStats {
  std::int64_t count = 0;
  std::int64_t negative = 0;
  std::optional<std::int64_t> shorter;  // than the switching time of the case, negative ones included
  Time p5, p25, p50, p75, p95;
};

struct CaseOutcome {
  std::string name;  // text of the policy or fabric
  bool photonic = false;
  std::optional<Time> switching_time;  // swept; absent for electrical fabrics, static plans, and the catalog's switch
  Result<model::RunResult> run;        // or why the case cannot be run
  std::optional<WindowStats> windows;
  std::string network;                          // key of its NetworkCost; "": not known
  std::optional<Time> own_switching_time = {};  // of the scenario's switch, typical, where none is swept
};

// What a network costs and draws. `low` and `high` differ where a price is only known as a range.
struct NetworkCost {
  std::string key;    // "rail_optimised", "photonic"
  std::string title;  // for readers
  Dollars low;
  Dollars base;
  Dollars high;
  Power power;
  std::string source;
  std::string shortfall;  // why it cannot be built; empty when it can, else there are no figures
  Power power_low{};      // equal to power_high: no range is known
  Power power_high{};
  std::string note{};  // on its figures, for the foot of the table; empty: none
};

struct SimulateInputs {
  model::Scenario scenario;
  std::string version;
  std::string scenario_hash;
  std::string scenario_text;                                        // TOML, as run
  std::vector<std::pair<std::string, std::string>> workload_lines;  // header lines about model and job
  std::vector<std::string> switch_lines;                            // header lines on the time of a switch
  FlopRate gpu_peak;                                                // at the training precision
  std::string gpu_peak_source;
  Power gpu_power;
  std::string gpu_power_source;
  std::int64_t tokens_per_step = 0;  // 0: not known (imported traces)
  double model_flops = 0;            // of one step, without recomputation; 0: not known
  std::string model_flops_source;
  std::vector<CaseOutcome> cases;     // in the order to show them
  std::vector<NetworkCost> networks;  // of cases, and others to compare with
};

// Of the case: swept, or that of the scenario's switch.
inline std::optional<Time> used_switching_time(const CaseOutcome& c) {
  return c.switching_time ? c.switching_time : c.own_switching_time;
}

// "on_demand@100ms", "rail_optimised"; also the id of the case.
std::string case_id(const std::string& name, std::optional<Time> switching_time);

Report make_simulate_report(const SimulateInputs& inputs);

}  // namespace photonrail::report
