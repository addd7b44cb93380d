#include "study/opus_physics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catalog/catalog.h"
#include "fabric/electrical.h"
#include "fabric/photonic.h"
#include "sim/simulate.h"
#include "study/photonic_case.h"
#include "workload/import.h"
#include "workload/training.h"

namespace photonrail::study {
namespace {

constexpr std::int64_t kPorts = 4;

// What the rungs of Photonrail's own engine vary.
struct Physics {
  bool binary_gigabytes = true;  // GB is 2^30
  double bytes_per_element = 1;
  workload::OpsUnit ops = workload::OpsUnit::operations;
};

class Ladder {
 public:
  Ladder(const workload::TraceSet& traces, const published::PublishedConfig& config, const OpusJob& job,
         const LadderOptions& options)
      : traces_(traces), config_(config), job_(job), options_(options) {}

  std::vector<Rung> climb() {
    if (!options_.own_physics_only) published_rungs();
    Physics physics;
    const auto imported = [&](const char* id, const char* reason) {
      if (!options_.own_physics_only || std::string_view(id) == kOwnPhysics) add(id, reason, run_imported(physics));
    };
    imported("own_engine",
             "Photonrail's engine: fluid, bidirectional rings, overlap of compute and communication, "
             "gang admission, whole ports");
    physics.binary_gigabytes = false;
    imported("decimal_gigabytes", "GB is 1e9 bytes, not 2^30");
    physics.bytes_per_element = 2;
    imported("two_bytes_per_element", "elements are bf16, two bytes each, not one");
    physics.ops = workload::OpsUnit::multiply_accumulates;
    imported(kOwnPhysics, "a multiply-accumulate is two operations, not one");
    if (!options_.own_physics_only) generated_rungs();
    return std::move(rungs_);
  }

 private:
  void published_rungs() {
    published::PublishedConfig config = config_;
    add("published_rules", "the published simulator's rules", run_published(config));
    config.wake_members = true;
    add("members_woken", "all members of a completed vote start at once, not only its leader", run_published(config));
    config.link_held_for_twice_latency = false;
    add("link_free_after_message", "a link is free when the message has left, not two latencies later",
        run_published(config));
  }

  void generated_rungs() {
    workload::TrainingJob step = training_job();
    step.quadratic_attention = false;
    add("generated_step", "the same model by Photonrail's generator: memory traffic of fused operators, ZeRO 0",
        run_generated(step));
    step.quadratic_attention = true;
    add("quadratic_attention", "attention with its quadratic term", run_generated(step));
    step.training.microbatches = most_microbatches();
    add("microbatches", "micro-batches under 1F1B instead of one micro-batch without pipelining", run_generated(step));
  }

  std::int64_t most_microbatches() const {
    const std::int64_t per_rank = job_.global_batch / std::max<std::int64_t>(1, config_.dp);
    std::int64_t count = job_.microbatches;
    while (count > 1 && per_rank % count != 0) --count;
    return count;
  }

  void add(const char* id, const char* reason, const Result<std::int64_t>& step) {
    Rung rung{id, reason, step ? *step : 0, {}};
    if (!step) rung.refused = step.error();
    if (options_.done) options_.done(rung);
    rungs_.push_back(std::move(rung));
  }

  Result<std::int64_t> run_published(const published::PublishedConfig& config) const {
    PR_ASSIGN(const auto result, published::run_published(traces_, config));
    return result.last_ns;
  }

  operators::GpuRates gpu() const {
    operators::GpuRates gpu;
    gpu.peak = {config_.peak_tflops * 1e12};
    gpu.memory = {std::llround(config_.local_memory_GBps * 8e9)};
    return gpu;
  }

  Rate rate(double gigabytes, bool binary) const {
    return {std::llround(gigabytes * 8 * (binary ? 1073741824.0 : 1e9))};
  }

