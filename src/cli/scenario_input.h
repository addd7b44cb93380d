// A scenario as commands use it: read, checked, with the catalog that its names refer to.
#pragma once

#include "base/result.h"
#include "catalog/catalog.h"
#include "cli/options.h"
#include "model/scenario_text.h"

namespace photonrail::cli {

struct ScenarioInput {
  model::LoadedScenario loaded;
  catalog::Catalog catalog;
  std::string hash;  // 16 hexadecimal digits: equal for scenarios with equal values, whatever their files look like
};

Result<ScenarioInput> read_scenario(const ScenarioSource& source);
// The same with a catalog that is at hand, and without printing warnings: for many readings of one file.
Result<ScenarioInput> read_scenario(const std::string& file, const std::vector<std::string>& sets,
                                    const catalog::Catalog& catalog);
Result<catalog::Catalog> read_catalog(const std::string& directory);

}  // namespace photonrail::cli
