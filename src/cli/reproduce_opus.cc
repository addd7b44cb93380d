#include "cli/reproduce_papers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catalog/catalog.h"
#include "cli/output.h"
#include "cli/reproduce_rows.h"
#include "fabric/cost.h"
#include "published/reproduce.h"
#include "report/progress.h"
#include "study/opus_physics.h"

namespace photonrail::cli {
namespace {

// The catalog's name for what targets.csv calls a model.
std::string catalog_model(const std::string& name) { return name + "-80b-opus"; }

model::ReproduceRow row_of(const study::Rung& rung, const std::string& id, const std::string& name, bool reasons) {
  model::ReproduceRow row;
  row.id = fmt::format("{}{}{}", id, kOwnRow, rung.id);
  row.case_name = name;
  row.quantity = reasons ? fmt::format("step time: {}", rung.reason)
                         : "step time: the same traces by Photonrail's own physics, in true units";
  row.unit = "ns";
  row.source = "own physics; no figure is published";
  if (rung.refused) {
    row.refused = rung.refused;
  } else {
    row.ours = static_cast<double>(rung.step_ns);
  }
  return row;
}

model::ReproduceRow refused_row(const Error& why, const std::string& id, const std::string& name) {
  model::ReproduceRow row;
  row.id = fmt::format("{}{}refused", id, kOwnRow);
  row.case_name = name;
  row.quantity = "step time: the same traces by Photonrail's own physics";
  row.unit = "ns";
  row.source = "own physics; no figure is published";
  row.refused = why;
  return row;
}

// The same run by Photonrail's own physics: the whole ladder of reasons, or the last rung with the same workload.
Rows own_physics(const published::Target& target, const workload::TraceSet& traces, const std::string& id,
                 const std::string& name, bool reasons) {
  study::OpusJob job;
  job.model = catalog_model(target.model);
  study::LadderOptions options;
  options.own_physics_only = !reasons;
  const auto rungs = study::physics_ladder(traces, target.config, job, options);
  Rows rows;
  if (!rungs) return {refused_row(rungs.error(), id, name)};
  for (const study::Rung& rung : *rungs) rows.push_back(row_of(rung, id, name, reasons));
  return rows;
}

published::ReproduceOptions options_of(const ReproduceOptions& options) {
  published::ReproduceOptions out;
  out.only = options.only;
  out.threads = thread_count(options.threads);
  if (options.physics == Physics::published) return out;
  const bool reasons = options.physics == Physics::reasons;
  out.beside = [reasons](const published::Target& target, const workload::TraceSet& traces, const std::string& id,
                         const std::string& name) { return own_physics(target, traces, id, name, reasons); };
  return out;
}

// What the paper prints of cost and power: rail-optimised over photonic at 2,048 GPUs, two decimals.
struct PublishedRatios {
  const char* gpu;
  double cost;
  double power;
};
constexpr PublishedRatios kPublishedRatios[] = {{"H200", 4.27, 23.86}, {"GB200", 3.17, 15.44}};
constexpr std::int64_t kPublishedGpus = 2048;
constexpr const char* kRatioSource = "Opus, arXiv 2602.12521, cost and power at 2,048 GPUs";

model::ReproduceRow ratio_row(const std::string& gpu, const char* what, double published, double ours) {
  model::ReproduceRow row;
  row.id = fmt::format("opus/cost/{}/{}/{}_ratio", gpu, kPublishedGpus, what);
  row.case_name = fmt::format("{} {} GPUs, the paper's parts and counts", kPublishedGpus, gpu);
  row.quantity = fmt::format("network {}, electrical rail-optimised over photonic, to 2 decimals", what);
  row.unit = "ratio";
  row.published = published;
  row.ours = std::round(ours * 100) / 100;
  row.source = kRatioSource;
  model::set_relative_error(row);
  return row;
}

bool wanted(const std::string& id, const std::vector<std::string>& only) {
  return only.empty() ||
         std::any_of(only.begin(), only.end(), [&](const std::string& text) { return id.find(text) != id.npos; });
}

Result<Rows> cost_rows(const std::vector<std::string>& only) {
  PR_ASSIGN(const catalog::Catalog catalog, catalog::Catalog::builtin());
  PR_ASSIGN(const auto table, fabric::published_table(catalog));
  Rows rows;
  for (const PublishedRatios& published : kPublishedRatios) {
    for (const fabric::PublishedRow& ours : table) {
      if (ours.gpu != published.gpu || ours.gpus != kPublishedGpus) continue;
      rows.push_back(ratio_row(ours.gpu, "cost", published.cost, ours.cost_ratio));
      rows.push_back(ratio_row(ours.gpu, "power", published.power, ours.power_ratio));
    }
  }
  std::erase_if(rows, [&](const model::ReproduceRow& row) { return !wanted(row.id, only); });
  return rows;
}

// The steps of the data folder; none where the filter names nothing but cost rows.
Result<Rows> step_rows(const ReproduceOptions& options, report::Progress& progress) {
  const auto of_costs = [](const std::string& text) { return text.find("cost") != text.npos; };
  if (!options.only.empty() && std::all_of(options.only.begin(), options.only.end(), of_costs)) return Rows{};
  return published::reproduce_opus(
      options.data, options_of(options),
      [&](std::size_t done, std::size_t all, const std::string& id) { progress.show(done, all, id); });
}

}  // namespace

Result<Rows> opus_rows(const ReproduceOptions& options) {
  report::Progress progress(report::stderr_is_terminal() && !options.quiet);
  PR_ASSIGN(const Rows costs, cost_rows(options.only));
  PR_ASSIGN(Rows rows, step_rows(options, progress));
  rows.insert(rows.end(), costs.begin(), costs.end());
  return rows;
}

}  // namespace photonrail::cli
