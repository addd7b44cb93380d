#include "report/simulate_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/units_text.h"
#include "report/human.h"
#include "report/simulate_metrics.h"
#include "report/simulate_tables.h"

namespace photonrail::report {
namespace {

const NetworkCost* cost_of(const SimulateInputs& in, const CaseOutcome& outcome) {
  const auto at = std::find_if(in.networks.begin(), in.networks.end(),
                               [&](const NetworkCost& c) { return c.key == outcome.network && c.shortfall.empty(); });
  return at == in.networks.end() ? nullptr : &*at;
}

Case make_case(const SimulateInputs& in, const Report& report, const CaseOutcome& outcome) {
  Case c;
  c.id = case_id(outcome.name, outcome.switching_time);
  c.name = outcome.name;
  c.kind = outcome.photonic ? "photonic" : "electrical";
  c.switching_time = outcome.switching_time;
  if (!outcome.run) {
    c.refusal = outcome.run.error().message;
    return c;
  }
  Digest digest;
  digest.add(outcome.run->digest);
  c.digest = digest.hex();
  const NetworkCost* cost = cost_of(in, outcome);
  c.values = measure(outcome, *outcome.run, cost);
  if (cost == nullptr) return c;
  for (const Metric& metric : report.metrics) {
    if (metric.formula.empty() && metric.id.starts_with("network_")) c.sources.emplace_back(metric.id, cost->source);
  }
  return c;
}

std::string baseline_of(const Report& report, const std::string& wanted) {
  if (find_case(report, wanted) != nullptr) return wanted;
  for (const Case& c : report.cases) {
    if (c.name == wanted && c.refusal.empty()) return c.id;
  }
  return "";
}

void add_constants(Report& report, const SimulateInputs& in) {
  const model::Scenario& s = in.scenario;
  const auto add = [&](std::string id, std::string label, double value, std::string unit, std::string source) {
    report.constants.push_back({std::move(id), std::move(label), value, std::move(unit), std::move(source)});
  };
  const std::string given = "the scenario";
  add("gpus", "GPUs", static_cast<double>(s.cluster.gpus), "count", given + ", cluster.gpus");
  add("rails", "rails: GPUs of one scale-up domain", static_cast<double>(s.cluster.domain), "count",
      given + ", cluster.domain");
  add("gpu_peak", "peak rate of one GPU at the training precision", in.gpu_peak.flops_per_second, "FLOP/s",
      in.gpu_peak_source);
  if (in.gpu_power.watts > 0) {
    add("gpu_power", "rated power of one GPU", in.gpu_power.watts, "W", in.gpu_power_source);
  }
  if (in.tokens_per_step > 0) {
    add("tokens_per_step", "tokens of one step", static_cast<double>(in.tokens_per_step), "count",
        given + ", training.global_batch x training.sequence");
  }
  if (in.model_flops > 0) {
    add("model_flops", "floating-point operations of one step without recomputation", in.model_flops, "FLOP",
        in.model_flops_source);
  }
}

void add_networks(Report& report, const SimulateInputs& in) {
  for (const NetworkCost& n : in.networks) {
    if (!n.shortfall.empty()) continue;
    const auto add = [&](const char* what, const char* label, double value, const char* unit) {
      report.constants.push_back(
          {fmt::format("{}.{}", n.key, what), fmt::format("{} of {}", label, n.title), value, unit, n.source});
    };
    add("cost", "cost", n.base.amount, "USD");
    add("cost_low", "cost, low end,", n.low.amount, "USD");
    add("cost_high", "cost, high end,", n.high.amount, "USD");
    add("power", "power", n.power.watts, "W");
  }
}

std::vector<std::pair<std::string, std::string>> header_of(const SimulateInputs& in) {
  const model::Scenario& s = in.scenario;
  auto lines = in.workload_lines;
  const std::int64_t domains = s.cluster.domain > 0 ? s.cluster.gpus / s.cluster.domain : 0;
  lines.emplace_back("cluster",
                     fmt::format("{} in {} of {} ({} per GPU), {}", counted(s.cluster.gpus, s.cluster.gpu + " GPU"),
                                 counted(domains, "scale-up domain"), s.cluster.domain, to_text(s.scale_up.rate),
                                 counted(s.cluster.domain, "rail")));
  lines.emplace_back("photonic rail", fmt::format("{} of {} per GPU: {}", counted(s.rail.ports, "duplex port"),
                                                  to_text(s.rail.port_rate), to_text(s.rail.port_rate * s.rail.ports)));
  for (std::size_t i = 0; i < in.switch_lines.size(); ++i) {
    lines.emplace_back(i == 0 ? "switch" : "", in.switch_lines[i]);
  }
  lines.emplace_back("electrical",
                     fmt::format("NIC of {} per GPU, switch {}, {}:1 at the leaves", to_text(s.electrical.nic_rate),
                                 s.electrical.network_switch, s.electrical.oversubscription));
  lines.emplace_back("baseline", s.baseline);
  return lines;
}

}  // namespace

std::string case_id(const std::string& name, std::optional<Time> switching_time) {
  if (!switching_time) return name;
  std::string text = time_label(*switching_time);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return fmt::format("{}@{}", name, text);
}

Report make_simulate_report(const SimulateInputs& in) {
  Report report;
  report.command = "simulate";
  report.version = in.version;
  report.scenario_name = in.scenario.name;
  report.scenario_hash = in.scenario_hash;
  report.scenario_text = in.scenario_text;
  report.seed = in.scenario.seed;
  report.header = header_of(in);
  report.metrics = simulate_metrics();
  add_constants(report, in);
  Digest digest;
  for (const CaseOutcome& outcome : in.cases) {
    report.cases.push_back(make_case(in, report, outcome));
    digest.add(report.cases.back().id);
    digest.add(outcome.run ? outcome.run->digest : 0);
  }
  report.digest = digest.hex();
  report.baseline = baseline_of(report, in.scenario.baseline);
  derive(report);
  add_networks(report, in);
  report.tables = simulate_tables(report, in.networks);
  report.reading = {simulate_reading(report)};
  return report;
}

}  // namespace photonrail::report
