// Requests on a Plan: static batches, continuous batching, disaggregated prefill and decode. In closed form; the closed
// loop of clients pass by pass stands in serving_loop.h.
//
// Theory. TTFT = queueing + prefill of the prompt; TPOT = (latency - TTFT) / (out - 1); latency = TTFT + (out - 1)
// TPOT. Static batch: all B prompts are prefilled (in passes of at most the engine's budget), then all decode in step;
// the decode integral over growing contexts is taken by quadrature, exact for what is piecewise linear. Continuous
// batching, closed loop of c requests, prompts of i and answers of o tokens: D of them decode, and in the steady state
// D / (o - 1) of them finish with each token, so as many prompts enter. They enter whole, not evenly spread: with less
// than one a pass, that share of the passes carries a prompt (or its chunks) and the others carry none; with more, each
// pass carries as many. D and the time to the first token follow from Little's law. A request that is sent when another
// ends meets a pass that has just begun, and waits for its end. Disaggregated: prefill workers and decode workers are
// two stations; the slower one limits.
#pragma once

#include "inference/plan.h"

namespace photonrail::inference {

struct RequestShape {
  double input = 0;   // tokens of the prompt, >= 1
  double output = 0;  // tokens of the answer, >= 1
};

struct RequestTimes {
  double ttft = 0;  // seconds
  double tpot = 0;
  double latency = 0;            // whole request
  double tokens_per_second = 0;  // output tokens of the instance
  double prefill_seconds = 0;    // of the batch, or of one request where requests are not batched; without queueing
  double queue_seconds = 0;      // of the TTFT
  double decoding = 0;           // requests that decode at a time, in the mean
  double mfu = 0;                // operations of the model (2 P per token, attention included) over peak of its format
  StepTime decode;               // the time between two tokens, at the middle of the answer
  // Work of one GPU, for energy: prefills and decodes of `requests` requests, which take seconds_of_work of its time.
  StepTime prefill_work;
  StepTime decode_work;
  double requests = 0;
  double seconds_of_work = 0;
  // Disaggregated: prompts over the most that prefill workers take, and decoding requests over the places of decode
  // workers.
  double prefill_load = 0;
  double decode_load = 0;
  Basis basis = Basis::measured;
};

// The passes that prefill `prompts` prompts of `input` tokens: their sum, and the time until the last has left the last
// stage. Prompts share passes as far as the engine's budget goes, and are cut into chunks where one exceeds it.
struct PrefillTimes {
  StepTime work;
  double seconds = 0;
};
PrefillTimes prefill_prompts(const Plan& plan, double prompts, double input);

// `batch` requests of one shape started together; the TTFT is that of the whole batch's prefill.
RequestTimes static_batch(const Plan& plan, double batch, const RequestShape& shape);

// Tokens of the cache that the engine charges a request for.
double held_tokens(const Plan& plan, const RequestShape& shape);

// A closed loop of `concurrency` requests in the steady state. Those beyond what the memory holds queue.
RequestTimes continuous(const Plan& plan, double concurrency, const RequestShape& shape);

// Mean TPOT and throughput of `decode_workers` fed by `prefill_workers`, each decode worker at most `decode_batch`.
struct Disaggregation {
  double prefill_workers = 1;
  double decode_workers = 1;
  double decode_batch = 1;   // of one decode worker
  double transfer_rate = 0;  // bytes/s of one GPU for the cache on its way; 0: not counted
  double concurrency = 0;    // requests in all; 0: decode_workers * decode_batch
};
RequestTimes disaggregated(const Plan& prefill, const Plan& decode, const Disaggregation& workers,
                           const RequestShape& shape);

}  // namespace photonrail::inference
