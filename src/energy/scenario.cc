#include "energy/scenario.h"

#include <array>

#include "base/check.h"

namespace photonrail::energy {
namespace {

constexpr std::array kFormats = {config::EnumName<Format>{Format::fp32, "fp32", "32 bits"},
                                 config::EnumName<Format>{Format::bf16, "bf16", "16 bits"},
                                 config::EnumName<Format>{Format::fp8, "fp8", "8 bits"},
                                 config::EnumName<Format>{Format::nvfp4, "nvfp4", "4 bits with a scale per 16 values"}};

constexpr std::string_view kPrefix = "scenario.";

void check(EnergyDocument& doc) {
  const EnergyScenario& s = doc.value;
  const bool stated = s.work.gpus > 0;
  if (stated && !s.scenario.empty()) {
    doc.diagnostics.error(doc.span("work.gpus"), "a step in numbers and a training scenario exclude each other",
                          "leave out [work] or `scenario`");
  }
  if (!stated && s.scenario.empty()) {
    doc.diagnostics.error({}, "no work is given",
                          "name a training scenario with scenario = \"FILE\", or set work.gpus");
  }
  if (stated && s.step_time.ps <= 0) {
    doc.diagnostics.error(doc.span("work.gpus"), "a step in numbers needs step_time", "write step_time = \"10.6 s\"");
  }
  if (s.paths.radix % 2 != 0) doc.diagnostics.error(doc.span("paths.radix"), "a switch needs an even number of ports");
}

}  // namespace

std::span<const config::EnumName<Format>> names_of(Format) { return kFormats; }

void describe(config::Fields& fields, StatedWork& w) {
  constexpr double kLargest = 1e15;
  fields("gpu", w.gpu, {.doc = "GPU of the catalog."});
  fields("gpus", w.gpus, {.doc = "GPUs of the job.", .min = 0, .max = 1 << 22});
  fields("format", w.format, {.doc = "Format of the matrix products."});
  fields("teraflop", w.teraflop, {.doc = "Operations per GPU and step, in 1e12.", .min = 0, .max = kLargest});
  fields("memory", w.memory, {.doc = "Bytes read and written in GPU memory, per GPU and step."});
  fields("scale_up", w.scale_up, {.doc = "Bytes sent inside the scale-up domain, per GPU and step."});
  fields("network", w.network, {.doc = "Bytes sent to other domains, per GPU and step."});
  fields("tokens", w.tokens, {.doc = "Tokens of a step, all GPUs together; 0: not known.", .min = 0, .max = kLargest});
}

void describe(config::Fields& fields, Paths& p) {
  fields("electrical_switches", p.electrical_switches,
         {.doc = "Switches that a bit crosses between two nodes; 0: 1, 3 or 5 tiers' worth by GPUs and radix.",
          .min = 0,
          .max = 9});
  fields("photonic_switches", p.photonic_switches,
         {.doc = "The same in the photonic network; 0: as many as in the electrical one.", .min = 0, .max = 9});
  fields("radix", p.radix, {.doc = "Ports of a network switch, for the number of tiers.", .min = 2, .max = 4096});
  fields("rate", p.rate, {.doc = "Network rate per GPU and direction; 0 b/s: of the GPU's adapter."});
}

void describe(config::Fields& fields, Sampling& s) {
  fields("samples", s.samples, {.doc = "Samples of the Monte Carlo; 0: none.", .min = 0, .max = 1'000'000});
  fields("seed", s.seed, {.doc = "Seed of the samples."});
}

void describe(config::Fields& fields, EnergyScenario& s) {
  fields("name", s.name, {.doc = "Shown in reports."});
  fields("scenario", s.scenario, {.doc = "Training scenario of `simulate`, relative to this file."});
  fields("step_time", s.step_time,
         {.doc = "Time of a step; 0 s: of the training scenario, in closed form on its first electrical fabric."});
  fields("work", s.work, {.doc = "A step in numbers, instead of a training scenario."});
  fields("paths", s.paths, {.doc = "What a bit crosses between two nodes."});
  fields("sampling", s.sampling, {.doc = "Monte Carlo over the ranges of the constants."});
  fields("published", s.published, {.doc = "Energy per bit, as arXiv 2507.14000 has it."});
  fields("components", s.components, {.doc = "Static and dynamic power of components."});
}

Result<EnergyDocument> load_energy(const std::string& file, std::span<const std::string> sets) {
  return config::load_document<EnergyScenario>(file, sets, {}, check);
}

std::vector<std::string> take_scenario_sets(std::vector<std::string>& sets) {
  std::vector<std::string> taken, rest;
  for (std::string& set : sets) {
    if (set.starts_with(kPrefix))
      taken.push_back(set.substr(kPrefix.size()));
    else
      rest.push_back(std::move(set));
  }
  sets = std::move(rest);
  return taken;
}

std::string scenario_path(const EnergyDocument& doc) {
  const std::string& path = doc.value.scenario;
  const bool from_file = doc.given("scenario") && doc.origin("scenario").find("--set") == std::string::npos;
  if (path.empty() || path.front() == '/' || doc.directory.empty() || !from_file) return path;
  return doc.directory + "/" + path;
}

operators::Dtype dtype_of(Format format) {
  switch (format) {
    case Format::fp32: return operators::Dtype::fp32;
    case Format::bf16: return operators::Dtype::bf16;
    case Format::fp8: return operators::Dtype::fp8;
    case Format::nvfp4: return operators::Dtype::nvfp4;
  }
  return operators::Dtype::bf16;
}

double constant_value(const EnergyScenario& scenario, std::string_view path) {
  EnergyScenario copy = scenario;
  config::Fields fields;
  const bool published = path.starts_with("published.");
  if (published)
    describe(fields, copy.published);
  else
    describe(fields, copy.components);
  const config::Fields::Field* field = fields.find(path.substr(path.find('.') + 1));
  PR_CHECK(field != nullptr, "a range for a constant that is no field");
  const auto* leaf = dynamic_cast<const config::LeafValue*>(field->value.get());
  PR_CHECK(leaf != nullptr && leaf->measure(), "a constant is a number");
  return *leaf->measure();
}

}  // namespace photonrail::energy
