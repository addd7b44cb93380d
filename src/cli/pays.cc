#include "cli/pays.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "cli/network_costs.h"
#include "cli/output.h"

namespace photonrail::cli {
namespace {

constexpr double kSecondsPerYear = 365.25 * 86400;
constexpr double kJoulesPerKwh = 3.6e6;

// What the cases cost, per second of the whole cluster.
struct Rates {
  double rails = 0;
  double baseline = 0;
  std::string note;
};

std::vector<study::Case> cases_named(const study::Study& study, const std::string& name) {
  std::vector<study::Case> found;
  for (const study::Case& c : study::cases_of(study.scenario)) {
    if (c.name == name) found.push_back(c);
  }
  return found;
}

// The switching policy of the scenario that hides most and can be built.
std::vector<study::Case> switching_cases(const study::Study& study) {
  for (const char* name : {"provisioned", "on_demand"}) {
    std::vector<study::Case> found = cases_named(study, name);
    if (found.size() > 1) return found;
  }
  return {};
}

const report::NetworkCost* network(const NetworkCosts& costs, const std::string& key) {
  for (const report::NetworkCost& n : costs.all) {
    if (n.key == key && n.shortfall.empty()) return &n;
  }
  return nullptr;
}

PaysUntil nothing(const std::string& why) {
  PaysUntil pays;
  pays.note = "until when rails pay is not known: " + why;
  return pays;
}

double gpu_watts(const study::Study& study) {
  if (study.scenario.cost.gpu_power.watts > 0) return study.scenario.cost.gpu_power.watts;
  return study.gpu.power.known() ? catalog::range_of(study.gpu.power).base : 0;
}

Result<Rates> rates_of(const study::Study& study, const WindowsOptions& options, const report::NetworkCost& rails,
                       const report::NetworkCost& baseline) {
  const double gpus = static_cast<double>(study.scenario.cluster.gpus);
  const double watts = gpus * gpu_watts(study);
  Rates rates;
  PR_ASSIGN(const Dollars kwh, parse_dollars(options.electricity));
  if (kwh.amount < 0) return fail(ErrorCode::usage, "--electricity: a price is not negative");
  if (options.gpu_price.empty()) {
    rates.rails = watts + rails.power.watts;
    rates.baseline = watts + baseline.power.watts;
    rates.note = "energy of GPUs and network alone; --gpu-price adds purchases";
    return rates;
  }
  PR_ASSIGN(const Dollars gpu, parse_dollars(options.gpu_price));
  if (gpu.amount < 0) return fail(ErrorCode::usage, "--gpu-price: a price is not negative");
  const auto per_second = [&](const report::NetworkCost& n) {
    const double purchase = (gpus * gpu.amount + n.base.amount) / (options.years * kSecondsPerYear);
    return purchase + (watts + n.power.watts) / kJoulesPerKwh * kwh.amount;
  };
  rates.rails = per_second(rails);
  rates.baseline = per_second(baseline);
  rates.note = fmt::format("GPUs at {} each and networks over {:g} years, energy at {} per kWh", to_text(gpu),
                           options.years, to_text(kwh));
  return rates;
}

}  // namespace

Result<PaysUntil> pays_until(const study::Study& study, const catalog::Catalog& catalog,
                             const WindowsOptions& options) {
  std::vector<study::Case> cases = switching_cases(study);
  const std::vector<study::Case> baselines = cases_named(study, study.scenario.baseline);
  if (cases.empty()) {
    return nothing(
        "there is no sweep to look in: it needs on_demand or provisioned in control.policies and two or more "
        "times, as --set 'switching.times=[\"10 ms\", \"100 ms\", \"1 s\"]'");
  }
  if (baselines.size() != 1 || !baselines.front().electrical) return nothing("the baseline is no electrical fabric");
  PR_ASSIGN(const NetworkCosts costs, network_costs(study.scenario, catalog));
  const report::NetworkCost* rails = network(costs, costs.photonic);
  const report::NetworkCost* baseline = network(costs, study.scenario.baseline);
  if (rails == nullptr || baseline == nullptr) return nothing("a network has no price or power (photonrail cost)");
  PR_ASSIGN(const Rates rates, rates_of(study, options, *rails, *baseline));
  if (rates.rails <= 0 || rates.baseline <= 0) return nothing("no figure for what the cluster costs is known");

  std::sort(cases.begin(), cases.end(),
            [](const study::Case& a, const study::Case& b) { return a.switching_time < b.switching_time; });
  cases.push_back(baselines.front());
  const auto runs = study::run_cases(study, catalog, cases, thread_count(options.threads), {});
  for (const study::CaseRun& run : runs) {
    if (!run.run) return nothing("a case of the sweep cannot be run (photonrail simulate says why)");
  }
  const double base_time = to_seconds(runs.back().run->iteration_time);
  std::vector<analysis::OverheadPoint> points;
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    points.push_back({*runs[i].spec.switching_time, to_seconds(runs[i].run->iteration_time) / base_time - 1});
  }
  PaysUntil pays;
  pays.overhead = analysis::break_even_overhead({rates.rails}, {rates.baseline});
  pays.until = analysis::break_even(points, pays.overhead);
  pays.compared = fmt::format("{} against {}", cases.front().name, study.scenario.baseline);
  pays.note = fmt::format("until when rails pay: {}, counting {}", pays.compared, rates.note);
  return pays;
}

}  // namespace photonrail::cli
