// The closed loop of clients, pass by pass: what a benchmark client measures.
//
// Theory. c clients each keep one request under way and send the next when it ends, n requests in all; the first c come
// together. The engine runs passes: waiting prompts enter in the order of arrival while the token budget of the pass,
// the places and the cache (of whole requests, so that none is ever evicted) allow, cut into chunks where the engine
// does that; decoding requests get one token a pass, or none while the engine prefills apart. TTFT and TPOT are means
// over requests, from sending to the first token and from there to the last, over out - 1.
// A pass is laid out while the one before it runs (Engine::passes_ahead), so a request that arrives during a pass also
// waits for the next one. TensorRT-LLM may hold prompts back for some passes to gather more of them (prompt_wait).
// Because the first prompts come together, and requests that were prefilled together end together, mean TTFT is far
// above that of a lone prompt: this is queueing, and it depends on how far lengths differ. Between two events (a
// request ends, the next one arrives) passes differ only in context and are summed by Plan::decode_run.
//
// With pipeline stages one step of the loop is one round of all micro-batches, over which prompts are spread evenly.
// Lengths are uniform in [shortest * length, length], of one named random stream per client run. Pure; any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "inference/serving.h"

namespace photonrail::inference {

struct LoopOptions {
  std::int64_t concurrency = 1;
  std::int64_t requests = 0;   // 0: ten for each client, as the InferenceMAX client does
  std::int64_t uncounted = 0;  // of these, the first ones
  double shortest = 1;         // of the longest length; that client: 0.8
  std::uint64_t seed = 1;
};

struct LoopTimes {
  double ttft = 0;  // means over the counted requests, seconds
  double tpot = 0;
  double latency = 0;
  double median_ttft = 0;
  double p99_ttft = 0;
  double tokens_per_second = 0;  // output tokens of all requests over the whole run
  double in_system = 0;          // requests under way, in the mean over time
  double seconds = 0;            // of the run
  std::int64_t requests = 0;
  std::int64_t passes = 0;
  Basis basis = Basis::measured;
};

// Errors: infeasible where not even one request fits the memory; invalid_input for counts outside [1, 1,000,000] and
// lengths below 1.
Result<LoopTimes> closed_loop(const Plan& plan, const RequestShape& shape, const LoopOptions& options);

}  // namespace photonrail::inference
