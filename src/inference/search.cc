#include "inference/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "report/human.h"

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

// Numbers of prefill and decode workers that together use at most `gpus` GPUs.
struct Workers {
  std::int64_t prefill = 0;
  std::int64_t decode = 0;
};
std::vector<Workers> workers_of(std::int64_t prefill_gpus, std::int64_t decode_gpus, std::int64_t gpus) {
  std::vector<Workers> all;
  for (std::int64_t prefill = 1; prefill * prefill_gpus < gpus; ++prefill) {
    const std::int64_t left = gpus - prefill * prefill_gpus;
    for (std::int64_t decode = 1; decode * decode_gpus <= left; ++decode) all.push_back({prefill, decode});
  }
  return all;
}

bool searches(const SearchSpace& space, Mode mode) {
  return std::find(space.modes.begin(), space.modes.end(), mode) != space.modes.end();
}

std::int64_t combinations_of(const std::vector<Parallel>& degrees, const SearchSpace& space) {
  const auto batches = static_cast<std::int64_t>(space.batches.size() + 1);
  auto together = static_cast<std::int64_t>(degrees.size() * space.modes.size());
  if (!searches(space, Mode::disaggregated)) return together * batches;
  for (const Parallel& prefill : degrees) {
    for (const Parallel& decode : degrees) {
      if (together > kCombinationsMax) return together;
      together += static_cast<std::int64_t>(workers_of(prefill.gpus(), decode.gpus(), space.gpus).size());
    }
  }
  return together * batches;
}

class Searcher {
 public:
  Searcher(const Deployment& setup, const SearchSpace& space) : setup_(setup), space_(space) {}

  SearchResult run(const std::vector<Parallel>& degrees) {
    std::vector<Plan> plans;
    for (const Parallel& parallel : degrees) {
      Result<Plan> plan = compile(setup_, parallel);
      if (plan) {
        plans.push_back(std::move(*plan));
      } else {
        ++result_.indivisible;
      }
    }
    for (const Plan& plan : plans) add_whole(plan);
    if (searches(space_, Mode::disaggregated)) add_apart(plans);
    if (result_.best && result_.best->candidate.mode == Mode::disaggregated) refine_apart();
    result_.front = pareto(std::move(kept_));
    return std::move(result_);
  }

 private:
  // Prefill and decode on the same GPUs.
  void add_whole(const Plan& plan) {
    const Plans plans{plan, std::nullopt};
    const double largest = plan.largest_batch(longest_context(setup_.request));
    for (const Mode mode : space_.modes) {
      if (mode == Mode::disaggregated) continue;
      Candidate candidate;
      candidate.mode = mode;
      candidate.parallel = plan.parallel();
      std::optional<Outcome> best;
      for (const double batch : batches(largest)) {
        candidate.batch = candidate.decode_batch = batch;
        keep_better(best, add(plans, candidate, largest));
      }
      if (best) refine(plans, *best, largest, 1);
    }
  }

  // A hill climb by halving steps from the best of the powers of two, which lie a factor of two apart. Only where it
  // ends goes to the front.
  void refine(const Plans& plans, const Outcome& from, double largest, double workers) {
    if (!refines()) return;
    std::optional<Outcome> best = from;
    const auto better_at = [&](double batch) {
      if (batch < 1 || batch > largest * workers) return false;
      Candidate candidate = best->candidate;
      candidate.batch = batch;
      candidate.decode_batch = std::ceil(batch / workers);
      return keep_better(best, add(plans, candidate, largest, false));
    };
    for (double step = std::floor(from.candidate.batch / 2); step >= 1; step = std::floor(step / 2)) {
      if (!better_at(best->candidate.batch + step)) better_at(best->candidate.batch - step);
    }
    if (best->candidate.batch != from.candidate.batch) kept_.push_back(*best);
  }

  void refine_apart() {
    const Outcome from = *result_.best;
    const Result<Plans> plans = compile(setup_, from.candidate);
    PR_CHECK(plans.has_value(), "a candidate that was evaluated");
    refine(*plans, from, from.largest_batch, from.candidate.decode_workers);
  }

