// The report of `photonrail energy`: per-bit energies as published with their closed form over switches, the step's
// traffic, the step by components, and what each constant does to the answers.
#pragma once

#include <string>

#include "base/result.h"
#include "energy/scenario.h"
#include "energy/step_energy.h"
#include "report/report.h"
#include "sensitivity/analysis.h"

namespace photonrail::energy {

struct ReportInputs {
  const EnergyDocument& doc;
  const StepWork& work;
  const StepEnergy& energy;
  const catalog::Catalog& catalog;
  sensitivity::Experiment experiment;  // of the same scenario, for the ranges of its constants
  std::string version;
  sensitivity::RunOptions run;
};

Result<report::Report> energy_report(const ReportInputs& in);

// The constants as parameters of a sensitivity analysis, uniform over their ranges; `published` or `components`, or
// both for "".
std::vector<sensitivity::Parameter> constant_parameters(std::string_view table);

}  // namespace photonrail::energy
