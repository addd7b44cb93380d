// The output of `photonrail windows` as text, JSON or CSV, from an analysis alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/break_even.h"
#include "analysis/topology_id.h"
#include "analysis/window_statistics.h"
#include "analysis/windows.h"

namespace photonrail::analysis {

struct WindowReport {
  std::string title;               // what was run
  std::vector<std::string> notes;  // one sentence each, shown below the title
  WindowAnalysis analysis;
  WindowStatistics statistics;
  std::optional<std::int64_t> closed_form;  // windows of one rail by formula, for generated steps
  std::vector<TopologyChange> topology;     // of `topology_rail`
  std::uint32_t topology_rail = 0;
  std::optional<BreakEven> pays_until;        // switching time at which rails stop paying
  std::optional<double> break_even_overhead;  // the overhead that goes with it
  std::string pays_for;                       // what was compared: "provisioned against rail_optimised"
  bool run_switches = false;                  // the run had switching of its own
  std::string prediction;                     // command that predicts a step at a switching time
  std::string no_traffic;                     // what to try where no traffic crosses rails
};

// Builds the analysis and its statistics; topology of the lowest rail that carries traffic. Title, notes, closed form
// and break-even are the caller's.
WindowReport make_window_report(const model::RunResult& run, std::uint32_t stages,
                                std::span<const Time> switching_times);

std::string to_text(const WindowReport& report);
// One object; times in nanoseconds (up to three decimals, so exact), bytes as integers; ends with a newline.
std::string to_json(const WindowReport& report);
// One line per window: rail,stage,from,to,opens_ns,window_ns,bytes_after,operations_after.
std::string to_csv(const WindowReport& report);

// "P3 D24 P1": phases of one rail and stage with their rounds (replicas count once); letters P pipeline, D data,
// T tensor, C context, E expert, O other.
std::string phase_sequence(std::span<const Phase> phases, std::uint32_t rail, std::uint32_t stage);

}  // namespace photonrail::analysis
