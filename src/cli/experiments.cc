#include "cli/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "analytic/estimate.h"
#include "cli/energy_input.h"
#include "cli/scenario_input.h"
#include "cli/study_report.h"
#include "config/diagnostics.h"
#include "fabric/cost.h"
#include "inference/metrics.h"
#include "pool/check.h"
#include "recommendation/report.h"

namespace photonrail::cli {
namespace {

using Metrics = std::vector<sensitivity::Metric>;
using Evaluate = Result<Metrics> (*)(const std::string& file, const std::vector<std::string>& sets,
                                     const catalog::Catalog& catalog, sensitivity::Declarations& said);

void declare_mode(const model::Scenario& scenario, sensitivity::Declarations& said) {
  if (scenario.cost.mode != model::CostMode::as_published) return;
  said.add("OVERRIDE", "cost.mode = as_published: the formulas of the Opus paper in place of whole boxes and fibres");
}

// "<case>/<metric>" of every case that ran.
Result<Metrics> evaluate_simulate(const std::string& file, const std::vector<std::string>& sets,
                                  const catalog::Catalog& catalog, sensitivity::Declarations& said) {
  PR_ASSIGN(const ScenarioInput input, read_scenario(file, sets, catalog));
  declare_mode(input.loaded.scenario, said);
  PR_ASSIGN(const SimulatedReport simulated, simulate(input, 1, false));
  Metrics metrics;
  for (const report::Case& c : simulated.report.cases) {
    for (std::size_t m = 0; m < simulated.report.metrics.size(); ++m) {
      if (!c.values[m]) continue;
      metrics.push_back({c.id + "/" + simulated.report.metrics[m].id, *c.values[m], simulated.report.metrics[m].unit});
    }
  }
  if (metrics.empty() && !simulated.failures.empty()) return fail(simulated.failures.front());
  return metrics;
}

Result<Metrics> evaluate_cost(const std::string& file, const std::vector<std::string>& sets,
                              const catalog::Catalog& catalog, sensitivity::Declarations& said) {
  PR_ASSIGN(const ScenarioInput scenario, read_scenario(file, sets, catalog));
  declare_mode(scenario.loaded.scenario, said);
  fabric::CostInput input = fabric::cost_input(scenario.loaded.scenario);
  if (input.gpus == 0) return fail(ErrorCode::usage, "the scenario has the number of its GPUs from a trace");
  input.samples = 0;
  const fabric::NamedParts named = {scenario.loaded.given("electrical.network_switch"),
                                    scenario.loaded.given("switching.ocs")};
  fabric::replace_unfit_defaults(input, named, catalog);
  PR_ASSIGN(const fabric::Bills bills, fabric::make_bills(input, catalog));
  Metrics metrics;
  std::vector<std::pair<std::string, fabric::Totals>> totals;
  for (const fabric::BillOfMaterials& bill : bills.all) {
    if (!bill.shortfall.empty()) continue;
    totals.emplace_back(bill.key, fabric::total_range(bill, bills.assumptions).base);
    metrics.push_back({bill.key + "/cost", totals.back().second.dollars, "USD"});
    metrics.push_back({bill.key + "/power", totals.back().second.watts, "W"});
  }
  for (const auto& [key, total] : totals) {
    if (key.starts_with("photonic")) continue;
    for (const auto& [other, photonic] : totals) {
      if (!other.starts_with("photonic")) continue;
      metrics.push_back({fmt::format("{}/{}/cost_ratio", key, other), total.dollars / photonic.dollars, "times"});
      metrics.push_back({fmt::format("{}/{}/power_ratio", key, other), total.watts / photonic.watts, "times"});
    }
  }
  return metrics;
}

// A step in closed form replaces no listed figure.
Result<Metrics> evaluate_estimate(const std::string& file, const std::vector<std::string>& sets,
                                  const catalog::Catalog& catalog, sensitivity::Declarations&) {
  return analytic::evaluate_estimate(file, sets, catalog);
}

struct Entry {
  const char* command;
  Evaluate evaluate;
};
constexpr const char* kEnergy = "energy";  // keeps the step of its training scenario from one value to the next
constexpr std::array kEntries = {
    Entry{"simulate", evaluate_simulate},
    Entry{"estimate", evaluate_estimate},
    Entry{"cost", evaluate_cost},
    Entry{"infer", inference::evaluate_infer},
    Entry{"check", pool::evaluate_check},
    Entry{"dlrm", recommendation::evaluate_dlrm},
};

}  // namespace

std::vector<std::string> experiment_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.command);
  names.emplace_back(kEnergy);
  return names;
}

Result<sensitivity::Experiment> experiment_of(const std::string& command, const ScenarioSource& source,
                                              std::shared_ptr<sensitivity::Declarations> said) {
  const auto* entry =
      std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& e) { return command == e.command; });
  if (entry == kEntries.end() && command != kEnergy) {
    const std::vector<std::string> names = experiment_names();
    return fail(ErrorCode::usage,
                fmt::format("'{}' is no command with a scenario to vary{}\n  hint: one of {}", command,
                            config::did_you_mean(command, {names.begin(), names.end()}), fmt::join(names, ", ")));
  }
  PR_ASSIGN(catalog::Catalog loaded, read_catalog(source.catalog_directory));
  if (command == kEnergy) return energy_experiment(source.file, source.sets, loaded);
  const auto catalog = std::make_shared<const catalog::Catalog>(std::move(loaded));
  return [evaluate = entry->evaluate, file = source.file, below = source.sets,
          catalog, said = std::move(said)](const std::vector<std::string>& sets) -> Result<Metrics> {
    std::vector<std::string> all = below;
    all.insert(all.end(), sets.begin(), sets.end());
    return evaluate(file, all, *catalog, *said);
  };
}

}  // namespace photonrail::cli
