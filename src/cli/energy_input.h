// The work of an energy scenario: stated in it, or that of the training scenario that it names.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "energy/scenario.h"
#include "energy/step_energy.h"
#include "sensitivity/experiment.h"

namespace photonrail::cli {

struct EnergyInput {
  energy::EnergyDocument doc;
  energy::StepWork work;
};

// `sets` that begin with "scenario." go to the training scenario.
Result<EnergyInput> read_energy(const std::string& file, const std::vector<std::string>& sets,
                                const catalog::Catalog& catalog);

// The energy of the file's step as a function of values laid over it. The step of a training scenario is generated
// once, and again only for values that change it. May be called from several threads at once.
Result<sensitivity::Experiment> energy_experiment(const std::string& file, const std::vector<std::string>& below,
                                                  const catalog::Catalog& catalog);

}  // namespace photonrail::cli
