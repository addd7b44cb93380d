#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/digest.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"
#include "config/toml.h"
#include "inference/pooled_memory.h"
#include "pool/pool_report.h"
#include "pool/rate_checks.h"
#include "report/files.h"
#include "report/render.h"

namespace photonrail::cli {
namespace {

enum class Kind : std::uint8_t { pool, inference, training };

// What is broken, in words; empty: nothing is, or it is let pass.
struct Answer {
  report::Report report;
  std::vector<std::string> broken;
};

// The kind of a scenario file, by the tables that only one kind has. Files that say nothing are pools: all of a pool's
// fields have defaults.
Result<Kind> kind_of(const std::string& file) {
  if (file.empty()) return Kind::pool;
  PR_ASSIGN(const std::string text, config::read_file(file));
  config::Diagnostics diagnostics;
  const auto root = config::parse_toml(diagnostics, diagnostics.add_source(file, text));
  if (!root || diagnostics.has_errors()) return fail(diagnostics.to_error());
  const auto has = [&](const auto& keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return root->find(key) != nullptr; });
  };
  if (has(std::array{"module", "appliance", "tier", "accelerator", "reads", "as_published"})) return Kind::pool;
  if (has(std::array{"serving", "gpu", "memory", "engine", "search"})) return Kind::inference;
  if (has(std::array{"training", "cluster", "rail", "switching", "electrical", "workload"})) return Kind::training;
  return Kind::pool;
}

Result<Answer> pool_answer(const pool::PoolDocument& doc, const catalog::Catalog& catalog) {
  PR_ASSIGN(const pool::PoolCheck check, pool::check_pool(doc.value, catalog));
  Answer out;
  PR_ASSIGN(out.report, pool::pool_report(doc, check, PHOTONRAIL_VERSION));
  if (check.as_published) return out;
  for (const pool::Violation& v : check.violations) out.broken.push_back(pool::violation_text(v));
  return out;
}

Result<Answer> inference_answer(const CheckOptions& options, const catalog::Catalog& catalog) {
  PR_ASSIGN(const auto doc, inference::load_inference(options.source.file, options.source.sets));
  PR_ASSIGN(const inference::Deployment setup, inference::resolve(doc.value, catalog));
  const inference::InferenceScenario& s = setup.scenario;  // a pool's rate filled in
  const std::string declared = options.pool.empty() ? s.memory.pool : options.pool;
  PR_ASSIGN(pool::PoolDocument pool, pool::load_pool(declared));
  pool.value.name = s.name;
  pool.value.as_published = s.memory.as_published;
  pool.value.system.accelerator.gpu = s.gpu.catalog;
  pool.value.system.accelerator.count =
      s.memory.sharers.value_or(inference::parallel_of(s.parallel, setup.domain).gpus());
  PR_ASSIGN(pool::Reads reads, inference::memory_reads(setup));
  pool.value.reads = {std::move(reads)};
  PR_ASSIGN(Answer out, pool_answer(pool, catalog));
  out.report.header.emplace_back("pool declared by",
                                 declared.empty() ? "nothing: that of the photonic fabric paper" : declared);
  return out;
}

Result<Answer> training_answer(const CheckOptions& options, const catalog::Catalog& catalog) {
  PR_ASSIGN(const ScenarioInput input, read_scenario(options.source));
  const model::Scenario& s = input.loaded.scenario;
  PR_ASSIGN(const auto checks, pool::training_rate_checks(s, catalog));
  Answer out{pool::rate_report(checks, s.name, model::show_scenario(input.loaded), input.hash, PHOTONRAIL_VERSION), {}};
  for (const pool::RateCheck& check : checks) {
    if (check.broken()) out.broken.push_back(pool::check_text(check));
  }
  return out;
}

Result<Answer> answer(const CheckOptions& options, const catalog::Catalog& catalog) {
  PR_ASSIGN(const Kind kind, kind_of(options.source.file));
  if (kind != Kind::inference && !options.pool.empty()) {
    return fail(ErrorCode::usage, "--pool declares the pool of an inference scenario; this file is none");
  }
  if (kind == Kind::inference) return inference_answer(options, catalog);
  if (kind == Kind::training) return training_answer(options, catalog);
  PR_ASSIGN(const pool::PoolDocument doc, pool::load_pool(options.source.file, options.source.sets));
  return pool_answer(doc, catalog);
}

std::string rendered(const report::Report& report, Format format) {
  if (format == Format::json) return report::render_json(report);
  if (format == Format::csv) return report::render_csv(report);
  return report::render_text(report, output_style());
}

}  // namespace

// The result is printed also where it is broken: it holds what would be possible.
Status run(const CheckOptions& options) {
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.source.catalog_directory));
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const Answer out, answer(options, catalog));
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"report.txt", report::render_text(out.report, {})},
                                             {"report.json", report::render_json(out.report)},
                                             {"report.csv", report::render_csv(out.report)},
                                             {"scenario.toml", out.report.scenario_text}}));
  }
  PR_TRY(print(rendered(out.report, options.format)));
  if (out.broken.empty()) return {};
  std::string message = fmt::format("{} of the limits of the system {} broken:", out.broken.size(),
                                    out.broken.size() == 1 ? "is" : "are");
  for (const std::string& line : out.broken) message += "\n  " + line;
  message +=
      "\n  hint: lower the modelled rate, hit rate or size to what is possible, or give as_published = true to let it "
      "pass";
  return fail(ErrorCode::infeasible, std::move(message));
}

}  // namespace photonrail::cli
