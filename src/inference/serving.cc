#include "inference/serving.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace photonrail::inference {

namespace {

// Tokens of prompts that one pass may carry, all attention copies together.
double pass_budget(const Plan& plan) {
  return static_cast<double>(plan.engine().prefill_budget) * static_cast<double>(plan.parallel().attention_data);
}

double stages_of(const Plan& plan) { return static_cast<double>(plan.parallel().pipeline); }

StepTime times(StepTime step, double n) {
  for (double* part : {&step.seconds, &step.linear, &step.attention, &step.collective, &step.pointwise, &step.overhead,
                       &step.flops, &step.memory_bytes, &step.link_bytes, &step.network_bytes}) {
    *part *= n;
  }
  for (double& flops : step.flops_of) flops *= n;
  return step;
}

// Adds `passes` passes of one kind; passes follow each other through the stages at the pace of one stage.
void add_passes(PrefillTimes& sum, const StepTime& pass, double passes, double stages) {
  if (passes <= 0) return;
  sum.work += times(pass, passes);
  sum.seconds += passes * pass.seconds / stages;
}

// One prompt (on each copy) that exceeds the budget: whole chunks and the rest. Attention grows with what is cached,
// but not evenly, so up to eight chunks are taken one by one; beyond, each of eight stands for its share of those after
// the first.
void add_chunks(PrefillTimes& sum, const Plan& plan, double prompts, double repeats, double input, double budget) {
  constexpr double kNodes = 8;
  const double stages = stages_of(plan);
  const double chunks = std::floor(input / budget);
  const double rest = input - chunks * budget;
  const auto add = [&](double index, double passes) {
    add_passes(sum, plan.prefill(prompts, budget, index * budget), passes, stages);
  };
  add(0, repeats);
  const double nodes = std::min(chunks - 1, kNodes);
  const double each = (chunks - 1) / std::max(nodes, 1.0);
  for (double i = 0; i < nodes; ++i) add(0.5 + each * (i + 0.5), repeats * each);
  if (rest > 0) add_passes(sum, plan.prefill(prompts, rest, chunks * budget), repeats, stages);
}

// Operations of the model for one request.
double request_flops(const Plan& plan, const RequestShape& shape) {
  const double generated = shape.output - 1;
  return shape.input * plan.model_flops(shape.input / 2) + generated * plan.model_flops(shape.input + shape.output / 2);
}

void finish(RequestTimes& result, const Plan& plan, const RequestShape& shape, double requests_per_second) {
  result.tokens_per_second = requests_per_second * shape.output;
  result.mfu = requests_per_second * request_flops(plan, shape) / plan.peak();
  result.basis = std::max({result.basis, result.decode.basis, result.prefill_work.basis, result.decode_work.basis});
}

double middle_context(const RequestShape& shape) { return shape.input + shape.output / 2; }

}  // namespace

PrefillTimes prefill_prompts(const Plan& plan, double prompts, double input) {
  PrefillTimes sum;
  const double copies = static_cast<double>(plan.parallel().attention_data);
  const double stages = stages_of(plan);
  const double budget = static_cast<double>(plan.engine().prefill_budget);
  double last = 0;
  if (input <= budget || !plan.engine().chunked_prefill) {
    const double together = std::max(1.0, std::floor(budget / input)) * copies;
    const double full = std::floor(prompts / together);
    const double rest = prompts - full * together;
    if (full > 0) {
      const StepTime pass = plan.prefill(together, input, 0);
      add_passes(sum, pass, full, stages);
      last = pass.seconds;
    }
    if (rest > 0) {
      const StepTime pass = plan.prefill(rest, input, 0);
      add_passes(sum, pass, 1, stages);
      last = pass.seconds;
    }
  } else {
    const double together = std::min(prompts, copies);
    add_chunks(sum, plan, together, prompts / together, input, budget);
    last = sum.seconds * stages / (prompts / together * std::ceil(input / budget));
  }
  sum.seconds += last * (stages - 1) / stages;  // the last pass has the other stages before it
  return sum;
}

