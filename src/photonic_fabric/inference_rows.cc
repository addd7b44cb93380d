// T2, T3, T4 by the closed form of the paper's comparison (as_published.h, claims.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "photonic_fabric/claims.h"
#include "pool/text.h"

namespace photonrail::photonic_fabric {
namespace {

constexpr double kBaselineMfu = 0.136;
constexpr double kPoolMfu = 0.497;
constexpr double kChips = 8;  // of a box
constexpr const char* kSection = "6.2";

struct Sides {
  ModelSize model;
  Machine baseline;
  Machine pool;
};

Result<Sides> sides_of(const Claim& claim, const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Model model, catalog.model(claim.model));
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu("H100"));
  PR_ASSIGN(const operators::KernelModel kernels, operators::KernelModel::make(gpu));
  Sides out;
  out.model = size_of(model);
  const double peak = kernels.rates().peak[static_cast<std::size_t>(operators::Dtype::fp8)];
  out.baseline = {kChips, static_cast<double>(claim.boxes), kernels.rates().memory, peak,
                  kernels.collective(operators::Collective::all_reduce, {8, 8}, operators::CollectiveLibrary::custom)};
  out.pool = {1, 1, kPublishedRate, peak, std::nullopt};
  return out;
}

struct Pair {
  Configuration at;
  RequestCost baseline;
  RequestCost pool;
  double gain() const { return pool.tokens_per_second_per_chip / baseline.tokens_per_second_per_chip; }
  double distance() const {
    return std::max(std::fabs(baseline.mfu / kBaselineMfu - 1), std::fabs(pool.mfu / kPoolMfu - 1));
  }
};

Pair pair_of(const Sides& s, const Configuration& c) {
  return {c, request_cost(s.model, s.baseline, kAsPublished, c.batch, c.input, c.output),
          request_cost(s.model, s.pool, kAsPublished, c.batch, c.input, c.output)};
}

struct Search {
  std::optional<Pair> nearest;
  Pair least;
  Pair most;
  int within = 0;  // whose pair is within a tenth of the published one
};

Search search_lists(const Sides& s) {
  Search out;
  for (const double input : kInputs) {
    for (const double output : kOutputs) {
      for (const double batch : kBatches) {
        const Pair pair = pair_of(s, {input, output, batch});
        if (!out.nearest || pair.gain() < out.least.gain()) out.least = pair;
        if (!out.nearest || pair.gain() > out.most.gain()) out.most = pair;
        if (pair.distance() <= 0.1) ++out.within;
        if (!out.nearest || pair.distance() < out.nearest->distance()) out.nearest = pair;
      }
    }
  }
  return out;
}

std::string sides_text(const Claim& claim) {
  return fmt::format("{} FP8: one H100 on 26.8 TB/s (as published) against {} H100 (TP8{})", claim.model,
                     kChips * static_cast<double>(claim.boxes),
                     claim.boxes > 1 ? fmt::format(", {} boxes that take turns", claim.boxes) : "");
}

std::string with_utilisation(const Claim& claim, const Configuration& c) {
  return fmt::format("{}; u_b {:g}, u_f {:g} (as published), all-reduces as measured; {}", sides_text(claim),
                     kAsPublished.bandwidth, kAsPublished.flops, text_of(c));
}

void add_throughput(const Claim& claim, const Sides& s, const Configuration& c, Rows& rows) {
  const Pair pair = pair_of(s, c);
  const std::string id = claim.throughput_id;
  const std::string name = with_utilisation(claim, c);
  const bool published = claim.boxes == 1;
  rows.push_back(row(id + "/throughput_gain", name, "output tokens/s per chip, gain", "times", claim.throughput_gain,
                     pair.gain(), paper(kSection)));
  const std::string what[2] = {"MFU of the baseline, of 1,979 TFLOP/s a chip", "MFU of the chip on the pool"};
  if (published) {
    rows.push_back(row(id + "/mfu/baseline", name, what[0], "ratio", kBaselineMfu, pair.baseline.mfu, paper(kSection)));
    rows.push_back(row(id + "/mfu/pool", name, what[1], "ratio", kPoolMfu, pair.pool.mfu, paper(kSection)));
  } else {
    rows.push_back(own_row(id + "/own/mfu/baseline", name, what[0], "ratio", pair.baseline.mfu));
    rows.push_back(own_row(id + "/own/mfu/pool", name, what[1], "ratio", pair.pool.mfu));
  }
  rows.push_back(own_row(id + "/own/throughput_gain/per_box", name,
                         "output tokens/s of the one chip over the whole baseline", "times",
                         pair.gain() / s.baseline.all_chips()));
}

