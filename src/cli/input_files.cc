#include "cli/input_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/job_file.h"
#include "config/document.h"
#include "config/toml.h"
#include "energy/scenario.h"
#include "inference/scenario.h"
#include "model/scenario_describe.h"
#include "model/scenario_text.h"
#include "pool/scenario.h"
#include "recommendation/scenario.h"

namespace photonrail::cli {
namespace {

constexpr const char* kForm =
    "Files are TOML 1.0. A time, size, rate, power, energy, price, operation rate, loss or ratio is text with its unit "
    "(\"25 ms\", \"50 GB/s\"); a bare number is an error. `--set key=value` replaces a value on the command line.";

template <class T>
std::vector<std::string> keys_of() {
  config::OwnTable<T> table{T{}};
  config::Fields fields = table.fields();
  std::vector<std::string> keys;
  for (const auto& field : fields.all()) keys.emplace_back(field.name);
  return keys;
}

template <class T>
InputFile described(const char* command, const char* title, const char* advice, const char* form = kForm) {
  return {command, advice, [title, form] { return config::document_schema(T{}, title, form); },
          [title, form] { return config::document_reference(T{}, title, form); }, keys_of<T>};
}

}  // namespace

std::vector<InputFile> input_files() {
  return {{"simulate", "", model::scenario_schema, model::scenario_reference_markdown, keys_of<model::Scenario>},
          described<inference::InferenceScenario>("infer", "Inference scenarios",
                                                  "photonrail infer FILE --show, or photonrail infer FILE --out DIR "
                                                  "and photonrail explain DIR/report.json"),
          described<energy::EnergyScenario>(
              "energy", "Energy scenarios",
              "photonrail energy FILE --out DIR, and photonrail explain DIR/report.json"),
          described<recommendation::Scenario>(
              "dlrm", "Recommendation scenarios",
              "photonrail dlrm FILE --out DIR, and photonrail explain DIR/report.json"),
          described<pool::PoolScenario>("check", "Photonic pools",
                                        "photonrail check FILE --out DIR, and photonrail explain DIR/report.json"),
          described<JobText>("ctl", "Job files", "photonrail ctl plan FILE, then photonrail ctl submit FILE",
                             "Files are TOML 1.0.")};
}

Status check_is_training_scenario(const std::string& name, std::string_view text) {
  config::Diagnostics diagnostics;
  const std::optional<config::Node> root =
      config::parse_toml(diagnostics, diagnostics.add_source(name, std::string(text)));
  if (!root) return {};
  const auto known = [&](const InputFile& file) {
    const std::vector<std::string> keys = file.keys();
    return std::count_if(root->members.begin(), root->members.end(), [&](const config::Member& member) {
      return std::find(keys.begin(), keys.end(), member.key) != keys.end();
    });
  };
  const std::vector<InputFile> files = input_files();
  const InputFile* best = &files.front();
  for (const InputFile& file : files) {
    if (known(file) > known(*best)) best = &file;
  }
  if (best == &files.front()) return {};
  std::string advice = best->advice;
  for (std::size_t at = advice.find("FILE"); at != advice.npos; at = advice.find("FILE", at + name.size())) {
    advice.replace(at, 4, name);
  }
  return fail(ErrorCode::invalid_input,
              fmt::format("{}: a file of `photonrail {}`, not a training scenario\n  hint: {}", name, best->command,
                          advice));
}

}  // namespace photonrail::cli
