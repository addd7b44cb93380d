#include "study/study.h"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "base/check.h"
#include "fabric/electrical.h"
#include "fabric/photonic.h"
#include "sim/simulate.h"
#include "study/names.h"
#include "study/photonic_case.h"
#include "workload/import.h"
#include "workload/trace_set.h"
#include "workload/training.h"

namespace photonrail::study {
namespace {

template <class T>
void fill(T& field, const T& from, const T& unset) {
  if (field == unset) field = from;
}

Result<operators::GpuRates> rates_of(const catalog::Gpu& gpu, const model::Scenario& scenario) {
  const auto& peak = scenario.training.precision == model::Precision::fp32  ? gpu.fp32
                     : scenario.training.precision == model::Precision::fp8 ? gpu.fp8
                                                                            : gpu.bf16;
  if (!peak.value || !gpu.memory_rate.value) {
    return fail(ErrorCode::infeasible, fmt::format("the catalog gives no peak FLOP/s of {} at this precision, or no "
                                                   "memory bandwidth ({})",
                                                   gpu.name, peak.unknown));
  }
  return operators::GpuRates{
      *peak.value, *gpu.memory_rate.value, scenario.cluster.matmul_efficiency, scenario.cluster.memory_efficiency, {}};
}

Result<std::map<std::int32_t, model::Dimension>> dimensions_by_id(const model::Workload& source,
                                                                  const workload::TraceSet& traces) {
  std::map<std::int32_t, model::Dimension> result;
  for (const auto& [text, dimension] : source.dimensions) {
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size() || !traces.groups.members.contains(id)) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("workload.dimensions.{}: the traces have no group of this id", text));
    }
    result[id] = dimension;
  }
  return result;
}

// Before anything runs, and whether or not a case needs them: a misspelt name is a mistake. An OCS whose times are all
// given need not be in the catalog.
Status check_names(const model::Scenario& scenario, const catalog::Catalog& catalog) {
  const bool own_times = scenario.switching.dark && scenario.switching.settle;
  if (const auto ocs = catalog.ocs(scenario.switching.ocs); !ocs && !own_times) {
    return fail(ocs.error().code, "switching.ocs: " + ocs.error().message);
  }
  if (const auto box = catalog.network_switch(scenario.electrical.network_switch); !box) {
    return fail(box.error().code, "electrical.network_switch: " + box.error().message);
  }
  return {};
}

Status import_trace(Study& study, const ReadProgress& read) {
  const model::Workload& source = study.scenario.workload;
  workload::ReadOptions reading;
  reading.keep_names = false;
  reading.group_file = source.group_file;
  reading.progress = read;
  PR_ASSIGN(const workload::TraceSet traces, workload::read_traces(source.trace, reading));
  const auto gpus = static_cast<std::int64_t>(traces.ranks());
  if (study.scenario.cluster.gpus != 0 && study.scenario.cluster.gpus != gpus) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: the trace has {} ranks, but cluster.gpus is {}; leave cluster.gpus out, or set it to "
                            "the number of ranks",
                            source.trace, gpus, study.scenario.cluster.gpus));
  }
  study.scenario.cluster.gpus = gpus;
  workload::ImportOptions options;
  options.gpu = study.rates;
  options.num_ops_unit =
      source.multiply_accumulates ? workload::OpsUnit::multiply_accumulates : workload::OpsUnit::operations;
  options.tensor_bytes_per_unit = source.bytes_per_unit;
  options.comm_bytes_per_unit = source.bytes_per_unit;
  options.domain = study.scenario.cluster.domain;
  PR_ASSIGN(options.dimension_of, dimensions_by_id(source, traces));
  PR_ASSIGN(workload::ImportedStep step, workload::import_step(traces, options));
  std::vector<fabric::Place> places;
  for (std::size_t rank = 0; rank < traces.ranks(); ++rank) {
    places.push_back({step.domain_of[rank], step.local_of[rank]});
  }
  PR_ASSIGN(study.layout, fabric::make_layout(std::move(places)));
  study.graph = std::move(step.graph);
  study.notes = std::move(step.notes);
  return {};
}

Status generate(Study& study) {
  PR_ASSIGN(study.graph, workload::generate_training_step(workload::make_training_job(study.scenario, study.rates)));
  PR_ASSIGN(study.layout, fabric::make_layout(study.scenario.cluster.gpus, study.scenario.cluster.domain));
  return {};
}

