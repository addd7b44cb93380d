// Theory under test (step.h, plan.h, skew.h, access.h): bytes looked up are B sum P D w; a partial sum of every shard
// of columns leaves its GPU for every sample; rows come at min(R e r / bus(r), O / L); the parts of a step add up
// except where they overlap. Figures marked "by hand" were worked out on paper from the plain rates below.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "recommendation/dense.h"
#include "recommendation/mlperf.h"
#include "recommendation/report.h"
#include "recommendation/shard_load.h"

namespace photonrail::recommendation {
namespace {

// 100 TFLOP/s, 1 TB/s of memory, 100 GB/s of NVLink, 10 GB/s of network, nothing for launches.
const PlainMachine kPlain({1e14, 1e12, 1e11, 1e10, 0});

// One table of 1,000,000 rows of 128 fp32, 10 lookups a sample, uniform; pooling alone; nothing is cached.
Scenario plain_scenario(std::int64_t gpus, Spread spread) {
  Scenario s;
  s.embedding.table = {{1'000'000, 128, 10, 1}};
  s.embedding.skew = 0;
  s.embedding.lookups = LookupSets::independent;
  s.dense.top.clear();
  s.dense.features = 0;
  s.step.phase = Phase::inference;
  s.step.batch = 1'000;
  s.cluster.gpus = gpus;
  s.sharding.spread = spread;
  s.access.cache_share = 0;
  s.access.stream_efficiency = 1;
  s.access.row_overhead = {0};
  s.access.outstanding = Bytes{1'000'000};  // over 600 ns: more than the memory gives
  s.overheads.step = {0};
  s.compare = {Store::nvlink};
  return s;
}

Setup plain_setup(const Scenario& scenario, std::int64_t domain = 1'000) {
  Setup setup;
  setup.scenario = scenario;
  setup.tables = expanded(scenario.embedding.table);
  setup.domain = domain;
  setup.memory_rate = 1e12;
  setup.memory_bytes = 80e9;
  setup.scale_up = 1e11;
  setup.network = 1e10;
  setup.cache_bytes = 40e6;
  setup.pool.memory.stream = 5e11;
  setup.pool.memory.overhead = 0;
  setup.pool.memory.duplex = true;
  setup.pool_capacity = 1e15;
  return setup;
}

Outcome run(const Setup& setup, Store store = Store::nvlink) {
  const Result<Outcome> out = evaluate(setup, store, kPlain);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *out : Outcome{};
}

double part_seconds(const Outcome& out, std::string_view name) {
  for (const Part& p : out.parts) {
    if (p.name == name) return p.seconds;
  }
  return -1;
}

// ---- rows at random ----

TEST(Access, RateIsBusShareOrConcurrency) {
  RowMemory m;
  m.stream = 3e12;
  m.transaction = 32;
  m.overhead = 64;
  EXPECT_DOUBLE_EQ(m.rate(512), 3e12 * 512 / 576);
  EXPECT_DOUBLE_EQ(m.rate(32), 1e12);          // a third
  EXPECT_DOUBLE_EQ(m.rate(4), 3e12 * 4 / 96);  // a whole transaction for 4 bytes
  m.outstanding = 2.0e6;
  m.latency = 1e-6;
  EXPECT_DOUBLE_EQ(m.rate(512), 2e12);  // 2 MB in flight over 1 us
  EXPECT_DOUBLE_EQ(m.update_seconds(1000, 512), 2 * 1000 * 512 / 2e12);
  m.duplex = true;
  EXPECT_DOUBLE_EQ(m.update_seconds(1000, 512), 1000 * 512 / 2e12);
}

TEST(Access, PacketsCarryTheirHeaders) {
  RowMemory m;
  m.stream = 52e9;
  m.overhead = 24;
  m.per_packet = 128;
  EXPECT_DOUBLE_EQ(m.rate(512), 52e9 * 512 / (512 + 4 * 24));
}

// ---- popularity ----

TEST(Skew, ProbabilitiesAddUpToOne) {
  for (const double s : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    const Zipf zipf(100'000, s);
    double sum = 0;
    for (double i = 1; i <= 100'000; ++i) sum += zipf.probability(i);
    EXPECT_NEAR(sum, 1, 1e-4) << s;
    EXPECT_NEAR(zipf.mass(100'000), 1, 1e-12) << s;
  }
}

TEST(Skew, DistinctValuesMatchTheSumOverRanks) {
  for (const double s : {0.0, 0.8, 1.05}) {
    const Zipf zipf(50'000, s);
    double exact = 0;
    for (double i = 1; i <= 50'000; ++i) exact += 1 - std::pow(1 - zipf.probability(i), 20'000);
    EXPECT_NEAR(zipf.distinct(20'000) / exact, 1, 2e-3) << s;
  }
  EXPECT_NEAR(Zipf(1, 1.05).distinct(100), 1, 1e-12);
}

// A set of 100 rows that is fixed by its first value: as many draws touch 100 times the rows, until the table ends.
TEST(Skew, FixedSetsMultiplyDistinctRows) {
  const Popularity one{4e7, 1, 1.05, LookupSets::fixed}, hundred{4e7, 100, 1.05, LookupSets::fixed};
  const double ratio = distinct_rows(hundred, 1000) / distinct_rows(one, 1000);
  EXPECT_GT(ratio, 98);
  EXPECT_LE(ratio, 100);
  EXPECT_LE(distinct_rows({10, 5, 1.05, LookupSets::fixed}, 1e6), 10);
}

TEST(Skew, CacheKeepsTheMostPopularRows) {
  // Uniform: a cache of half the rows serves half the lookups; skewed: more than half.
  const CachedTable uniform{{1000, 1, 0, LookupSets::independent}, 100, 1};
  EXPECT_NEAR(cache_hits(std::vector{uniform}, 50'000)[0].hits, 0.5, 1e-3);
  const CachedTable skewed{{1000, 1, 1, LookupSets::independent}, 100, 1};
  const Cached kept = cache_hits(std::vector{skewed}, 10'000)[0];
  EXPECT_NEAR(kept.ranks, 100, 1.5);
  EXPECT_NEAR(kept.hits, 5.187 / 7.485, 5e-3);  // H(100) / H(1000), by hand
  EXPECT_EQ(cache_hits(std::vector{skewed}, 1e9)[0].hits, 1);
  EXPECT_NEAR(cache_hits(std::vector{skewed}, 0)[0].hits, 0, 1e-9);
}

TEST(Skew, MoreCacheNeverServesLess) {
  rc::check([] {
    const double exponent = *rc::gen::inRange(0, 200) / 100.0;
    const CachedTable table{{1.0 * *rc::gen::inRange(1, 100'000), 1.0 * *rc::gen::inRange(1, 50), exponent,
                             *rc::gen::element(LookupSets::fixed, LookupSets::independent)},
                            512,
                            1};
    const double small = 512.0 * *rc::gen::inRange(0, 10'000), large = small + 512.0 * *rc::gen::inRange(0, 10'000);
    const double a = cache_hits(std::vector{table}, small)[0].hits, b = cache_hits(std::vector{table}, large)[0].hits;
    RC_ASSERT(b >= a - 1e-9);
    RC_ASSERT(a >= 0 && b <= 1);
  });
}

// ---- plans ----

// Every table is on every GPU, or its shards add up to one whole, and no GPU holds two shards of one.
TEST(Plan, ShardsAddUpToTheWhole) {
  rc::check([] {
    const auto domain = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
    const std::int64_t gpus = domain * *rc::gen::inRange<std::int64_t>(1, 6);
    std::vector<Table> tables;
    const int count = *rc::gen::inRange(1, 30);
    for (int i = 0; i < count; ++i)
      tables.push_back({*rc::gen::inRange<std::int64_t>(1, 1'000'000), 64, 1.0 * *rc::gen::inRange(1, 100), 1});
    Sharding sharding;
    sharding.spread = *rc::gen::element(Spread::table, Spread::row, Spread::column, Spread::hybrid, Spread::automatic);
    sharding.exchange = *rc::gen::element(Exchange::flat, Exchange::hierarchical);
    sharding.columns = gpus >= 2 ? 2 : 1;
    sharding.replicate_below = *rc::gen::element<std::int64_t>(0, 1'000, 500'000);
    const Result<Plan> plan = make_plan(tables, sharding, gpus, domain, {});
    RC_ASSERT(plan.has_value());
    std::vector<double> whole(tables.size());
    std::vector<std::pair<std::int32_t, std::int32_t>> places;
    for (const Shard& s : plan->shards) {
      RC_ASSERT(s.gpu >= 0 && s.gpu < gpus);
      whole[static_cast<std::size_t>(s.table)] += s.rows * s.columns;
      places.emplace_back(s.table, s.gpu);
    }
    for (const std::int32_t t : plan->replicated) whole[static_cast<std::size_t>(t)] += 1;
    for (const double share : whole) RC_ASSERT(std::abs(share - 1) < 1e-9);
    std::sort(places.begin(), places.end());
    RC_ASSERT(std::adjacent_find(places.begin(), places.end()) == places.end());
  });
}

// Whatever the sharding, all GPUs together look up B P rows and hold every table once.
TEST(Plan, LoadsAddUpToTheBatch) {
  for (const Spread spread : {Spread::table, Spread::row, Spread::column, Spread::automatic}) {
    Scenario s = plain_scenario(8, spread);
    s.embedding.table = {{100'000, 128, 10, 16}, {1'000'000, 64, 3, 5}};
    const recommendation::Setup setup = plain_setup(s);
    const Plan plan = *make_plan(setup.tables, s.sharding, 8, 8, {});
    const Loads loads = loads_of(setup, Store::nvlink, plan, 0);
    const double bytes = 16 * 100'000 * 512.0 + 5 * 1'000'000 * 256.0;
    EXPECT_NEAR(loads.sum.elements / (16 * 10 * 128 + 5 * 3 * 64), 1, 2e-4) << config::enum_name(spread);
    EXPECT_NEAR(loads.sum.table_bytes / bytes, 1, 1e-12) << config::enum_name(spread);
  }
}

TEST(Plan, TheHottestTableIsSplit) {
  Sharding sharding;
  const std::vector<Table> tables = dlrm_dcnv2_tables();
  const Plan plan = *make_plan(tables, sharding, 8, 8, {7.4, 8, 60e9});
  const auto shards_of = [&](std::int32_t table) {
    return std::count_if(plan.shards.begin(), plan.shards.end(), [&](const Shard& s) { return s.table == table; });
  };
  EXPECT_GE(shards_of(20), 4);  // 100 lookups a sample
  EXPECT_EQ(shards_of(5), 1);   // one lookup in three rows
}

TEST(Plan, ATableThatFitsNowhereIsRefused) {
  Sharding sharding;
  sharding.spread = Spread::table;
  const std::vector<Table> tables = {{1'000'000'000, 128, 1, 1}};
  const Result<Plan> plan = make_plan(tables, sharding, 4, 4, {7.4, 8, 60e9});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::infeasible);
  EXPECT_NE(plan.error().message.find("1.024 TB"), std::string::npos) << plan.error().message;
}

// ---- steps, by hand ----

TEST(Step, OneGpuReadsBPDW) {
  const Outcome out = run(plain_setup(plain_scenario(1, Spread::row)));
  EXPECT_DOUBLE_EQ(out.looked_up, 1'000 * 10 * 128 * 4.0);
  // 5.12 MB at 1 TB/s, and the pooled vectors (1,000 x 128 x 2 B) written once.
  EXPECT_NEAR(part_seconds(out, "read rows"), 5.12e-6 + 0.256e-6, 1e-12);
  EXPECT_NEAR(out.step, 5.376e-6, 1e-12);
  EXPECT_DOUBLE_EQ(out.sent, 0);
}

TEST(Step, RowWiseSendsAPartialSumFromEveryGpu) {
  const Outcome out = run(plain_setup(plain_scenario(4, Spread::row)));
  // Each of four GPUs sends 1,000 partial sums of 128 x 2 B, three quarters of them to others: 192 kB at 100 GB/s.
  EXPECT_DOUBLE_EQ(out.sent, 256'000 * 3 / 4.0);  // of four GPUs, each keeps its own quarter
  EXPECT_NEAR(part_seconds(out, "exchange pooled vectors"), 1.92e-6, 1e-12);
  // 250 samples of four partial sums read, one written.
  EXPECT_NEAR(part_seconds(out, "add partial sums"), 250 * 5 * 256 / 1e12, 1e-15);
}

TEST(Step, TableWiseSendsOneVectorPerTable) {
  Scenario s = plain_scenario(4, Spread::table);
  s.embedding.table = {{1'000'000, 128, 10, 4}};
  const Outcome row = run(plain_setup([&] {
    Scenario r = s;
    r.sharding.spread = Spread::row;
    return r;
  }()));
  const Outcome table = run(plain_setup(s));
  EXPECT_DOUBLE_EQ(table.sent * 4, row.sent);
}

TEST(Step, ColumnsSendNoMoreThanTables) {
  Scenario s = plain_scenario(4, Spread::column);
  s.embedding.table = {{1'000'000, 128, 10, 8}};
  s.sharding.columns = 2;
  EXPECT_DOUBLE_EQ(run(plain_setup(s)).sent, 8 * 128 * 1'000 * 2 / 4.0 * 3 / 4);
}

TEST(Step, DomainsAddBeforeTheyLeave) {
  Scenario s = plain_scenario(8, Spread::row);
  const Outcome flat = run(plain_setup(s, 4));
  s.sharding.exchange = Exchange::hierarchical;
  const Outcome two = run(plain_setup(s, 4));
  // Flat: 256 kB a GPU, half of it over the network. Two levels: 256 kB inside, then 1/4 of it, half over the network.
  EXPECT_NEAR(part_seconds(flat, "exchange pooled vectors"), 128e3 / 1e10, 1e-12);
  EXPECT_NEAR(part_seconds(two, "exchange pooled vectors"), 0.75 * 256e3 / 1e11 + 32e3 / 1e10, 1e-12);
}

TEST(Step, APoolNeedsNoExchange) {
  const Outcome out = run(plain_setup(plain_scenario(4, Spread::row)), Store::pool);
  EXPECT_EQ(part_seconds(out, "exchange pooled vectors"), 0);
  // 250 samples of ten rows of 512 B at 500 GB/s, and their vectors written.
  EXPECT_NEAR(out.step, 250 * 5120 / 5e11 + 250 * 256 / 1e12, 1e-12);
}

TEST(Step, TrainingUpdatesDistinctRows) {
  Scenario s = plain_scenario(1, Spread::row);
  s.step.phase = Phase::training;
  s.step.optimizer = Optimizer::adagrad;
  const Outcome out = run(plain_setup(s));
  const double distinct = distinct_rows({1e6, 10, 0, LookupSets::independent}, 1'000);  // 9,950 of 10,000
  EXPECT_NEAR(distinct, 9'950, 1);
  // Weights and state read and written (4 x 512 B), the summed gradient read (512 B).
  EXPECT_NEAR(part_seconds(out, "update rows"), distinct * 5 * 512 / 1e12, 1e-12);
  EXPECT_NEAR(part_seconds(out, "group equal rows"), 10'000 * 96 / 1e12, 1e-12);
  s.step.optimizer = Optimizer::sgd;
  EXPECT_NEAR(part_seconds(run(plain_setup(s)), "update rows"), distinct * 3 * 512 / 1e12, 1e-12);
  s.step.optimizer = Optimizer::rowwise_adagrad;  // a state of 4 bytes takes a transaction of 32
  EXPECT_NEAR(part_seconds(run(plain_setup(s)), "update rows"), distinct * (3 * 512 + 2 * 32) / 1e12, 1e-12);
}

TEST(Step, EvaluationIsForwardTimePerSample) {
  Scenario s = plain_scenario(1, Spread::row);
  s.step.phase = Phase::training;
  const double without = run(plain_setup(s)).step;
  s.step.evaluation = 0.5;
  s.step.evaluation_batch = 2'000;
  const Outcome out = run(plain_setup(s));
  EXPECT_DOUBLE_EQ(out.step, without);
  EXPECT_NEAR(out.evaluation, 0.5 * 1'000 * (2 * 5.376e-6) / 2'000, 1e-12);
  EXPECT_NEAR(out.samples_per_second, 1'000 / (out.step + out.evaluation), 1e-6);
}

TEST(Step, OnlyTheLongerOfTwoOverlappedPartsCounts) {
  Scenario s = mlperf_training({"H100", 8, 55'296}, 8);
  const Outcome out = run(plain_setup(s, 8));
  double exposed = 0;
  for (const Part& p : out.parts) {
    exposed += p.exposed;
    EXPECT_LE(p.exposed, p.seconds + 1e-15) << p.name;
  }
  EXPECT_NEAR(exposed, out.step, 1e-12);
  const double exchange = part_seconds(out, "exchange pooled vectors"), bottom = part_seconds(out, "bottom layers");
  EXPECT_GT(exchange, 0);
  EXPECT_GT(bottom, 0);
}

TEST(Step, TablesThatDoNotFitAreRefusedWithTheShortfall) {
  Scenario s = plain_scenario(2, Spread::row);
  s.embedding.table = {{400'000'000, 128, 10, 1}};  // 204.8 GB over two GPUs of 80 GB
  const Result<Outcome> out = evaluate(plain_setup(s), Store::nvlink, kPlain);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::infeasible);
  EXPECT_NE(out.error().message.find("short"), std::string::npos) << out.error().message;
  recommendation::Setup pool = plain_setup(s);
  pool.pool_capacity = 100e9;
  const Result<Outcome> pooled = evaluate(pool, Store::pool, kPlain);
  ASSERT_FALSE(pooled);
  EXPECT_NE(pooled.error().message.find("104.8 GB short"), std::string::npos) << pooled.error().message;
}

// ---- what must rise and fall ----

TEST(Step, MoreBandwidthNeverTakesLonger) {
  rc::check([] {
    Scenario s =
        plain_scenario(*rc::gen::element<std::int64_t>(1, 4, 8), *rc::gen::element(Spread::table, Spread::row));
    s.embedding.table[0].pooling = *rc::gen::inRange(1, 60);
    s.embedding.table[0].count = *rc::gen::inRange<std::int64_t>(1, 20);
    s.embedding.skew = *rc::gen::inRange(0, 150) / 100.0;
    s.step.phase = *rc::gen::element(Phase::training, Phase::inference);
    recommendation::Setup slow = plain_setup(s), fast = slow;
    const double times = 1 + *rc::gen::inRange(1, 100) / 10.0;
    fast.memory_rate *= times;
    fast.pool.memory.stream *= times;
    for (const Store store : {Store::nvlink, Store::pool}) {
      const auto a = evaluate(slow, store, kPlain), b = evaluate(fast, store, kPlain);
      RC_ASSERT(a.has_value() && b.has_value());
      RC_ASSERT(b->step <= a->step * (1 + 1e-12));
      RC_ASSERT(b->pooling <= a->pooling * (1 + 1e-12));
    }
  });
}

TEST(Step, SkewSavesRowsAndLoadsOneGpu) {
  Scenario s = plain_scenario(8, Spread::row);
  s.access.cache_share = 0.5;
  double before = 1;
  for (const double skew : {0.0, 0.8, 1.2}) {
    s.embedding.skew = skew;
    const Outcome out = run(plain_setup(s));
    EXPECT_LE(out.distinct, before) << skew;
    before = out.distinct;
    EXPECT_GE(out.imbalance, 1);
  }
  EXPECT_GT(run(plain_setup(s)).imbalance, 1.5);  // the hottest of 1,000,000 rows takes 18 % of all lookups
  s.embedding.skew = 0;
  EXPECT_NEAR(run(plain_setup(s)).imbalance, 1, 1e-4);
}

TEST(Step, BiggerCachesServeMore) {
  Scenario s = plain_scenario(1, Spread::row);
  s.embedding.skew = 1.05;
  double before = -1;
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    s.access.cache_share = share;
    const double hits = run(plain_setup(s)).cache_hits;
    EXPECT_GE(hits, before);
    before = hits;
  }
}

// A row that device memory keeps beside host memory keeps its optimizer state there too, else its update would wait for
// PCIe. Without, twice as many rows fitted and tables in host memory beat those of NVLink.
TEST(Step, HotRowsHoldTheirOptimizerState) {
  Scenario s = plain_scenario(1, Spread::row);  // 512 MB of weights, equally popular
  s.host.hot_rows = {512'000'000};
  EXPECT_DOUBLE_EQ(run(plain_setup(s), Store::pcie).cache_hits, 1);
  s.step.phase = Phase::training;
  s.step.optimizer = Optimizer::adagrad;
  EXPECT_NEAR(run(plain_setup(s), Store::pcie).cache_hits, 0.5, 1e-6);
  s.step.optimizer = Optimizer::sgd;
  EXPECT_DOUBLE_EQ(run(plain_setup(s), Store::pcie).cache_hits, 1);
}

// By hand: of 512 MB on one GPU 300 MB are hot, of 51.2 MB on the other all are. Red if each had half of both.
TEST(Step, HotRowsAreThoseOfEachGpu) {
  Scenario s = plain_scenario(2, Spread::table);
  s.embedding.table = {{1'000'000, 128, 10, 1}, {100'000, 128, 10, 1}};
  s.host.hot_rows = {300'000'000};
  const Outcome out = run(plain_setup(s), Store::pcie);
  EXPECT_NEAR(out.cache_hits, (300.0 / 512 + 1) / 2, 1e-6);
  const RowPath host = row_path(plain_setup(s), Store::pcie), device = row_path(plain_setup(s), Store::nvlink);
  const double misses = 10'000 * (1 - 300.0 / 512);
  const double pooled = 1'000 * 128 * bytes_of(s.embedding.wire) / 1e12;
  EXPECT_NEAR(part_seconds(out, "read rows"),
              host.memory.seconds(misses, 512) + device.memory.seconds(10'000 - misses, 512) + pooled, 1e-9);
}

// Four H100 hold the tables of MLPerf only just, so that NVLink's plan is uneven; host memory is no faster for that.
TEST(Step, HostMemoryDoesNotBeatDeviceMemory) {
  const catalog::Catalog catalog = *catalog::Catalog::builtin();
  for (const char* gpus : {"cluster.gpus=4", "cluster.gpus=8"}) {
    const auto doc = load_scenario(PHOTONRAIL_SOURCE_DIR "/examples/dlrm-dcnv2-h100x8.toml", {gpus}, catalog);
    ASSERT_TRUE(doc) << doc.error().message;
    const auto compared = compare(doc->value, catalog);
    ASSERT_TRUE(compared) << compared.error().message;
    std::map<Store, double> step;
    for (const auto& [store, outcome] : compared->outcomes) step[store] = outcome->step;
    EXPECT_GE(step.at(Store::pcie), step.at(Store::nvlink)) << gpus;
  }
}

// ---- dense layers ----

TEST(Dense, DcnV2HasItsPublishedSize) {
  const DenseNetwork net = dense_network({}, dlrm_dcnv2_tables());
  EXPECT_EQ(net.joined, 27 * 128);
  // 2 x (13 x 512 + 512 x 256 + 256 x 128 + 6 x 3456 x 512 + 3456 x 1024 + 1024^2 + 1024 x 512 + 512 x 256 + 256), by
  // hand
  EXPECT_DOUBLE_EQ(net.flops(), 2.0 * (170'496 + 10'616'832 + 3'538'944 + 1'048'576 + 524'288 + 131'072 + 256));
}

// ---- files ----

TEST(Load, PresetAndRefusals) {
  const catalog::Catalog catalog = *catalog::Catalog::builtin();
  const auto preset = load_scenario("", {"embedding.preset=\"dlrm_dcnv2\""}, catalog);
  ASSERT_TRUE(preset) << preset.error().message;
  EXPECT_EQ(preset->value.embedding.table.size(), 26U);
  double lookups = 0;
  for (const Table& t : preset->value.embedding.table) lookups += t.pooling;
  EXPECT_EQ(lookups, 214);
  const auto empty = load_scenario("", {}, catalog);
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("no embedding tables"), std::string::npos);
  for (const char* bad :
       {"cluster.gpu=\"H1000\"", "sharding.spread=\"rows\"", "step.batch=1", "embedding.skew=9", "host.rate=52"}) {
    EXPECT_FALSE(load_scenario("", {"embedding.preset=\"dlrm_dcnv2\"", bad}, catalog)) << bad;
  }
}

// ---- the claim of 22.8x ----

TEST(Map, TheRateThatIsSolvedForGivesTheGain) {
  const catalog::Catalog catalog = *catalog::Catalog::builtin();
  const auto machine = calibrated_machine(*catalog.gpu("H100"), std::nullopt);
  ASSERT_TRUE(machine);
  const Scenario base;
  MapCell question;
  const Result<MapCell> cell = map_cell(base, question, catalog, **machine);
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_FALSE(cell->baseline_fits);  // 10 TB do not fit 128 H100 of 80 GB
  ASSERT_TRUE(cell->rate);
  EXPECT_TRUE(std::is_sorted(cell->gains.begin(), cell->gains.end()));
  // Between the gains at the rates on either side of it.
  const auto rates = map_rates();
  for (std::size_t i = 0; i < rates.size(); ++i)
    EXPECT_EQ(rates[i] >= *cell->rate, cell->gains[i] >= kPublishedGain) << i;
  // More lookups per vector, more of the pool's rate.
  question.pooling = 40;
  EXPECT_GT(*map_cell(base, question, catalog, **machine)->rate, *cell->rate * 1.5);
}

}  // namespace
}  // namespace photonrail::recommendation
