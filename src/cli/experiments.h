// Every command that reads a scenario, as an experiment for `photonrail sensitivity`: one explicit table, no
// registration at a distance. A new command adds one line to the table of experiments.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "cli/options.h"
#include "sensitivity/declarations.h"
#include "sensitivity/experiment.h"

namespace photonrail::cli {

std::vector<std::string> experiment_names();

// The command as a function of values laid over the scenario; those of `source` hold below them. Error: usage for an
// unknown command, or what is wrong with the catalog. The experiment may be called from several threads at once; each
// call adds to `said` what its point overrides and rests on.
Result<sensitivity::Experiment> experiment_of(const std::string& command, const ScenarioSource& source,
                                              std::shared_ptr<sensitivity::Declarations> said);

}  // namespace photonrail::cli
