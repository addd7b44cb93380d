#include "recommendation/shard_load.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace photonrail::recommendation {
namespace {

struct Kinds {
  std::vector<TableKind> all;
  std::vector<std::size_t> of;  // by table
};

Kinds kinds_of(const Setup& setup, const Plan& plan) {
  const Embedding& e = setup.scenario.embedding;
  std::map<std::tuple<std::int64_t, std::int64_t, double, bool>, std::size_t> known;
  std::vector<bool> replicated(setup.tables.size());
  for (const std::int32_t t : plan.replicated) replicated[static_cast<std::size_t>(t)] = true;
  Kinds kinds;
  for (std::size_t t = 0; t < setup.tables.size(); ++t) {
    const Table& table = setup.tables[t];
    const auto [at, added] = known.try_emplace({table.rows, table.dim, table.pooling, replicated[t]}, kinds.all.size());
    if (added) {
      const auto dim = static_cast<double>(table.dim);
      kinds.all.push_back(
          {{static_cast<double>(table.rows), table.pooling, e.skew, e.lookups}, dim, dim * bytes_of(e.weights)});
    }
    TableKind& kind = kinds.all[at->second];
    (replicated[t] ? kind.replicated : kind.sharded) += 1;
    kinds.of.push_back(at->second);
  }
  return kinds;
}

// What serves repeated lookups: the on-chip cache for tables in device memory, hot rows in device memory for others.
double near_bytes(const Setup& setup, Store store) {
  const Scenario& s = setup.scenario;
  if (store == Store::pcie) return static_cast<double>(s.host.hot_rows.count);
  if (store == Store::pool) return static_cast<double>(s.pool.hot_rows.count);
  return setup.cache_bytes * s.access.cache_share;
}

// What a row takes there: the on-chip cache keeps what was read, device memory beside another store the optimizer state
// as well, which every update needs.
double near_row_bytes(const Setup& setup, Store store, const TableKind& k) {
  return k.row_bytes + (store == Store::nvlink ? 0 : k.dim * state_bytes(setup.scenario.step, k.dim));
}

void set_hits(const Setup& setup, Store store, std::vector<TableKind>& kinds) {
  // A GPU sees its share of each sharded table, but all of what a pool holds.
  const double share = store == Store::pool ? 1 : 1 / static_cast<double>(setup.scenario.cluster.gpus);
  const double cache = setup.cache_bytes * setup.scenario.access.cache_share;
  std::vector<CachedTable> near, local;
  for (const TableKind& k : kinds) {
    near.push_back({k.popularity, near_row_bytes(setup, store, k),
                    k.sharded * share + (store == Store::nvlink ? k.replicated : 0)});
    local.push_back({k.popularity, k.row_bytes, k.replicated});
  }
  const std::vector<Cached> hits = cache_hits(near, near_bytes(setup, store));
  const std::vector<Cached> replicated = store == Store::nvlink ? hits : cache_hits(local, cache);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Cached& kept = kinds[i].replicated > 0 ? replicated[i] : hits[i];
    kinds[i].hit = kept.hits;
    kinds[i].hot_ranks = kept.ranks;
  }
}

// Memories that a lookup may go to.
struct Paths {
  RowMemory far;    // where sharded tables are
  RowMemory near;   // what serves hits of them
  RowMemory local;  // device memory
  RowMemory cache;
};

Paths paths_of(const Setup& setup, Store store) {
  Paths p;
  p.local = row_path(setup, Store::nvlink).memory;
  p.cache = p.local;
  p.cache.stream *= setup.scenario.access.cache_speedup;
  p.cache.latency = 0;
  p.far = row_path(setup, store).memory;
  p.near = store == Store::nvlink ? p.cache : p.local;
  return p;
}

double state_row_bytes(Optimizer optimizer, double elements) {
  return optimizer == Optimizer::adagrad ? 4 * elements : optimizer == Optimizer::rowwise_adagrad ? 4 : 0;
}

// Distinct rows of a step, and those of them that device memory keeps beside a slower store.
struct Distinct {
  double all = 0;
  double near = 0;
};

struct Builder {
  const Setup& setup;
  Paths paths;

  double update_seconds(const Distinct& rows, double bytes) const {
    return paths.far.update_seconds(rows.all - rows.near, bytes) + paths.local.update_seconds(rows.near, bytes);
  }

  // `lookups` of one sample, as rows of `elements`; `rows`: distinct ones of a step.
  Load load(const TableKind& k, double lookups, double elements, const Distinct& rows, const RowMemory& miss,
            const RowMemory& hit) const {
    const Optimizer optimizer = setup.scenario.step.optimizer;
    const double row = elements * k.row_bytes / k.dim;
    Load load;
    load.lookups = lookups;
    load.elements = lookups * elements;
    load.hits = lookups * k.hit;
    load.row_seconds = lookups * ((1 - k.hit) * miss.seconds(1, row) + k.hit * hit.seconds(1, row));
    load.updates = rows.all;
    load.update_elements = rows.all * elements;
    load.update_seconds = update_seconds(rows, row);
    if (const double state = state_row_bytes(optimizer, elements); state > 0) {
      load.update_seconds += update_seconds(rows, state);
    }
    return load;
  }
};

