#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "pool/reader_rate.h"
#include "recommendation/shard_load.h"
#include "recommendation/step.h"
#include "report/human.h"

namespace photonrail::recommendation {
namespace {

constexpr double kH100Rate = 3.35e12;
constexpr double kH100Outstanding = 2.0e6;  // bytes in flight: 3.35 TB/s over 600 ns

// Level-2 caches of data sheets.
struct CacheOf {
  std::string_view gpu;
  double bytes;
};
constexpr CacheOf kCaches[] = {{"A100", 40e6},      {"A100-40GB", 40e6}, {"H100", 50e6},   {"H100-NVL", 50e6},
                               {"H100-PCIe", 50e6}, {"H200", 50e6},      {"GH200", 50e6},  {"B200", 126e6},
                               {"GB200", 126e6},    {"B300", 126e6},     {"GB300", 126e6}, {"L40S", 96e6}};
constexpr double kUnknownCache = 40e6;

template <class T>
Result<double> known(const catalog::Figure<T>& figure, std::string_view gpu, std::string_view what) {
  if (figure.known()) return catalog::range_of(figure).base;
  return fail(ErrorCode::invalid_input,
              fmt::format("the catalog does not know the {} of {}\n  hint: add it in a catalog file (--catalog DIR)",
                          what, gpu));
}

double bytes_per_second(const std::optional<Rate>& rate, double otherwise) {
  return rate ? photonrail::bytes_per_second(*rate) : otherwise;
}

RowPath device_path(const Setup& setup) {
  const Access& a = setup.scenario.access;
  RowPath path;
  path.memory.stream = setup.memory_rate * a.stream_efficiency;
  path.memory.transaction = static_cast<double>(a.transaction.count);
  path.memory.overhead = static_cast<double>(a.row_overhead.count);
  path.memory.outstanding =
      a.outstanding ? static_cast<double>(a.outstanding->count) : kH100Outstanding * setup.memory_rate / kH100Rate;
  path.memory.latency = to_seconds(a.latency);
  path.limit = "device memory";
  return path;
}

RowPath host_path(const Setup& setup) {
  const Host& h = setup.scenario.host;
  RowPath path;
  path.memory.stream = photonrail::bytes_per_second(h.rate);
  path.memory.transaction = static_cast<double>(setup.scenario.access.transaction.count);
  path.memory.overhead = static_cast<double>(h.packet_overhead.count);
  path.memory.per_packet = static_cast<double>(h.packet.count);
  path.memory.outstanding = static_cast<double>(h.outstanding.count);
  path.memory.latency = to_seconds(h.latency);
  path.memory.duplex = true;
  path.limit = "PCIe";
  return path;
}

pool::System system_of(const Setup& setup) {
  const Pool& p = setup.scenario.pool;
  pool::System system;
  system.module = p.module;
  system.appliance = p.appliance;
  system.tier = p.tier;
  system.accelerator.gpu = setup.scenario.cluster.gpu;
  system.accelerator.count = std::min(setup.scenario.cluster.gpus, p.sharers.value_or(kSharers));
  system.accelerator.ports = p.ports;
  system.accelerator.outstanding = setup.scenario.access.outstanding;
  system.accelerator.local_latency = setup.scenario.access.latency;
  return system;
}

// Share of lookups that the HBM tier serves when it keeps the most popular rows.
double tier_hits(const Setup& setup, const pool::System& system) {
  const Embedding& e = setup.scenario.embedding;
  std::vector<CachedTable> tables;
  double lookups = 0;
  for (const Table& t : e.table) {
    const auto dim = static_cast<double>(t.dim);
    tables.push_back({{static_cast<double>(t.rows), t.pooling, e.skew, e.lookups},
                      dim * (bytes_of(e.weights) + state_bytes(setup.scenario.step, dim)),
                      static_cast<double>(t.count)});
    lookups += t.pooling * static_cast<double>(t.dim * t.count);
  }
  const std::vector<Cached> hits =
      cache_hits(tables, static_cast<double>(system.module.hbm().count) * static_cast<double>(system.modules()));
  double hit = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    hit += hits[i].hits * e.table[i].pooling * static_cast<double>(e.table[i].dim * e.table[i].count);
  }
  return hit / lookups;
}

Result<RowPath> pool_path(const Setup& setup, const catalog::Catalog& catalog) {
  const Pool& p = setup.scenario.pool;
  const Access& a = setup.scenario.access;
  const pool::System system = system_of(setup);
  PR_ASSIGN(const pool::Resolved resolved, pool::resolve(system, catalog));
  const double hits = tier_hits(setup, system);
  PR_ASSIGN(const pool::EffectiveRate rate,
            pool::effective_rate(
                resolved, {.sharers = system.accelerator.count,
                           .hit_rate = hits,
                           .spread = system.tier.appliances > 1 ? pool::Spread::system : pool::Spread::appliance}));
  RowPath path;
  path.memory.stream = rate.rate * a.stream_efficiency;
  path.memory.transaction = static_cast<double>(a.transaction.count);
  path.memory.overhead = static_cast<double>(a.row_overhead.count);
  path.memory.duplex = true;
  path.limit = fmt::format("{} ({:.0f} % of lookups in the HBM tier, {} sharers)", rate.limit, hits * 100,
                           system.accelerator.count);
  if (p.as_published_rate) {
    path.memory.stream = photonrail::bytes_per_second(*p.as_published_rate) * a.stream_efficiency;
    path.limit = "the published rate";
    path.overrides.push_back(
        fmt::format("pool.as_published_rate = {} takes the place of {} per GPU, which is what the smallest cut allows",
                    to_text(*p.as_published_rate), report::human(rate.rate, "B/s")));
  }
  return path;
}

}  // namespace

