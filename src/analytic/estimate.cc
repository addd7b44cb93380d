#include "analytic/estimate.h"

#include "model/scenario_text.h"
#include "report/simulate_report.h"
#include "study/names.h"

namespace photonrail::analytic {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

Result<StepEstimate> on_calibrated_kernels(const study::Study& study, const EstimateOptions& options,
                                           std::string& provenance) {
  const model::Scenario& s = study.scenario;
  if (s.training.precision == model::Precision::fp32) {
    return fail(ErrorCode::infeasible, "kernels were measured in 16 bits and below; precision is fp32");
  }
  PR_ASSIGN(operators::KernelModel kernels, operators::KernelModel::make(study.gpu));
  kernels = kernels.with_network_rate(s.electrical.nic_rate);
  provenance = kernels.provenance();
  const DecoderShape shape = shape_of(s.model);
  TrainingConfig config = config_of(s);
  config.overlap_tensor = options.overlap_tensor;
  PR_TRY(check(shape, config));
  PR_ASSIGN(const TrainingEvaluator evaluator,
            TrainingEvaluator::make(shape, kernels, {gpus_of(config), s.cluster.domain}));
  return evaluator.evaluate(config);
}

}  // namespace

Result<Estimate> estimate(const study::Study& study, const catalog::Catalog& catalog, const EstimateOptions& options) {
  const model::Scenario& s = study.scenario;
  if (!s.workload.trace.empty()) {
    return fail(
        ErrorCode::infeasible,
        "a step from traces has no closed form\n  hint: `photonrail simulate` runs it; give [model], [training] "
        "and [parallelism] instead of [workload] for a closed form");
  }
  Estimate out;
  // Switching is what the closed form leaves out, so a policy is one case, whatever its switching times.
  for (study::Case spec : study::cases_of(s)) {
    spec.switching_time.reset();
    if (!out.cases.empty() && out.cases.back().spec.name == spec.name) continue;
    out.cases.push_back({spec, estimate_case(study, catalog, spec)});
  }
  const DecoderShape shape = shape_of(s.model);
  const TrainingConfig config = config_of(s);
  out.memory = memory_use(shape, config);
  out.pipeline = config.pipeline;
  out.capacity = study.gpu.memory.value ? real(study.gpu.memory.value->count) : 0;
  out.model_flops = model_flops(shape, config);
  out.peak = study.rates.peak.flops_per_second * real(s.cluster.gpus);
  out.tokens = real(s.training.global_batch) * real(s.training.sequence);
  if (!options.calibrated) return out;
  auto calibrated = on_calibrated_kernels(study, options, out.kernels);
  if (calibrated) {
    out.calibrated = *calibrated;
  } else {
    out.uncalibrated = calibrated.error();
  }
  return out;
}

Result<std::vector<sensitivity::Metric>> evaluate_estimate(const std::string& file,
                                                           const std::vector<std::string>& sets,
                                                           const catalog::Catalog& catalog) {
  PR_ASSIGN(const model::LoadedScenario loaded, model::load_scenario(file, sets));
  PR_ASSIGN(const study::Study study, study::make_study(loaded.scenario, catalog, {}));
  PR_ASSIGN(const Estimate e, estimate(study, catalog, {}));
  std::vector<sensitivity::Metric> metrics;
  for (const CaseEstimate& c : e.cases) {
    if (!c.time) continue;
    metrics.push_back({report::case_id(c.spec.name, c.spec.switching_time) + "/iteration_time", c.time->seconds, "s"});
  }
  if (e.calibrated) {
    metrics.push_back({"calibrated/iteration_time", e.calibrated->time.seconds, "s"});
    metrics.push_back({"calibrated/mfu", e.calibrated->mfu, "ratio"});
  }
  metrics.push_back({"memory_per_gpu", e.memory.total(), "B"});
  return metrics;
}

}  // namespace photonrail::analytic