RequestTimes static_batch(const Plan& plan, double batch, const RequestShape& shape) {
  const double generated = shape.output - 1;
  const PrefillTimes prefill = prefill_prompts(plan, batch, shape.input);
  RequestTimes result;
  result.prefill_work = prefill.work;
  result.decode_work = plan.decode_run(batch, shape.input + 1, generated);
  result.prefill_seconds = prefill.seconds;
  result.ttft = prefill.seconds;
  result.tpot = generated > 0 ? result.decode_work.seconds / generated : 0;
  result.latency = result.ttft + result.decode_work.seconds;
  result.decoding = batch;
  result.requests = batch;
  result.seconds_of_work = result.latency;
  result.decode = generated > 0 ? times(result.decode_work, 1 / generated) : StepTime{};
  finish(result, plan, shape, batch / result.latency);
  return result;
}

// ---- continuous batching --------------------------------------------------------------------------------------------

namespace {

struct Round {                // between two tokens of a decoding request
  double seconds = 0;         // mean
  double first_token = 0;     // from the start of the first pass that carries a prompt until its first token
  double prefill_passes = 0;  // that carry prompts, in one round
  StepTime decode;
  StepTime prefill;  // what prompts add to a round
};

// Passes of prompts in a round of `decoding` requests, where `entering` prompts enter with each round.
Round mean_round(const Plan& plan, const RequestShape& shape, double decoding, double entering) {
  const double stages = stages_of(plan);
  const double each = entering / stages;  // prompts for each micro-batch
  const double context = middle_context(shape);
  const double micro = std::max(decoding / stages, std::min(decoding, 1.0));
  Round round;
  round.decode = plan.decode(decoding, context);
  const bool apart = plan.engine().separate_prefill;
  const double room = std::max(1.0, pass_budget(plan) - (apart ? 0 : micro));
  const double copy_room = room / static_cast<double>(plan.parallel().attention_data);
  const double chunks = plan.engine().chunked_prefill ? std::max(1.0, std::ceil(shape.input / copy_room)) : 1.0;
  // Prompts of one carrying pass, and the share of passes that carry.
  const double gathered = each * (1 + static_cast<double>(plan.engine().prompt_wait));
  const double fill = plan.engine().prompt_wait_fill * pass_budget(plan) / shape.input;
  const double prompts = std::max({1.0, each, std::min(gathered, fill)});
  const double share = each / prompts * chunks;
  const Pass pass{.decodes = apart ? 0 : micro,
                  .context = context,
                  .prompts = prompts,
                  .tokens = shape.input / chunks,
                  .past = shape.input * (chunks - 1) / (2 * chunks)};
  const StepTime carrying = plan.evaluate(pass);
  const double added = apart ? carrying.seconds : carrying.seconds - round.decode.seconds;
  round.seconds = round.decode.seconds + share * std::max(added, 0.0);
  round.first_token = chunks * carrying.seconds;
  round.prefill_passes = share * stages;
  round.prefill = times(carrying, share);
  if (!apart) round.prefill += times(round.decode, -share);
  return round;
}

}  // namespace

double held_tokens(const Plan& plan, const RequestShape& shape) {
  return shape.input + plan.engine().reserved_output * shape.output;
}

RequestTimes continuous(const Plan& plan, double concurrency, const RequestShape& shape) {
  const double generated = std::max(shape.output - 1, 1e-9);
  const double held = std::clamp(plan.largest_batch(held_tokens(plan, shape)), 1.0, concurrency);
  const double stages = stages_of(plan);
  const double overhead = to_seconds(plan.engine().request_overhead);
  // What the budget of tokens lets decode: each round takes `decoding` tokens and `decoding / generated` prompts.
  const bool apart = plan.engine().separate_prefill;
  const double limit = apart ? held : pass_budget(plan) * stages / (1 + shape.input / generated);
  double decoding = std::min(held, limit);
  double ttft = 0;
  Round round;
  for (int i = 0; i < 40; ++i) {
    round = mean_round(plan, shape, decoding, decoding / generated);
    const double pass = round.decode.seconds / stages;
    const double held_back = decoding > 1 ? static_cast<double>(plan.engine().prompt_wait) * pass : 0;
    const auto ahead = static_cast<double>(plan.engine().passes_ahead);
    ttft = std::max(overhead, pass) + (decoding > 1 ? ahead * pass : 0) + held_back + round.first_token;
    const double wanted = std::min(limit, held * generated * round.seconds / (generated * round.seconds + ttft));
    decoding += 0.5 * (wanted - decoding);
  }
  RequestTimes result;
  result.tpot = round.seconds;
  const double rate = decoding / (generated * round.seconds);
  // Little's law: whoever neither decodes nor is being prefilled waits.
  result.ttft = std::max(ttft, concurrency / rate - generated * round.seconds);
  result.queue_seconds = result.ttft - round.first_token;
  result.prefill_seconds = round.first_token;
  result.latency = result.ttft + generated * result.tpot;
  result.decoding = decoding;
  result.decode = round.decode;
  result.decode_work = times(round.decode, generated);
  result.prefill_work = times(round.prefill, generated);
  result.requests = decoding;
  result.seconds_of_work = generated * round.seconds;
  finish(result, plan, shape, rate);
  return result;
}

