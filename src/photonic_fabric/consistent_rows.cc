// Beside T2 to T4: the same comparison by the calibrated kernels of src/inference, at rates from one port to the
// published one, against the paper's baseline and against the best that a search over parallelism, batch and batching
// finds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inference/metrics.h"
#include "inference/search.h"
#include "photonic_fabric/claims.h"
#include "pool/reader_rate.h"
#include "pool/text.h"

namespace photonrail::photonic_fabric {
namespace {

using inference::Dtype;
using inference::Objective;
using inference::Outcome;
using inference::Plan;
using inference::RequestTimes;

struct Rung {
  double rate;  // bytes/s
  const char* id;
  const char* what;
};
constexpr std::array<Rung, 5> kRates = {{{0.9e12, "0.9TBs", "one port of 7.2 Tb/s"},
                                         {3.35e12, "3.35TBs", "the rate of an H100's own memory"},
                                         {7.2e12, "7.2TBs", "eight ports"},
                                         {14.4e12, "14.4TBs", "all sixteen ports of the appliance"},
                                         {26.8e12, "26.8TBs", "as published: no cut carries it"}}};

// A side of the comparison, compiled once.
struct Side {
  Plan plan;
  RequestTimes times;
  double per_chip() const { return times.tokens_per_second / static_cast<double>(plan.gpus()); }
  double decode(const Configuration& c, double batch) const {
    return plan.decode(batch, c.input + c.output / 2).seconds;
  }
};

Result<Side> side_of(const inference::InferenceScenario& s, const Configuration& c, const catalog::Catalog& catalog) {
  PR_ASSIGN(const inference::Deployment setup, inference::resolve(s, catalog));
  PR_ASSIGN(Plan plan, inference::compile(setup, inference::parallel_of(s.parallel, setup.domain)));
  const RequestTimes times = inference::static_batch(plan, c.batch, {c.input, c.output});
  return Side{std::move(plan), times};
}

Result<Outcome> best(inference::InferenceScenario s, std::int64_t gpus, Objective objective,
                     const catalog::Catalog& catalog) {
  s.search.gpus = gpus;
  s.search.objective = objective;
  PR_ASSIGN(const inference::Deployment setup, inference::resolve(s, catalog));
  PR_ASSIGN(const inference::SearchResult found, inference::search(setup, inference::filled(setup)));
  if (!found.best) return fail(ErrorCode::infeasible, "no configuration of the baseline fits its memory");
  return *found.best;
}

std::string text_of(const Outcome& o) {
  const auto& p = o.candidate.parallel;
  return fmt::format("TP{} PP{}, {} {:g}", p.tensor, p.pipeline, config::enum_name(o.candidate.mode),
                     o.candidate.batch);
}

class ConsistentRows {
 public:
  ConsistentRows(const Claim& claim, const Configuration& c, const catalog::Catalog& catalog, Rows& rows)
      : claim_(claim), at_(c), catalog_(catalog), rows_(rows), gpus_(8 * claim.boxes) {}

  Status add_all() {
    PR_ASSIGN(const Side baseline, side_of(baseline_scenario(claim_, at_), at_, catalog_));
    add_baseline(baseline);
    PR_ASSIGN(const Outcome by_rate,
              best(baseline_scenario(claim_, at_), gpus_, Objective::throughput_per_gpu, catalog_));
    PR_ASSIGN(const Outcome by_step, best(baseline_scenario(claim_, at_), gpus_, Objective::tpot, catalog_));
    add(claim_.throughput_id, "best_baseline/mfu", baseline_text(),
        fmt::format("MFU of the best baseline by tokens/s per chip ({})", text_of(by_rate)), "ratio",
        by_rate.times.mfu);
    for (const Rung& rung : kRates) PR_TRY(add_rung(rung, baseline, by_rate, by_step));
    return add_break_even(baseline);
  }

 private:
  void add(const char* claim, const std::string& id, const std::string& name, std::string quantity, std::string unit,
           double value) {
    rows_.push_back(own_row(fmt::format("{}/own/{}", claim, id), name, std::move(quantity), std::move(unit), value));
  }

  std::string baseline_text() const {
    return fmt::format("{} FP8 on {} H100, calibrated kernels; {:g} tokens in, {:g} out", claim_.model, gpus_,
                       at_.input, at_.output);
  }

  void add_baseline(const Side& baseline) {
    const std::string name = fmt::format("{}; the paper's baseline, batch {:g} (basis {})", baseline_text(), at_.batch,
                                         operators::name_of(baseline.times.basis));
    add(claim_.throughput_id, "calibrated/mfu/baseline", name, "MFU", "ratio", baseline.times.mfu);
    add(claim_.latency_id, "calibrated/decode/baseline", name, "decode step", "s", baseline.decode(at_, at_.batch));
    const auto use = baseline.plan.memory(at_.batch, at_.input + at_.output);
    add(claim_.throughput_id, "calibrated/memory", name, "memory of one GPU in use, over its capacity", "ratio",
        (use.total() + use.reserve) / use.capacity);
  }

