// Power at the plug against submitted readings (MLPerf power, and anchors derived from it).
//
// A row becomes the load of one GPU, and energy/power.h makes watts of it with the default constants:
//   with a step time   operations of the model per token (6 P, and causal attention 6 L h s; frozen weights 4 P)
//                      over the time; memory at the share of the benchmark's class
//   without            products and memory at the shares of the class, below: general shares, the same for every row
//   class              products, of the best measured rate (8 bits in the      memory, of its rate
//                      first and last class, else bf16)
//   transformer        0.55                                                              0.35
//   recommendation     0.10                                                              0.60
//   vision             0.35                                                              0.60
//   serving            0.40                                                              0.60
// A submitter whose name holds "-dc-" read behind the power supplies, so their loss is left out there. Rows without a
// step time, and power-capped submissions, whose limit is not stated, are scored apart.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "energy/power.h"
#include "energy/step_energy.h"
#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

using operators::Dtype;

constexpr double kBestShare =
    0.71;  // of the 8-bit peak, best measured product of H100 and H200 (ml-engineering: 0.71, 0.73)

struct LoadClass {
  const char* name;
  double products;
  double memory;
  Dtype dtype;
};
constexpr LoadClass kTransformer = {"transformer", 0.55, 0.35, Dtype::fp8};
constexpr LoadClass kRecommendation = {"recommendation", 0.10, 0.60, Dtype::bf16};
constexpr LoadClass kVision = {"vision", 0.35, 0.60, Dtype::bf16};
constexpr LoadClass kServing = {"serving", 0.40, 0.60, Dtype::fp8};

// Of the benchmarks whose model and sequence length are public.
struct Job {
  std::string_view benchmark;
  const LoadClass* load;
  double parameters = 0;  // 0: operations are not counted
  double passes = 6;      // operations per parameter and token
  double layers = 0, hidden = 0, sequence = 0;
};
constexpr std::array kJobs = {
    Job{"gpt3", &kTransformer, 175e9, 6, 96, 12288, 2048},
    Job{"llama31_405b", &kTransformer, 405e9, 6, 126, 16384, 8192},
    Job{"llama2_70b_lora", &kTransformer, 70e9, 4, 80, 8192, 8192},
    Job{"bert", &kTransformer},
    Job{"dlrm_dcnv2", &kRecommendation},
    Job{"rgat", &kRecommendation},
    Job{"gnn", &kRecommendation},
    Job{"ssd", &kVision},
    Job{"retinanet", &kVision},
    Job{"unet3d", &kVision},
    Job{"resnet", &kVision},
    Job{"stable_diffusion", &kVision},
};

const Job* job_of(std::string_view benchmark) {
  const auto* found = std::find_if(kJobs.begin(), kJobs.end(), [&](const Job& j) { return benchmark == j.benchmark; });
  return found == kJobs.end() ? nullptr : found;
}

// The catalog's GPU in the name of a system: "64xSMC-H100-SXM-80GB".
Result<catalog::Gpu> gpu_in(const std::string& text, const catalog::Catalog& catalog) {
  for (const char* name : {"GB300", "GB200", "B300", "B200", "H200", "H100", "A100", "MI300X", "L40S"}) {
    if (text.find(name) != std::string::npos) return catalog.gpu(name);
  }
  return fail(ErrorCode::infeasible, fmt::format("no GPU of the catalog in '{}'", text));
}

double operations_per_token(const Job& job) {
  return job.passes * job.parameters + 2 * job.passes * job.layers * job.hidden * job.sequence / 2;  // causal
}

double best_rate(const catalog::Gpu& gpu, Dtype dtype) {
  if (dtype == Dtype::fp8 && gpu.fp8.known()) return kBestShare * catalog::range_of(gpu.fp8).base;
  if (gpu.achievable_bf16.known()) return catalog::range_of(gpu.achievable_bf16).base;
  return kBestShare * catalog::range_of(gpu.bf16).base;
}

energy::Activity class_activity(const catalog::Gpu& gpu, const LoadClass& load) {
  energy::Activity second;
  second.seconds = 1;
  second.flops[static_cast<std::size_t>(load.dtype)] = load.products * best_rate(gpu, load.dtype);
  second.memory_bytes = load.memory * catalog::range_of(gpu.memory_rate).base / 8;
  return second;
}