Result<Setup> make_setup(const Scenario& scenario, const catalog::Catalog& catalog) {
  Setup setup;
  setup.scenario = scenario;
  setup.tables = expanded(scenario.embedding.table);
  PR_ASSIGN(setup.gpu, catalog.gpu(scenario.cluster.gpu));
  const std::string& name = setup.gpu.name;
  PR_ASSIGN(setup.memory_rate, known(setup.gpu.memory_rate, name, "memory rate"));
  PR_ASSIGN(setup.memory_bytes, known(setup.gpu.memory, name, "memory"));
  PR_ASSIGN(const double scale_up, known(setup.gpu.scale_up_rate, name, "scale-up rate"));
  PR_ASSIGN(const double network, known(setup.gpu.nic_rate, name, "NIC rate"));
  PR_ASSIGN(const double domain, known(setup.gpu.domain, name, "scale-up domain"));
  setup.memory_rate /= 8;
  setup.scale_up = scale_up / 8;
  setup.network = bytes_per_second(scenario.cluster.network_rate, network / 8);
  setup.domain = scenario.cluster.domain.value_or(static_cast<std::int64_t>(domain));
  const std::int64_t gpus = scenario.cluster.gpus;
  if (gpus > setup.domain && gpus % setup.domain != 0) {
    return fail(
        ErrorCode::invalid_input,
        fmt::format("{} GPUs do not fill scale-up domains of {}\n  hint: give cluster.domain", gpus, setup.domain));
  }
  setup.cache_bytes = kUnknownCache;
  setup.cache_source = "not known for this GPU; 40 MB assumed";
  for (const CacheOf& cache : kCaches) {
    if (cache.gpu != name) continue;
    setup.cache_bytes = cache.bytes;
    setup.cache_source = "level-2 cache by the maker's data sheet";
  }
  if (scenario.access.cache) {
    setup.cache_bytes = static_cast<double>(scenario.access.cache->count);
    setup.cache_source = "the scenario, access.cache";
  }
  const auto& compare = scenario.compare;
  if (std::find(compare.begin(), compare.end(), Store::pool) != compare.end()) {
    PR_ASSIGN(setup.pool, pool_path(setup, catalog));
    const pool::System system = system_of(setup);
    setup.pool_capacity =
        static_cast<double>((system.module.hbm() + system.module.ddr).count) * static_cast<double>(system.modules());
  }
  return setup;
}

RowPath row_path(const Setup& setup, Store store) {
  if (store == Store::nvlink) return device_path(setup);
  if (store == Store::pcie) return host_path(setup);
  return setup.pool;
}

}  // namespace photonrail::recommendation
