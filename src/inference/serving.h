// Requests on a Plan: static batches, continuous batching, disaggregated prefill and decode.
//
// Theory. TTFT = queueing + prefill of the prompt; TPOT = (latency - TTFT) / (out - 1); latency = TTFT + (out - 1) TPOT.
// Static batch: all B prompts are prefilled (in passes of at most the engine's budget), then all decode in step; the
// decode integral over growing contexts is taken by quadrature, exact for what is piecewise linear.
// Continuous batching, closed loop of c requests, prompts of i and answers of o tokens: in the steady state each pass
// carries the decodes of the requests that are past their prefill and, in the mean, i / o tokens of prefill for each;
// the mean time of a pass and the residence times follow from Little's law.
// Disaggregated: prefill workers and decode workers are two stations; the slower one limits.
#pragma once

#include "inference/plan.h"

namespace photonrail::inference {

struct RequestShape {
  double input = 0;   // tokens of the prompt
  double output = 0;  // tokens of the answer, >= 1
};

struct RequestTimes {
  double ttft = 0;                // seconds
  double tpot = 0;
  double latency = 0;             // whole request
  double tokens_per_second = 0;   // output tokens of the instance
  double prefill_seconds = 0;     // of the batch, without queueing
  double mfu = 0;                 // operations of the model (2 P per token, attention included) over peak of its format
  StepTime decode;                // at the middle of the answer
  Basis basis = Basis::measured;
};

// `batch` requests of one shape started together; the TTFT is that of the whole batch's prefill.
RequestTimes static_batch(const Plan& plan, double batch, const RequestShape& shape);

// A closed loop of `concurrency` requests in the steady state.
RequestTimes continuous(const Plan& plan, double concurrency, const RequestShape& shape);

// Mean TPOT and throughput of `decode_workers` fed by `prefill_workers`, each decode worker at most `decode_batch`.
struct Disaggregation {
  double prefill_workers = 1;
  double decode_workers = 1;
  double decode_batch = 1;  // of one decode worker
  double transfer_rate = 0;  // bytes/s of one GPU for the cache on its way; 0: not counted
};
RequestTimes disaggregated(const Plan& prefill, const Plan& decode, const Disaggregation& workers,
                           const RequestShape& shape);

}  // namespace photonrail::inference
