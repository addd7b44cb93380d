// T2, T3, T4: one chip on the pool against a DGX H100, and two of them.
//
// What the paper leaves open, and the rule by which it is chosen here:
//   lengths and batches   the grid that it validates on: inputs of 1 to 2048 tokens (with 512 out, assumed), outputs of
//                         32 to 2048 (with 512 in), batches of 1 to 64, static batches, the same on both sides;
//   normalisation         per compute chip: the published 3.66 is the ratio of the published utilisations, 49.7 / 13.6;
//   "up to"               throughput: the largest batch of its list, and of its lengths the one that gains most;
//                         latency: the largest gain of a decode step over its batches;
//   formats               FP8 weights and cache, as its baselines;
//   utilisation           the calibrated curves of the H100, carried over to the pool's rate, as the paper does;
//   1T                    the shape of Megatron's model of 10^12 parameters; 16 GPUs as TP8 in a box, two pipeline stages.
// Physically consistent figures stand beside: the same chip at rates from one port to the published one, against the
// same baseline and against the best configuration that a search finds, both sides free in batch and batching.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "inference/metrics.h"
#include "inference/search.h"
#include "photonic_fabric/rows.h"
#include "pool/reader_rate.h"
#include "pool/text.h"

namespace photonrail::photonic_fabric {
namespace {

using inference::Dtype;
using inference::Plan;
using inference::RequestShape;
using inference::RequestTimes;

constexpr double kPublishedRate = 26.8e12;
constexpr std::array<double, 7> kBatches = {1, 2, 4, 8, 16, 32, 64};
constexpr std::array<RequestShape, 15> kShapes = {{{1, 512}, {32, 512}, {64, 512}, {128, 512}, {256, 512}, {512, 512},
                                                   {1024, 512}, {2048, 512}, {512, 32}, {512, 64}, {512, 128},
                                                   {512, 256}, {512, 512}, {512, 1024}, {512, 2048}}};
constexpr RequestShape kMiddle = {512, 512};

struct Rung {
  double rate;  // bytes/s
  const char* id;
  const char* what;
};
constexpr std::array<Rung, 5> kRates = {{{0.9e12, "0.9TBs", "one port of 7.2 Tb/s"},
                                         {3.35e12, "3.35TBs", "the H100's own memory"},
                                         {7.2e12, "7.2TBs", "eight ports"},
                                         {14.4e12, "14.4TBs", "all sixteen ports of the appliance"},
                                         {26.8e12, "26.8TBs", "as published: no cut carries it"}}};

// One side of a comparison, compiled once.
struct Side {
  inference::Deployment setup;
  Plan plan;
};

inference::InferenceScenario scenario_of(const std::string& model, const inference::ParallelChoice& parallel) {
  inference::InferenceScenario s;
  s.model.catalog = model;
  s.model.weights = Dtype::fp8;
  s.model.kv = Dtype::fp8;
  s.gpu.catalog = "H100";
  s.parallel = parallel;
  s.serving.input = static_cast<std::int64_t>(kMiddle.input);
  s.serving.output = static_cast<std::int64_t>(kMiddle.output);
  s.serving.batch = 1;
  return s;
}

Result<Side> side_of(const inference::InferenceScenario& scenario, const catalog::Catalog& catalog) {
  PR_ASSIGN(inference::Deployment setup, inference::resolve(scenario, catalog));
  const auto parallel = inference::parallel_of(scenario.parallel, setup.domain);
  PR_ASSIGN(Plan plan, inference::compile(setup, parallel));
  return Side{std::move(setup), std::move(plan)};
}

inference::InferenceScenario pool_scenario(const std::string& model, double rate, Bytes capacity) {
  inference::InferenceScenario s = scenario_of(model, {});
  s.memory.rate = Rate{static_cast<std::int64_t>(rate * 8)};
  s.memory.capacity = capacity;
  s.memory.source = "photonic pool";
  s.memory.as_published = true;
  return s;
}

double per_chip(const Side& side, const RequestTimes& times) {
  return times.tokens_per_second / static_cast<double>(side.plan.gpus());
}

// A claim about one model.
struct Claim {
  const char* throughput_id;
  const char* latency_id;
  const char* model;
  inference::ParallelChoice baseline;
  std::int64_t gpus;
  double throughput_gain;
  double latency_gain;
  const char* section;
};

struct Gain {
  RequestShape shape;
  double batch = 0;
  double value = 0;
  RequestTimes base;
  RequestTimes pool;
};

// The largest batch of the list that fits the baseline; of the lengths the one with the largest gain per chip.
std::optional<Gain> throughput_gain(const Side& base, const Side& pool) {
  std::optional<Gain> best;
  for (const RequestShape& shape : kShapes) {
    const double fits = base.plan.largest_batch(shape.input + shape.output);
    double batch = 0;
    for (const double b : kBatches) {
      if (b <= fits) batch = b;
    }
    if (batch < 1) continue;
    Gain gain{shape, batch, 0, static_batch(base.plan, batch, shape), static_batch(pool.plan, batch, shape)};
    gain.value = per_chip(pool, gain.pool) / per_chip(base, gain.base);
    if (!best || batch > best->batch || (batch >= best->batch && gain.value > best->value)) best = gain;
  }
  return best;
}

struct StepGain {
  double batch = 0;
  double value = 0;
  inference::StepTime base;
  inference::StepTime pool;
};

// Of a decode step, over the batches that fit the baseline.
StepGain latency_gain(const Side& base, const Side& pool) {
  const double context = kMiddle.input + kMiddle.output / 2;
  StepGain best;
  for (const double batch : kBatches) {
    if (batch > base.plan.largest_batch(kMiddle.input + kMiddle.output)) continue;
    StepGain gain{batch, 0, base.plan.decode(batch, context), pool.plan.decode(batch, context)};
    gain.value = gain.base.seconds / gain.pool.seconds;
    if (gain.value > best.value) best = gain;
  }
  return best;
}

std::string shape_text(const RequestShape& s) { return fmt::format("{:.0f} tokens in, {:.0f} out", s.input, s.output); }

class ClaimRows {
 public:
  ClaimRows(const Claim& claim, const catalog::Catalog& catalog) : claim_(claim), catalog_(catalog) {}

