// Weighted max-min fairness (max_min.h): an allocation is max-min fair exactly when it is feasible and every activity
// has a saturated link on which its rate / weight is the largest (Bertsekas and Gallager, section 6.5.2). Random cases
// are held against that condition and against a slow solver written straight from the definition.
#include "algo/max_min.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/random.h"

namespace photonrail::algo {
namespace {

struct Case {
  std::vector<double> capacities;
  std::vector<std::vector<LinkUsage>> usages;
  std::vector<double> weights;

  std::vector<Activity> activities() const {
    std::vector<Activity> result;
    for (std::size_t i = 0; i < usages.size(); ++i) result.push_back({usages[i], weights[i]});
    return result;
  }
};

std::vector<LinkUsage> random_usage(RandomStream& random, std::size_t links, bool plain_shares) {
  std::map<LinkId, double> usage;
  const std::uint64_t count = 1 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const double share = plain_shares ? 1 : static_cast<double>(1 + random.below(6)) / 3.0;
    usage[static_cast<LinkId>(random.below(links))] = share;
  }
  std::vector<LinkUsage> result;
  for (const auto& [link, share] : usage) result.push_back({link, share});
  return result;
}

Case random_case(std::uint64_t seed) {
  RandomStream random(seed, "max_min_test");
  Case result;
  const std::uint64_t links = 1 + random.below(12);
  const std::uint64_t activities = 1 + random.below(20);
  const bool plain = random.below(2) == 0;
  for (std::uint64_t i = 0; i < links; ++i) result.capacities.push_back(static_cast<double>(random.below(10)) * 1e11);
  for (std::uint64_t i = 0; i < activities; ++i) {
    result.usages.push_back(random_usage(random, links, plain));
    result.weights.push_back(plain ? 1 : static_cast<double>(1 + random.below(4)) / 2.0);
  }
  return result;
}

// Raises all activities by the largest common step until a link is full, freezes those on full links, repeats.
std::vector<double> water_filling(const Case& c) {
  const std::size_t n = c.usages.size();
  std::vector<double> level(n, 0);
  std::vector<bool> frozen(n, false);
  for (std::size_t round = 0; round < n; ++round) {
    std::vector<double> used(c.capacities.size(), 0), growth(c.capacities.size(), 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (const LinkUsage& use : c.usages[i]) {
        used[use.link] += use.share * c.weights[i] * level[i];
        if (!frozen[i]) growth[use.link] += use.share * c.weights[i];
      }
    }
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < used.size(); ++l) {
      if (growth[l] > 0) step = std::min(step, std::max(0.0, c.capacities[l] - used[l]) / growth[l]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!frozen[i]) level[i] += step;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (const LinkUsage& use : c.usages[i]) {
        if (used[use.link] + growth[use.link] * step >= c.capacities[use.link] - 1) frozen[i] = true;
      }
    }
  }
  std::vector<double> rates(n);
  for (std::size_t i = 0; i < n; ++i) rates[i] = c.weights[i] * level[i];
  return rates;
}

std::vector<double> loads(const Case& c, const std::vector<double>& rates) {
  std::vector<double> sum(c.capacities.size(), 0);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    for (const LinkUsage& use : c.usages[i]) sum[use.link] += use.share * rates[i];
  }
  return sum;
}

bool has_bottleneck(const Case& c, const std::vector<double>& rates, const std::vector<double>& load, std::size_t i) {
  constexpr double kSlack = 1e-9;
  for (const LinkUsage& mine : c.usages[i]) {
    if (load[mine.link] < c.capacities[mine.link] * (1 - kSlack)) continue;
    bool largest = true;
    for (std::size_t j = 0; j < rates.size(); ++j) {
      for (const LinkUsage& use : c.usages[j]) {
        if (use.link == mine.link && rates[j] / c.weights[j] > rates[i] / c.weights[i] * (1 + kSlack)) largest = false;
      }
    }
    if (largest) return true;
  }
  return false;
}

TEST(MaxMin, EqualFlowsShareALink) {
  const std::vector<LinkUsage> usage{{0, 1}};
  EXPECT_EQ(max_min_rates(std::vector<double>{900}, std::vector<Activity>{{usage}, {usage}, {usage}}),
            (std::vector<double>{300, 300, 300}));
}

// Three links in a row of 100, 60, 100; one long flow over all, one short flow on each. Link 1 saturates first, at
// 60 / 2 = 30: the long flow and short flow 1 stop at 30, the short flows on links 0 and 2 take what is left, 70.
TEST(MaxMin, LongFlowTakesItsSmallestFairShare) {
  const std::vector<LinkUsage> all{{0, 1}, {1, 1}, {2, 1}}, first{{0, 1}}, second{{1, 1}}, third{{2, 1}};
  EXPECT_EQ(max_min_rates(std::vector<double>{100, 60, 100}, std::vector<Activity>{{all}, {first}, {second}, {third}}),
            (std::vector<double>{30, 70, 30, 70}));
}

// A collective whose three flows cross link 0 (share 3) beside a plain flow: equal rates x, 3x + x = 100.
TEST(MaxMin, ShareCountsTheFlowsOfACollective) {
  const std::vector<LinkUsage> three{{0, 3}}, one{{0, 1}};
  EXPECT_EQ(max_min_rates(std::vector<double>{100}, std::vector<Activity>{{three}, {one}}),
            (std::vector<double>{25, 25}));
}

// Weights 3 and 1 on a link of 100: 75 and 25.
TEST(MaxMin, WeightScalesTheRate) {
  const std::vector<LinkUsage> usage{{0, 1}};
  EXPECT_EQ(max_min_rates(std::vector<double>{100}, std::vector<Activity>{{usage, 3}, {usage, 1}}),
            (std::vector<double>{75, 25}));
}

