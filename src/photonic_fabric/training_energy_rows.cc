// Beside T5: the saving for the traffic of training steps that this program generates, model by model. Bits inside a
// scale-up domain cost a tray, bits between domains a path of k switches, both by the paper's constants:
//   saving = 1 - (B_in E_tray + B_out E_path)_photonic / (B_in E_tray + B_out E_path)_electrical
#include <fmt/format.h>

#include <array>

#include "analytic/scenario_step.h"
#include "energy/step_energy.h"
#include "model/scenario_text.h"
#include "photonic_fabric/rows.h"
#include "study/study.h"

namespace photonrail::photonic_fabric {
namespace {

constexpr std::int64_t kRadix = 64;

struct Training {
  const char* model;
  std::int64_t tensor;
  std::int64_t pipeline;
  std::int64_t data;
  std::int64_t gpus() const { return tensor * pipeline * data; }
};
// Degrees as Megatron's papers have them: tensor parallelism within a box, pipeline as memory asks, the rest data.
constexpr std::array<Training, 5> kTrainings = {{{"llama-3-8b", 1, 1, 64},
                                                 {"llama-3-70b", 8, 4, 4},
                                                 {"gpt-3-175b", 8, 8, 4},
                                                 {"llama-3.1-405b", 8, 14, 2},
                                                 {"megatron-1t", 8, 32, 2}}};

model::Scenario scenario_of(const Training& t) {
  model::Scenario s = model::default_scenario();
  s.model.catalog = t.model;
  s.parallelism = {t.data, t.pipeline, t.tensor};
  s.cluster.gpus = t.gpus();
  s.cluster.gpu = "H100";
  s.cluster.domain = 8;
  s.training.sequence = 2048;
  s.training.microbatches = 2 * t.pipeline;
  s.training.global_batch = t.data * s.training.microbatches;
  s.training.schedule = model::Schedule::one_f_one_b;
  s.electrical.fabrics = {model::Fabric::rail_optimised};
  return s;
}

// Components that draw power whether they work or not: what the saving becomes of all network parts, and of the step.
Status add_static(const Training& t, const study::Study& study, energy::StepWork work, const catalog::Catalog& catalog,
                  const std::string& name, Rows& rows) {
  PR_ASSIGN(const auto step, analytic::estimate_case(study, catalog, study::cases_of(study.scenario).front()));
  work.seconds = step.seconds;
  work.gpu = study.gpu.name;
  energy::EnergyScenario scenario;
  scenario.paths.radix = kRadix;
  PR_ASSIGN(const energy::StepEnergy e, energy::step_energy(scenario, work, catalog));
  energy::PathEnergy network;
  for (const energy::Part& part : e.parts) {
    if (!part.network) continue;
    network.electrical += part.electrical;
    network.photonic += part.photonic;
  }
  const std::string id = fmt::format("T5/own/training/{}/", t.model);
  rows.push_back(own_row(id + "network_static", name,
                         "saving of the network's energy, static power included (as many photonic switches)", "ratio",
                         network.saving()));
  rows.push_back(own_row(id + "whole_step", name, "saving of the energy of the whole step at the plug", "ratio",
                         1 - e.total_photonic() / e.total_electrical()));
  return {};
}

Status add_training(const Training& t, const catalog::Catalog& catalog, Rows& rows) {
  PR_ASSIGN(const study::Study study, study::make_study(scenario_of(t), catalog, [](std::size_t) {}));
  std::vector<std::uint32_t> domains;
  for (model::Rank rank = 0; rank < study.graph.ranks(); ++rank) domains.push_back(study.layout.domain_of(rank));
  energy::StepWork work = energy::work_of(study.graph, domains);
  const energy::PublishedConstants constants;
  const std::int64_t switches = energy::switches_of_clos(t.gpus(), kRadix);
  const energy::PathEnergy tray = energy::tray_energy(constants);
  const std::string name = fmt::format(
      "{}, {} H100 (DP{} PP{} TP{}), one step of {} sequences of 2048 tokens: {:.1f} % of its bytes leave "
      "the box, over switches of radix {} ({} on a path)",
      t.model, t.gpus(), t.data, t.pipeline, t.tensor, t.data * 2 * t.pipeline,
      100 * work.outside() / (work.inside() + work.outside()), kRadix, switches);
  const auto add = [&](const char* id, const char* what, std::int64_t photonic) {
    const energy::PathEnergy path = energy::path_energy(constants, switches, photonic);
    const double before = work.inside() * tray.electrical + work.outside() * path.electrical;
    const double after = work.inside() * tray.photonic + work.outside() * path.photonic;
    rows.push_back(own_row(fmt::format("T5/own/training/{}/{}", t.model, id), name, what, "ratio", 1 - after / before));
  };
  add("like_for_like", "saving of traffic energy, as many photonic switches", switches);
  add("one_hop", "saving of traffic energy, one photonic hop", 1);
  return add_static(t, study, std::move(work), catalog, name, rows);
}

}  // namespace

Rows training_energy_rows(const catalog::Catalog& catalog) {
  Rows rows;
  for (const Training& t : kTrainings) {
    if (const Status made = add_training(t, catalog, rows); !made) {
      rows.push_back(refused_row(fmt::format("T5/own/training/{}", t.model), t.model, "saving of traffic energy",
                                 "ratio", std::nullopt, "own model", made.error()));
    }
  }
  return rows;
}

}  // namespace photonrail::photonic_fabric
