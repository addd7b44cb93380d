#include "cli/energy_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analytic/scenario_step.h"
#include "cli/scenario_input.h"
#include "study/study.h"

namespace photonrail::cli {
namespace {

struct TrainingStep {
  energy::StepWork work;  // without time
  double seconds = 0;
  std::string seconds_source;
};

energy::Format format_of(model::Precision precision) {
  switch (precision) {
    case model::Precision::fp32: return energy::Format::fp32;
    case model::Precision::bf16: return energy::Format::bf16;
    case model::Precision::fp8: return energy::Format::fp8;
  }
  return energy::Format::bf16;
}

// Closed form on the first electrical fabric, else on the first policy that it can be had for.
Status set_time(TrainingStep& step, const study::Study& study, const catalog::Catalog& catalog) {
  std::vector<study::Case> cases = study::cases_of(study.scenario);
  std::stable_partition(cases.begin(), cases.end(), [](const study::Case& c) { return c.electrical.has_value(); });
  std::string why = "the scenario names no fabric";
  for (const study::Case& c : cases) {
    const auto time = analytic::estimate_case(study, catalog, c);
    if (!time) {
      why = time.error().message;
      continue;
    }
    step.seconds = time->seconds;
    step.seconds_source = "closed form on " + c.name;
    return {};
  }
  return fail(ErrorCode::infeasible, "no closed form of the step: " + why + "\n  hint: give step_time");
}

Result<TrainingStep> training_step(const std::string& path, const std::vector<std::string>& sets,
                                   const catalog::Catalog& catalog, bool timed) {
  PR_ASSIGN(const ScenarioInput input, read_scenario(path, sets, catalog));
  PR_ASSIGN(const study::Study study, study::make_study(input.loaded.scenario, catalog, [](std::size_t) {}));
  std::vector<std::uint32_t> domain_of;
  for (model::Rank rank = 0; rank < study.graph.ranks(); ++rank) domain_of.push_back(study.layout.domain_of(rank));
  TrainingStep step;
  step.work = energy::work_of(study.graph, domain_of);
  step.work.gpu = study.gpu.name;
  step.work.dtype = energy::dtype_of(format_of(study.scenario.training.precision));
  const model::Training& t = study.scenario.training;
  if (study.scenario.workload.trace.empty()) step.work.tokens = static_cast<double>(t.global_batch * t.sequence);
  if (timed) PR_TRY(set_time(step, study, catalog));
  return step;
}

energy::StepWork with_time(const TrainingStep& step, const energy::EnergyScenario& scenario) {
  energy::StepWork work = step.work;
  const bool given = scenario.step_time.ps > 0;
  work.time_is_given = given;
  work.seconds = given ? to_seconds(scenario.step_time) : step.seconds;
  work.seconds_source = given ? "given" : step.seconds_source;
  return work;
}

Result<energy::StepWork> work_for(const energy::EnergyDocument& doc, const std::vector<std::string>& sets,
                                  const catalog::Catalog& catalog) {
  if (doc.value.scenario.empty()) {
    if (!sets.empty()) {
      return fail(ErrorCode::usage,
                  fmt::format("scenario.{}: the energy scenario names no training scenario", sets.front()));
    }
    return energy::stated_work(doc.value);
  }
  PR_ASSIGN(const TrainingStep step,
            training_step(energy::scenario_path(doc), sets, catalog, doc.value.step_time.ps == 0));
  return with_time(step, doc.value);
}

}  // namespace

Result<EnergyInput> read_energy(const std::string& file, const std::vector<std::string>& sets,
                                const catalog::Catalog& catalog) {
  std::vector<std::string> own = sets;
  const std::vector<std::string> of_scenario = energy::take_scenario_sets(own);
  EnergyInput input;
  PR_ASSIGN(input.doc, energy::load_energy(file, own));
  PR_ASSIGN(input.work, work_for(input.doc, of_scenario, catalog));
  return input;
}

Result<sensitivity::Experiment> energy_experiment(const std::string& file, const std::vector<std::string>& below,
                                                  const catalog::Catalog& catalog) {
  struct Base {
    std::string file;
    std::vector<std::string> below;
    catalog::Catalog catalog;
    std::optional<TrainingStep> step;  // of a training scenario without further values
  };
  auto base = std::make_shared<Base>(Base{file, below, catalog, {}});
  std::vector<std::string> own = below;
  const std::vector<std::string> of_scenario = energy::take_scenario_sets(own);
  PR_ASSIGN(const energy::EnergyDocument doc, energy::load_energy(file, own));
  if (!doc.value.scenario.empty()) {
    PR_ASSIGN(base->step, training_step(energy::scenario_path(doc), of_scenario, catalog, doc.value.step_time.ps == 0));
  }
  return [base](const std::vector<std::string>& sets) -> Result<std::vector<sensitivity::Metric>> {
    const auto changes_step = [](const std::string& set) { return set.starts_with("scenario"); };
    const bool reuse = base->step && std::none_of(sets.begin(), sets.end(), changes_step);
    std::vector<std::string> all = base->below;
    all.insert(all.end(), sets.begin(), sets.end());
    EnergyInput input;
    if (reuse) {
      energy::take_scenario_sets(all);
      PR_ASSIGN(input.doc, energy::load_energy(base->file, all));
      input.work = with_time(*base->step, input.doc.value);
    } else {
      PR_ASSIGN(input, read_energy(base->file, all, base->catalog));
    }
    PR_ASSIGN(const energy::StepEnergy energy, energy::step_energy(input.doc.value, input.work, base->catalog));
    return energy::metrics_of(energy);
  };
}

}  // namespace photonrail::cli
