// Recommendation: MLPerf Training DLRM-DCNv2 and MLPerf Inference DLRM-v2.
//
// What is taken to be known, the same for all rows of a table:
//   training   HugeCTR with the automatic sharding plan, as recommendation/mlperf.h says; GPUs in NVLink domains of 8
//              (a system of fewer is one domain; GB200: 72), a NIC per GPU at the rate of the catalog. The throughput
//              is that of the whole run, evaluations included. A row that lists the run of another again (same
//              GPUs, same throughput) stands apart.
//   inference  every GPU answers by itself, batches of 51,200 pairs of user and item; a sample of the table is 270
//              pairs on average (100 to 700, rules of the benchmark). Rows and products in fp16 for 99.9 %, int8 for
//              99 %. All rows stand apart: the table tells neither formats nor batches.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>

#include "recommendation/mlperf.h"
#include "recommendation/step.h"
#include "validation/inference_rows.h"
#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

namespace rec = recommendation;

constexpr double kPairsPerSample = 270;
constexpr std::int64_t kPairsPerBatch = 51'200;

// Catalog name of a table's accelerator; "" where no kernels of it are at hand.
std::string accelerator_of(const std::string& text) {
  if (text.find("NVIDIA") == text.npos) return {};
  for (const std::string_view name : {"GB300", "GB200", "B300", "B200", "H200", "GH200", "L40S"}) {
    if (text.find(name) != text.npos && !(name == "H200" && text.find("GH200") != text.npos)) return std::string(name);
  }
  if (text.find("H100-NVL") != text.npos) return "H100-NVL";
  if (text.find("H100") != text.npos) return text.find("PCIe") != text.npos ? "H100-PCIe" : "H100";
  if (text.find("A100") != text.npos) return text.find("40GB") != text.npos ? "A100-40GB" : "A100";
  return text.find("Blackwell") != text.npos ? "B200" : "";
}

Result<std::int64_t> whole_number(const Csv& table, std::size_t row, std::string_view column) {
  PR_ASSIGN(const double value, table.number(row, column));
  if (value < 1 || value > 1e9 || value != static_cast<double>(static_cast<std::int64_t>(value))) {
    return table.refuse(row, fmt::format("{} is no count", column));
  }
  return static_cast<std::int64_t>(value);
}

class Machines {
 public:
  Result<const rec::Machine*> of(const catalog::Gpu& gpu) {
    if (const auto found = machines_.find(gpu.name); found != machines_.end()) return found->second.get();
    PR_ASSIGN(std::unique_ptr<rec::Machine> made, rec::calibrated_machine(gpu, std::nullopt));
    return machines_.emplace(gpu.name, std::move(made)).first->second.get();
  }

 private:
  std::map<std::string, std::unique_ptr<rec::Machine>> machines_;
};

Result<rec::Outcome> outcome_of(const rec::Scenario& scenario, const Scoring& scoring, Machines& machines) {
  PR_ASSIGN(const rec::Setup setup, rec::make_setup(scenario, scoring.catalog));
  PR_ASSIGN(const rec::Machine* machine, machines.of(setup.gpu));
  return rec::evaluate(setup, rec::Store::nvlink, *machine);
}

Result<rec::Scenario> training_scenario(const Csv& table, std::size_t row, const Scoring& scoring) {
  rec::DcnRun run;
  run.gpu = accelerator_of(table.text(row, "accelerator"));
  if (run.gpu.empty()) {
    return fail(ErrorCode::infeasible, "no kernels of " + table.text(row, "accelerator") + " were measured");
  }
  PR_ASSIGN(run.gpus, whole_number(table, row, "num_accel"));
  PR_ASSIGN(run.batch, whole_number(table, row, "global_batch"));
  PR_ASSIGN(const catalog::Gpu gpu, scoring.catalog.gpu(run.gpu));
  const std::int64_t domain = std::min(run.gpus, gpu.domain.value.value_or(8));
  return rec::mlperf_training(run, domain);
}

