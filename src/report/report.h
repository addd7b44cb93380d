// Report: what a command found, as data. Renderers (render.h) turn it into text, JSON and CSV; `explain` (explain.h)
// traces any of its numbers back to formula, inputs and sources.
//
// A report has *cases* (one fabric or policy at one switching time), and every case has a value for each *metric* or
// none. A metric is either measured in the run (`rule` says how) or derived: then `formula` is the very text that was
// evaluated. Names in a formula mean, in this order: "baseline.<metric>" the metric of the baseline case,
// "at_zero.<metric>" that of the same policy with a switching time of zero, "<metric>" that of the same case, and
// "<constant>" a constant of the report.
//
// Units: s, B, B/s, W, J, USD, FLOP, FLOP/s, tokens/s, J/token, count, ratio (1 is 100 %), relative (a signed ratio),
// times (a factor). Values are plain: seconds, bytes, dollars.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace photonrail::report {

struct Metric {
  std::string id;
  std::string label;
  std::string unit;
  std::string formula;  // empty: measured
  std::string rule;     // how it is measured, or what the formula means
  std::vector<std::string> assumptions;
  std::string source;  // equation, paper or data file; may be empty
};

struct Constant {
  std::string id;
  std::string label;
  double value = 0;
  std::string unit;
  std::string source;
};

struct Case {
  std::string id;    // "rail_optimised", "on_demand@100ms"
  std::string name;  // "rail_optimised", "on_demand"
  std::string kind;  // "electrical", "photonic"
  std::optional<Time> switching_time;
  std::string refusal;                                       // why there is no result; empty: there is one
  std::string digest;                                        // of the run
  std::vector<std::optional<double>> values;                 // parallel to Report::metrics
  std::vector<std::pair<std::string, std::string>> sources;  // metric id -> source that holds for this case only
};

// A table of finished text.
struct Table {
  struct Column {
    std::string header;
    bool right = true;  // alignment of the cells
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
};

struct Report {
  std::string command;  // "simulate"
  std::string version;
  std::string scenario_name;
  std::string scenario_hash;
  std::string scenario_text;  // the scenario as run, in TOML
  std::uint64_t seed = 0;
  std::string baseline;                                     // id of the baseline case; may be empty
  std::string digest;                                       // of all runs in order
  std::vector<std::pair<std::string, std::string>> header;  // what was asked, for readers
  std::vector<Constant> constants;
  std::vector<Metric> metrics;
  std::vector<Case> cases;
  std::vector<Table> tables;         // for readers; everything in them is in cases, metrics and constants
  std::vector<std::string> reading;  // paragraphs
};

// Names of header lines that every form of a report carries, CSV included.
inline constexpr const char* kOverride = "OVERRIDE";  // of a listed figure, or of a limit that is let pass
inline constexpr const char* kBasis = "basis";        // of the calibration
inline constexpr const char* kAssumptions = "assumptions";
inline constexpr const char* kAsPublished = "as_published";
// (what, text) of these lines, and of the assumptions of metrics that begin with "OVERRIDE".
std::vector<std::pair<std::string, std::string>> declarations(const Report& report);

std::optional<std::size_t> find_metric(const Report& report, std::string_view id);
const Constant* find_constant(const Report& report, std::string_view id);
const Case* find_case(const Report& report, std::string_view id);
std::optional<double> value_of(const Report& report, const Case& c, std::string_view metric);

// What a name of a formula means in a case.
struct Reference {
  std::optional<double> value;
  std::string unit;
  const Metric* metric = nullptr;  // one of the two
  const Constant* constant = nullptr;
  const Case* of = nullptr;  // the case that the metric is taken from
};
Reference resolve(const Report& report, const Case& c, std::string_view name);

// The case of the same policy with a switching time of zero, if the report has one.
const Case* case_at_zero(const Report& report, const Case& c);

// Sets the values of all derived metrics. Metrics may use metrics that come before them.
void derive(Report& report);

}  // namespace photonrail::report
