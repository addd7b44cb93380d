#include "etcd/store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/check.h"
#include "etcd/test_memory_kv.h"

namespace photonrail::etcd {
namespace {

using Records = std::vector<std::string>;

// A daemon after another at one store.
struct World {
  explicit World(std::uint64_t seed, double trouble = 0) : kv(seed, trouble) {}

  StoreSpec spec() {
    StoreSpec out;
    out.prefix = "/p";
    out.now = [this] { return clock += std::chrono::milliseconds(1); };
    out.until = [this] { return until; };
    return out;
  }
  Revision elect() {
    kv.remove("/p/leader");
    kv.put("/p/leader", "someone", 7);
    return kv.keys().at("/p/leader").created;
  }
  Store::Recovered lead() {
    auto recovered = Store::recover(kv, spec(), elect());
    PR_CHECK(recovered, "a store that cannot be recovered");
    return std::move(*recovered);
  }
  Store::Recovered lead_in_trouble() {
    const Revision epoch = elect();
    while (true) {
      auto recovered = Store::recover(kv, spec(), epoch);
      if (recovered) return std::move(*recovered);
      if (recovered.error().code != ErrorCode::io) RC_FAIL(recovered.error().message);
    }
  }

  MemoryKv kv;
  Instant clock{};
  Instant until = kNever;
};

TEST(Store, KeepsWhatWasAppended) {
  World world(1);
  auto first = world.lead();
  EXPECT_TRUE(first.records.empty());
  ASSERT_TRUE(first.store->append({"a", "", std::string(3, '\0')}));
  ASSERT_TRUE(first.store->append({"d"}));
  EXPECT_EQ(world.lead().records, (Records{"a", "", std::string(3, '\0'), "d"}));
  EXPECT_EQ(world.kv.keys().at("/p/journal/0000000000000004").value, "=d");
}

TEST(Store, TakesManyAndLongRecordsInTransactionsThatEtcdTakes) {
  World world(1);
  auto first = world.lead();
  const Records records{std::string(700'000, 'x'), "y", std::string(256 << 10, 'z')};
  ASSERT_TRUE(first.store->append(records));
  ASSERT_TRUE(first.store->append(Records(500, "small")));
  EXPECT_EQ(world.kv.transactions, 2U + 6U);
  Records all = records;
  all.insert(all.end(), 500, "small");
  EXPECT_EQ(world.lead().records, all);
  auto second = world.lead();
  ASSERT_TRUE(second.store->compact(all));
  EXPECT_EQ(world.kv.keys().count("/p/journal/0000000000000001"), 0U);
  EXPECT_EQ(world.lead().records, all);
  EXPECT_EQ(*Store::read(world.kv, world.spec()), all);
}

TEST(Store, RefusesWhoeverDoesNotLeadAnyMore) {
  World world(1);
  auto first = world.lead();
  ASSERT_TRUE(first.store->append({"a"}));
  auto second = world.lead();
  EXPECT_FALSE(first.store->append({"b"}));
  EXPECT_FALSE(first.store->compact({"c"}));
  ASSERT_TRUE(second.store->append({"d"}));
  EXPECT_EQ(world.lead().records, (Records{"a", "d"}));
}

TEST(Store, SendsNothingWhenItsTimeIsOver) {
  World world(1);
  auto first = world.lead();
  world.until = world.clock;
  const auto before = world.kv.transactions;
  EXPECT_FALSE(first.store->append({"a"}));
  EXPECT_EQ(world.kv.transactions, before);
  world.until = kNever;
  EXPECT_FALSE(first.store->append({"b"})) << "closed for good";
}

TEST(Store, CutsARecordThatWasNeverEnded) {
  World world(1);
  auto first = world.lead();
  ASSERT_TRUE(first.store->append({"a"}));
  world.kv.put("/p/journal/0000000000000002", "+begun");
  const std::string head = world.kv.keys().at("/p/head").value;
  world.kv.put("/p/head", "0000000000000002" + head.substr(16));
  EXPECT_EQ(*Store::read(world.kv, world.spec()), Records{"a"});
  auto second = world.lead();
  EXPECT_EQ(second.records, Records{"a"});
  ASSERT_TRUE(second.store->append({"b"}));
  EXPECT_EQ(world.lead().records, (Records{"a", "b"}));
}

TEST(Store, RefusesToForget) {
  const auto error_after = [](auto damage) {
    World world(1);
    auto first = world.lead();
    EXPECT_TRUE(first.store->append({"a", "b", "c"}));
    EXPECT_TRUE(first.store->compact({"abc"}));
    EXPECT_TRUE(first.store->append({"d", "e"}));
    damage(world.kv);
    const auto recovered = Store::recover(world.kv, world.spec(), world.elect());
    return recovered ? std::string() : recovered.error().message;
  };
  EXPECT_EQ(error_after([](MemoryKv&) {}), "");
  EXPECT_NE(error_after([](MemoryKv& kv) { kv.remove("/p/journal/0000000000000004"); }).find("is missing"),
            std::string::npos);
  EXPECT_NE(error_after([](MemoryKv& kv) { kv.remove("/p/journal/0000000000000005"); }).find("tells of 5"),
            std::string::npos);
  EXPECT_NE(error_after([](MemoryKv& kv) { kv.remove("/p/head"); }), "");
  EXPECT_NE(error_after([](MemoryKv& kv) { kv.put("/p/head", "12"); }), "");
  EXPECT_NE(error_after([](MemoryKv& kv) { kv.put("/p/current", "nonsense"); }), "");
  EXPECT_NE(error_after([](MemoryKv& kv) { kv.put("/p/journal/0000000000000004", "d"); }), "");
  EXPECT_NE(error_after([](MemoryKv& kv) {
              for (const auto& [key, value] : std::map(kv.keys())) {
                if (key.starts_with("/p/snapshot/")) kv.remove(key);
              }
            }),
            "");
}

// Whatever is lost, late or doubled, and whenever a leader is followed by another one: what was acknowledged is there,
// in order, and what was not is there whole and once, or not at all.
RC_GTEST_PROP(StoreProperty, LosesNothingThatWasAcknowledged, (std::uint64_t seed)) {
  World world(seed, 0.3);
  RandomStream random(seed, "test");
  Records sure, unsure;  // acknowledged; sent, and perhaps there
  std::vector<std::unique_ptr<Store>> old;
  const auto explain = [&](const Records& found) {
    RC_ASSERT(found.size() >= sure.size());
    RC_ASSERT(found.size() <= sure.size() + unsure.size());
    RC_ASSERT(std::equal(sure.begin(), sure.end(), found.begin()));
    RC_ASSERT(std::equal(found.begin() + static_cast<std::ptrdiff_t>(sure.size()), found.end(), unsure.begin()));
    sure = found;
    unsure.clear();
  };
  auto leading = world.lead_in_trouble();
  unsigned serial = 0;
  for (int step = 0; step < 60; ++step) {
    const auto choice = random.below(10);
    if (choice < 6) {
      Records records;
      const std::size_t size = random.below(60) == 0 ? 600'000 : random.below(5);
      for (std::uint64_t i = random.below(4); i < 4; ++i)
        records.push_back(std::to_string(++serial) + std::string(size, 'r'));
      world.until = random.below(4) == 0 ? world.clock + std::chrono::milliseconds(random.below(12)) : kNever;
      const bool done = leading.store->append(records).has_value();
      world.until = kNever;
      auto& into = done ? sure : unsure;
      into.insert(into.end(), records.begin(), records.end());
      if (!done) {
        old.push_back(std::move(leading.store));
        leading = world.lead_in_trouble();
        explain(leading.records);
      }
    } else if (choice < 8) {
      RC_ASSERT(leading.store->compact(sure).has_value());
      RC_ASSERT(leading.store->bytes_since_snapshot() == 0U);
    } else if (choice == 8) {
      old.push_back(std::move(leading.store));
      leading = world.lead_in_trouble();
      explain(leading.records);
    } else if (!old.empty()) {
      RC_ASSERT(!old[random.below(old.size())]->append({"of one who leads no more"}).has_value());
    }
  }
  world.kv.set_trouble(0);
  world.kv.do_late(1000);
  explain(world.lead().records);
}

}  // namespace
}  // namespace photonrail::etcd
