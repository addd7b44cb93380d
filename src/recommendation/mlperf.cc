#include "recommendation/mlperf.h"

namespace photonrail::recommendation {
namespace {

constexpr double kTrainingSamples = 4'195'197'692;
constexpr double kEvaluationSamples = 89'137'319;
constexpr double kEpochPerEvaluation = 0.05;

// Bytes of a row with its state, as the planner of the submissions counts them: 128 x 8 / 1e9 of its "GiB".
constexpr double kPlannerRow = 1.024e-6;

std::int64_t replicated_rows(double threshold) { return static_cast<std::int64_t>(threshold / kPlannerRow) + 1; }

}  // namespace

Scenario mlperf_training(const DcnRun& run, std::int64_t domain) {
  Scenario s;
  s.name = "MLPerf DLRM-DCNv2";
  s.embedding.table = dlrm_dcnv2_tables();
  s.cluster.gpu = run.gpu;
  s.cluster.gpus = run.gpus;
  s.cluster.domain = domain;
  s.step.batch = run.batch;
  s.step.evaluation = kEvaluationSamples / (kEpochPerEvaluation * kTrainingSamples);
  const bool several = run.gpus > domain;
  s.sharding.replicate_below = replicated_rows(several ? 0.0125 : 0.008);
  s.sharding.exchange = several ? Exchange::hierarchical : Exchange::flat;
  s.compare = {Store::nvlink};
  return s;
}

}  // namespace photonrail::recommendation
