// Phases and windows of traffic on photonic rails.
//
// Theory (Opus, eq. 1-2, as reworded by a reviewer; docs/models/windows.md). On one rail, one pipeline stage carries
// communications of several dimensions of parallelism. Its operations in the order of their start, split where the
// dimension changes, are phases P1, P2, ...; the window between two phases is
//
//   W(P1 -> P2) = min over j in P2 of issued_last(j)  -  max over i in P1 of finished(i)
//
// the time between the last end of the one and the first moment at which all members of an operation of the other want
// to begin. A switch that takes no longer hides in it. Where phases overlap the window is negative: the next operation
// already waits while the last one still runs.
//
// Taken from a run without switching (an electrical fabric, or switching time 0), windows say what the job offers; from
// a run with switching they say what was left, stalls included.
//
// A send belongs to the stages of both its ends. A collective counts on the rail and stage of its lowest rank. Traffic
// in scale-up domains and on the management path is left out. All functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/run_result.h"

namespace photonrail::analysis {

using model::Dimension;

// A maximal run of operations of one dimension on one rail and stage.
struct Phase {
  std::uint32_t rail = 0;
  std::uint32_t stage = 0;
  Dimension dimension = Dimension::none;
  std::uint32_t operations = 0;
  std::uint32_t rounds = 0;  // operations that differ in kind, stages or ordinal: replicas of a pipeline count once
  Bytes wire_bytes;          // of all its operations; a send counts in the phases of both its stages
  Time issued;               // min of issued_last
  Time started;              // min of started
  Time finished;             // max of finished
};

struct Window {
  std::uint32_t rail = 0;
  std::uint32_t stage = 0;
  Dimension from = Dimension::none;
  Dimension to = Dimension::none;
  Time opens;         // finish of the phase before
  Time length;        // may be negative
  Bytes bytes_after;  // of the phase that follows
  std::uint32_t operations_after = 0;
};

struct WindowAnalysis {
  std::vector<Phase> phases;    // by rail, stage, start
  std::vector<Window> windows;  // same order; one less than phases for each rail and stage
};

WindowAnalysis analyse_windows(const model::RunResult& run);

// The phases of one sequence of operations, in the order given; rail and stage are copied into them.
std::vector<Phase> split_phases(std::span<const model::CommRecord* const> operations, std::uint32_t rail,
                                std::uint32_t stage);

}  // namespace photonrail::analysis
