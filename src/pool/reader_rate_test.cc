// Little's law, cuts and sharing on the pool of the photonic fabric paper (arXiv 2507.14000), worked out by hand.
#include "pool/reader_rate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace photonrail::pool {
namespace {

Resolved paper(std::int64_t count = 16) {
  System system;
  system.accelerator.count = count;
  const auto catalog = catalog::Catalog::builtin();
  auto resolved = resolve(system, *catalog);
  return resolved.value();
}

Resolved with_much_in_flight(Resolved r) {
  r.outstanding = {1'000'000'000};
  return r;
}

// Critique C4 of the paper: 26.8 TB/s x (600 + 200) ns = 21.4 MB; an H100 sustains 3.35 TB/s x 600 ns = 2.0 MB.
TEST(ReaderRate, BytesInFlightOfTheCritique) {
  EXPECT_NEAR(bytes_in_flight(26.8e12, nanoseconds(800)), 21.44e6, 1);
  EXPECT_EQ(paper().outstanding.count, 2'010'000);
  const System system;
  EXPECT_EQ(load_latency(system, Store::hbm, Spread::appliance), nanoseconds(800));
  EXPECT_EQ(load_latency(system, Store::ddr, Spread::appliance), nanoseconds(900));
  EXPECT_EQ(load_latency(system, Store::local, Spread::appliance), nanoseconds(600));
}

TEST(ReaderRate, OnePortLimitsOneReader) {
  const auto rate = effective_rate(paper(), {.sharers = 1});
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->rate, 0.9e12);
  EXPECT_DOUBLE_EQ(rate->concurrency, 2'010'000 / 800e-9);
  EXPECT_EQ(rate->limit, "optical port (7.2 Tb/s)");
}

TEST(ReaderRate, FewBytesInFlightLimitBeforeThePort) {
  const auto rate = effective_rate(paper(), {.sharers = 1, .outstanding = Bytes{80'000}});
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->rate, 1e11);  // 80 kB / 800 ns
  EXPECT_EQ(rate->limit.substr(0, 15), "bytes in flight");
}

// All misses of 16 readers share 16 modules x 8 channels x 51.2 GB/s = 6,553.6 GB/s: 409.6 GB/s each.
TEST(ReaderRate, DdrChannelsLimitMisses) {
  const auto one = effective_rate(paper(), {.sharers = 1, .hit_rate = 0});
  const auto all = effective_rate(paper(), {.sharers = 16, .hit_rate = 0});
  ASSERT_TRUE(one && all);
  EXPECT_DOUBLE_EQ(one->rate, 0.9e12);
  EXPECT_NEAR(all->rate, 409.6e9, 1);
  EXPECT_EQ(all->limit, "DDR tier of a module (3.277 Tb/s)");
}

// 1 / (0.5 / 900 + 0.5 / 409.6) = 563.0 GB/s; overlapped: misses at half rate use the channels up at 819.2 GB/s.
TEST(ReaderRate, TimesOfHitsAndMissesAdd) {
  const auto rate = effective_rate(paper(), {.sharers = 16, .hit_rate = 0.5});
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->rate, 1 / (0.5 / 900e9 + 0.5 / 409.6e9), 1);
  EXPECT_NEAR(rate->overlapped, 819.2e9, 1);
}

// A stricter reading of 8 Tb/s: each switch carries its own port's traffic and what it sends, 1 + 15/16 passes of x,
// so x = 8 / 1.9375 = 4.129 Tb/s.
TEST(ReaderRate, ASharedSwitchCountsBothSides) {
  Resolved pool = with_much_in_flight(paper());
  pool.system.module.switch_shared = true;
  const auto rate = effective_rate(pool, {.sharers = 16});
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->rate, 1e12 / 1.9375, 1);
}

TEST(ReaderRate, NextGenerationPortsMeetTheSwitchOfTheModule) {
  Resolved pool = with_much_in_flight(paper());
  pool.system.module.port_rate = gigabits_per_second(28'800);
  const auto rate = effective_rate(pool, {.sharers = 1});
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->rate, 1e12);  // 8 Tb/s
  pool.system.module.switch_rate = gigabits_per_second(32'000);
  EXPECT_DOUBLE_EQ(effective_rate(pool, {.sharers = 1})->rate, 3.6e12);
}

// Sixteen appliances, eight ports down and eight up: 128 accelerators, full bisection, so each keeps its port's rate;
// with one uplink only, the 15/16 that comes from elsewhere passes 7.2 Tb/s for 8 readers.
TEST(ReaderRate, TiersOfAppliances) {
  Resolved pool = with_much_in_flight(paper());
  pool.system.tier = {16, 8};
  ASSERT_FALSE(fault_of(pool.system));
  EXPECT_EQ(pool.system.spines(), 8);
  EXPECT_DOUBLE_EQ(effective_rate(pool, {.sharers = 128, .spread = Spread::system})->cut_share, 0.9e12);
  pool.system.tier.uplinks = 1;
  const auto narrow = effective_rate(pool, {.sharers = 128, .spread = Spread::system});
  ASSERT_TRUE(narrow);
  EXPECT_NEAR(narrow->cut_share, 0.9e12 / (8 * 15.0 / 16), 1);
  EXPECT_NEAR(narrow->latency, 800e-9 + 400e-9 * 15 / 16, 1e-12);
}

TEST(ReaderRate, RefusesMoreSharersThanPortsAndBadHitRates) {
  EXPECT_EQ(effective_rate(paper(), {.sharers = 17}).error().code, ErrorCode::infeasible);
  EXPECT_FALSE(effective_rate(paper(), {.sharers = 1, .hit_rate = 1.5}));
}

// More sharers, fewer hits or fewer bytes in flight never make a reader quicker, and adding times never beats overlap.
RC_GTEST_PROP(ReaderRate, Monotone, ()) {
  static const Resolved pool = paper();
  const auto spread = *rc::gen::element(Spread::module, Spread::appliance, Spread::system);
  const auto sharers = *rc::gen::inRange<std::int64_t>(1, 16);
  const double hits = *rc::gen::inRange(0, 100) / 100.0;
  const Bytes bytes{*rc::gen::inRange<std::int64_t>(1'000, 4'000'000)};
  const auto base = *effective_rate(pool, {sharers, hits, spread, bytes});
  RC_ASSERT(base.rate <= base.overlapped * (1 + 1e-12));
  RC_ASSERT(effective_rate(pool, {sharers + 1, hits, spread, bytes})->rate <= base.rate * (1 + 1e-12));
  RC_ASSERT(effective_rate(pool, {sharers, hits + 0.01, spread, bytes})->rate >= base.rate * (1 - 1e-12));
  RC_ASSERT(effective_rate(pool, {sharers, hits, spread, bytes + Bytes{1'000}})->rate >= base.rate * (1 - 1e-12));
}

}  // namespace
}  // namespace photonrail::pool
