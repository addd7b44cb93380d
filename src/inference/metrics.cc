#include "inference/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inference/pooled_memory.h"

namespace photonrail::inference {
namespace {

constexpr double kHoursPerYear = 8766;
constexpr double kSecondsPerHour = 3600;
constexpr double kJoulesPerKwh = 3.6e6;

double prompts_of_a_pass(const Plan& plan, const RequestShape& request, double batch) {
  const double copies = static_cast<double>(plan.parallel().attention_data);
  const double budget = static_cast<double>(plan.engine().prefill_budget) * copies;
  return std::clamp(std::floor(budget / request.input), 1.0, std::max(1.0, batch));
}

void add_work(energy::Activity& activity, const StepTime& pass, double times) {
  for (std::size_t i = 0; i < activity.flops.size(); ++i) activity.flops[i] += times * pass.flops_of[i];
  activity.memory_bytes += times * pass.memory_bytes;
  activity.scale_up_bytes += times * (pass.link_bytes - pass.network_bytes);
  activity.network_bytes += times * pass.network_bytes;
}

// Joules per output token of workers that each produce `tokens_per_second`, at the plug.
struct Draw {
  double gpu_watts = 0;   // mean of one GPU
  double plug_watts = 0;  // of all
};

Draw draw_of(const Deployment& setup, const energy::Activity& activity, double gpus) {
  const double gpu = energy::joules(*setup.power, activity) / activity.seconds;
  return {gpu, gpus * (gpu + energy::overhead_watts_per_gpu(setup.node, gpu))};
}

double requests_per_second(const Deployment& setup, const Outcome& o) {
  return o.times.tokens_per_second / setup.request.output;
}

// What one GPU of `workers` workers does in a second for decoding, and for prefill. The work of disaggregated prefill
// is that of one request.
energy::Activity decode_second(const Deployment& setup, const Outcome& o, double workers) {
  energy::Activity activity;
  activity.seconds = 1;
  add_work(activity, o.times.decode_work, requests_per_second(setup, o) / workers / o.times.requests);
  return activity;
}

energy::Activity prefill_second(const Deployment& setup, const Outcome& o, double workers) {
  energy::Activity activity;
  activity.seconds = 1;
  const double requests = o.candidate.mode == Mode::disaggregated ? 1 : o.times.requests;
  add_work(activity, o.times.prefill_work, requests_per_second(setup, o) / workers / requests);
  return activity;
}

energy::Activity operator+(energy::Activity a, const energy::Activity& b) {
  for (std::size_t i = 0; i < a.flops.size(); ++i) a.flops[i] += b.flops[i];
  a.memory_bytes += b.memory_bytes;
  a.scale_up_bytes += b.scale_up_bytes;
  a.network_bytes += b.network_bytes;
  return a;
}

void account_energy(const Deployment& setup, Outcome& o) {
  if (!setup.power || o.times.tokens_per_second <= 0 || o.times.requests <= 0) return;
  const Candidate& c = o.candidate;
  if (c.mode == Mode::disaggregated) {
    const double prefill_gpus = c.prefill_workers * static_cast<double>(c.prefill.gpus());
    const double decode_gpus = c.decode_workers * static_cast<double>(c.parallel.gpus());
    const Draw prefill = draw_of(setup, prefill_second(setup, o, c.prefill_workers), prefill_gpus);
    const Draw decode = draw_of(setup, decode_second(setup, o, c.decode_workers), decode_gpus);
    o.plug_watts = prefill.plug_watts + decode.plug_watts;
    o.gpu_watts = (prefill.gpu_watts * prefill_gpus + decode.gpu_watts * decode_gpus) / (prefill_gpus + decode_gpus);
  } else {
    const Draw draw = draw_of(setup, decode_second(setup, o, 1) + prefill_second(setup, o, 1), o.gpus);
    o.plug_watts = draw.plug_watts;
    o.gpu_watts = draw.gpu_watts;
  }
  o.joules_per_token = o.plug_watts / o.times.tokens_per_second;
}

void account_cost(const Deployment& setup, Outcome& o) {
  const CostChoice& cost = setup.scenario.cost;
  if (!cost.gpu_price || o.times.tokens_per_second <= 0) return;
  o.dollars = cost.gpu_price->amount * o.gpus;
  const double lifetime = cost.years * kHoursPerYear * kSecondsPerHour;
  const double energy = o.joules_per_token / kJoulesPerKwh * cost.electricity.amount;
  o.dollars_per_token = o.dollars / (lifetime * o.times.tokens_per_second) + energy;
}

double per_box(const Deployment& setup, double throughput, double gpus) {
  const double box = static_cast<double>(setup.domain);
  const double instances = gpus > box ? box / gpus : std::floor(box / gpus);
  return throughput * instances;
}

RequestTimes times_of(const Deployment& setup, const Plans& plans, const Candidate& c) {
  if (c.mode == Mode::static_batch) return static_batch(plans.decode, c.batch, setup.request);
  if (c.mode == Mode::continuous) return continuous(plans.decode, c.batch, setup.request);
  const Disaggregation workers{c.prefill_workers, c.decode_workers, c.decode_batch, setup.transfer_rate, c.batch};
  return disaggregated(*plans.prefill, plans.decode, workers, setup.request);
}

double batch_of_worker(const Candidate& c) { return c.mode == Mode::disaggregated ? c.decode_batch : c.batch; }

std::string place_text(const Candidate& c) {
  const Parallel& p = c.parallel;
  std::string text = fmt::format("tensor {}", p.tensor);
  if (p.pipeline > 1) text += fmt::format(", pipeline {}", p.pipeline);
  if (p.expert > 1) text += fmt::format(", expert {}", p.expert);
  if (p.attention_data > 1) text += fmt::format(", attention_data {}", p.attention_data);
  return text;
}

// The least tensor degree, in powers of two above the present one, whose GPUs hold the batch.
std::string larger_degree(const Deployment& setup, const Candidate& c, double context) {
  Candidate wider = c;
  for (wider.parallel.tensor *= 2; wider.parallel.gpus() <= 64; wider.parallel.tensor *= 2) {
    const Result<Plan> plan = compile(setup, wider.parallel);
    if (!plan) continue;
    const double largest = plan->largest_batch(context);
    if (largest < batch_of_worker(c)) continue;
    return fmt::format("parallel.tensor = {} holds {:.0f} of them (up to {:.0f})", wider.parallel.tensor,
                       batch_of_worker(c), largest);
  }
  return "no tensor degree up to 64 GPUs holds that many";
}

Status does_not_fit(const Deployment& setup, const Candidate& c, const Plan& plan, double batch, double context,
                    const char* who) {
  return fail(ErrorCode::infeasible,
              fmt::format("{} does not fit on {} x {}{} ({}): {:.0f} requests of {:.0f} + {:.0f} tokens\n  {}\n"
                          "  hint: {}",
                          setup.model.name, plan.gpus(), setup.gpu.name, who, place_text(c), batch, setup.request.input,
                          setup.request.output, plan.shortfall_text(plan.memory(batch, context), context),
                          larger_degree(setup, c, context)));
}

Result<Outcome> compile_and_evaluate(const Deployment& setup, const Candidate& candidate) {
  PR_ASSIGN(const Plans plans, compile(setup, candidate));
  PR_TRY(check_memory(setup, plans, candidate));
  return evaluate(setup, plans, candidate);
}

}  // namespace

const char* limiting_station(const RequestTimes& times) {
  if (times.prefill_load > 0.99) return "prefill workers";
  return times.decode_load > 0.9 ? "decode workers" : "requests in flight";
}

std::optional<double> tpot_of(const Deployment& setup, const Outcome& o) {
  return setup.request.output > 1 ? std::optional(o.times.tpot) : std::nullopt;
}

double prompts_in_tpot(const Outcome& o) {
  return o.candidate.mode == Mode::continuous ? std::max(o.times.tpot - o.times.decode.seconds, 0.0) : 0;
}

double longest_context(const RequestShape& request) { return request.input + request.output; }

Candidate candidate_of(const Deployment& setup) {
  const InferenceScenario& s = setup.scenario;
  Candidate c;
  c.mode = s.serving.mode;
  c.parallel = parallel_of(s.parallel, setup.domain);
  c.prefill = parallel_of(s.prefill, setup.domain);
  c.batch = static_cast<double>(c.mode == Mode::static_batch ? s.serving.batch : s.serving.concurrency);
  c.decode_batch = c.batch;
  if (c.mode != Mode::disaggregated) return c;
  const std::int64_t workers = s.disaggregated.decode_workers;
  c.prefill_workers = static_cast<double>(s.disaggregated.prefill_workers);
  c.decode_workers = static_cast<double>(workers);
  c.decode_batch =
      static_cast<double>(s.disaggregated.decode_batch.value_or((s.serving.concurrency + workers - 1) / workers));
  return c;
}

Result<Plans> compile(const Deployment& setup, const Candidate& candidate) {
  PR_ASSIGN(Plan decode, compile(setup, candidate.parallel));
  Plans plans{std::move(decode), std::nullopt};
  if (candidate.mode == Mode::disaggregated) {
    PR_ASSIGN(Plan prefill, compile(setup, candidate.prefill));
    plans.prefill = std::move(prefill);
  }
  return plans;
}

Status check_memory(const Deployment& setup, const Plans& plans, const Candidate& c) {
  const double context = longest_context(setup.request);
  const double batch = batch_of_worker(c);
  if (!plans.decode.memory(batch, context).fits()) {
    return does_not_fit(setup, c, plans.decode, batch, context, c.mode == Mode::disaggregated ? " for decoding" : "");
  }
  if (plans.prefill && !plans.prefill->memory(1, setup.request.input).fits()) {
    Candidate prefill = c;
    prefill.parallel = c.prefill;
    return does_not_fit(setup, prefill, *plans.prefill, 1, setup.request.input, " for prefill");
  }
  return check_hit_rate(setup, c);
}

Outcome evaluate(const Deployment& setup, const Plans& plans, const Candidate& c) {
  const Plan& prefill = plans.prefill ? *plans.prefill : plans.decode;
  const double batch = batch_of_worker(c);
  const double middle = setup.request.input + setup.request.output / 2;
  Outcome o;
  o.candidate = c;
  o.times = times_of(setup, plans, c);
  if (!tpot_of(setup, o)) o.times.tpot = 0;  // so that a search does not choose by it
  o.gpus = static_cast<double>(c.parallel.gpus());
  if (plans.prefill) { o.gpus = c.decode_workers * o.gpus + c.prefill_workers * static_cast<double>(c.prefill.gpus()); }
  o.decode = plans.decode.decode(batch, middle);
  o.prompts_per_pass = prompts_of_a_pass(prefill, setup.request, c.batch);
  o.prefill = prefill.prefill(o.prompts_per_pass, setup.request.input, 0);
  o.memory = plans.decode.memory(batch, longest_context(setup.request));
  o.largest_batch = plans.decode.largest_batch(longest_context(setup.request));
  o.per_gpu = o.times.tokens_per_second / o.gpus;
  o.per_box = per_box(setup, o.times.tokens_per_second, o.gpus);
  account_energy(setup, o);
  account_cost(setup, o);
  return o;
}

Result<Outcome> evaluate(const Deployment& setup, const Candidate& candidate) {
  if (setup.pool) {
    Deployment own = setup;
    PR_TRY(use_pool(own, candidate));
    return compile_and_evaluate(own, candidate);
  }
  return compile_and_evaluate(setup, candidate);
}

Result<std::vector<sensitivity::Metric>> evaluate_infer(const std::string& file, const std::vector<std::string>& sets,
                                                        const catalog::Catalog& catalog,
                                                        sensitivity::Declarations& said) {
  PR_ASSIGN(const InferenceDocument doc, load_inference(file, sets));
  PR_ASSIGN(Deployment setup, resolve(doc.value, catalog));
  const Candidate candidate = candidate_of(setup);
  if (setup.pool) PR_TRY(use_pool(setup, candidate));
  PR_ASSIGN(const Outcome o, compile_and_evaluate(setup, candidate));
  for (const std::string& line : setup.overrides) said.add("OVERRIDE", line);
  said.add("basis", fmt::format("calibration {}", operators::name_of(o.times.basis)));
  std::vector<sensitivity::Metric> metrics = {{"ttft", o.times.ttft, "s"},
                                              {"latency", o.times.latency, "s"},
                                              {"throughput", o.times.tokens_per_second, "tokens/s"},
                                              {"throughput_per_gpu", o.per_gpu, "tokens/s"},
                                              {"throughput_per_box", o.per_box, "tokens/s"},
                                              {"mfu", o.times.mfu, "ratio"},
                                              {"memory_per_gpu", o.memory.total(), "B"},
                                              {"largest_batch", o.largest_batch, "count"}};
  if (const auto tpot = tpot_of(setup, o)) metrics.insert(metrics.begin() + 1, {"tpot", *tpot, "s"});
  if (setup.power) {
    metrics.push_back({"energy_per_token", o.joules_per_token, "J/token"});
    metrics.push_back({"power", o.plug_watts, "W"});
  }
  if (setup.scenario.cost.gpu_price) metrics.push_back({"cost_per_million_tokens", o.dollars_per_token * 1e6, "USD"});
  return metrics;
}

}  // namespace photonrail::inference
