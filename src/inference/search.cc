#include "inference/search.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::inference {
namespace {

constexpr std::int64_t kGpusByDefault = 16;
constexpr std::int64_t kBatchByDefault = 1024;
constexpr std::int64_t kStagesByDefault = 8;
constexpr std::int64_t kCombinationsMax = 1'000'000;

std::vector<std::int64_t> powers_of_two(std::int64_t last) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= last; n *= 2) all.push_back(n);
  return all;
}

bool within(const Outcome& o, const SearchSpace& space) {
  return (!space.ttft_limit || o.times.ttft <= to_seconds(*space.ttft_limit)) &&
         (!space.tpot_limit || o.times.tpot <= to_seconds(*space.tpot_limit));
}

// Larger is better.
double merit(const Outcome& o, Objective objective) {
  switch (objective) {
    case Objective::throughput_per_gpu: return o.per_gpu;
    case Objective::throughput: return o.times.tokens_per_second;
    case Objective::ttft: return -o.times.ttft;
    case Objective::tpot: return -o.times.tpot;
    case Objective::energy_per_token: return -o.joules_per_token;
  }
  return 0;
}

// Keeps of outcomes in order of trial those that none beats in both throughput per GPU and time per token.
std::vector<Outcome> pareto(std::vector<Outcome> all) {
  std::stable_sort(all.begin(), all.end(), [](const Outcome& a, const Outcome& b) {
    return a.times.tpot != b.times.tpot ? a.times.tpot < b.times.tpot : a.per_gpu > b.per_gpu;
  });
  std::vector<Outcome> front;
  for (const Outcome& o : all) {
    if (front.empty() || o.per_gpu > front.back().per_gpu) front.push_back(o);
  }
  return front;
}

// Every Parallel of the space, in order; expert degrees of 0 stand for all ranks of a stage.
std::vector<Parallel> degrees_of(const Deployment& setup, const SearchSpace& space) {
  std::vector<Parallel> all;
  for (const std::int64_t tensor : space.tensor) {
    for (const std::int64_t pipeline : space.pipeline) {
      for (const std::int64_t copies : space.attention_data) {
        for (const std::int64_t expert : space.expert) {
          const Parallel p{tensor, pipeline, expert == 0 ? tensor * copies : expert, copies, setup.domain};
          const bool seen = std::any_of(all.begin(), all.end(), [&](const Parallel& q) {
            return q.tensor == p.tensor && q.pipeline == p.pipeline && q.expert == p.expert &&
                   q.attention_data == p.attention_data;
          });
          if (p.gpus() <= space.gpus && (tensor * copies) % p.expert == 0 && !seen) all.push_back(p);
        }
      }
    }
  }
  return all;
}

class Searcher {
 public:
  Searcher(const Deployment& setup, const SearchSpace& space) : setup_(setup), space_(space) {}

  void add(const Parallel& parallel) {
    Result<Plan> plan = compile(setup_, parallel);
    if (!plan) {
      ++result_.indivisible;
      return;
    }
    const Plans plans{std::move(*plan), std::nullopt};
    const double largest = plans.decode.largest_batch(longest_context(setup_.request));
    for (const Mode mode : space_.modes) {
      for (const double batch : batches(largest)) add(plans, mode, parallel, batch, largest);
    }
  }

  SearchResult take() {
    result_.front = pareto(std::move(kept_));
    return std::move(result_);
  }

 private:
  std::vector<double> batches(double largest) const {
    std::vector<double> all(space_.batches.begin(), space_.batches.end());
    const bool fill_up = setup_.scenario.search.batches.empty();
    if (fill_up && largest >= 1 && std::find(all.begin(), all.end(), largest) == all.end()) {
      all.push_back(std::min(largest, static_cast<double>(setup_.engine.largest_batch)));
    }
    return all;
  }

  void add(const Plans& plans, Mode mode, const Parallel& parallel, double batch, double largest) {
    if (batch > largest) {
      ++result_.too_large;
      return;
    }
    Candidate candidate;
    candidate.mode = mode;
    candidate.parallel = parallel;
    candidate.batch = batch;
    candidate.decode_batch = batch;
    const Outcome outcome = evaluate(setup_, plans, candidate);
    ++result_.tried;
    if (!within(outcome, space_)) {
      ++result_.too_slow;
      return;
    }
    if (!result_.best || merit(outcome, space_.objective) > merit(*result_.best, space_.objective)) {
      result_.best = outcome;
    }
    kept_.push_back(outcome);
  }

  const Deployment& setup_;
  const SearchSpace& space_;
  SearchResult result_;
  std::vector<Outcome> kept_;
};

}  // namespace

SearchSpace filled(const Deployment& setup) {
  SearchSpace space = setup.scenario.search;
  const bool sparse = setup.model.experts > 0;
  if (space.gpus == 0) space.gpus = std::min(setup.domain, kGpusByDefault);
  if (space.tensor.empty()) space.tensor = powers_of_two(space.gpus);
  if (space.pipeline.empty()) space.pipeline = powers_of_two(std::min(space.gpus, kStagesByDefault));
  if (space.attention_data.empty()) {
    space.attention_data = sparse ? powers_of_two(space.gpus) : std::vector<std::int64_t>{1};
  }
  if (space.expert.empty()) space.expert = sparse ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{1};
  if (space.batches.empty()) space.batches = powers_of_two(kBatchByDefault);
  if (space.modes.empty()) space.modes = {Mode::static_batch, Mode::continuous};
  return space;
}

Result<SearchResult> search(const Deployment& setup, const SearchSpace& space) {
  const std::vector<Parallel> degrees = degrees_of(setup, space);
  const auto combinations = static_cast<std::int64_t>(degrees.size() * (space.batches.size() + 1) * space.modes.size());
  if (combinations > kCombinationsMax) {
    return fail(ErrorCode::invalid_input, fmt::format("[search] has {} combinations; at most {} are tried\n  hint: "
                                                      "shorten a list",
                                                      combinations, kCombinationsMax));
  }
  Searcher searcher(setup, space);
  for (const Parallel& parallel : degrees) searcher.add(parallel);
  return searcher.take();
}

}  // namespace photonrail::inference