// How much the configuration decides.
void add_range(const Claim& claim, const Search& found, Rows& rows) {
  const std::string id = claim.throughput_id;
  const std::string name = fmt::format("{}; every combination of the paper's lengths and batches", sides_text(claim));
  const auto add = [&](const char* which, const Pair& pair) {
    rows.push_back(own_row(fmt::format("{}/own/throughput_gain/{}", id, which), name,
                           fmt::format("{} gain per chip ({})", which, text_of(pair.at)), "times", pair.gain()));
  };
  add("least", found.least);
  add("most", found.most);
  if (claim.boxes > 1) return;  // the published pair is that of one box
  rows.push_back(
      own_row(id + "/own/configurations", name,
              fmt::format("of {} combinations, those whose utilisations are within a tenth of both published",
                          kInputs.size() * kOutputs.size() * kBatches.size()),
              "count", found.within));
}

// Weights alone, at the full rates: 15.1 ms of reading on both sides, and what all-reduces add.
void add_latency(const Claim& claim, const Sides& s, Rows& rows) {
  constexpr Utilisation kFull = {1, 1};
  double best = 0;
  double batch = 0;
  for (const double b : kBatches) {
    const double gain =
        decode_cost(s.model, s.baseline, kFull, b, 0).seconds / decode_cost(s.model, s.pool, kFull, b, 0).seconds;
    if (gain <= best) continue;
    best = gain;
    batch = b;
  }
  const StepCost base = decode_cost(s.model, s.baseline, kFull, batch, 0);
  const StepCost pool = decode_cost(s.model, s.pool, kFull, batch, 0);
  const double reduces = 2 * s.model.layers;
  const std::string name = fmt::format(
      "{}; a decode step of batch {:g}, where the gain is largest: weights at the full rates, and {:g} all-reduces of "
      "{} "
      "as measured, {:.1f} us each",
      sides_text(claim), batch, reduces, pool::size_text(2 * batch * s.model.hidden), base.collective / reduces * 1e6);
  const std::string id = claim.latency_id;
  rows.push_back(
      row(id + "/latency_gain", name, "decode latency, gain", "times", claim.latency_gain, best, paper(kSection)));
  if (claim.boxes > 1) {
    rows.push_back(own_row(id + "/own/decode/pool", name, "decode step on the pool", "s", pool.seconds));
    rows.push_back(own_row(id + "/own/decode/baseline", name, "decode step of the baseline", "s", base.seconds));
    return;
  }
  rows.push_back(row(id + "/decode/pool", name, "decode step on the pool", "s", 0.0151, pool.seconds,
                     paper("6.2, by arithmetic")));
  rows.push_back(row(id + "/decode/baseline", name, "decode step of the baseline", "s", 0.0212, base.seconds,
                     paper("6.2, by arithmetic")));
}

Status add_claim(const Claim& claim, const Configuration& c, const catalog::Catalog& catalog, Rows& rows) {
  PR_ASSIGN(const Sides sides, sides_of(claim, catalog));
  add_throughput(claim, sides, c, rows);
  add_range(claim, search_lists(sides), rows);
  add_latency(claim, sides, rows);
  return add_consistent_rows(claim, c, catalog, rows);
}

}  // namespace

std::string text_of(const Configuration& c) {
  return fmt::format("batch {:g}, {:g} tokens in, {:g} out", c.batch, c.input, c.output);
}

Result<Rows> inference_rows(const catalog::Catalog& catalog, const std::vector<std::string>& only) {
  PR_ASSIGN(const Sides first, sides_of(kClaims[0], catalog));
  const Configuration at = search_lists(first).nearest->at;
  Rows rows;
  for (const Claim& claim : kClaims) {
    if (!wanted(only, claim.throughput_id) && !wanted(only, claim.latency_id)) continue;
    if (const Status made = add_claim(claim, at, catalog, rows); !made) {
      rows.push_back(refused_row(fmt::format("{}/own/refused", claim.throughput_id), claim.model,
                                 "throughput and latency", "times", std::nullopt, paper(kSection), made.error()));
    }
  }
  return rows;
}

}  // namespace photonrail::photonic_fabric
