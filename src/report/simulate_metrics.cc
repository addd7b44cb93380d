#include "report/simulate_metrics.h"

#include <algorithm>
#include <functional>

#include "report/human.h"

namespace photonrail::report {
namespace {

using model::Dimension;
using model::RunResult;
using Value = std::optional<double>;

// What a measured metric may be taken from.
struct Seen {
  const CaseOutcome& outcome;
  const RunResult& run;
  const NetworkCost* cost;
};

struct Measured {
  Metric metric;
  std::function<Value(const Seen&)> take;
};

double mean_seconds(const RunResult& run, Time model::RankRecord::* field) {
  double sum = 0;
  for (const model::RankRecord& rank : run.ranks) sum += seconds_of(rank.*field);
  return run.ranks.empty() ? 0 : sum / static_cast<double>(run.ranks.size());
}

template <class Field>
double sum_switches(const RunResult& run, Field field) {
  std::int64_t sum = 0;
  for (const model::SwitchRecord& s : run.switches) sum += field(s);
  return static_cast<double>(sum);
}

// Seconds from picoseconds; sums stay integers until here, so no order of addition matters.
template <class Field>
double sum_switch_seconds(const RunResult& run, Field field) {
  Int128 ps = 0;
  for (const model::SwitchRecord& s : run.switches) ps += field(s).ps;
  return static_cast<double>(ps) / 1e12;
}

double path_bytes(const RunResult& run, model::Path path) {
  std::int64_t bytes = 0;
  for (const model::CommRecord& c : run.communications) bytes += c.path == path ? c.wire_bytes.count : 0;
  return static_cast<double>(bytes);
}

// From the last member's issue to the start, summed over operations on rails.
Time rail_wait(const RunResult& run) {
  Time wait;
  for (const model::CommRecord& c : run.communications) {
    if (c.path == model::Path::rail) wait += c.started - c.issued_last;
  }
  return wait;
}

double rail_operations(const RunResult& run) {
  return static_cast<double>(std::count_if(run.communications.begin(), run.communications.end(),
                                           [](const auto& c) { return c.path == model::Path::rail; }));
}

Value photonic_only(const Seen& seen, double value) {
  if (!seen.outcome.photonic) return std::nullopt;
  return value;
}

Value window_time(const Seen& seen, Time WindowStats::* field) {
  if (!seen.outcome.windows || seen.outcome.windows->count == 0) return std::nullopt;
  return seconds_of((*seen.outcome.windows).*field);
}

Value window_count(const Seen& seen, std::int64_t WindowStats::* field) {
  if (!seen.outcome.windows) return std::nullopt;
  return static_cast<double>((*seen.outcome.windows).*field);
}

Metric measured(std::string id, std::string label, std::string unit, std::string rule) {
  return {std::move(id), std::move(label), std::move(unit), "", std::move(rule), {}, "the run"};
}

Metric derived(std::string id, std::string label, std::string unit, std::string formula, std::string rule,
               std::vector<std::string> assumptions = {}, std::string source = "") {
  return {std::move(id),   std::move(label),       std::move(unit),  std::move(formula),
          std::move(rule), std::move(assumptions), std::move(source)};
}

void add_times(std::vector<Measured>& all) {
  all.push_back({measured("iteration_time", "time of one training step", "s",
                          "from the common start of the measured step to the finish of the last rank"),
                 [](const Seen& s) { return Value(seconds_of(s.run.iteration_time)); }});
  all.back().metric.assumptions = {"the steps before the measured one leave their circuits and what the planner learnt",
                                   "GPUs run in step: no stragglers, no failures"};
  all.push_back({measured("compute_time", "compute time, mean of ranks", "s",
                          "sum of the durations of a rank's compute tasks, mean over ranks"),
                 [](const Seen& s) { return Value(mean_seconds(s.run, &model::RankRecord::compute)); }});
  all.push_back({measured("exposed_communication", "exposed communication, mean of ranks", "s",
                          "a rank's finish less its compute time (communication and waiting), mean over ranks"),
                 [](const Seen& s) { return Value(mean_seconds(s.run, &model::RankRecord::exposed_communication)); }});
}

void add_switches(std::vector<Measured>& all) {
  all.push_back({measured("switching_time", "switching time: dark, settle, link-up, relock", "s",
                          "swept by switching.times, else the typical sum of the terms of the scenario's switch; "
                          "request, controller and device command come on top"),
                 [](const Seen& s) -> Value {
                   if (!used_switching_time(s.outcome)) return std::nullopt;
                   return seconds_of(*used_switching_time(s.outcome));
                 }});
  all.push_back(
      {measured("switch_commands", "switch commands, all rails", "count",
                "changes of circuits during the measured step: one for each group or pair of ranks whose circuits "
                "change, on every rail"),
       [](const Seen& s) { return photonic_only(s, static_cast<double>(s.run.switches.size())); }});
  all.push_back({measured("switch_commands_ahead", "switch commands ahead of demand", "count",
                          "switch commands that no operation had asked for yet"),
                 [](const Seen& s) {
                   return photonic_only(s, sum_switches(s.run, [](const auto& r) { return r.ahead ? 1 : 0; }));
                 }});
  all.push_back({measured("ports_changed", "GPU ports that changed partner", "count",
                          "sum over switch commands of the GPU ports that changed partner"),
                 [](const Seen& s) {
                   return photonic_only(
                       s, sum_switches(s.run, [](const auto& r) { return static_cast<std::int64_t>(r.ports); }));
                 }});
  all.push_back({measured("switch_time", "switch time, sum over commands", "s",
                          "from the decision to the last link usable, summed over switch commands of all rails"),
                 [](const Seen& s) {
                   return photonic_only(
                       s, sum_switch_seconds(s.run, [](const auto& r) { return r.finished - r.requested; }));
                 }});
  all.push_back({measured("exposed_switch_time", "exposed switch time, sum over commands", "s",
                          "part of switch_time during which a fully issued operation waited for the switch"),
                 [](const Seen& s) {
                   return photonic_only(s, sum_switch_seconds(s.run, [](const auto& r) { return r.exposed; }));
                 }});
  all.push_back({measured("mispredictions", "mispredicted demands", "count",
                          "demands that came other than the planner had learnt"),
                 [](const Seen& s) { return photonic_only(s, static_cast<double>(s.run.mispredictions)); }});
}

void add_windows(std::vector<Measured>& all) {
  const std::string eq = "Opus, equations 1 and 2";
  const std::string rule =
      "between two phases of a rail: earliest slowest-rank start of the next phase less the last end of the one before";
  const auto count = [&](std::string id, std::string label, std::string what, std::int64_t WindowStats::* field) {
    all.push_back({measured(std::move(id), std::move(label), "count", std::move(what)),
                   [field](const Seen& s) { return window_count(s, field); }});
    all.back().metric.source = eq;
  };
  count("windows", "windows between phases, all rails", rule, &WindowStats::count);
  count("windows_negative", "negative windows",
        "windows below zero: the next phase was asked for before the last ended", &WindowStats::negative);
  all.push_back({measured("windows_short", "windows shorter than the switching time", "count",
                          "windows below the case's switching time, negative ones included"),
                 [](const Seen& s) -> Value {
                   if (!s.outcome.windows || !s.outcome.windows->shorter) return std::nullopt;
                   return static_cast<double>(*s.outcome.windows->shorter);
                 }});
  all.back().metric.source = eq;
  const auto quantile = [&](std::string id, std::string label, Time WindowStats::* field) {
    all.push_back({measured(std::move(id), std::move(label), "s", rule + "; quantile by linear interpolation"),
                   [field](const Seen& s) { return window_time(s, field); }});
    all.back().metric.source = eq;
  };
  quantile("window_p5", "windows, 5 % quantile", &WindowStats::p5);
  quantile("window_p25", "windows, 25 % quantile", &WindowStats::p25);
  quantile("window_p50", "windows, median", &WindowStats::p50);
  quantile("window_p75", "windows, 75 % quantile", &WindowStats::p75);
  quantile("window_p95", "windows, 95 % quantile", &WindowStats::p95);
}

void add_traffic(std::vector<Measured>& all) {
  const auto bytes_of = [&](std::string id, std::string label, Dimension dimension) {
    all.push_back({measured(std::move(id), std::move(label), "B",
                            "bytes that all ranks put on the wire for this dimension, scale-up and rails together"),
                   [dimension](const Seen& s) -> Value {
                     return static_cast<double>(s.run.wire_bytes[static_cast<std::size_t>(dimension)]);
                   }});
  };
  bytes_of("bytes_tensor", "bytes of tensor parallelism", Dimension::tensor);
  bytes_of("bytes_data", "bytes of data parallelism", Dimension::data);
  bytes_of("bytes_pipeline", "bytes of pipeline parallelism", Dimension::pipeline);
  bytes_of("bytes_context", "bytes of context parallelism", Dimension::context);
  bytes_of("bytes_expert", "bytes of expert parallelism", Dimension::expert);
  bytes_of("bytes_other", "bytes of groups that fit no dimension", Dimension::other);
  all.push_back({measured("bytes_rails", "bytes that crossed the scale-out network", "B",
                          "wire bytes of all operations on rails"),
                 [](const Seen& s) { return Value(path_bytes(s.run, model::Path::rail)); }});
  all.push_back(
      {measured("rail_operations", "operations on rails", "count", "collectives, and sends with their receive"),
       [](const Seen& s) { return Value(rail_operations(s.run)); }});
  all.push_back(
      {measured("rail_wait", "wait of operations on rails, sum", "s",
                "from the issue by the last member to the start: for circuits, for ports that others hold, for "
                "the operation before in the group, for messages"),
       [](const Seen& s) { return Value(to_seconds(rail_wait(s.run))); }});
  all.push_back({measured("step_flops", "floating-point operations of the step", "FLOP",
                          "of all ranks, recomputation included; a multiply-add is two"),
                 [](const Seen& s) { return Value(s.run.flops); }});
  all.push_back({measured("events", "simulated events", "count", "events that the simulator handled"),
                 [](const Seen& s) { return Value(static_cast<double>(s.run.events)); }});
}

void add_network(std::vector<Measured>& all) {
  const auto of_cost = [&](std::string id, std::string label, std::string unit, std::string rule, auto take) {
    all.push_back(
        {measured(std::move(id), std::move(label), std::move(unit), std::move(rule)), [take](const Seen& s) -> Value {
           if (s.cost == nullptr) return std::nullopt;
           return take(*s.cost);
         }});
    all.back().metric.source = "bill of materials (`photonrail cost`)";
  };
  of_cost("network_cost", "cost of the scale-out network", "USD",
          "total of the bill of materials, every price at its stated value or the middle of its range",
          [](const NetworkCost& c) { return c.base.amount; });
  of_cost("network_cost_low", "cost of the scale-out network, low end", "USD",
          "total of the bill of materials at the low end of every price range",
          [](const NetworkCost& c) { return c.low.amount; });
  of_cost("network_cost_high", "cost of the scale-out network, high end", "USD",
          "total of the bill of materials at the high end of every price range",
          [](const NetworkCost& c) { return c.high.amount; });
  of_cost("network_power", "power of the scale-out network", "W", "total of the bill of materials",
          [](const NetworkCost& c) { return c.power.watts; });
}

std::vector<Measured> all_measured() {
  std::vector<Measured> all;
  add_times(all);
  add_switches(all);
  add_windows(all);
  add_traffic(all);
  add_network(all);
  return all;
}

void add_derived(std::vector<Metric>& all) {
  all.push_back(derived("overhead", "overhead against the baseline", "relative",
                        "iteration_time / baseline.iteration_time - 1", "step time relative to the baseline's"));
  all.push_back(derived("added_by_switching", "added to the step by the switching time", "s",
                        "iteration_time - at_zero.iteration_time",
                        "against the same policy with a switching time of zero: what reaches the critical path"));
  all.push_back(derived("hidden_switch_time", "hidden switch time, sum over commands", "s",
                        "switch_time - exposed_switch_time", "switch time during which nothing waited for it"));
  all.push_back(derived("exposed_switch_share", "share of switch time that is exposed", "ratio",
                        "exposed_switch_time / switch_time", ""));
  all.push_back(derived("exposed_per_command", "exposed switch time, mean of commands", "s",
                        "exposed_switch_time / switch_commands", ""));
  all.push_back(derived("hidden_per_command", "hidden switch time, mean of commands", "s",
                        "hidden_switch_time / switch_commands", ""));
  all.push_back(
      derived("wait_per_operation", "wait of operations on rails, mean", "s", "rail_wait / rail_operations", ""));
  all.push_back(derived("switch_commands_per_rail", "switch commands per rail", "per rail", "switch_commands / rails",
                        "mean over rails"));
  all.push_back(derived("windows_short_share", "share of windows shorter than the switching time", "ratio",
                        "windows_short / windows", ""));
  all.push_back(derived("mfu", "model FLOP/s utilisation", "ratio", "model_flops / (iteration_time * gpus * gpu_peak)",
                        "", {"peak is the dense rate of the training precision"},
                        "Chowdhery et al., PaLM (2022), appendix B"));
  all.push_back(derived("tokens_per_second", "tokens per second", "tokens/s", "tokens_per_step / iteration_time", ""));
  all.push_back(derived("cost_saving", "times cheaper than the baseline's network", "times",
                        "baseline.network_cost / network_cost", ""));
  all.push_back(derived("power_saving", "times less power than the baseline's network", "times",
                        "baseline.network_power / network_power", ""));
  all.push_back(derived("gpu_power_total", "power of all GPUs", "W", "gpus * gpu_power", "",
                        {"GPUs draw their rated power all the time, also while they wait"}));
  all.push_back(derived("energy_per_step", "energy of one step, GPUs and network", "J",
                        "(gpu_power_total + network_power) * iteration_time", "",
                        {"CPUs, memory, cooling and storage are left out"}));
  all.push_back(derived("network_energy_per_step", "energy of the network in one step", "J",
                        "network_power * iteration_time", "", {"the network draws its rated power all the time"}));
  all.push_back(derived("energy_change", "energy of one step against the baseline", "relative",
                        "energy_per_step / baseline.energy_per_step - 1", ""));
  all.push_back(derived("energy_per_token", "energy per token", "J/token", "energy_per_step / tokens_per_step", ""));
}

}  // namespace

std::vector<Metric> simulate_metrics() {
  std::vector<Metric> all;
  for (Measured& m : all_measured()) all.push_back(std::move(m.metric));
  add_derived(all);
  return all;
}

std::vector<std::optional<double>> measure(const CaseOutcome& outcome, const RunResult& run, const NetworkCost* cost) {
  std::vector<std::optional<double>> values;
  const Seen seen{outcome, run, cost};
  for (const Measured& m : all_measured()) values.push_back(m.take(seen));
  values.resize(simulate_metrics().size());
  return values;
}

}  // namespace photonrail::report
