// A scenario from its file, and back: load, check, show, schema, reference.
//
// Layers, later over earlier: default_scenario(), the file, each --set in order. Names of catalog entries are not
// resolved here; whoever does so (it may fill [model]) calls check() once more on the completed scenario.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/read.h"
#include "model/scenario.h"

namespace photonrail::model {

// What holds for the keys that a file leaves out. Equal to Scenario{} but for the terms of the switching time, which
// carry the figures and sources of a real system, and for model.feed_forward_matrices: 0, from the catalog, else 3.
Scenario default_scenario();

struct LoadedScenario {
  Scenario scenario;
  config::Places places;            // where each value was given, by path: "rail.ports"
  config::Diagnostics diagnostics;  // the sources that places refer to, and warnings
  std::string directory;            // of the file; "" for the working directory

  bool given(std::string_view path) const { return places.find(path) != places.end(); }
  // Of the trace and of its group file. A path from the file is relative to the file, one from --set to the working
  // directory. Empty where the scenario names none.
  std::string trace_path() const;
  std::string group_file_path() const;
  std::string origin(std::string_view path) const;  // "file.toml:12", "--set", "default"
  std::string warnings() const { return diagnostics.text(); }
};

// The file at `path`, with each "a.b=c" of `sets` on top, read and checked. Errors: io; invalid_input, with every
// mistake at its place.
Result<LoadedScenario> load_scenario(const std::string& path, std::span<const std::string> sets = {});

// The same for a text; messages call it `name`.
Result<LoadedScenario> parse_scenario(std::string_view text, std::string_view name,
                                      std::span<const std::string> sets = {});

// Rules between fields, on the scenario as it now is. Errors show every field that takes part, with its line.
Status check(LoadedScenario& loaded);

std::string scenario_schema();                            // JSON Schema, draft 2020-12
std::string scenario_reference_markdown();                // docs/reference/scenario.md
std::string show_scenario(const LoadedScenario& loaded);  // the whole as TOML, each value with its origin
std::string scenario_toml(const Scenario& scenario);      // the same without origins
std::string canonical_text(const Scenario& scenario);     // equal scenarios, equal text: for digests

}  // namespace photonrail::model