  Status add_all(Rows& rows) {
    PR_ASSIGN(const Side base, side_of(scenario_of(claim_.model, claim_.baseline), catalog_));
    PR_ASSIGN(const Side pool, side_of(pool_scenario(claim_.model, kPublishedRate, whole_pool()), catalog_));
    add_throughput(base, pool, rows);
    add_latency(base, pool, rows);
    PR_TRY(add_ladder(base, rows));
    return add_break_even(base, rows);
  }

 private:
  static Bytes whole_pool() { return pool::System{}.module.ddr * pool::System{}.modules(); }

  std::string sides() const {
    return fmt::format("{} FP8: one H100 on 26.8 TB/s (as published) against {} H100 (TP{}{})", claim_.model,
                       claim_.gpus, claim_.baseline.tensor,
                       claim_.baseline.pipeline > 1 ? fmt::format(" x PP{}", claim_.baseline.pipeline) : "");
  }

  void add_throughput(const Side& base, const Side& pool, Rows& rows) {
    const std::string id = claim_.throughput_id;
    const auto gain = throughput_gain(base, pool);
    if (!gain) {
      rows.push_back(refused_row(id + "/throughput_gain", sides(), "throughput per chip, gain", "times",
                                 claim_.throughput_gain, paper(claim_.section),
                                 {ErrorCode::infeasible, "no batch of the paper's list fits the baseline's memory"}));
      return;
    }
    const std::string name = fmt::format("{}, static batch {:.0f}, {}", sides(), gain->batch, shape_text(gain->shape));
    batch_ = gain->batch;
    shape_ = gain->shape;
    rows.push_back(row(id + "/throughput_gain", name, "output tokens/s per chip, gain", "times", claim_.throughput_gain,
                       gain->value, paper(claim_.section)));
    const bool first = std::string_view(claim_.throughput_id) == "T2";
    const auto mfu = [&](const char* what, std::optional<double> published, double ours) {
      const std::string part = fmt::format("{}/{}mfu/{}", id, first ? "" : "own/", what);
      rows.push_back(row(part, name, fmt::format("MFU of the {} (of 1,979 TFLOP/s a chip)", what), "ratio",
                         first ? published : std::nullopt, ours,
                         first ? paper("6.2") : "own model; no figure is published"));
    };
    mfu("baseline", 0.136, gain->base.mfu);
    mfu("pool", 0.497, gain->pool.mfu);
    rows.push_back(own_row(id + "/own/throughput_gain/per_box", name,
                           "output tokens/s, one chip on the pool over the whole baseline", "times",
                           gain->pool.tokens_per_second / gain->base.tokens_per_second));
  }

