// One configuration of a scenario evaluated: times, memory, and what they come to per box, GPU, watt and dollar.
//
// Theory. Throughput per GPU = instance / its GPUs; per box = whole instances of a scale-up domain, or the share of an
// instance that spans several. Energy follows by energy/power.h, at the plug of the node, from what one GPU does in a
// second: the work of a request (serving.h, RequestTimes::prefill_work and decode_work) times the requests per second.
// Units: s, B, J, W, USD. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "energy/power.h"
#include "inference/scenario.h"
#include "sensitivity/declarations.h"
#include "sensitivity/experiment.h"

namespace photonrail::inference {

struct Candidate {
  Mode mode = Mode::static_batch;
  Parallel parallel;
  Parallel prefill;  // disaggregated
  double batch = 0;  // or requests in flight
  double prefill_workers = 0;
  double decode_workers = 0;
  double decode_batch = 0;  // of one decode worker
};

struct Outcome {
  Candidate candidate;
  RequestTimes times;
  double gpus = 0;   // of everything together
  StepTime decode;   // one pass at the middle of the answer
  StepTime prefill;  // one pass, as full as the engine allows
  double prompts_per_pass = 0;
  MemoryUse memory;          // of a decode GPU
  double largest_batch = 0;  // that fits, of one instance (one decode worker)
  double per_gpu = 0;        // output tokens/s
  double per_box = 0;
  double joules_per_token = 0;   // output tokens, at the plug; 0: the GPU's power is unknown
  double gpu_watts = 0;          // of one GPU, mean
  double plug_watts = 0;         // of all GPUs with their share of node
  double dollars_per_token = 0;  // purchase over its years and electricity; 0: no price
  double dollars = 0;            // purchase
};

// The candidate that the scenario itself describes.
Candidate candidate_of(const Deployment& setup);

// A plan and, for disaggregated serving, that of the prefill workers.
struct Plans {
  Plan decode;
  std::optional<Plan> prefill;
};
Result<Plans> compile(const Deployment& setup, const Candidate& candidate);

// Error: infeasible where the candidate does not fit, with the shortfall and what would fit.
Status check_memory(const Deployment& setup, const Plans& plans, const Candidate& candidate);

// Of a candidate that fits.
Outcome evaluate(const Deployment& setup, const Plans& plans, const Candidate& candidate);

// compile, check_memory and evaluate, with the rate that this candidate gets from a pool.
Result<Outcome> evaluate(const Deployment& setup, const Candidate& candidate);

// "prefill workers", "decode workers" or "requests in flight": what more of would raise a disaggregated throughput.
const char* limiting_station(const RequestTimes& times);

// Time per output token; none where an answer has one token only.
std::optional<double> tpot_of(const Deployment& setup, const Outcome& outcome);

// Of the time per output token, what prompts add that ride in the passes between two tokens of a request.
double prompts_in_tpot(const Outcome& outcome);

// What the requests hold at most: the cached tokens of a request at its end.
double longest_context(const RequestShape& request);

// The experiment of `photonrail sensitivity infer FILE`. Declares what [memory] replaces and the calibration's basis.
Result<std::vector<sensitivity::Metric>> evaluate_infer(const std::string& file, const std::vector<std::string>& sets,
                                                        const catalog::Catalog& catalog,
                                                        sensitivity::Declarations& said);

}  // namespace photonrail::inference
