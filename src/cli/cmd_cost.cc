#include <fmt/format.h>

#include "base/units_text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "fabric/cost.h"

namespace photonrail::cli {
namespace {

constexpr const char* kDefaultGpu = "H200";

struct Question {
  fabric::CostInput input;
  fabric::NamedParts named;
  catalog::Catalog catalog;
};

// Domain and rate of the GPU's own system, as the catalog has them.
Status use_gpu(fabric::CostInput& input, const std::string& name, const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu(name));
  if (!gpu.domain.value || !gpu.nic_rate.value) {
    return fail(ErrorCode::invalid_input,
                fmt::format("the catalog does not know the scale-up domain or the NIC rate of "
                            "{}\n  hint: give a scenario with cluster.domain and "
                            "electrical.nic_rate",
                            gpu.name));
  }
  input.gpu = gpu.name;
  input.domain = *gpu.domain.value;
  input.nic_rate = *gpu.nic_rate.value;
  return {};
}

// Without a scenario the parts and prices are those that a scenario has when it names none; the rails' ports together
// have the rate of the NIC.
fabric::CostInput default_question() {
  fabric::CostInput input = fabric::cost_input(model::default_scenario());
  input.gpus = 0;
  return input;
}

Result<Question> question_of(const CostCommandOptions& options) {
  Question question;
  if (options.source.file.empty()) {
    PR_ASSIGN(question.catalog, read_catalog(options.source.catalog_directory));
    if (options.gpus == 0) {
      return fail(ErrorCode::usage, "cost needs a scenario, or --gpus\n  hint: photonrail cost --gpus 2048 --gpu H200");
    }
    question.input = default_question();
    PR_TRY(use_gpu(question.input, options.gpu.empty() ? kDefaultGpu : options.gpu, question.catalog));
  } else {
    PR_ASSIGN(ScenarioInput scenario, read_scenario(options.source));
    question.input = fabric::cost_input(scenario.loaded.scenario);
    question.named = {scenario.loaded.given("electrical.network_switch"), scenario.loaded.given("switching.ocs")};
    question.catalog = std::move(scenario.catalog);
    if (!options.gpu.empty()) PR_TRY(use_gpu(question.input, options.gpu, question.catalog));
  }
  if (options.gpus > 0) question.input.gpus = options.gpus;
  if (question.input.gpus == 0) {
    return fail(ErrorCode::usage, "the scenario has the number of its GPUs from a trace\n  hint: add --gpus 64");
  }
  if (options.domain > 0) question.input.domain = options.domain;
  if (!options.rate.empty()) { PR_ASSIGN(question.input.nic_rate, parse_rate(options.rate)); }
  if (!options.mode.empty()) {
    question.input.mode = options.mode == "real" ? model::CostMode::real : model::CostMode::as_published;
  }
  if (options.source.file.empty()) {
    question.input.photonic_port_rate = question.input.nic_rate / question.input.photonic_ports;
  }
  question.input.samples = options.samples;
  fabric::replace_unfit_defaults(question.input, question.named, question.catalog);
  return question;
}

bool asks_for_published_table(const CostCommandOptions& options) {
  return options.source.file.empty() && options.gpus == 0 && options.mode == "as_published" &&
         options.format == Format::text;
}

}  // namespace

Status run(const CostCommandOptions& options) {
  if (asks_for_published_table(options)) {
    PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.source.catalog_directory));
    PR_ASSIGN(const auto rows, fabric::published_table(catalog));
    return print(fabric::published_table_text(rows));
  }
  PR_ASSIGN(const Question question, question_of(options));
  PR_ASSIGN(const fabric::CostReport report, fabric::make_cost_report(question.input, question.catalog));
  if (options.format == Format::json) return print(fabric::render_json(report, question.catalog));
  if (options.format == Format::csv) return print(fabric::render_csv(report));
  return print(fabric::render_text(report, question.catalog));
}

}  // namespace photonrail::cli