Result<model::RunResult> run_electrical(const Study& study, const catalog::Catalog& catalog, const Case& spec,
                                        const std::function<void(double)>& progress) {
  PR_ASSIGN(const auto box, catalog.network_switch(study.scenario.electrical.network_switch));
  if (!box.ports.value || !box.port_rate.value) {
    return fail(ErrorCode::infeasible, fmt::format("the catalog gives no radix of {}", box.name));
  }
  const auto options = fabric::electrical_options(study.scenario, *box.ports.value, *box.port_rate.value);
  PR_ASSIGN(const auto fabric, fabric::make_electrical(*spec.electrical, study.layout, options));
  sim::RunOptions run;
  run.seed = study.scenario.seed;
  run.warm_up_steps = 0;  // nothing carries over from step to step
  run.progress = progress;
  return sim::run(study.graph, *fabric, run);
}

// A case that is too large for the machine is refused; the others go on.
Result<model::RunResult> run_within_memory(const Study& study, const catalog::Catalog& catalog, const Case& spec) {
  try {
    return run_case(study, catalog, spec);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::infeasible, "not enough memory; fewer GPUs or threads (--threads 1) need less");
  }
}

}  // namespace

Status resolve_model(model::TransformerModel& m, const catalog::Catalog& catalog) {
  if (m.catalog.empty()) {
    fill<std::int64_t>(m.kv_heads, m.heads, 0);
    return {};
  }
  PR_ASSIGN(const catalog::Model entry, catalog.model(m.catalog));
  if (entry.experts > 0) {
    return fail(ErrorCode::infeasible,
                fmt::format("model {} has experts; training steps of dense decoders can be generated, so give a dense "
                            "model or a trace ([workload] trace)",
                            entry.name));
  }
  fill<std::int64_t>(m.layers, entry.layers, 0);
  fill<std::int64_t>(m.hidden, entry.hidden, 0);
  fill<std::int64_t>(m.feed_forward, entry.feed_forward, 0);
  fill<std::int64_t>(m.feed_forward_matrices, entry.feed_forward_matrices, 0);
  fill<std::int64_t>(m.heads, entry.heads, 0);
  fill<std::int64_t>(m.kv_heads, entry.kv_heads, 0);
  fill<std::int64_t>(m.head_size, entry.head_size, 0);
  fill<std::int64_t>(m.vocabulary, entry.vocabulary, 0);
  m.tied_embeddings = m.tied_embeddings || entry.tied_embeddings;
  return {};
}

Result<Study> make_study(const model::Scenario& scenario, const catalog::Catalog& catalog, const ReadProgress& read) {
  Study study;
  study.scenario = scenario;
  PR_TRY(resolve_model(study.scenario.model, catalog));
  PR_ASSIGN(study.gpu, catalog.gpu(scenario.cluster.gpu));
  PR_ASSIGN(study.rates, rates_of(study.gpu, scenario));
  PR_TRY(check_names(scenario, catalog));
  if (scenario.workload.trace.empty()) {
    PR_TRY(generate(study));
  } else {
    PR_TRY(import_trace(study, read));
  }
  PR_TRY(model::check(study.graph));
  return study;
}

std::vector<Case> cases_of(const model::Scenario& scenario) {
  std::vector<Case> cases;
  for (const model::Fabric kind : scenario.electrical.fabrics) cases.push_back({name_of(kind), {}, kind, {}});
  for (const model::Policy policy : scenario.control.policies) {
    if (is_static(policy) || scenario.switching.times.empty()) {
      cases.push_back({name_of(policy), policy, {}, {}});
      continue;
    }
    for (const Time time : scenario.switching.times) cases.push_back({name_of(policy), policy, {}, time});
  }
  return cases;
}

Result<model::RunResult> run_case(const Study& study, const catalog::Catalog& catalog, const Case& spec,
                                  const std::function<void(double)>& progress) {
  PR_CHECK(spec.policy.has_value() != spec.electrical.has_value(), "a case is photonic or electrical");
  return spec.electrical ? run_electrical(study, catalog, spec, progress)
                         : run_photonic(study, catalog, spec, progress);
}

std::vector<CaseRun> run_cases(const Study& study, const catalog::Catalog& catalog, const std::vector<Case>& cases,
                               unsigned threads, const std::function<void(std::size_t done)>& done) {
  std::vector<CaseRun> runs;
  for (const Case& spec : cases) runs.push_back({spec, fail(ErrorCode::infeasible, "not run")});
  std::atomic<std::size_t> next = 0;
  std::size_t finished = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      runs[i].run = run_within_memory(study, catalog, cases[i]);
      const std::lock_guard lock(mutex);
      if (done) done(++finished);
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 1; i < std::max(1U, threads); ++i) workers.emplace_back(work);
  work();
  workers.clear();  // joins
  return runs;
}

}  // namespace photonrail::study