rec::Scenario inference_scenario(const std::string& gpu, bool exact) {
  rec::Scenario s = rec::mlperf_training({gpu, 1, kPairsPerBatch}, 1);
  s.name = "MLPerf DLRM-v2 inference";
  s.step.phase = rec::Phase::inference;
  s.step.evaluation = 0;
  s.embedding.weights = s.dense.precision = exact ? rec::Format::fp16 : rec::Format::int8;
  return s;
}

}  // namespace

Result<std::vector<Point>> score_dlrm_training(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"round", "submitter", "accelerator", "num_accel", "benchmark", "global_batch",
                        "tracked_throughput_samples_per_s"}));
  Machines machines;
  std::vector<Point> points;
  std::set<std::string> seen;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "benchmark") != "dlrm_dcnv2") continue;
    const auto measured = table.number_or_none(row, "tracked_throughput_samples_per_s");
    if (!measured) continue;
    Point point = point_of(table, row, "throughput", "samples/s");
    point.model = "dlrm_dcnv2";
    point.gpu = accelerator_of(table.text(row, "accelerator"));
    point.row.published = measured;
    const std::string gpus = table.text(row, "num_accel");
    point.row.case_name =
        fmt::format("DLRM-DCNv2, {} samples on {} x {} ({} {})", table.text(row, "global_batch"), gpus,
                    table.text(row, "accelerator"), table.text(row, "submitter"), table.text(row, "round"));
    const bool again = !seen.insert(fmt::format("{} {} {}", point.gpu, gpus, *measured)).second;
    if (again)
      point.apart = "the run of another row, listed again";
    else if (!point.gpu.empty())
      point.gate = "dlrm-training";
    const auto make = [&]() -> Result<double> {
      PR_ASSIGN(const rec::Scenario scenario, training_scenario(table, row, scoring));
      point.regime = scenario.cluster.gpus > *scenario.cluster.domain ? "recommendation training, several domains"
                                                                      : "recommendation training, one domain";
      PR_ASSIGN(const rec::Outcome outcome, outcome_of(scenario, scoring, machines));
      point.basis = outcome.basis;
      return outcome.samples_per_second;
    };
    fill(point, make());
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_dlrm_inference(const Csv& table, const Scoring& scoring) {
  PR_TRY(
      table.require({"submitter", "accelerator", "accel_per_node", "nodes", "benchmark", "scenario", "samples_per_s"}));
  Machines machines;
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& benchmark = table.text(row, "benchmark");
    if (!benchmark.starts_with("dlrm-v2") || table.text(row, "scenario") != "Offline") continue;
    Point point = point_of(table, row, "throughput", "samples/s");
    point.model = benchmark;
    point.gpu = accelerator_of(table.text(row, "accelerator"));
    point.regime = "recommendation inference, offline";
    point.apart = "formats and batches of the engine are not given; a sample is taken as 270 pairs";
    point.row.published = table.number_or_none(row, "samples_per_s");
    const auto make = [&]() -> Result<double> {
      if (point.gpu.empty()) {
        return fail(ErrorCode::infeasible, "no kernels of " + table.text(row, "accelerator") + " were measured");
      }
      PR_ASSIGN(const std::int64_t per_node, whole_number(table, row, "accel_per_node"));
      PR_ASSIGN(const std::int64_t nodes, whole_number(table, row, "nodes"));
      const auto gpus = static_cast<double>(per_node * nodes);
      point.row.case_name = fmt::format("{} on {} x {} ({})", benchmark, gpus, point.gpu, table.text(row, "submitter"));
      PR_ASSIGN(const rec::Outcome outcome,
                outcome_of(inference_scenario(point.gpu, benchmark == "dlrm-v2-99.9"), scoring, machines));
      point.basis = outcome.basis;
      return gpus * outcome.samples_per_second / kPairsPerSample;
    };
    fill(point, make());
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace photonrail::validation
