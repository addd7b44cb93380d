// `show` and `schema`: scenarios themselves.
#include <functional>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "energy/scenario.h"
#include "inference/scenario.h"
#include "pool/scenario.h"

namespace photonrail::cli {
namespace {

struct InputFile {
  const char* command;
  std::function<std::string()> schema;
  std::function<std::string()> reference;
};

constexpr const char* kForm =
    "Files are TOML 1.0. A time, size, rate, power, energy, price, operation rate, loss or ratio is text with its unit "
    "(\"25 ms\", \"50 GB/s\"); a bare number is an error. `--set key=value` replaces a value on the command line.";

template <class T>
InputFile described(const char* command, const char* title) {
  return {command, [title] { return config::document_schema(T{}, title, kForm); },
          [title] { return config::document_reference(T{}, title, kForm); }};
}

std::vector<InputFile> input_files() {
  return {{"simulate", model::scenario_schema, model::scenario_reference_markdown},
          described<inference::InferenceScenario>("infer", "Inference scenarios"),
          described<energy::EnergyScenario>("energy", "Energy scenarios"),
          described<pool::PoolScenario>("check", "Photonic pools")};
}

}  // namespace

Status run(const ShowOptions& options) {
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
