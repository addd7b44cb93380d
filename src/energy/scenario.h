// The input file of `photonrail energy`. Either `scenario` names a training scenario of `simulate`, whose step is
// generated (values of it may be set as "scenario.training.sequence=8192"), or [work] states a step in numbers.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "config/document.h"
#include "energy/constants.h"
#include "operators/dtype.h"

namespace photonrail::energy {

enum class Format : std::uint8_t { fp32, bf16, fp8, nvfp4 };

struct StatedWork {  // [work]
  std::string gpu = "H100";
  std::int64_t gpus = 0;
  Format format = Format::bf16;
  double teraflop = 0;  // per GPU and step, 1e12 operations
  Bytes memory;         // per GPU and step
  Bytes scale_up;       // sent, per GPU and step
  Bytes network;        // sent, per GPU and step
  double tokens = 0;    // all GPUs, per step
};

struct Paths {                           // [paths]
  std::int64_t electrical_switches = 0;  // crossed between two nodes; 0: by size and radix
  std::int64_t photonic_switches = 0;    // 0: as many
  std::int64_t radix = 64;
  Rate rate{0};  // per GPU and direction; 0: of the GPU's adapter
};

struct Sampling {  // [sampling]
  std::int64_t samples = 2000;
  std::uint64_t seed = 1;
};

struct EnergyScenario {
  std::string name;
  std::string scenario;  // file of a training scenario, relative to this one
  Time step_time{0};     // 0: of the training scenario, in closed form
  StatedWork work;
  Paths paths;
  Sampling sampling;
  PublishedConstants published;
  ComponentConstants components;
};

std::span<const config::EnumName<Format>> names_of(Format);
void describe(config::Fields& fields, StatedWork& work);
void describe(config::Fields& fields, Paths& paths);
void describe(config::Fields& fields, Sampling& sampling);
void describe(config::Fields& fields, EnergyScenario& scenario);

using EnergyDocument = config::Document<EnergyScenario>;

// Errors: io; invalid_input with every mistake at its place.
Result<EnergyDocument> load_energy(const std::string& file, std::span<const std::string> sets);

// Those of `sets` that are for the training scenario, without "scenario."; the others stay in `sets`.
std::vector<std::string> take_scenario_sets(std::vector<std::string>& sets);

// Path of the training scenario: relative to the energy file where the file gave it, else to the working directory.
std::string scenario_path(const EnergyDocument& doc);

operators::Dtype dtype_of(Format format);

// Value of a constant in the base unit, by the path that constant_ranges() has.
double constant_value(const EnergyScenario& scenario, std::string_view path);

}  // namespace photonrail::energy
