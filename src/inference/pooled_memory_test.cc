#include "inference/pooled_memory.h"

#include <gtest/gtest.h>

namespace photonrail::inference {
namespace {

InferenceScenario pooled() {
  InferenceScenario s;
  s.gpu.catalog = "H100";
  s.parallel.tensor = 2;
  s.memory.pool = PHOTONRAIL_SOURCE_DIR "/examples/pool-appliance.toml";
  return s;
}

MemoryChoice memory_of(const InferenceScenario& s) {
  return pooled_memory(s, catalog::Catalog::builtin().value()).value();
}

// One port of 7.2 Tb/s each; 16 modules of 2 TB over the GPUs of the instance.
TEST(PooledMemory, GivesTheRateOfAPortAndAShareOfThePool) {
  const MemoryChoice memory = memory_of(pooled());
  EXPECT_EQ(memory.rate.value().bits_per_second, 7'200'000'000'000);
  EXPECT_EQ(memory.capacity.value().count, 16'000'000'000'000);
  EXPECT_NE(memory.source.find("2 readers at once"), std::string::npos);
}

// All misses of 16 readers: 16 x 8 x 51.2 GB/s over 16. A stated capacity stays.
TEST(PooledMemory, SharersAndMissesCount) {
  InferenceScenario s = pooled();
  s.memory.sharers = 16;
  s.memory.hit_rate = 0;
  s.memory.capacity = Bytes{5};
  const MemoryChoice memory = memory_of(s);
  EXPECT_NEAR(static_cast<double>(memory.rate.value().bits_per_second), 409.6e9 * 8, 8);
  EXPECT_EQ(memory.capacity.value().count, 5);
}

TEST(PooledMemory, WithoutAPoolNothingChanges) {
  InferenceScenario s = pooled();
  s.memory.pool = "";
  EXPECT_FALSE(memory_of(s).rate);
  s.memory.pool = "nowhere.toml";
  EXPECT_EQ(pooled_memory(s, catalog::Catalog::builtin().value()).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace photonrail::inference