TEST(MaxMin, DeadLinkStopsOnlyItsActivities) {
  const std::vector<LinkUsage> dead{{0, 1}, {1, 1}}, alive{{1, 1}}, none;
  const auto rates = max_min_rates(std::vector<double>{0, 50}, std::vector<Activity>{{dead}, {alive}, {none}});
  EXPECT_EQ(rates[0], 0);
  EXPECT_EQ(rates[1], 50);
  EXPECT_TRUE(std::isinf(rates[2]));
}

TEST(MaxMin, RandomAllocationsAreFeasibleAndEveryActivityHasABottleneck) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(*rc::gen::arbitrary<std::uint64_t>());
    const auto rates = max_min_rates(c.capacities, c.activities());
    const auto load = loads(c, rates);
    for (std::size_t l = 0; l < load.size(); ++l) RC_ASSERT(load[l] <= c.capacities[l] * (1 + 1e-12));
    for (std::size_t i = 0; i < rates.size(); ++i) RC_ASSERT(has_bottleneck(c, rates, load, i));
  }));
}

TEST(MaxMin, RandomAllocationsEqualTheSlowSolver) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(*rc::gen::arbitrary<std::uint64_t>());
    const auto rates = max_min_rates(c.capacities, c.activities());
    const auto slow = water_filling(c);
    for (std::size_t i = 0; i < rates.size(); ++i) RC_ASSERT(std::abs(rates[i] - slow[i]) <= 1e-6 * (1 + slow[i]));
  }));
}

// Coming and going in any order, in batches, leaves the very rates that one solve from scratch gives, bit for bit,
// and settle() names exactly the activities whose rate moved.
TEST(FairShare, IncrementalEqualsFullSolveBitForBit) {
  EXPECT_TRUE(rc::check([] {
    RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "incremental");
    const std::uint64_t links = 2 + random.below(20);
    std::vector<double> capacities;
    for (std::uint64_t i = 0; i < links; ++i) capacities.push_back(static_cast<double>(1 + random.below(9)) * 1e11);
    FairShare shares(capacities);
    std::map<ActivityId, std::pair<std::vector<LinkUsage>, double>> present;
    std::map<ActivityId, double> before;
    for (int step = 0; step < 40; ++step) {
      for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
        const auto id = static_cast<ActivityId>(random.below(24));
        if (present.contains(id)) {
          shares.remove(id);
          present.erase(id);
          before.erase(id);
          continue;
        }
        present[id] = {random_usage(random, links, false), static_cast<double>(1 + random.below(3))};
        shares.add(id, present[id].first, present[id].second);
      }
      const auto changed_span = shares.settle();
      const std::vector<ActivityId> changed(changed_span.begin(), changed_span.end());
      std::vector<Activity> all;
      for (const auto& [id, use] : present) all.push_back({use.first, use.second});
      const auto full = max_min_rates(capacities, all);
      std::vector<ActivityId> expected;
      std::size_t i = 0;
      for (const auto& [id, use] : present) {
        RC_ASSERT(shares.rate(id) == full[i]);
        if (!before.contains(id) || before[id] != full[i]) expected.push_back(id);
        before[id] = full[i++];
      }
      RC_ASSERT(changed == expected);
    }
  }));
}

TEST(FairShare, UntouchedComponentsAreNotReported) {
  FairShare shares({100, 100});
  shares.add(0, std::vector<LinkUsage>{{0, 1}});
  shares.add(1, std::vector<LinkUsage>{{1, 1}});
  EXPECT_EQ(shares.settle().size(), 2u);
  shares.add(2, std::vector<LinkUsage>{{1, 1}});
  const auto changed = shares.settle();
  EXPECT_EQ(std::vector<ActivityId>(changed.begin(), changed.end()), (std::vector<ActivityId>{1, 2}));
  EXPECT_EQ(shares.load(1), 100);
  shares.remove(0);
  EXPECT_TRUE(shares.settle().empty());
}

// Two pairs of NICs of 100 under one spine of 200 share nothing: the spine is slack, for 100 + 100 <= 200, and a third
// pair makes it tight: 200 / 3 each.
TEST(FairShare, SlackLinksTieNobody) {
  FairShare shares({100, 100, 100, 200});
  shares.add(0, std::vector<LinkUsage>{{0, 1}, {3, 1}});
  shares.settle();
  shares.add(1, std::vector<LinkUsage>{{1, 1}, {3, 1}});
  EXPECT_EQ(shares.settle().size(), 1u);
  EXPECT_EQ(shares.rate(0), 100);
  EXPECT_EQ(shares.rate(1), 100);
  shares.add(2, std::vector<LinkUsage>{{2, 1}, {3, 1}});
  EXPECT_EQ(shares.settle().size(), 3u);
  EXPECT_DOUBLE_EQ(shares.rate(0), 200.0 / 3);
  shares.remove(2);
  EXPECT_EQ(shares.settle().size(), 2u);
  EXPECT_EQ(shares.rate(0), 100);
}

TEST(FairShareDeathTest, MisuseAborts) {
  FairShare shares({100});
  EXPECT_DEATH(shares.add(0, std::vector<LinkUsage>{{1, 1}}), "does not exist");
  EXPECT_DEATH(shares.add(0, std::vector<LinkUsage>{{0, 0}}), "share");
  EXPECT_DEATH(shares.add(0, std::vector<LinkUsage>{{0, 1}, {0, 1}}), "twice");
  EXPECT_DEATH(shares.remove(0), "no activity");
}

}  // namespace
}  // namespace photonrail::algo
