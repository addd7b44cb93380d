#include "inference/pooled_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "pool/text.h"

namespace photonrail::inference {
namespace {

constexpr double kTolerance = 1e-9;  // of sizes, for rounding

Bytes rounded(double bytes) { return Bytes{std::llround(bytes)}; }

// The whole model on one GPU: its weights once.
Result<double> whole_weights(const Deployment& setup) {
  Parallel one;
  one.domain = setup.domain;
  PR_ASSIGN(const Plan plan, compile(setup, one));
  return plan.weight_bytes();
}

double hit_rate_of(const Deployment& setup, const Stored& stored) {
  const pool::Module& module = setup.pool->resolved.system.module;
  if (setup.scenario.memory.hit_rate) return *setup.scenario.memory.hit_rate;
  if (module.hbm_stacks == 0) return 0;
  if (module.ddr_channels == 0) return 1;
  return std::min(1.0, setup.pool->resolved.system.hbm_bytes() / stored.all());
}

std::string source_text(const Deployment& setup, const PoolUse& use) {
  const std::int64_t sharers = setup.pool->sharers;
  std::string text =
      fmt::format("pool \"{}\": {} at once, {:.3g} of the bytes in its HBM tier ({}), limited by {}", setup.pool->name,
                  sharers == 1 ? std::string("one reader") : fmt::format("{} readers", sharers), use.hit_rate,
                  setup.scenario.memory.hit_rate ? "stated" : "what it holds of weights and caches", use.rate.limit);
  if (!use.fits) {
    text += fmt::format("; that hit rate needs {} in HBM tiers of {}", pool::size_text(use.pinned),
                        pool::size_text(use.hbm));
  }
  return text;
}

}  // namespace

Stored stored_of(const Plan& plan, const RequestShape& request, double batch, double sharers, double weights) {
  const MemoryUse use = plan.memory(batch, longest_context(request));
  return {weights, use.cache * sharers, use.weights, use.cache};
}

double pinned_for(const Stored& s, double hit_rate) {
  const double hits = hit_rate * s.read();
  const double weights = std::min(hits, s.read_weights);
  const double caches = s.read_cache > 0 ? (hits - weights) / s.read_cache : 0;
  return (s.read_weights > 0 ? weights / s.read_weights * s.weights : 0) + caches * s.caches;
}

double largest_hit_rate(const Stored& s, double hbm) {
  const double weights = std::min(s.weights, hbm);
  const double caches = std::min(s.caches, hbm - weights);
  double hits = s.weights > 0 ? weights / s.weights * s.read_weights : 0;
  if (s.caches > 0) hits += caches / s.caches * s.read_cache;
  return s.read() > 0 ? hits / s.read() : 1;
}

Result<PoolUse> pool_use(const Deployment& setup, const Candidate& candidate) {
  const Pool& pool = *setup.pool;
  const pool::System& system = pool.resolved.system;
  PR_ASSIGN(const Plan plan, compile(setup, candidate.parallel));
  PoolUse use;
  use.stored = stored_of(plan, setup.request, candidate.decode_batch, static_cast<double>(pool.sharers), pool.weights);
  use.hbm = system.hbm_bytes();
  use.hit_rate = hit_rate_of(setup, use.stored);
  const bool stated = setup.scenario.memory.hit_rate.has_value();
  use.pinned = stated ? pinned_for(use.stored, use.hit_rate) : use.hit_rate * use.stored.all();
  use.fits = system.ddr_bytes() <= 0 || use.pinned <= use.hbm * (1 + kTolerance);
  const pool::Spread spread = system.tier.appliances > 1 ? pool::Spread::system : pool::Spread::appliance;
  PR_ASSIGN(use.rate, pool::effective_rate(pool.resolved, {pool.sharers, use.hit_rate, spread, {}}));
  return use;
}

Status find_pool(Deployment& setup, const catalog::Catalog& catalog) {
  const InferenceScenario& scenario = setup.scenario;
  if (scenario.memory.pool.empty()) return {};
  PR_ASSIGN(pool::PoolDocument doc, pool::load_pool(scenario.memory.pool));
  pool::System& system = doc.value.system;
  system.accelerator.gpu = scenario.gpu.catalog;
  system.accelerator.count = 1;
  Pool pool;
  pool.name = doc.value.name;
  PR_ASSIGN(pool.resolved, pool::resolve(system, catalog));
  pool.sharers = scenario.memory.sharers.value_or(parallel_of(scenario.parallel, setup.domain).gpus());
  PR_ASSIGN(pool.weights, whole_weights(setup));
  setup.pool = std::move(pool);
  return {};
}

Status use_pool(Deployment& setup, const Candidate& candidate) {
  PR_ASSIGN(const PoolUse use, pool_use(setup, candidate));
  MemoryChoice& memory = setup.scenario.memory;
  memory.rate = Rate{static_cast<std::int64_t>(use.rate.rate * 8)};
  memory.source = source_text(setup, use);
  if (!memory.capacity) {
    const pool::System& system = setup.pool->resolved.system;
    const Bytes module = system.module.ddr_channels > 0 ? system.module.ddr : system.module.hbm();
    memory.capacity = module * system.modules() / setup.pool->sharers;
  }
  return use_memory(setup);
}

Status check_hit_rate(const Deployment& setup, const Candidate& candidate) {
  if (!setup.pool || !setup.scenario.memory.hit_rate || setup.scenario.memory.as_published) return {};
  PR_ASSIGN(const PoolUse use, pool_use(setup, candidate));
  if (use.fits) return {};
  return fail(
      ErrorCode::infeasible,
      fmt::format("memory.hit_rate = {:g} cannot be: weights of {} once and caches of {} for {} sharers need {} "
                  "in the HBM tiers of the pool, which hold {}\n  hint: leave memory.hit_rate out, which gives "
                  "{:.3g}, or state at most {:.3g}; memory.as_published = true lets it pass and says so",
                  use.hit_rate, pool::size_text(use.stored.weights), pool::size_text(use.stored.caches),
                  setup.pool->sharers, pool::size_text(use.pinned), pool::size_text(use.hbm),
                  std::min(1.0, use.hbm / use.stored.all()),
                  std::floor(1000 * largest_hit_rate(use.stored, use.hbm)) / 1000));
}

Result<pool::Reads> memory_reads(const Deployment& setup) {
  const Candidate candidate = candidate_of(setup);
  const MemoryChoice& memory = setup.scenario.memory;
  const auto gpus = static_cast<double>(candidate.parallel.gpus());
  const double sharers = setup.pool ? static_cast<double>(setup.pool->sharers) : gpus;
  PR_ASSIGN(const Plan plan, compile(setup, candidate.parallel));
  PR_ASSIGN(const double weights, whole_weights(setup));
  const Stored stored = stored_of(plan, setup.request, candidate.decode_batch, sharers, weights);
  pool::Reads reads;
  reads.name = "memory of the model";
  reads.rate = memory.rate;
  reads.each = rounded(stored.read());
  if (!memory.rate) {
    reads.from = pool::Origin::own_memory;
    if (!memory.capacity) reads.size = reads.each;  // a stated capacity is not the GPU's own
    return reads;
  }
  reads.size = rounded(stored.all());
  reads.hit_rate = memory.hit_rate;
  if (memory.hit_rate) reads.pinned = rounded(pinned_for(stored, *memory.hit_rate));
  return reads;
}

std::string pool_path(const InferenceDocument& doc) {
  const std::string& path = doc.value.memory.pool;
  if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
  const bool from_file = doc.origin("memory.pool") != "--set";
  const std::filesystem::path base = from_file ? doc.directory : "";
  return std::filesystem::absolute(base / path).lexically_normal().string();
}

}  // namespace photonrail::inference