  bool refines() const { return setup_.scenario.search.batches.empty(); }

  bool keep_better(std::optional<Outcome>& best, const std::optional<Outcome>& outcome) const {
    if (!outcome || (best && merit(*outcome, space_.objective) <= merit(*best, space_.objective))) return false;
    best = outcome;
    return true;
  }

  void add_apart(const std::vector<Plan>& all) {
    for (const Plan& decode : all) {
      const double largest = decode.largest_batch(longest_context(setup_.request));
      if (largest < 1) continue;
      for (const Plan& prefill : all) {
        if (!prefill.memory(1, setup_.request.input).fits()) continue;
        const Plans plans{decode, prefill};
        for (const Workers& workers : workers_of(prefill.gpus(), decode.gpus(), space_.gpus)) {
          add_workers(plans, workers, largest);
        }
      }
    }
  }

  void add_workers(const Plans& plans, const Workers& workers, double largest) {
    Candidate candidate;
    candidate.mode = Mode::disaggregated;
    candidate.parallel = plans.decode.parallel();
    candidate.prefill = plans.prefill->parallel();
    candidate.prefill_workers = static_cast<double>(workers.prefill);
    candidate.decode_workers = static_cast<double>(workers.decode);
    for (const double batch : batches(largest * candidate.decode_workers)) {
      candidate.batch = batch;
      candidate.decode_batch = std::ceil(batch / candidate.decode_workers);
      add(plans, candidate, largest);
    }
  }

  std::vector<double> batches(double largest) const {
    std::vector<double> all(space_.batches.begin(), space_.batches.end());
    if (refines() && largest >= 1 && std::find(all.begin(), all.end(), largest) == all.end()) all.push_back(largest);
    return all;
  }

  // `largest`: of one instance, or of one decode worker. Nothing where the candidate does not fit or is too slow.
  std::optional<Outcome> add(const Plans& plans, const Candidate& candidate, double largest, bool keep = true) {
    if (candidate.decode_batch > largest) {
      ++result_.too_large;
      return std::nullopt;
    }
    // From a pool each candidate gets a rate of its own.
    const Result<Outcome> evaluated = setup_.pool ? evaluate(setup_, candidate) : evaluate(setup_, plans, candidate);
    if (!evaluated) {
      ++result_.too_large;
      return std::nullopt;
    }
    const Outcome& outcome = *evaluated;
    const bool first = result_.tried == 0;
    ++result_.tried;
    result_.least_ttft = first ? outcome.times.ttft : std::min(result_.least_ttft, outcome.times.ttft);
    result_.least_tpot = first ? outcome.times.tpot : std::min(result_.least_tpot, outcome.times.tpot);
    if (!within(outcome, space_)) {
      ++result_.too_slow;
      return std::nullopt;
    }
    keep_better(result_.best, outcome);
    if (keep) kept_.push_back(outcome);
    return outcome;
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

std::string nothing_text(const SearchResult& result) {
  std::string text = fmt::format(
      "no configuration of [search] will do: {} do not fit the memory, {} of {} that fit are beyond a limit, {} sets "
      "of "
      "degrees do not divide the model",
      result.too_large, result.too_slow, result.tried, result.indivisible);
  if (result.tried > 0) {
    text += fmt::format("; of those that fit the least TTFT is {}", report::human(result.least_ttft, "s"));
    if (result.least_tpot > 0) {
      text += fmt::format(" and the least TPOT {} (not of one configuration)", report::human(result.least_tpot, "s"));
    }
  }
  return text + "\n  hint: raise the limits or search.gpus, or lower search.batches";
}

Result<SearchResult> search(const Deployment& setup, const SearchSpace& space) {
  const std::vector<Parallel> degrees = degrees_of(setup, space);
  if (combinations_of(degrees, space) > kCombinationsMax) {
    return fail(ErrorCode::invalid_input,
                fmt::format("[search] has more than {} combinations\n  hint: shorten a list", kCombinationsMax));
  }
  return Searcher(setup, space).run(degrees);
}

}  // namespace photonrail::inference
