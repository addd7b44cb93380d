// What moves a metric of an experiment, and how far. All functions call the experiment through evaluate_all, on as many
// threads as told; results depend on experiment, parameters and seed alone, never on threads.
//
//   tornado      each parameter alone at its low and high end, the others at their base
//   elasticity   d ln y / d ln x at the base, by central differences of 1 % (whole numbers: one up, one down)
//   Monte Carlo  all parameters sampled independently, parameter i of sample n from stream (seed, path of i, n)
//   correlation  Spearman's rank correlation of parameter and metric over the samples (ties get their mean rank)
//   break-even   x with y(x) = target, by bisection on [low, high]; correct where y - target changes sign once
//
// A point at which the experiment fails keeps its error: an infeasible configuration is an answer. Where the base
// itself fails, the whole fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sensitivity/experiment.h"
#include "sensitivity/parameter.h"

namespace photonrail::sensitivity {

struct RunOptions {
  unsigned threads = 1;
  std::function<void(std::size_t done, std::size_t of)> progress;  // one call at a time; may be empty
};

using Outcome = Result<std::vector<Metric>>;

// One outcome for each list of sets, in their order. More than a million are refused.
Result<std::vector<Outcome>> evaluate_all(const Experiment& experiment, std::span<const std::vector<std::string>> sets,
                                          const RunOptions& options);

// The metric of that name, or the only one that ends in "/name" or "." and name. Error: usage, with the nearest names.
Result<std::size_t> find_metric(std::span<const Metric> metrics, std::string_view name);

// ---- sweep ----
struct SweepPoint {
  std::vector<std::string> sets;
  Outcome outcome;
};
// All combinations of one or two parameters, the second fastest.
Result<std::vector<SweepPoint>> sweep(const Experiment& experiment, std::span<const Parameter> parameters,
                                      const RunOptions& options);

// ---- tornado and elasticities ----
struct TornadoBar {
  std::string path;
  std::string low_text;  // readable
  std::string high_text;
  std::optional<double> at_low;  // none: the experiment failed there
  std::optional<double> at_high;
  std::optional<double> elasticity;
  std::string note;  // the error of an end

  double swing() const;  // |at_high - at_low|; an end that failed counts as the base
};
struct Tornado {
  std::string metric;
  std::string unit;
  double base = 0;
  std::vector<TornadoBar> bars;  // widest first, equal ones by path
};
// One for each metric named. Ranges only.
Result<std::vector<Tornado>> tornado(const Experiment& experiment, std::span<const Parameter> parameters,
                                     std::span<const std::string> metrics, const RunOptions& options);

// ---- Monte Carlo ----
struct Spread {
  std::string metric;
  std::string unit;
  double base = 0;
  double mean = 0;
  double deviation = 0;
  double p5 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;
  std::vector<double> correlation;  // by parameter
};
// How stable an order is: of the metrics whose names start with a prefix, how often each stood at which place.
struct RankTable {
  std::vector<std::string> names;             // in the order of their base values, largest first
  std::vector<std::vector<double>> share_at;  // [name][place]: share of the samples
  double same_order = 0;                      // share of the samples with exactly the base order
  double mean_tau = 0;                        // Kendall's tau against the base order, averaged
};
struct MonteCarlo {
  std::size_t samples = 0;
  std::size_t failed = 0;  // samples at which the experiment failed; left out of everything
  std::string first_failure;
  std::vector<Spread> spreads;
  std::optional<RankTable> ranks;
  std::vector<std::vector<double>> values;  // [metric][sample]
};
struct MonteCarloOptions {
  std::size_t samples = 1000;
  std::uint64_t seed = 1;
  std::string rank_prefix;  // "": no rank table
};
Result<MonteCarlo> monte_carlo(const Experiment& experiment, std::span<const Parameter> parameters,
                               std::span<const std::string> metrics, const MonteCarloOptions& what,
                               const RunOptions& options);

// ---- break-even ----
struct BreakEven {
  std::string path;
  std::string metric;
  std::string unit;
  double target = 0;
  std::optional<double> at;  // absent: no crossing in the range
  double bracket_low = 0;    // of the parameter; after bisection its last bracket
  double bracket_high = 0;
  double value_low = 0;  // of the metric at the ends of the range that was asked for
  double value_high = 0;
  double value_at = 0;
  int evaluations = 0;
  std::string text;     // of `at`, readable
  std::string reading;  // one sentence
};
// Bisects until the bracket is 1e-9 of the range or, for whole numbers, two neighbours; at most 200 evaluations.
Result<BreakEven> break_even(const Experiment& experiment, const Parameter& parameter, const std::string& metric,
                             double target);

}  // namespace photonrail::sensitivity
