#include "pool/reader_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algo/max_min.h"
#include "pool/text.h"

namespace photonrail::pool {
namespace {

// Parts of a reader's way: those that hits and misses share, and those of one kind only.
std::vector<algo::LinkUsage> usage_of(const CapacityGraph& graph, const Mix& mix) {
  std::vector<double> by_link(graph.links().size(), 0.0);
  const auto add = [&](Store store, double part) {
    if (part <= 0) return;
    for (const Share& use : graph.usage(mix.reader, store, mix.spread)) by_link[use.link] += part * use.share;
  };
  if (mix.local) {
    add(Store::local, 1);
  } else {
    add(Store::hbm, mix.hit_rate);
    add(Store::ddr, 1 - mix.hit_rate);
  }
  std::vector<algo::LinkUsage> out;
  for (std::uint32_t l = 0; l < by_link.size(); ++l) {
    if (by_link[l] > 0) out.push_back({l, by_link[l]});
  }
  return out;
}

std::string link_text(const Link& link) {
  return fmt::format("{} ({})", name_of(link.part), bit_rate_text(static_cast<double>(link.capacity)));
}

struct Alone {
  double rate = 0;  // bytes/s
  std::string limit;
};

Alone share_of(const CapacityGraph& graph, const Sharing& sharing, double hit_rate) {
  std::vector<Mix> mixes;
  for (std::int64_t r = 0; r < sharing.sharers; ++r) mixes.push_back({r, false, hit_rate, sharing.spread});
  MixRates rates = fair_rates(graph, mixes);
  const auto least = std::min_element(rates.rates.begin(), rates.rates.end()) - rates.rates.begin();
  return {rates.rates[static_cast<std::size_t>(least)] / 8, std::move(rates.limit[static_cast<std::size_t>(least)])};
}

double inverse(double rate) { return rate > 0 ? 1 / rate : INFINITY; }

}  // namespace

double bytes_in_flight(double rate, Time latency) { return rate * to_seconds(latency); }
double concurrency_rate(double bytes, Time latency) { return bytes / to_seconds(latency); }

Time load_latency(const System& s, Store store, Spread spread) {
  const Accelerator& a = s.accelerator;
  if (store == Store::local) return a.local_latency;
  Time latency = a.local_latency + a.fabric_latency;
  if (store == Store::ddr) latency += a.ddr_latency;
  if (spread == Spread::system && s.tier.appliances > 1) {
    latency += 2 * a.fabric_latency * (s.tier.appliances - 1) / s.tier.appliances;
  }
  return latency;
}

MixRates fair_rates(const CapacityGraph& graph, std::span<const Mix> mixes) {
  std::vector<double> capacities;
  for (const Link& l : graph.links()) capacities.push_back(static_cast<double>(l.capacity));
  std::vector<std::vector<algo::LinkUsage>> usages;
  std::vector<algo::Activity> activities;
  usages.reserve(mixes.size());
  for (const Mix& mix : mixes) usages.push_back(usage_of(graph, mix));
  for (const auto& usage : usages) activities.push_back({usage, 1.0});
  MixRates out;
  out.rates = algo::max_min_rates(capacities, activities);
  std::vector<double> room = capacities;
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    for (const algo::LinkUsage& use : usages[i]) room[use.link] -= use.share * out.rates[i];
  }
  for (const auto& usage : usages) {
    const auto fullest = std::min_element(usage.begin(), usage.end(), [&](const auto& a, const auto& b) {
      return room[a.link] / capacities[a.link] < room[b.link] / capacities[b.link];
    });
    out.limit.push_back(link_text(graph.links()[fullest->link]));
  }
  return out;
}

Result<EffectiveRate> effective_rate(const Resolved& pool, const Sharing& sharing) {
  if (sharing.sharers < 1 || sharing.sharers > pool.system.accelerators_max()) {
    return fail(ErrorCode::infeasible, fmt::format("{} accelerators share the pool, but it has room for 1 to {}",
                                                   sharing.sharers, pool.system.accelerators_max()));
  }
  if (!(sharing.hit_rate >= 0 && sharing.hit_rate <= 1)) {
    return fail(ErrorCode::invalid_input, fmt::format("a hit rate of {} is not between 0 and 1", sharing.hit_rate));
  }
  Resolved shared = pool;
  shared.system.accelerator.count = sharing.sharers;
  const CapacityGraph graph = CapacityGraph::make(shared);
  const double in_flight = static_cast<double>(sharing.outstanding.value_or(pool.outstanding).count);
  const Time hit_latency = load_latency(pool.system, Store::hbm, sharing.spread);
  const Time miss_latency = load_latency(pool.system, Store::ddr, sharing.spread);
  const double h = sharing.hit_rate;

  EffectiveRate out;
  const Alone mixed = share_of(graph, sharing, h);
  out.hit = std::min(share_of(graph, sharing, 1).rate, concurrency_rate(in_flight, hit_latency));
  out.miss = std::min(share_of(graph, sharing, 0).rate, concurrency_rate(in_flight, miss_latency));
  const double time = (h > 0 ? h * inverse(out.hit) : 0) + (h < 1 ? (1 - h) * inverse(out.miss) : 0);
  out.rate = 1 / time;
  out.latency = h * to_seconds(hit_latency) + (1 - h) * to_seconds(miss_latency);
  out.concurrency = in_flight / out.latency;
  out.cut_share = mixed.rate;
  out.overlapped = std::min(mixed.rate, out.concurrency);
  out.limit = out.concurrency < mixed.rate
                  ? fmt::format("bytes in flight ({} over {:.0f} ns)", size_text(in_flight), out.latency * 1e9)
                  : mixed.limit;
  return out;
}

}  // namespace photonrail::pool
