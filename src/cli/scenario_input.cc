#include "cli/scenario_input.h"

#include <filesystem>

#include "base/digest.h"
#include "cli/output.h"

namespace photonrail::cli {
namespace {

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

Result<catalog::Catalog> read_catalog(const std::string& directory) {
  return directory.empty() ? catalog::Catalog::builtin() : catalog::Catalog::with_overrides(directory);
}

Result<ScenarioInput> read_scenario(const std::string& file, const std::vector<std::string>& sets,
                                    const catalog::Catalog& catalog) {
  PR_ASSIGN(model::LoadedScenario loaded, model::load_scenario(file, sets));
  Digest digest;
  digest.add(model::canonical_text(loaded.scenario));
  // From here on a path means what it means to the operating system.
  loaded.scenario.workload.trace = absolute(loaded.trace_path());
  loaded.scenario.workload.group_file = absolute(loaded.group_file_path());
  return ScenarioInput{std::move(loaded), catalog, digest.hex()};
}

Result<ScenarioInput> read_scenario(const ScenarioSource& source) {
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(source.catalog_directory));
  PR_ASSIGN(ScenarioInput input, read_scenario(source.file, source.sets, catalog));
  if (const std::string warnings = input.loaded.warnings(); !warnings.empty()) print_warnings(warnings);
  return input;
}

}  // namespace photonrail::cli
