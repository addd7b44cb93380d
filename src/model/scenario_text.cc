#include "model/scenario_text.h"

#include "config/write.h"
#include "model/scenario_check.h"
#include "model/scenario_describe.h"

namespace photonrail::model {
namespace {

using config::Diagnostics;

constexpr std::string_view kFormHint =
    "TOML. Quantities carry a unit (\"25 ms\", \"50 GB/s\"): K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024, b "
    "is bit, "
    "B is byte. A key that is left out takes its default; an unknown key is an error.";

Distribution constant(Time typical, std::string source) {
  return {
      .shape = Distribution::Shape::constant, .typical = typical, .high = {}, .spread = 0, .source = std::move(source)};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// A relative path in the file means: beside the file.
std::string beside(const LoadedScenario& loaded, std::string_view key, const std::string& path) {
  const bool from_file = loaded.given(key) && loaded.places.find(key)->second.value.source == 0;
  if (path.empty() || path.front() == '/' || loaded.directory.empty() || !from_file) return path;
  return loaded.directory + "/" + path;
}

config::OwnTable<Scenario> root_of(const Scenario& scenario) { return config::OwnTable<Scenario>(scenario); }

}  // namespace

Scenario default_scenario() {
  Scenario s;
  s.model.feed_forward_matrices = 0;
  s.switching.request = constant(microseconds(100), "assumed: one round trip in a management network");
  s.switching.controller = constant(microseconds(50), "assumed");
  s.switching.command = constant(milliseconds(5), "assumed: 2 to 10 ms per command and device, one at a time");
  s.switching.link_up = constant(seconds(3), "Opus paper: ConnectX link-up without auto-negotiation, about 3 s");
  s.switching.relock = constant({}, "held in link_up");
  return s;
}

std::string LoadedScenario::trace_path() const { return beside(*this, "workload.trace", scenario.workload.trace); }

std::string LoadedScenario::group_file_path() const {
  return beside(*this, "workload.group_file", scenario.workload.group_file);
}

std::string LoadedScenario::origin(std::string_view path) const {
  const auto found = places.find(path);
  return found == places.end() ? "default" : diagnostics.place_text(found->second.value);
}

Result<LoadedScenario> parse_scenario(std::string_view text, std::string_view name, std::span<const std::string> sets) {
  LoadedScenario loaded;
  loaded.scenario = default_scenario();
  Diagnostics& diagnostics = loaded.diagnostics;
  const config::SourceId source = diagnostics.add_source(std::string(name), std::string(text));
  std::optional<config::Node> root = config::parse_toml(diagnostics, source);
  if (!root) return fail(diagnostics.to_error());
  for (const std::string& set : sets) config::apply_set(*root, set, diagnostics);
  config::read(*root, loaded.scenario, diagnostics, loaded.places);
  TransformerModel& model = loaded.scenario.model;
  const bool own_model = loaded.scenario.workload.trace.empty() && model.catalog.empty();
  if (own_model && model.feed_forward_matrices == 0)
    model.feed_forward_matrices = TransformerModel{}.feed_forward_matrices;
  PR_TRY(check(loaded));
  return loaded;
}

Result<LoadedScenario> load_scenario(const std::string& path, std::span<const std::string> sets) {
  PR_ASSIGN(const std::string text, config::read_file(path));
  PR_ASSIGN(LoadedScenario loaded, parse_scenario(text, path, sets));
  loaded.directory = directory_of(path);
  return loaded;
}

Status check(LoadedScenario& loaded) {
  check_rules(loaded.scenario, loaded.places, loaded.diagnostics);
  if (loaded.diagnostics.has_errors()) return fail(loaded.diagnostics.to_error());
  return {};
}

std::string scenario_schema() {
  auto root = root_of(default_scenario());
  return config::write_schema(root, "Photonrail scenario", kFormHint);
}

std::string scenario_reference_markdown() {
  auto root = root_of(default_scenario());
  return config::write_reference(root, "Scenario files", kFormHint);
}

std::string show_scenario(const LoadedScenario& loaded) {
  auto root = root_of(loaded.scenario);
  return config::write_toml(root, [&loaded](std::string_view path) { return loaded.origin(path); });
}

std::string scenario_toml(const Scenario& scenario) {
  auto root = root_of(scenario);
  return config::write_toml(root, {});
}

std::string canonical_text(const Scenario& scenario) {
  auto root = root_of(scenario);
  return config::write_canonical(root);
}

}  // namespace photonrail::model