void add(Load& to, const Load& more) {
  to.lookups += more.lookups;
  to.elements += more.elements;
  to.row_seconds += more.row_seconds;
  to.hits += more.hits;
  to.partial += more.partial;
  to.table_bytes += more.table_bytes;
  to.updates += more.updates;
  to.update_elements += more.update_elements;
  to.update_seconds += more.update_seconds;
}

void take_larger(Load& to, const Load& other) {
  to.lookups = std::max(to.lookups, other.lookups);
  to.elements = std::max(to.elements, other.elements);
  to.row_seconds = std::max(to.row_seconds, other.row_seconds);
  to.hits = std::max(to.hits, other.hits);
  to.partial = std::max(to.partial, other.partial);
  to.table_bytes = std::max(to.table_bytes, other.table_bytes);
  to.updates = std::max(to.updates, other.updates);
  to.update_elements = std::max(to.update_elements, other.update_elements);
  to.update_seconds = std::max(to.update_seconds, other.update_seconds);
}

// Lookups of one sample that the busiest shard of a table has beside its even share: that with the most popular row,
// or, of a set that is fixed by its first value, with one row of it more than the others.
double hottest_extra(const TableKind& k, double share) {
  const Popularity& p = k.popularity;
  const double first = Zipf(static_cast<std::int64_t>(p.rows), p.exponent).probability(1);
  if (p.sets == LookupSets::fixed && p.pooling > 1) return first * (std::ceil(p.pooling * share) - p.pooling * share);
  return p.pooling * first * (1 - share);
}

double table_bytes(const Setup& setup, const TableKind& k) {
  return k.popularity.rows * k.dim * (k.row_bytes / k.dim + state_bytes(setup.scenario.step, k.dim));
}

// Elements that leave each domain: one partial sum for each table (or its columns) that the domain holds part of.
std::vector<double> domain_partials(const Setup& setup, const Plan& plan) {
  const std::int64_t gpus = setup.scenario.cluster.gpus;
  const std::int64_t inside = std::min(gpus, setup.domain);
  std::vector<std::set<std::pair<std::int32_t, double>>> seen(static_cast<std::size_t>(gpus / inside));
  std::vector<double> elements(seen.size());
  for (const Shard& s : plan.shards) {
    const auto domain = static_cast<std::size_t>(s.gpu / inside);
    const double width = static_cast<double>(setup.tables[static_cast<std::size_t>(s.table)].dim) * s.columns;
    // Row shards of the same columns meet in one sum; column shards do not.
    if (s.columns < 1 || seen[domain].insert({s.table, s.columns}).second) elements[domain] += width;
  }
  return elements;
}

std::vector<Distinct> distinct_of(const std::vector<TableKind>& kinds, Store store, double samples) {
  std::vector<Distinct> distinct;
  for (const TableKind& k : kinds) {
    Distinct rows;
    if (samples > 0) rows.all = distinct_rows(k.popularity, samples);
    if (samples > 0 && store != Store::nvlink) {
      rows.near = std::min(rows.all, distinct_rows(k.popularity, samples, k.hot_ranks));
    }
    distinct.push_back(rows);
  }
  return distinct;
}

// The kinds as one GPU has them.
struct Held {
  std::vector<TableKind> kinds;
  std::vector<Distinct> distinct;
};

// Hot rows beside host memory, GPU by GPU: one with more of the tables keeps a smaller share of them. GPUs that hold
// the same have one entry.
struct HeldByGpu {
  std::vector<Held> all;
  std::vector<std::size_t> of;  // by GPU
};
HeldByGpu hot_rows(const Setup& setup, const Plan& plan, const Kinds& kinds, double samples) {
  const auto gpus = static_cast<std::size_t>(setup.scenario.cluster.gpus);
  std::vector<std::map<std::size_t, double>> shares(gpus);  // of the tables of a kind
  for (const Shard& s : plan.shards) {
    shares[static_cast<std::size_t>(s.gpu)][kinds.of[static_cast<std::size_t>(s.table)]] += s.rows * s.columns;
  }
  std::map<std::map<std::size_t, double>, std::size_t> known;
  HeldByGpu held;
  for (const std::map<std::size_t, double>& share : shares) {
    const auto [at, added] = known.try_emplace(share, held.all.size());
    held.of.push_back(at->second);
    if (!added) continue;
    std::vector<CachedTable> near;
    for (const auto& [kind, weight] : share) {
      const TableKind& k = kinds.all[kind];
      near.push_back({k.popularity, near_row_bytes(setup, Store::pcie, k), weight});
    }
    const std::vector<Cached> hits = cache_hits(near, near_bytes(setup, Store::pcie));
    Held here{kinds.all, {}};
    std::size_t next = 0;
    for (const auto& [kind, weight] : share) {
      here.kinds[kind].hit = hits[next].hits;
      here.kinds[kind].hot_ranks = hits[next++].ranks;
    }
    here.distinct = distinct_of(here.kinds, Store::pcie, samples);
    held.all.push_back(std::move(here));
  }
  return held;
}

}  // namespace