// Watts of a node of `gpus_per_node` GPUs that each do `second` in a second.
Result<double> node_watts(const catalog::Gpu& gpu, const energy::Activity& second, bool behind_supplies,
                          double gpus_per_node) {
  PR_ASSIGN(const energy::GpuPower power, energy::power_of(gpu));
  energy::Node node = energy::node_of(gpu, {});
  if (behind_supplies) node.supply_efficiency = 1;
  const double scale = gpus_per_node / static_cast<double>(node.gpus);
  return energy::plug_watts(node, energy::joules(power, second) * static_cast<double>(node.gpus)) * scale;
}

Point new_point(const Csv& table, std::size_t row, const std::string& quantity, const std::string& unit) {
  Point p;
  p.row.id = point_id(table, row);
  p.row.quantity = quantity;
  p.row.unit = unit;
  p.row.source = "measured, " + table.name();
  p.basis = operators::Basis::assumed;
  return p;
}

void set_ours(Point& p, const Result<double>& ours) {
  if (ours)
    p.row.ours = *ours;
  else
    p.row.refused = ours.error();
  model::set_relative_error(p.row);
}

// The number before "x": nodes of "64xSMC-H100-SXM-80GB". GPUs of a node are eight but for the systems of four.
double gpus_per_node(const std::string& system) { return system.find("x4H") != std::string::npos ? 4 : 8; }

Result<energy::Activity> training_second(const Csv& table, std::size_t row, const catalog::Gpu& gpu, const Job& job,
                                         double gpus, bool& timed) {
  const auto step = table.number_or_none(row, "median_step_s");
  const auto batch = table.number_or_none(row, "global_batch");
  timed = job.parameters > 0 && step && batch && *step > 0;
  energy::Activity second = class_activity(gpu, *job.load);
  if (!timed) return second;
  const double per_second = operations_per_token(job) * *batch * job.sequence / *step / gpus;
  second.flops.fill(0);
  second.flops[static_cast<std::size_t>(job.load->dtype)] = per_second;
  return second;
}

Point network_point(const Csv& table, std::size_t row, double published, const catalog::Gpu& gpu, double gpus) {
  Point p = new_point(table, row, "network_power", "W");
  p.gpu = gpu.name;
  p.regime = "network power";
  p.row.published = published;
  p.apart = "the submitter's estimate, of unstated scope and unit";
  const energy::ComponentConstants c;
  const auto switches = static_cast<double>(energy::switches_of_clos(static_cast<std::int64_t>(gpus), 64));
  set_ours(p, gpus * switches * (c.switch_port.watts + c.optic.watts) * c.network_static);
  return p;
}

}  // namespace

Result<std::vector<Point>> score_training_power(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"submitter", "system", "benchmark", "n_nodes_with_readings", "avg_node_w_in_run",
                        "global_batch", "median_step_s"}));
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point p = new_point(table, row, "node_power", "W");
    const std::string &system = table.text(row, "system"), &benchmark = table.text(row, "benchmark");
    p.row.case_name = fmt::format("{} on {}", benchmark, system);
    p.model = benchmark;
    p.regime = "training power";
    p.row.published = table.number_or_none(row, "avg_node_w_in_run");
    const auto gpu = gpu_in(system, scoring.catalog);
    const Job* job = job_of(benchmark);
    const auto nodes = table.number_or_none(row, "n_nodes_with_readings");
    if (!gpu || !job || !nodes || !p.row.published) {
      p.row.refused =
          gpu ? Error{ErrorCode::infeasible, "the benchmark, its nodes or its power are not known"} : gpu.error();
      points.push_back(std::move(p));
      continue;
    }
    p.gpu = gpu->name;
    const double per_node = gpus_per_node(system), gpus = *nodes * per_node;
    bool timed = false;
    PR_ASSIGN(const energy::Activity second, training_second(table, row, *gpu, *job, gpus, timed));
    if (!timed) p.apart = fmt::format("no step time: load of the class '{}' assumed", job->load->name);
    const bool behind_supplies = table.text(row, "submitter").find("-dc-") != std::string::npos;
    set_ours(p, node_watts(*gpu, second, behind_supplies, per_node));
    points.push_back(std::move(p));
    if (!table.column("interconnect_power_est_submitter_units_unknown")) continue;
    const auto network = table.number_or_none(row, "interconnect_power_est_submitter_units_unknown");
    if (network && *network > 0) points.push_back(network_point(table, row, *network, *gpu, gpus));
  }
  return points;
}

