#include "inference/pooled_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "inference/search.h"

namespace photonrail::inference {
namespace {

InferenceScenario pooled() {
  InferenceScenario s;
  s.model.catalog = "llama-3.1-405b";
  s.model.weights = s.model.kv = Dtype::fp8;
  s.gpu.catalog = "H100";
  s.parallel.tensor = 2;
  s.memory.pool = PHOTONRAIL_SOURCE_DIR "/examples/pool-appliance.toml";
  s.serving.batch = 64;
  s.serving.input = 2048;
  s.serving.output = 128;
  return s;
}

Result<Deployment> resolved(const InferenceScenario& s) { return resolve(s, catalog::Catalog::builtin().value()); }
MemoryChoice memory_of(const InferenceScenario& s) { return resolved(s).value().scenario.memory; }

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

// By hand: 100 B of weights that each of four readers passes over, 75 B of cache of each. With 200 B of HBM: all
// weights and a third of the caches.
TEST(PooledMemory, WeightsAreKeptFirst) {
  const Stored stored{.weights = 100, .caches = 300, .read_weights = 100, .read_cache = 75};
  EXPECT_DOUBLE_EQ(largest_hit_rate(stored, 200), 125.0 / 175);
  EXPECT_DOUBLE_EQ(pinned_for(stored, 125.0 / 175), 200);
  EXPECT_DOUBLE_EQ(pinned_for(stored, 1), 400);
  EXPECT_DOUBLE_EQ(pinned_for(stored, 50.0 / 175), 50);
  EXPECT_DOUBLE_EQ(largest_hit_rate(stored, 1000), 1);
}

// 2,048 requests of 2,176 tokens at 126 layers x 2 x 8 x 128 bytes on each of four GPUs are 4.6 TB, in HBM tiers of
// 1.152 TB: a hit rate that is not stated follows from the sizes, one that is stated must fit.
TEST(PooledMemory, HitsMustFitTheHbmTier) {
  InferenceScenario s = pooled();
  s.parallel.tensor = 1;
  s.memory.sharers = 4;
  s.serving.batch = 2048;
  const Deployment derived = resolved(s).value();
  const PoolUse use = pool_use(derived, candidate_of(derived)).value();
  EXPECT_NEAR(use.stored.caches, 4 * 2048.0 * 2176 * 126 * 2 * 8 * 128, 1);
  EXPECT_NEAR(use.hit_rate, 1.152e12 / use.stored.all(), 1e-12);
  EXPECT_TRUE(evaluate(derived, candidate_of(derived)).has_value());

  s.memory.hit_rate = 1;
  const Deployment claimed = resolved(s).value();
  const auto outcome = evaluate(claimed, candidate_of(claimed));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::infeasible);
  EXPECT_NE(outcome.error().message.find("memory.hit_rate = 1 cannot be"), std::string::npos)
      << outcome.error().message;

  s.memory.hit_rate = largest_hit_rate(use.stored, use.hbm);
  const Deployment most = resolved(s).value();
  EXPECT_TRUE(evaluate(most, candidate_of(most)).has_value());
  EXPECT_GT(*s.memory.hit_rate, use.hit_rate);

  s.memory.hit_rate = 1;
  s.memory.as_published = true;
  const Deployment published = resolved(s).value();
  EXPECT_TRUE(evaluate(published, candidate_of(published)).has_value());
  EXPECT_NE(published.overrides.back().find("that hit rate needs"), std::string::npos);
  EXPECT_NE(published.overrides.back().find("as published"), std::string::npos);
}

// A search gives each batch the rate of its own hits: one sequence hits always, whatever the scenario's batch.
TEST(PooledMemory, SearchHasARateForEachBatch) {
  InferenceScenario s = pooled();
  s.memory.sharers = 16;
  s.serving.batch = 2048;
  s.parallel.tensor = 1;
  s.search.gpus = 1;
  s.search.batches = {1};
  s.search.modes = {Mode::static_batch};
  const Deployment setup = resolved(s).value();
  const SearchResult found = search(setup, filled(setup)).value();
  s.serving.batch = 1;
  const Deployment alone = resolved(s).value();
  EXPECT_GT(alone.scenario.memory.rate->bits_per_second, setup.scenario.memory.rate->bits_per_second);
  EXPECT_DOUBLE_EQ(found.best.value().times.tpot, evaluate(alone, candidate_of(alone)).value().times.tpot);
}

// What `photonrail check` holds against the pool: weights once, caches of all, one GPU's part of each in a pass.
TEST(PooledMemory, ChecksGetTheSizes) {
  InferenceScenario s = pooled();
  s.memory.sharers = 4;
  const Deployment setup = resolved(s).value();
  const pool::Reads reads = memory_reads(setup).value();
  const Stored stored = pool_use(setup, candidate_of(setup)).value().stored;
  EXPECT_EQ(reads.size.value().count, std::llround(stored.all()));
  EXPECT_NEAR(stored.weights, 2 * stored.read_weights, 0.01 * stored.weights);
  EXPECT_DOUBLE_EQ(stored.caches, 4 * stored.read_cache);
  EXPECT_EQ(reads.rate, setup.scenario.memory.rate);
}

TEST(PooledMemory, WithoutAPoolNothingChanges) {
  InferenceScenario s = pooled();
  s.parallel.tensor = 8;
  s.memory.pool = "";
  EXPECT_FALSE(memory_of(s).rate);
  EXPECT_EQ(memory_reads(resolved(s).value()).value().from, pool::Origin::own_memory);
  s.memory.pool = "nowhere.toml";
  EXPECT_EQ(resolved(s).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace photonrail::inference