  void add_latency(const Side& base, const Side& pool, Rows& rows) {
    const std::string id = claim_.latency_id;
    const StepGain gain = latency_gain(base, pool);
    const std::string name =
        fmt::format("{}: a decode step of batch {:.0f} at 768 tokens, where the gain is largest", sides(), gain.batch);
    rows.push_back(row(id + "/latency_gain", name, "decode latency, gain", "times", claim_.latency_gain, gain.value,
                       paper(claim_.section)));
    if (std::string_view(claim_.latency_id) != "T3") return;
    add_decode_closed_form(base, gain, rows);
    rows.push_back(own_row(id + "/own/decode/pool", name, "decode step, one chip on 26.8 TB/s, calibrated kernels", "s",
                           gain.pool.seconds));
    rows.push_back(own_row(id + "/own/decode/baseline", name, "decode step, 8 GPUs, calibrated kernels", "s",
                           gain.base.seconds));
    rows.push_back(own_row(id + "/own/decode/collectives", name, "of it all-reduces", "s", gain.base.collective));
  }

  // Bytes over bandwidth on both sides, and the measured all-reduces of the baseline: two in each layer.
  void add_decode_closed_form(const Side& base, const StepGain& gain, Rows& rows) {
    const double weights = static_cast<double>(base.plan.parameters());
    const double read = weights / kPublishedRate;
    const auto& model = base.setup.model;
    const auto reduce = base.setup.kernels.collective(operators::Collective::all_reduce, {8, 8},
                                                      operators::CollectiveLibrary::nccl);
    const double bytes = gain.batch * static_cast<double>(model.hidden) * 2;
    const double each = reduce.at(bytes).seconds;
    const std::string name = fmt::format(
        "405B FP8: weights at the full 26.8 TB/s on both sides; baseline + {} all-reduces over 8 H100, NCCL as measured, "
        "of {} (batch {:.0f}): {:.1f} us each",
        2 * model.layers, pool::size_text(bytes), gain.batch, each * 1e6);
    rows.push_back(row("T3/decode/pool", name, "decode step on the pool", "s", 0.0151, read, paper("6.2, by arithmetic")));
    rows.push_back(row("T3/decode/baseline", name, "decode step on 8 GPUs", "s", 0.0212,
                       read + 2 * static_cast<double>(model.layers) * each, paper("6.2, by arithmetic")));
  }

  // What a search finds for the baseline's GPUs and for a chip on the pool, each free in batch and batching.
  Result<inference::Outcome> best(inference::InferenceScenario s, std::int64_t gpus, inference::Objective objective) {
    s.search.gpus = gpus;
    s.search.objective = objective;
    s.serving.input = static_cast<std::int64_t>(shape_.input);
    s.serving.output = static_cast<std::int64_t>(shape_.output);
    PR_ASSIGN(const inference::Deployment setup, inference::resolve(s, catalog_));
    PR_ASSIGN(const inference::SearchResult found, inference::search(setup, inference::filled(setup)));
    if (!found.best) return fail(ErrorCode::infeasible, "no configuration fits");
    return *found.best;
  }

  static std::string outcome_text(const inference::Outcome& o) {
    const auto& p = o.candidate.parallel;
    return fmt::format("TP{} PP{}, {} {:.0f}", p.tensor, p.pipeline, config::enum_name(o.candidate.mode),
                       o.candidate.batch);
  }