// ---- disaggregation -------------------------------------------------------------------------------------------------

namespace {

// Decoding requests at which the decode workers take `rate` requests a second.
double decoding_at(const Plan& plan, double workers, double generated, double context, double rate, double most) {
  double low = 0;
  double high = most;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    const double seconds = generated * plan.decode(std::max(middle / workers, 1e-9), context).seconds;
    (middle / seconds < rate ? low : high) = middle;
  }
  return high;
}

}  // namespace

RequestTimes disaggregated(const Plan& prefill, const Plan& decode, const Disaggregation& workers,
                           const RequestShape& shape) {
  const double generated = std::max(shape.output - 1, 1e-9);
  const double context = middle_context(shape);
  const double places = workers.decode_workers * workers.decode_batch;
  const double all = workers.concurrency > 0 ? workers.concurrency : places;
  const double together = std::max(1.0, std::floor(pass_budget(prefill) / shape.input));
  const PrefillTimes full = prefill_prompts(prefill, together, shape.input);
  const PrefillTimes one = prefill_prompts(prefill, 1, shape.input);
  const double most_prefilled = workers.prefill_workers * together / full.work.seconds * stages_of(prefill);
  const double transfer =
      workers.transfer_rate > 0 ? shape.input * prefill.cache_bytes_per_token() / workers.transfer_rate : 0;
  const double least = one.seconds + transfer + to_seconds(prefill.engine().request_overhead);

  double decoding = std::min(all, places);
  double ttft = least;
  double rate = 0;
  StepTime step;
  for (int i = 0; i < 40; ++i) {
    step = decode.decode(std::max(decoding / workers.decode_workers, 1e-9), context);
    rate = std::min(decoding / (generated * step.seconds), most_prefilled);
    // Requests arrive one by one at a station that serves one at a time: half a service for each one before, and no
    // more of them than there are.
    const double load = std::min(rate / most_prefilled, 1.0);
    const double before = std::min(load / (2 * std::max(1 - load, 1e-3)), std::max(all - decoding, 0.0));
    ttft = least + before * one.seconds / workers.prefill_workers;
    const double wanted = std::min({places, std::max(all - rate * ttft, 1e-3)});
    decoding += 0.5 * (wanted - decoding);
  }
  if (decoding / (generated * step.seconds) > most_prefilled) {
    decoding = decoding_at(decode, workers.decode_workers, generated, context, most_prefilled, decoding);
    step = decode.decode(std::max(decoding / workers.decode_workers, 1e-9), context);
    rate = most_prefilled;
  }
  // Little's law: with few tokens to generate the iteration stops far above it.
  rate = std::min(rate, all / (ttft + generated * step.seconds));
  decoding = std::min(decoding, rate * generated * step.seconds);
  RequestTimes result;
  result.tpot = step.seconds;
  result.ttft = std::max(ttft, all / rate - generated * step.seconds);
  result.queue_seconds = result.ttft - one.seconds;
  result.prefill_seconds = one.seconds;
  result.latency = result.ttft + generated * step.seconds;
  result.decoding = decoding;
  result.decode = step;
  result.decode_work = times(step, generated);
  result.prefill_work = times(full.work, 1 / together);
  result.requests = decoding / workers.decode_workers;
  result.prefill_load = rate / most_prefilled;
  result.decode_load = decoding / places;
  result.seconds_of_work = generated * step.seconds;
  finish(result, decode, shape, rate);
  const double gpus = workers.prefill_workers * static_cast<double>(prefill.gpus()) +
                      workers.decode_workers * static_cast<double>(decode.gpus());
  result.mfu *= static_cast<double>(decode.gpus()) / gpus;
  return result;
}

}  // namespace photonrail::inference