  Result<std::int64_t> run_imported(const Physics& physics) const {
    workload::ImportOptions options;
    options.gpu = gpu();
    options.num_ops_unit = physics.ops;
    options.tensor_bytes_per_unit = physics.bytes_per_element;
    options.comm_bytes_per_unit = physics.bytes_per_element;
    options.domain = config_.tp;
    PR_ASSIGN(const workload::ImportedStep step, workload::import_step(traces_, options));
    std::vector<fabric::Place> places;
    for (std::size_t rank = 0; rank < traces_.ranks(); ++rank) {
      places.push_back({step.domain_of[rank], step.local_of[rank]});
    }
    PR_ASSIGN(const auto layout, fabric::make_layout(std::move(places)));
    return run_step(step.graph, layout, physics.binary_gigabytes);
  }

  workload::TrainingJob training_job() const {
    workload::TrainingJob step;
    step.gpu = gpu();
    step.model.catalog = job_.model;
    step.model.layers = job_.layers;
    step.model.feed_forward_matrices = 0;  // of the catalog's model
    step.training.sequence = job_.sequence;
    step.training.global_batch = job_.global_batch;
    step.training.microbatches = 1;
    step.training.schedule = model::Schedule::one_f_one_b;
    step.parallelism = {config_.dp, config_.pp, config_.tp};
    return step;
  }

  Result<std::int64_t> run_generated(workload::TrainingJob step) const {
    PR_ASSIGN(const auto catalog, catalog::Catalog::builtin());
    PR_TRY(resolve_model(step.model, catalog));
    PR_ASSIGN(const auto graph, workload::generate_training_step(step));
    PR_ASSIGN(const auto layout, fabric::make_layout(static_cast<std::int64_t>(graph.ranks()), config_.tp));
    return run_step(graph, layout, false);
  }

  Result<std::int64_t> run_step(const model::TaskGraph& graph, const fabric::Layout& layout, bool binary) const {
    const model::ScaleUp scale_up{rate(config_.scale_up_GBps, binary), time_from_seconds(config_.latency_ns * 1e-9)};
    const Rate nic = rate(config_.scale_out_GBps, binary);
    sim::RunOptions run;
    run.warm_up_steps = 0;
    if (config_.mode == published::Mode::static_eps) {
      fabric::ElectricalOptions options;
      options.scale_up = scale_up;
      options.nic_rate = nic;
      options.port_rate = nic;
      options.latency = scale_up.latency;
      options.hop_latency = {};
      PR_ASSIGN(const auto fabric, fabric::make_electrical(model::Fabric::rail_optimised, layout, options));
      return step_time(sim::run(graph, *fabric, run));
    }
    fabric::PhotonicOptions options;
    options.scale_up = scale_up;
    options.ports = kPorts;
    options.port_rate = nic / kPorts;
    options.latency = scale_up.latency;
    options.pipeline_stages = config_.pp;
    sim::PhotonicControl control;
    control.free_control_path = true;  // the published simulator has no message times
    control.fixed_circuits = config_.mode == published::Mode::static_ideal;
    control.switch_ahead = config_.mode == published::Mode::provisioned;
    control.terms.swept = time_from_seconds(config_.delay_ms * 1e-3);
    if (control.fixed_circuits) {
      PR_ASSIGN(auto split, static_split(graph, layout, kPorts, model::Policy::static_sqrt));
      options.split.push_back(std::move(split));
    }
    if (!control.fixed_circuits) run.warm_up_steps = control.switch_ahead ? 2 : 1;
    run.photonic = control;
    PR_ASSIGN(const auto fabric, fabric::make_photonic(layout, options));
    return step_time(sim::run(graph, *fabric, run));
  }

  static Result<std::int64_t> step_time(const Result<model::RunResult>& result) {
    if (!result) return fail(result.error());
    return (result->iteration_time.ps + 500) / 1000;
  }

  const workload::TraceSet& traces_;
  const published::PublishedConfig& config_;
  const OpusJob& job_;
  const LadderOptions& options_;
  std::vector<Rung> rungs_;
};

}  // namespace

Result<std::vector<Rung>> physics_ladder(const workload::TraceSet& traces, const published::PublishedConfig& config,
                                         const OpusJob& job, const LadderOptions& options) {
  if (traces.ranks() != static_cast<std::size_t>(config.dp) * config.pp * config.tp) {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {} ranks, but dp x pp x tp is {}", traces.source,
                                                      traces.ranks(), config.dp * config.pp * config.tp));
  }
  return Ladder(traces, config, job, options).climb();
}

}  // namespace photonrail::study
