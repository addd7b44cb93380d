#include "pool/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pool/text.h"

namespace photonrail::pool {
namespace {

constexpr double kTolerance = 1e-9;

double total_size(const PoolScenario& scenario) {
  double out = 0;
  for (const Reads& reads : scenario.reads) {
    if (reads.from == Origin::pool && reads.size) out += static_cast<double>(reads.size->count);
  }
  return out;
}

// Bytes that lie in the HBM tiers for the hits that are stated of a read.
double pinned_by(const Reads& reads) {
  if (reads.from != Origin::pool) return 0;
  if (reads.pinned) return static_cast<double>(reads.pinned->count);
  return reads.hit_rate && reads.size ? *reads.hit_rate * static_cast<double>(reads.size->count) : 0;
}

double pinned_size(const PoolScenario& scenario) {
  double out = 0;
  for (const Reads& reads : scenario.reads) out += pinned_by(reads);
  return out;
}

// Without a stated hit rate, the HBM tiers hold a fixed part of everything that has none (a pinned part: a cache that
// replaces the least recently used keeps nothing of a larger object that is streamed over and over).
void set_hit_rate(const PoolScenario& scenario, ReadsResult& result) {
  const System& s = scenario.system;
  if (result.reads.from == Origin::own_memory) return;
  if (result.reads.hit_rate) {
    result.hit_rate = *result.reads.hit_rate;
    result.hit_rate_source = "hit_rate";
    return;
  }
  if (s.module.hbm_stacks == 0 || s.module.ddr_channels == 0) {
    result.hit_rate = s.module.hbm_stacks == 0 ? 0 : 1;
    result.hit_rate_source = "the pool has one tier";
    return;
  }
  double stored = 0;
  for (const Reads& reads : scenario.reads) {
    if (reads.from == Origin::pool && reads.size && !reads.hit_rate) stored += static_cast<double>(reads.size->count);
  }
  if (stored <= 0) {
    result.hit_rate_source = "assumed: sizes are unknown";
    return;
  }
  const double hbm = std::max(s.hbm_bytes() - pinned_size(scenario), 0.0);
  result.hit_rate = std::min(1.0, hbm / stored);
  result.hit_rate_source = fmt::format("HBM tiers of {} hold that part of {}", size_text(hbm), size_text(stored));
}

ReadsResult start(const PoolScenario& scenario, const Resolved& pool, const Reads& reads) {
  ReadsResult out;
  out.reads = reads;
  out.readers = reads.readers > 0 ? reads.readers : scenario.system.accelerator.count;
  set_hit_rate(scenario, out);
  const bool local = reads.from == Origin::own_memory;
  const double hit = to_seconds(load_latency(pool.system, local ? Store::local : Store::hbm, reads.spread));
  const double miss = to_seconds(load_latency(pool.system, local ? Store::local : Store::ddr, reads.spread));
  out.latency = out.hit_rate * hit + (1 - out.hit_rate) * miss;
  out.concurrency = static_cast<double>(pool.outstanding.count) / out.latency;
  if (reads.rate) out.in_flight = bytes_per_second(*reads.rate) * out.latency;
  return out;
}

void add_streams(const ReadsResult& r, std::vector<Stream>& streams) {
  if (!r.reads.rate) return;
  const double rate = static_cast<double>(r.reads.rate->bits_per_second);
  for (std::int64_t reader = 0; reader < r.readers; ++reader) {
    if (r.reads.from == Origin::own_memory) {
      streams.push_back({reader, Store::local, r.reads.spread, rate});
      continue;
    }
    if (r.hit_rate > 0) streams.push_back({reader, Store::hbm, r.reads.spread, rate * r.hit_rate});
    if (r.hit_rate < 1) streams.push_back({reader, Store::ddr, r.reads.spread, rate * (1 - r.hit_rate)});
  }
}

void set_possible(const CapacityGraph& graph, std::vector<ReadsResult>& all) {
  std::vector<Mix> mixes;
  for (const ReadsResult& r : all) {
    for (std::int64_t reader = 0; reader < r.readers; ++reader) {
      mixes.push_back({reader, r.reads.from == Origin::own_memory, r.hit_rate, r.reads.spread});
    }
  }
  const MixRates fair = fair_rates(graph, mixes);
  std::size_t at = 0;
  for (ReadsResult& r : all) {
    const auto first = fair.rates.begin() + static_cast<std::ptrdiff_t>(at);
    const auto least = std::min_element(first, first + static_cast<std::ptrdiff_t>(r.readers));
    r.cut_share = *least / 8;
    r.possible = std::min(r.cut_share, r.concurrency);
    r.limit = r.concurrency < r.cut_share ? "bytes in flight over latency"
                                          : fair.limit[static_cast<std::size_t>(least - fair.rates.begin())];
    at += static_cast<std::size_t>(r.readers);
  }
}

Status set_added_times(const Resolved& pool, ReadsResult& r) {
  r.added_times = r.possible;
  if (r.reads.from == Origin::own_memory) return {};
  PR_ASSIGN(const EffectiveRate alone, effective_rate(pool, {r.readers, r.hit_rate, r.reads.spread, std::nullopt}));
  r.added_times = std::min(r.possible, alone.rate);
  return {};
}

std::vector<LinkSummary> summarise(const CapacityGraph& graph, const std::vector<double>& loads) {
  std::map<std::pair<Part, std::int64_t>, LinkSummary> groups;
  for (std::size_t l = 0; l < graph.links().size(); ++l) {
    const Link& link = graph.links()[l];
    LinkSummary& summary = groups[{link.part, link.capacity}];
    summary.part = link.part;
    summary.capacity = static_cast<double>(link.capacity) / 8;
    ++summary.count;
    summary.load = std::max(summary.load, loads[l] / 8);
  }
  std::vector<LinkSummary> out;
  for (const auto& [key, summary] : groups) out.push_back(summary);
  return out;
}

std::vector<CapacitySummary> capacities(const PoolScenario& scenario, const Resolved& pool) {
  const System& s = scenario.system;
  const double hbm = s.hbm_bytes();
  const double ddr = s.ddr_bytes();
  const double stored = total_size(scenario);
  double own = 0;
  for (const Reads& reads : scenario.reads) {
    if (reads.from == Origin::own_memory && reads.size) own += static_cast<double>(reads.size->count);
  }
  // The HBM tier is a cache of the DDR tier where there is one.
  return {{"HBM tiers of the pool", hbm, ddr > 0 ? std::min(stored, hbm) : stored},
          {"DDR tiers of the pool", ddr, ddr > 0 ? stored : 0},
          {"own memory of an accelerator", static_cast<double>(pool.local_bytes.count), own}};
}

std::string names_of_rated(const std::vector<ReadsResult>& all) {
  std::string out;
  for (const ReadsResult& r : all) {
    if (r.reads.rate) out += (out.empty() ? "" : " + ") + r.reads.name;
  }
  return out;
}

std::vector<Violation> violations(const PoolScenario& scenario, const PoolCheck& check, const CapacityGraph& graph,
                                  const std::vector<Stream>& streams) {
  std::vector<Violation> out;
  for (const BrokenCut& cut : graph.broken_cuts(streams)) {
    out.push_back({names_of_rated(check.reads), cut.name, cut.needed / 8, cut.carries / 8, "B/s"});
  }
  for (const ReadsResult& r : check.reads) {
    if (!r.reads.rate) continue;
    const double rate = bytes_per_second(*r.reads.rate);
    if (rate <= r.concurrency * (1 + kTolerance)) continue;
    const auto sustained = static_cast<double>(check.pool.outstanding.count);
    out.push_back({r.reads.name,
                   fmt::format("bytes in flight of one {} ({} needed over {:.0f} ns, {} sustained)", check.pool.gpu,
                               size_text(r.in_flight), r.latency * 1e9, size_text(sustained)),
                   rate, r.concurrency, "B/s"});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Violation& a, const Violation& b) { return a.factor() > b.factor(); });
  for (const CapacitySummary& c : check.capacity) {
    if (c.stored > c.size) out.push_back({"what is stored", c.where, c.stored, c.size, "B"});
  }
  // Without a DDR tier what is stored has been held against the HBM tiers already.
  const double hbm = scenario.system.hbm_bytes();
  const double pinned = pinned_size(scenario);
  if (scenario.system.ddr_bytes() > 0 && pinned > hbm * (1 + kTolerance)) {
    out.push_back({"what must lie there for the stated hit rates", "HBM tiers of the pool", pinned, hbm, "B"});
  }
  return out;
}

}  // namespace

