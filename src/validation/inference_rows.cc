#include "validation/inference_rows.h"

#include <fmt/format.h>

namespace photonrail::validation {

Result<const inference::Plan*> PlanShelf::plan(const InferenceSetup& setup) {
  const std::string key = text_of(setup);
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second.get();
  auto kernels = kernels_.find(setup.gpu.name);
  if (kernels == kernels_.end()) {
    PR_ASSIGN(operators::KernelModel made, operators::KernelModel::make(setup.gpu));
    kernels = kernels_.emplace(setup.gpu.name, std::move(made)).first;
  }
  PR_ASSIGN(inference::Plan plan,
            inference::Plan::compile(setup.model, kernels->second, setup.precision, setup.parallel, setup.engine));
  return plans_.emplace(key, std::make_unique<inference::Plan>(std::move(plan))).first->second.get();
}

Point point_of(const Csv& table, std::size_t row, std::string_view quantity, std::string_view unit) {
  Point point;
  point.row.id = point_id(table, row);
  point.row.quantity = std::string(quantity);
  point.row.unit = std::string(unit);
  if (table.column("source")) point.row.source = table.text(row, "source");
  return point;
}

void fill(Point& point, Result<double> ours) {
  if (ours) {
    point.row.ours = *ours;
    model::set_relative_error(point.row);
  } else {
    point.row.refused = ours.error();
  }
}

std::string text_of(const InferenceSetup& s) {
  const inference::Parallel& p = s.parallel;
  return fmt::format("{} {}/{}/kv {} on {} x {} (tp {}, pp {}, ep {}, attention dp {}), {}, passes of {} tokens{}",
                     s.model.name, name_of(s.precision.weights), name_of(s.precision.experts), name_of(s.precision.kv),
                     p.gpus(), s.gpu.name, p.tensor, p.pipeline, p.expert, p.attention_data, s.engine.name,
                     s.engine.prefill_budget, s.engine.prompt_wait > 0 ? " with prompts held back" : "");
}

}  // namespace photonrail::validation
