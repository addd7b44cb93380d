#include "inference/pooled_memory.h"

#include <fmt/format.h>

#include <filesystem>

#include "pool/reader_rate.h"
#include "pool/scenario.h"
#include "pool/text.h"

namespace photonrail::inference {

Result<MemoryChoice> pooled_memory(const InferenceScenario& scenario, const catalog::Catalog& catalog) {
  MemoryChoice memory = scenario.memory;
  if (memory.pool.empty()) return memory;
  PR_ASSIGN(pool::PoolDocument doc, pool::load_pool(memory.pool));
  pool::System& system = doc.value.system;
  system.accelerator.gpu = scenario.gpu.catalog;
  system.accelerator.count = 1;
  PR_ASSIGN(const pool::Resolved resolved, pool::resolve(system, catalog));
  const std::int64_t sharers = memory.sharers.value_or(parallel_of(scenario.parallel, 1).gpus());
  const bool one_tier = system.module.ddr_channels == 0 || system.module.hbm_stacks == 0;
  const double hit_rate = memory.hit_rate.value_or(one_tier && system.module.hbm_stacks == 0 ? 0.0 : 1.0);
  const pool::Spread spread = system.tier.appliances > 1 ? pool::Spread::system : pool::Spread::appliance;
  PR_ASSIGN(const pool::EffectiveRate rate, pool::effective_rate(resolved, {sharers, hit_rate, spread, {}}));
  memory.rate = Rate{static_cast<std::int64_t>(rate.rate * 8)};
  if (!memory.capacity) {
    const Bytes module = system.module.ddr_channels > 0 ? system.module.ddr : system.module.hbm();
    memory.capacity = module * system.modules() / sharers;
  }
  memory.source =
      fmt::format("pool \"{}\": {} at once, {:g} of the bytes in its HBM tier, limited by {}", doc.value.name,
                  sharers == 1 ? std::string("one reader") : fmt::format("{} readers", sharers), hit_rate, rate.limit);
  return memory;
}

std::string pool_path(const InferenceDocument& doc) {
  const std::string& path = doc.value.memory.pool;
  if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
  const bool from_file = doc.origin("memory.pool") != "--set";
  const std::filesystem::path base = from_file ? doc.directory : "";
  return std::filesystem::absolute(base / path).lexically_normal().string();
}

}  // namespace photonrail::inference