  Status add_rung(const Rung& rung, const Side& baseline, const Outcome& by_rate, const Outcome& by_step) {
    const auto scenario = pool_scenario(claim_, at_, rung.rate);
    PR_ASSIGN(const Side chip, side_of(scenario, at_, catalog_));
    PR_ASSIGN(const Outcome chip_rate, best(scenario, 1, Objective::throughput_per_gpu, catalog_));
    PR_ASSIGN(const Outcome chip_step, best(scenario, 1, Objective::tpot, catalog_));
    const std::string name = fmt::format(
        "{} FP8, one chip at {} ({}), calibrated kernels (basis {}); {:g} tokens in, {:g} out", claim_.model,
        pool::byte_rate_text(rung.rate), rung.what, operators::name_of(chip.times.basis), at_.input, at_.output);
    const std::string id = fmt::format("gain/{}/", rung.id);
    add(claim_.throughput_id, id + "throughput_paper_baseline", name,
        fmt::format("tokens/s per chip over the paper's baseline, both batch {:g}", at_.batch), "times",
        chip.per_chip() / baseline.per_chip());
    add(claim_.throughput_id, id + "throughput_best_baseline", name,
        fmt::format("tokens/s per chip, best ({}) over best ({})", text_of(chip_rate), text_of(by_rate)), "times",
        chip_rate.per_gpu / by_rate.per_gpu);
    add(claim_.latency_id, id + "latency_paper_baseline", name,
        fmt::format("decode latency over the paper's baseline, both batch {:g}", at_.batch), "times",
        baseline.decode(at_, at_.batch) / chip.decode(at_, at_.batch));
    add(claim_.latency_id, id + "latency_best_baseline", name,
        fmt::format("time per token, best ({}) over best ({})", text_of(chip_step), text_of(by_step)), "times",
        by_step.times.tpot / chip_step.times.tpot);
    return {};
  }

  // By bisection in the logarithm: a decode step only gets shorter with the rate, down to what does not read the pool.
  Status add_break_even(const Side& baseline) {
    const double target = baseline.decode(at_, 1);
    const std::string name = fmt::format("{}; one chip on a pool, decode step of batch 1", baseline_text());
    double low = 0.1e12;
    double high = 1000e12;
    PR_ASSIGN(const Side fastest, side_of(pool_scenario(claim_, at_, high), at_, catalog_));
    if (fastest.decode(at_, 1) > target) {
      rows_.push_back(refused_row(fmt::format("{}/own/break_even/bandwidth", claim_.latency_id), name,
                                  "pool bandwidth at which both take the same time", "B/s", std::nullopt, "own model",
                                  {ErrorCode::infeasible, "no bandwidth makes one chip as quick as the baseline"}));
      return {};
    }
    for (int i = 0; i < 50; ++i) {
      const double middle = std::sqrt(low * high);
      PR_ASSIGN(const Side chip, side_of(pool_scenario(claim_, at_, middle), at_, catalog_));
      (chip.decode(at_, 1) > target ? low : high) = middle;
    }
    add(claim_.latency_id, "break_even/bandwidth", name, "pool bandwidth at which both take the same time", "B/s",
        high);
    PR_ASSIGN(const pool::Resolved system, pool::resolve(pool::System{}, catalog_));
    PR_ASSIGN(const pool::EffectiveRate possible, pool::effective_rate(system, {.sharers = 1}));
    add(claim_.latency_id, "break_even/over_possible", name,
        fmt::format("that bandwidth over what one port gives ({})", pool::byte_rate_text(possible.rate)), "times",
        high / possible.rate);
    return {};
  }

  const Claim& claim_;
  const Configuration at_;
  const catalog::Catalog& catalog_;
  Rows& rows_;
  std::int64_t gpus_;
};

}  // namespace

inference::InferenceScenario baseline_scenario(const Claim& claim, const Configuration& c) {
  inference::InferenceScenario s;
  s.model.catalog = claim.model;
  s.model.weights = Dtype::fp8;
  s.model.kv = Dtype::fp8;
  s.gpu.catalog = "H100";
  s.parallel.tensor = 8;
  s.parallel.pipeline = claim.boxes;
  s.serving.input = static_cast<std::int64_t>(c.input);
  s.serving.output = static_cast<std::int64_t>(c.output);
  s.serving.batch = static_cast<std::int64_t>(c.batch);
  return s;
}

inference::InferenceScenario pool_scenario(const Claim& claim, const Configuration& c, double rate) {
  inference::InferenceScenario s = baseline_scenario(claim, c);
  s.parallel = {};
  s.memory.rate = Rate{static_cast<std::int64_t>(rate * 8)};
  const pool::System system;
  s.memory.capacity = system.module.ddr * system.modules();
  s.memory.source = "photonic pool";
  s.memory.as_published = true;
  return s;
}

Status add_consistent_rows(const Claim& claim, const Configuration& c, const catalog::Catalog& catalog, Rows& rows) {
  return ConsistentRows(claim, c, catalog, rows).add_all();
}

}  // namespace photonrail::photonic_fabric
