// `show` and `schema`: scenarios themselves.
#include "cli/commands.h"
#include "cli/input_files.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "report/files.h"

namespace photonrail::cli {
Status run(const ShowOptions& options) {
  PR_ASSIGN(const std::string text, report::read_file(options.source.file));
  PR_TRY(check_is_training_scenario(options.source.file, text));
  PR_ASSIGN(const ScenarioInput input, read_scenario(options.source));
  return print(model::show_scenario(input.loaded));
}

Status run(const SchemaOptions& options) {
  for (const InputFile& file : input_files()) {
    if (options.command == file.command) return print(options.markdown ? file.reference() : file.schema());
  }
  return fail(ErrorCode::usage, "no input file of \"" + options.command + "\" is described");
}

std::vector<std::string> schema_commands() {
  std::vector<std::string> names;
  for (const InputFile& file : input_files()) names.emplace_back(file.command);
  return names;
}

}  // namespace photonrail::cli