  Status add_ladder(const Side& base, Rows& rows) {
    using inference::Objective;
    const auto baseline = scenario_of(claim_.model, claim_.baseline);
    PR_ASSIGN(const auto best_rate, best(baseline, claim_.gpus, Objective::throughput_per_gpu));
    PR_ASSIGN(const auto best_step, best(baseline, claim_.gpus, Objective::tpot));
    const RequestTimes fixed = static_batch(base.plan, batch_, shape_);
    const double context = kMiddle.input + kMiddle.output / 2;
    for (const Rung& rung : kRates) {
      const auto scenario = pool_scenario(claim_.model, rung.rate, whole_pool());
      PR_ASSIGN(const Side chip, side_of(scenario, catalog_));
      PR_ASSIGN(const auto chip_rate, best(scenario, 1, Objective::throughput_per_gpu));
      PR_ASSIGN(const auto chip_step, best(scenario, 1, Objective::tpot));
      const std::string name =
          fmt::format("{} FP8, one chip at {} ({}), {}", claim_.model, pool::byte_rate_text(rung.rate), rung.what,
                      shape_text(shape_));
      const std::string t = fmt::format("{}/own/gain/{}/", claim_.throughput_id, rung.id);
      const std::string l = fmt::format("{}/own/gain/{}/", claim_.latency_id, rung.id);
      rows.push_back(own_row(t + "throughput_paper_baseline", name,
                             fmt::format("tokens/s per chip over the paper's baseline, both static batch {:.0f}", batch_),
                             "times", per_chip(chip, static_batch(chip.plan, batch_, shape_)) / per_chip(base, fixed)));
      rows.push_back(own_row(t + "throughput_best_baseline", name,
                             fmt::format("tokens/s per chip, best against best ({} over {})", outcome_text(chip_rate),
                                         outcome_text(best_rate)),
                             "times", chip_rate.per_gpu / best_rate.per_gpu));
      rows.push_back(own_row(l + "latency_paper_baseline", name, "decode step of batch 1 over the paper's baseline",
                             "times", base.plan.decode(1, context).seconds / chip.plan.decode(1, context).seconds));
      rows.push_back(own_row(l + "latency_best_baseline", name,
                             fmt::format("time per output token, best against best ({} over {})",
                                         outcome_text(chip_step), outcome_text(best_step)),
                             "times", best_step.times.tpot / chip_step.times.tpot));
    }
    return {};
  }

  // Pool bandwidth at which a decode step of batch 1 takes as long as the baseline's; by bisection, it only gets shorter
  // with the rate.
  Status add_break_even(const Side& base, Rows& rows) {
    const double context = kMiddle.input + kMiddle.output / 2;
    const double target = base.plan.decode(1, context).seconds;
    double low = 0.1e12;
    double high = 1000e12;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      PR_ASSIGN(const Side chip, side_of(pool_scenario(claim_.model, middle, whole_pool()), catalog_));
      (chip.plan.decode(1, context).seconds > target ? low : high) = middle;
    }
    const std::string id = fmt::format("{}/own/break_even/pool_bandwidth", claim_.latency_id);
    const std::string name = fmt::format("{} FP8: one chip on a pool against {} H100, decode step of batch 1",
                                         claim_.model, claim_.gpus);
    rows.push_back(own_row(id, name, "pool bandwidth at which both take the same time", "B/s", high));
    PR_ASSIGN(const pool::Resolved system, pool::resolve(pool::System{}, catalog_));
    PR_ASSIGN(const pool::EffectiveRate possible, pool::effective_rate(system, {.sharers = 1}));
    rows.push_back(own_row(fmt::format("{}/own/break_even/over_possible", claim_.latency_id), name,
                           fmt::format("that bandwidth over what one port gives ({})", pool::byte_rate_text(possible.rate)),
                           "times", high / possible.rate));
    return {};
  }

  const Claim& claim_;
  const catalog::Catalog& catalog_;
  double batch_ = 1;
  RequestShape shape_ = kMiddle;
};

constexpr Claim kClaims[] = {
    {"T2", "T3", "llama-3.1-405b", {8, 1, 1, 1}, 8, 3.66, 1.40, "6.2"},
    {"T4", "T4", "megatron-1t", {8, 2, 1, 1}, 16, 7.04, 1.41, "6.2"},
};

}  // namespace

Result<Rows> inference_rows(const catalog::Catalog& catalog, const std::vector<std::string>& only) {
  Rows rows;
  for (const Claim& claim : kClaims) {
    if (!wanted(only, claim.throughput_id) && !wanted(only, claim.latency_id)) continue;
    ClaimRows maker(claim, catalog);
    if (const Status made = maker.add_all(rows); !made) {
      rows.push_back(refused_row(fmt::format("{}/refused", claim.throughput_id), claim.model, "throughput and latency",
                                 "times", std::nullopt, paper(claim.section), made.error()));
    }
  }
  return rows;
}

}  // namespace photonrail::photonic_fabric