Result<std::vector<Point>> score_inference_power(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"system", "accel_per_node", "benchmark", "scenario", "avg_wall_w_in_window"}));
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Point p = new_point(table, row, "node_power", "W");
    const std::string &system = table.text(row, "system"), &benchmark = table.text(row, "benchmark");
    p.row.case_name = fmt::format("{} {} on {}", benchmark, table.text(row, "scenario"), system);
    p.model = benchmark;
    p.regime = "inference power";
    p.row.published = table.number_or_none(row, "avg_wall_w_in_window");
    const auto gpu = gpu_in(system, scoring.catalog);
    const auto per_node = table.number_or_none(row, "accel_per_node");
    if (!gpu || !per_node || !p.row.published) {
      p.row.refused = gpu ? Error{ErrorCode::infeasible, "the row lacks its GPUs or its power"} : gpu.error();
      points.push_back(std::move(p));
      continue;
    }
    p.gpu = gpu->name;
    const bool recommends = benchmark.starts_with("dlrm");
    const bool sees =
        benchmark.starts_with("resnet") || benchmark.starts_with("retinanet") || benchmark.starts_with("stable");
    const LoadClass& load = recommends ? kRecommendation : sees ? kVision : kServing;
    const bool capped = system.find("MaxQ") != std::string::npos;
    p.apart = capped ? "power-capped; the cap is not stated" : fmt::format("load of the class '{}' assumed", load.name);
    set_ours(p, node_watts(*gpu, class_activity(*gpu, load), false, *per_node));
    points.push_back(std::move(p));
  }
  return points;
}

namespace {

// The run behind the anchors of GPT-3: 64 nodes of 8 H100, 2,048 sequences of 2,048 tokens, measured step time.
constexpr double kAnchorNodes = 64, kAnchorGpus = 512, kAnchorTokens = 2048.0 * 2048.0, kAnchorStep = 10.6365;

Result<double> anchor_value(const std::string& quantity, const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu("H100"));
  const Job& job = *job_of("gpt3");
  energy::Activity second = class_activity(gpu, *job.load);
  second.flops.fill(0);
  second.flops[static_cast<std::size_t>(job.load->dtype)] =
      operations_per_token(job) * kAnchorTokens / kAnchorStep / kAnchorGpus;
  PR_ASSIGN(const double watts, node_watts(gpu, second, false, 8));
  if (quantity.find("per token") != std::string::npos) return watts * kAnchorNodes * kAnchorStep / kAnchorTokens;
  if (quantity.find("per GPU") != std::string::npos) return watts / 8;
  if (quantity.find("per node") != std::string::npos) return watts / 1e3;
  if (quantity.find("interconnect") != std::string::npos) {
    const energy::ComponentConstants c;
    const auto switches = static_cast<double>(energy::switches_of_clos(static_cast<std::int64_t>(kAnchorGpus), 64));
    return kAnchorGpus * switches * (c.switch_port.watts + c.optic.watts) * c.network_static / 1e3;
  }
  if (quantity.find("GPT-3") != std::string::npos) return watts * kAnchorNodes / 1e3;
  return fail(ErrorCode::infeasible,
              "the anchor does not state its throughput; the power table of the same runs is scored instead");
}

}  // namespace

Result<std::vector<Point>> score_energy_anchors(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"quantity", "value", "unit"}));
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& quantity = table.text(row, "quantity");
    const bool per_token = quantity.find("per token") != std::string::npos;
    Point p = new_point(table, row, per_token ? "energy_per_token" : "power", table.text(row, "unit"));
    p.row.case_name = quantity;
    p.model = "gpt3";
    p.gpu = "H100";
    p.regime = "training power";
    if (quantity.find("interconnect") != std::string::npos)
      p.apart = "the submitter's estimate, of unstated scope and unit";
    PR_ASSIGN(p.row.published, table.number(row, "value"));
    set_ours(p, anchor_value(quantity, scoring.catalog));
    points.push_back(std::move(p));
  }
  return points;
}

}  // namespace photonrail::validation