double state_bytes(const Step& step, double dim) {
  if (step.phase == Phase::inference) return 0;
  const Optimizer optimizer = step.optimizer;
  return optimizer == Optimizer::adagrad ? 4 : optimizer == Optimizer::rowwise_adagrad ? 4 / dim : 0;
}

Loads loads_of(const Setup& setup, Store store, const Plan& plan, double samples) {
  Kinds kinds = kinds_of(setup, plan);
  set_hits(setup, store, kinds.all);
  const Builder builder{setup, paths_of(setup, store)};
  const auto gpus = static_cast<double>(setup.scenario.cluster.gpus);
  // Sharded tables see the whole batch; a GPU that reads a pool sees its own samples.
  const double seen = store == Store::pool ? samples / gpus : samples;
  const std::vector<Distinct> distinct = distinct_of(kinds.all, store, seen);

  Loads loads;
  for (const std::int32_t t : plan.replicated) {
    const TableKind& k = kinds.all[kinds.of[static_cast<std::size_t>(t)]];
    add(loads.replicated, builder.load(k, k.popularity.pooling, k.dim, {}, builder.paths.local, builder.paths.cache));
    loads.replicated.table_bytes += table_bytes(setup, k);
    loads.replicated_elements += k.popularity.rows * k.dim;
    loads.replicated_width += k.dim;
  }
  std::vector<bool> is_replicated(setup.tables.size());
  for (const std::int32_t t : plan.replicated) is_replicated[static_cast<std::size_t>(t)] = true;
  if (store == Store::pool) {
    Load one;
    for (std::size_t t = 0; t < setup.tables.size(); ++t) {
      if (is_replicated[t]) continue;
      const TableKind& k = kinds.all[kinds.of[t]];
      add(one,
          builder.load(k, k.popularity.pooling, k.dim, distinct[kinds.of[t]], builder.paths.far, builder.paths.near));
      one.table_bytes += table_bytes(setup, k);
      one.partial += k.dim;
    }
    loads.gpus = {one};
  } else {
    loads.gpus.resize(static_cast<std::size_t>(setup.scenario.cluster.gpus));
    const bool beside_host = store == Store::pcie;
    const HeldByGpu hot = beside_host ? hot_rows(setup, plan, kinds, seen) : HeldByGpu{};
    std::vector<double> hits_of(kinds.all.size()), lookups_of(kinds.all.size());
    std::vector<std::int64_t> shard_of(setup.tables.size());
    for (const Shard& s : plan.shards) {
      const auto t = static_cast<std::size_t>(s.table);
      const std::size_t kind = kinds.of[t];
      const Held* here = beside_host ? &hot.all[hot.of[static_cast<std::size_t>(s.gpu)]] : nullptr;
      const TableKind& k = here != nullptr ? here->kinds[kind] : kinds.all[kind];
      double lookups = k.popularity.pooling * s.rows;
      // The hottest row of a table is in one of its shards; spread over shards by the number of the table.
      const auto parts = static_cast<std::int64_t>(std::llround(1 / s.rows));
      const bool hottest = shard_of[t]++ % parts == static_cast<std::int64_t>(t) % parts;
      if (s.rows < 1 && hottest) lookups += hottest_extra(k, s.rows);
      const Distinct& rows = here != nullptr ? here->distinct[kind] : distinct[kind];
      Load load = builder.load(k, lookups, k.dim * s.columns, {rows.all * s.rows, rows.near * s.rows},
                               builder.paths.far, builder.paths.near);
      load.partial = k.dim * s.columns;
      load.table_bytes = table_bytes(setup, k) * s.rows * s.columns;
      hits_of[kind] += load.hits;
      lookups_of[kind] += load.lookups;
      add(loads.gpus[static_cast<std::size_t>(s.gpu)], load);
    }
    for (std::size_t i = 0; beside_host && i < kinds.all.size(); ++i) {
      if (lookups_of[i] > 0) kinds.all[i].hit = hits_of[i] / lookups_of[i];
    }
    loads.domain_partial = domain_partials(setup, plan);
  }
  for (const Load& load : loads.gpus) {
    take_larger(loads.largest, load);
    add(loads.sum, load);
  }
  for (std::size_t t = 0; t < setup.tables.size(); ++t) {
    if (!is_replicated[t]) loads.sharded_width += static_cast<double>(setup.tables[t].dim);
  }
  loads.kinds = std::move(kinds.all);
  return loads;
}

}  // namespace photonrail::recommendation
