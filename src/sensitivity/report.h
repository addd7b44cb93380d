// Results of analysis.h as a report::Report: text with bars, JSON, CSV. In JSON and CSV a case is
//   sweep        "a=1, b=2"              one value for each metric
//   tornado      "tornado/a/low", ".../high", and "tornado/a" with <metric>.swing and <metric>.elasticity
//   Monte Carlo  "monte_carlo/base", ".../mean", ".../deviation", ".../p5" .. "p95", "correlation/a", "rank/<name>"
//   break-even   "break_even/a"          with .parameter (base unit), .target, .value, .value_low, .value_high
// Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"
#include "sensitivity/analysis.h"

namespace photonrail::sensitivity {

void add_metrics(report::Report& report, std::span<const Metric> metrics);  // the base alone, as a list
void add_sweep(report::Report& report, std::span<const SweepPoint> points, std::span<const std::string> metrics);
void add_tornado(report::Report& report, std::span<const Tornado> tornados);
void add_monte_carlo(report::Report& report, const MonteCarlo& result, std::span<const Parameter> parameters,
                     const MonteCarloOptions& options);
void add_break_even(report::Report& report, const Parameter& parameter, const BreakEven& result);

// Gives every case a place for every metric; call it last.
void finish(report::Report& report);

}  // namespace photonrail::sensitivity
