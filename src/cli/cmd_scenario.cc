// `show` and `schema`: scenarios themselves.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"

namespace photonrail::cli {

Status run(const ShowOptions& options) {
  PR_ASSIGN(const ScenarioInput input, read_scenario(options.source));
  return print(model::show_scenario(input.loaded));
}

Status run(const SchemaOptions& options) {
  return print(options.markdown ? model::scenario_reference_markdown() : model::scenario_schema());
}

}  // namespace photonrail::cli