Result<PoolCheck> check_pool(const PoolScenario& scenario, const catalog::Catalog& catalog) {
  PoolCheck out;
  out.as_published = scenario.as_published;
  PR_ASSIGN(out.pool, resolve(scenario.system, catalog));
  const CapacityGraph graph = CapacityGraph::make(out.pool);
  std::vector<Stream> streams;
  for (const Reads& reads : scenario.reads) {
    out.reads.push_back(start(scenario, out.pool, reads));
    add_streams(out.reads.back(), streams);
  }
  set_possible(graph, out.reads);
  for (ReadsResult& r : out.reads) PR_TRY(set_added_times(out.pool, r));
  out.links = summarise(graph, graph.loads(streams));
  out.capacity = capacities(scenario, out.pool);
  out.violations = violations(scenario, out, graph, streams);
  return out;
}

std::string violation_text(const Violation& v) {
  if (v.unit == "B") {
    return fmt::format("{}: {} do not fit the {} of the {} ({:.3g} times as much)", v.what, size_text(v.modelled),
                       size_text(v.possible), v.limit, v.factor());
  }
  return fmt::format("{}: {} ({}) modelled over {} ({}): {:.3g} times what it carries", v.what,
                     bit_rate_text(v.modelled * 8), byte_rate_text(v.modelled), v.limit, byte_rate_text(v.possible),
                     v.factor());
}

Result<std::vector<sensitivity::Metric>> evaluate_check(const std::string& file, const std::vector<std::string>& sets,
                                                        const catalog::Catalog& catalog,
                                                        sensitivity::Declarations& said) {
  PR_ASSIGN(const PoolDocument doc, load_pool(file, sets));
  PR_ASSIGN(const PoolCheck check, check_pool(doc.value, catalog));
  if (check.as_published) {
    for (const Violation& v : check.violations) said.add("OVERRIDE", "as_published: " + violation_text(v));
  }
  std::vector<sensitivity::Metric> out;
  double overload = 0;
  for (const ReadsResult& r : check.reads) {
    out.push_back({r.reads.name + ".possible", r.possible, "B/s"});
    out.push_back({r.reads.name + ".added_times", r.added_times, "B/s"});
    out.push_back({r.reads.name + ".cut_share", r.cut_share, "B/s"});
    out.push_back({r.reads.name + ".concurrency", r.concurrency, "B/s"});
    if (const auto each = r.reads.of_each()) {
      out.push_back({r.reads.name + ".pass_time", static_cast<double>(each->count) / r.added_times, "s"});
    }
  }
  for (const Violation& v : check.violations) overload = std::max(overload, v.factor());
  out.push_back({"violations", static_cast<double>(check.violations.size()), "count"});
  out.push_back({"worst_overload", overload, "times"});
  return out;
}

}  // namespace photonrail::pool
