#include "inference/report_metrics.h"

namespace photonrail::inference {
namespace {

using Value = std::optional<double>;

constexpr const char* kServing = "src/inference/serving.h";
constexpr const char* kPlan = "src/inference/plan.h";
constexpr const char* kKernels = "calibration/*.csv; src/operators/kernel_model.h";
constexpr const char* kEnergy = "src/energy/power.h";

// The struct's parts in one line each: id, label, unit, rule, source, value.
template <class Take>
void add(std::vector<ReportMetric>& all, const char* id, const char* label, const char* unit, const char* rule,
         const char* source, Take take) {
  ReportMetric m;
  m.metric = {id, label, unit, "", rule, {}, source};
  m.take = [take](const Deployment& s, const Outcome& o) -> Value { return take(s, o); };
  all.push_back(std::move(m));
}

void derive(std::vector<ReportMetric>& all, const char* id, const char* label, const char* unit, const char* formula,
            const char* rule) {
  ReportMetric m;
  m.metric = {id, label, unit, formula, rule, {}, ""};
  all.push_back(std::move(m));
}

Value known(double value) { return value > 0 ? Value(value) : std::nullopt; }

void add_configuration(std::vector<ReportMetric>& all) {
  const char* given = "the scenario, or the search";
  add(all, "gpus", "GPUs", "count", "of all workers together", given, [](auto&, auto& o) { return o.gpus; });
  add(all, "tensor", "tensor degree", "count", "ranks that split every matrix", given,
      [](auto&, auto& o) { return static_cast<double>(o.candidate.parallel.tensor); });
  add(all, "pipeline", "pipeline stages", "count", "stages that split the layers", given,
      [](auto&, auto& o) { return static_cast<double>(o.candidate.parallel.pipeline); });
  add(all, "expert", "expert degree", "count", "ranks that experts are spread over", given,
      [](auto&, auto& o) { return static_cast<double>(o.candidate.parallel.expert); });
  add(all, "attention_data", "attention copies", "count", "copies of the attention block", given,
      [](auto&, auto& o) { return static_cast<double>(o.candidate.parallel.attention_data); });
  add(all, "batch", "batch or requests in flight", "count", "of the whole system", given,
      [](auto&, auto& o) { return o.candidate.batch; });
}

void add_times(std::vector<ReportMetric>& all) {
  add(all, "ttft", "time to the first token", "s", "queueing and prefill; static: of the whole batch", kServing,
      [](auto&, auto& o) { return o.times.ttft; });
  add(all, "tpot", "time per output token", "s", "(latency - ttft) / (output - 1), mean of requests", kServing,
      [](auto& setup, auto& o) { return tpot_of(setup, o); });
  derive(all, "tpot_decode", "of tpot: a decode pass of the requests that decode in the mean", "s",
         "tpot - tpot_prompts", "serving.h");
  add(all, "tpot_prompts", "of tpot: prompts of entering requests", "s",
      "what prompts that ride in the passes add between two tokens", kServing,
      [](auto& setup, auto& o) { return tpot_of(setup, o) ? std::optional(prompts_in_tpot(o)) : std::nullopt; });
  add(all, "latency", "time of a whole request", "s", "ttft + (output - 1) tpot", kServing,
      [](auto&, auto& o) { return o.times.latency; });
  add(all, "prefill_time", "prefill, without queueing", "s", "static: of the whole batch", kServing,
      [](auto&, auto& o) { return o.times.prefill_seconds; });
  add(all, "throughput", "output tokens per second", "tokens/s", "of all workers together", kServing,
      [](auto&, auto& o) { return o.times.tokens_per_second; });
  derive(all, "throughput_per_gpu", "output tokens per second and GPU", "tokens/s", "throughput / gpus", "per chip");
  add(all, "throughput_per_box", "output tokens per second and box", "tokens/s",
      "whole instances that one scale-up domain holds; of an instance over several, the share", kServing,
      [](auto&, auto& o) { return o.per_box; });
  const auto apart = [](const Outcome& o, double value) {
    return o.candidate.mode == Mode::disaggregated ? Value(value) : std::nullopt;
  };
  add(all, "prefill_load", "load of prefill workers", "ratio", "prompts over the most that they take", kServing,
      [apart](auto&, auto& o) { return apart(o, o.times.prefill_load); });
  add(all, "decode_load", "load of decode workers", "ratio", "decoding requests over decode_batch of each", kServing,
      [apart](auto&, auto& o) { return apart(o, o.times.decode_load); });
  add(all, "mfu", "model operations over peak", "ratio",
      "2 per active parameter and token, prompts included, and attention, over the peak of the format that is named in "
      "the assumptions",
      kServing, [](auto&, auto& o) { return o.times.mfu; });
}

void add_steps(std::vector<ReportMetric>& all) {
  const auto part = [&](const char* id, const char* label, const char* rule, const char* source, bool prefill,
                        double StepTime::* field) {
    add(all, id, label, "s", rule, source,
        [prefill, field](auto&, auto& o) { return (prefill ? o.prefill : o.decode).*field; });
  };
  const char* decode = "one decode pass of the whole batch at the middle of the answer";
  part("decode_step", "decode pass", decode, kPlan, false, &StepTime::seconds);
  part("decode_linear", "decode pass: matrix products", decode, kKernels, false, &StepTime::linear);
  part("decode_attention", "decode pass: attention", decode, kKernels, false, &StepTime::attention);
  part("decode_collective", "decode pass: collectives", decode, kKernels, false, &StepTime::collective);
  part("decode_pointwise", "decode pass: norms, activations, sampling", decode, kKernels, false, &StepTime::pointwise);
  part("decode_overhead", "decode pass: host and gaps", decode, "src/inference/engine.h", false, &StepTime::overhead);
  const char* prefill = "one prefill pass, as many whole prompts as the engine's budget holds";
  part("prefill_step", "prefill pass", prefill, kPlan, true, &StepTime::seconds);
  part("prefill_linear", "prefill pass: matrix products", prefill, kKernels, true, &StepTime::linear);
  part("prefill_attention", "prefill pass: attention", prefill, kKernels, true, &StepTime::attention);
  part("prefill_collective", "prefill pass: collectives", prefill, kKernels, true, &StepTime::collective);
  part("prefill_pointwise", "prefill pass: norms, activations", prefill, kKernels, true, &StepTime::pointwise);
  part("prefill_overhead", "prefill pass: host and gaps", prefill, "src/inference/engine.h", true, &StepTime::overhead);
  add(all, "prompts_per_pass", "prompts of a prefill pass", "count", prefill, kPlan,
      [](auto&, auto& o) { return o.prompts_per_pass; });
}

void add_memory(std::vector<ReportMetric>& all) {
  const char* each = "bytes of the fullest GPU, requests at their longest";
  const auto part = [&](const char* id, const char* label, double MemoryUse::* field) {
    add(all, id, label, "B", each, kPlan, [field](auto&, auto& o) { return o.memory.*field; });
  };
  part("memory_weights", "memory: weights", &MemoryUse::weights);
  part("memory_cache", "memory: cache of keys and values", &MemoryUse::cache);
  part("memory_activations", "memory: activations", &MemoryUse::activations);
  part("memory_workspace", "memory: workspace", &MemoryUse::workspace);
  part("memory_reserve", "memory: kept free by the engine", &MemoryUse::reserve);
  part("memory_capacity", "memory of one GPU", &MemoryUse::capacity);
  derive(all, "memory_used", "memory used of one GPU", "B",
         "memory_weights + memory_cache + memory_activations + memory_workspace", "without what is kept free");
  add(all, "largest_batch", "largest batch that fits", "count", "of one instance; disaggregated: of one decode worker",
      kPlan, [](auto&, auto& o) { return o.largest_batch; });
}

void add_energy(std::vector<ReportMetric>& all) {
  add(all, "power", "power at the plug", "W", "GPUs with their share of nodes", kEnergy,
      [](auto&, auto& o) { return known(o.plug_watts); });
  add(all, "gpu_power", "power of one GPU, mean", "W", "static and dynamic, at most the data-sheet limit", kEnergy,
      [](auto&, auto& o) { return known(o.gpu_watts); });
  derive(all, "energy_per_token", "energy per output token", "J/token", "power / throughput", "at the plug");
  derive(all, "throughput_per_watt", "output tokens per second and watt", "tokens/s", "throughput / power",
         "output tokens per joule");
  add(all, "purchase", "price of the GPUs", "USD", "cost.gpu_price times gpus", "the scenario, cost.gpu_price",
      [](auto&, auto& o) { return known(o.dollars); });
  derive(all, "throughput_per_dollar", "output tokens per second and dollar of purchase", "tokens/s",
         "throughput / purchase", "of all GPUs with their share of server and network");
  add(all, "cost_per_million_tokens", "cost of a million output tokens", "USD",
      "purchase spread over cost.years at full load, and electricity", "the scenario, [cost]",
      [](auto&, auto& o) { return known(o.dollars_per_token * 1e6); });
}

}  // namespace

std::vector<ReportMetric> report_metrics() {
  std::vector<ReportMetric> all;
  add_configuration(all);
  add_times(all);
  add_steps(all);
  add_memory(all);
  add_energy(all);
  return all;
}

}  // namespace photonrail::inference
