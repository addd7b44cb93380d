// Exhaustive search over tensor, pipeline and expert parallelism, attention copies, batch and batching; with prefill
// and decode apart, over the degrees of both kinds of workers and their numbers.
//
// Every combination of [search] that divides the model and fits the memory is evaluated; nothing is sampled. Kept are
// the best by the objective, and the Pareto front of output tokens per second and GPU against time per output token:
// configurations that no other beats in both. Where the batches are not given they are powers of two; the best one of
// each set of degrees (with prefill apart: of the best set) is then refined by halving steps, down to 1. Ties go to the
// combination that is tried first, so equal inputs give equal results. Plans are compiled once and evaluated for all
// batches, except on a pool, where each batch has a rate of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inference/metrics.h"

namespace photonrail::inference {

struct SearchResult {
  std::optional<Outcome> best;
  std::vector<Outcome> front;    // by rising time per output token
  std::int64_t tried = 0;        // configurations evaluated
  std::int64_t indivisible = 0;  // degrees that do not divide the model, or lack a kernel
  std::int64_t too_large = 0;    // that do not fit the memory
  std::int64_t too_slow = 0;     // beyond a limit
  double least_ttft = 0;         // s, of all that were evaluated, within the limits or not
  double least_tpot = 0;         // s, likewise
};

// Lists of the search as they are used, defaults filled in.
SearchSpace filled(const Deployment& setup);

// Why nothing will do, and the least TTFT and TPOT that can be had.
std::string nothing_text(const SearchResult& result);

// Errors: invalid_input where there are more than a million combinations.
Result<SearchResult> search(const Deployment& setup, const SearchSpace& space);

}  // namespace photonrail::inference
