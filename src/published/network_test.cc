// Links by rules 3 and 8: hand-worked cases, and a network that keeps every one of the N(N-1) links as an object.
#include "published/network.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "base/random.h"

namespace photonrail::published {
namespace {

constexpr Layout kLayout{2, 2, 2};          // ranks 0..3 and 4..7, dp innermost
constexpr LinkRates kRates{2.0, 1.0, 1.0};  // tensor, data, pipeline in bytes/ns
constexpr NetworkRules kRules{100.25, 1000, true};

struct Arrival {
  Nanoseconds at = 0;
  std::uint32_t target = 0;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

class Driven {
 public:
  explicit Driven(const NetworkRules& rules, std::uint32_t topology = 0) : network(kLayout, kRates, rules, queue) {
    for (std::uint32_t from = 0; from < kLayout.ranks(); ++from) {
      for (std::uint32_t to = 0; to < kLayout.ranks(); ++to) {
        if (kLayout.link_class(from, to) != LinkClass::none) ids[{from, to}] = network.add_link(from, to);
      }
    }
    network.on_applied = [this](std::uint32_t id) { applied.push_back({queue.now(), id}); };
    network.start(topology);
  }
  void send(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t target) {
    network.send(ids.at({from, to}), {bytes, EventKind::ring_arrival, false, target});
  }
  // Runs all events up to and including `until`, where the clock then stands.
  void run(Nanoseconds until) {
    while (!queue.empty() && queue.next_time() <= until) step();
    queue.push(until, {EventKind::wake, 0, 0});
    queue.pop();
  }
  void run_out() {
    while (!queue.empty()) step();
  }
  void step() {
    const Event event = queue.pop();
    if (event.kind == EventKind::ring_arrival) arrivals.push_back({queue.now(), event.a});
    if (event.kind == EventKind::link_free) network.on_link_free(event.a);
    if (event.kind == EventKind::links_switched) network.on_links_switched(event.a);
  }

  EventQueue queue;
  Network network;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LinkId> ids;
  std::vector<Arrival> arrivals;
  std::vector<Arrival> applied;
};

// 500 bytes at 2 bytes/ns: arrives after trunc(100.25 + 250) = 350; free after 250 + trunc(200.5) = 450.
TEST(Network, AMessageArrivesAndHoldsItsLinkForTwiceTheLatency) {
  Driven d(kRules, Layout::kEverything);
  d.send(0, 2, 500, 1);
  d.send(0, 2, 500, 2);
  d.run_out();
  EXPECT_EQ(d.arrivals, (std::vector<Arrival>{{350, 1}, {800, 2}}));
}

TEST(Network, TheStockRuleFreesTheLinkWhenTheMessageHasLeft) {
  NetworkRules stock = kRules;
  stock.held_for_twice_latency = false;
  Driven d(stock, Layout::kEverything);
  d.send(0, 2, 500, 1);
  d.send(0, 2, 500, 2);
  d.run_out();
  EXPECT_EQ(d.arrivals, (std::vector<Arrival>{{350, 1}, {600, 2}}));
}

// At 10 ns all links are idle: the change holds at once. Links that keep their rate are free at 11, others at 1011.
TEST(Network, AChangeOfAnIdleNetworkIsImmediateAndBlocksChangedLinks) {
  Driven d(kRules);
  d.run(10);
  EXPECT_EQ(d.network.ask(3, 0), Network::Answer::accepted);
  EXPECT_EQ(d.applied, (std::vector<Arrival>{{10, 3}}));
  d.send(0, 2, 500, 1);  // tensor: kept
  d.send(0, 4, 500, 2);  // pipeline: came up
  d.send(0, 1, 500, 3);  // data: went down
  d.run_out();
  EXPECT_EQ(d.arrivals, (std::vector<Arrival>{{11 + 350, 1}, {1011 + 600, 2}}));
}

TEST(Network, RequestsAreRefusedWhileDrainingOrInFlight) {
  Driven d(kRules);
  d.run(10);
  EXPECT_EQ(d.network.ask(3, 1), Network::Answer::refused);
  d.send(0, 1, 500, 1);  // busy for 500 + 200
  EXPECT_EQ(d.network.ask(3, 0), Network::Answer::accepted);
  EXPECT_EQ(d.network.ask(3, 5), Network::Answer::same);
  EXPECT_EQ(d.network.ask(0, 0), Network::Answer::refused);
  d.run_out();
  EXPECT_EQ(d.applied, (std::vector<Arrival>{{710, 3}}));
}

// A link that was counted as idle, is used and becomes free counts again, so the drain ends before link 0->1 is free.
TEST(Network, ALinkThatBecomesFreeTwiceCountsTwice) {
  Driven d(kRules);
  d.run(10);
  d.send(0, 1, 5000, 1);  // free at 10 + 5000 + 200
  EXPECT_EQ(d.network.ask(3, 0), Network::Answer::accepted);
  d.send(0, 2, 500, 2);  // free at 10 + 250 + 200
  d.run_out();
  EXPECT_EQ(d.applied, (std::vector<Arrival>{{460, 3}}));
}

// Every ordered pair of ranks as an object, as the published simulator keeps them.
class Reference {
 public:
  struct RefLink {
    double rate = 0;
    bool busy = false;
    std::deque<std::pair<std::int64_t, std::uint32_t>> waiting;
  };
  struct RefEvent {
    enum class Kind : std::uint8_t { arrival, free } kind;
    std::uint32_t a;
  };

  explicit Reference(const NetworkRules& rules) : rules_(rules), links_(std::size_t{n()} * n()) {
    for (std::uint32_t i = 0; i < links_.size(); ++i) {
      if (i / n() == i % n()) continue;
      links_[i].rate = rate(0, i);
      links_[i].busy = true;
      push(1, {RefEvent::Kind::free, i});
    }
  }
  static std::uint32_t n() { return kLayout.ranks(); }
  static double rate(std::uint32_t topology, std::uint32_t link) {
    if (!kLayout.is_up(topology, link / n(), link % n())) return 0;
    return kLayout.link_class(link / n(), link % n()) == LinkClass::tensor ? kRates.tensor : kRates.data;
  }
  void push(Nanoseconds at, RefEvent event) { events_[at].push_back(event); }
  void run(Nanoseconds until) {
    while (!events_.empty() && events_.begin()->first <= until) step();
    now_ = until;
  }
  void run_out() {
    while (!events_.empty()) step();
  }
  void step() {
    now_ = events_.begin()->first;
    const RefEvent event = events_.begin()->second.front();
    events_.begin()->second.pop_front();
    if (event.kind == RefEvent::Kind::arrival) {
      arrivals.push_back({now_, event.a});
    } else {
      free(event.a);
    }
    if (events_.begin()->second.empty()) events_.erase(events_.begin());
  }
  void send(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t target) {
    RefLink& link = links_[from * n() + to];
    if (link.busy || link.rate == 0) {
      link.waiting.emplace_back(bytes, target);
    } else {
      transmit(from * n() + to, bytes, target);
    }
  }
  void transmit(std::uint32_t id, std::int64_t bytes, std::uint32_t target) {
    RefLink& link = links_[id];
    link.busy = true;
    const double transfer = static_cast<double>(bytes) / link.rate;
    push(now_ + static_cast<Nanoseconds>(rules_.latency_ns + transfer), {RefEvent::Kind::arrival, target});
    push(now_ + static_cast<Nanoseconds>(transfer) + static_cast<Nanoseconds>(2 * rules_.latency_ns),
         {RefEvent::Kind::free, id});
  }
  void free(std::uint32_t id) {
    RefLink& link = links_[id];
    link.busy = false;
    if (link.waiting.empty() || link.rate == 0) {
      count();
      return;
    }
    const auto [bytes, target] = link.waiting.front();
    link.waiting.pop_front();
    transmit(id, bytes, target);
  }
  void count() {
    if (!draining_) return;
    if (++drained_ < n() * (n() - 1)) return;
    draining_ = false;
    applied.push_back({now_, topology_});
    for (std::uint32_t id = 0; id < links_.size(); ++id) {
      if (id / n() == id % n()) continue;
      const bool same = links_[id].rate == rate(topology_, id);
      links_[id].rate = rate(topology_, id);
      links_[id].busy = true;
      push(now_ + 1 + (same ? 0 : static_cast<Nanoseconds>(rules_.change_ns)), {RefEvent::Kind::free, id});
    }
  }
  Network::Answer ask(std::uint32_t topology) {
    if (topology == topology_) return Network::Answer::same;
    if (draining_) return Network::Answer::refused;
    draining_ = true;
    topology_ = topology;
    drained_ = 0;
    for (std::uint32_t id = 0; id < links_.size(); ++id) {
      if (id / n() != id % n() && !links_[id].busy) count();
    }
    return Network::Answer::accepted;
  }

  std::vector<Arrival> arrivals;
  std::vector<Arrival> applied;

 private:
  NetworkRules rules_;
  std::vector<RefLink> links_;
  std::map<Nanoseconds, std::deque<RefEvent>> events_;
  Nanoseconds now_ = 0;
  bool draining_ = false;
  std::uint32_t drained_ = 0;
  std::uint32_t topology_ = 0;
};

// Random messages and requests, dense in time so that changes overlap switching links and stale counts.
void compare_random(double change_ns, std::uint64_t seed) {
  NetworkRules rules{2.25, change_ns, true};
  Driven ours(rules);
  Reference reference(rules);
  RandomStream random(seed, "network_test");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& [pair, id] : ours.ids) pairs.push_back(pair);
  Nanoseconds now = 0;
  for (std::uint32_t i = 0; i < 400; ++i) {
    now += static_cast<Nanoseconds>(random.below(4));
    ours.run(now);
    reference.run(now);
    if (random.below(3) == 0) {
      const auto topology = static_cast<std::uint32_t>(random.below(4));
      ASSERT_EQ(ours.network.ask(topology, 0), reference.ask(topology));
    } else {
      const auto& [from, to] = pairs[random.below(pairs.size())];
      const auto bytes = static_cast<std::int64_t>(1 + random.below(12));
      ours.send(from, to, bytes, i);
      reference.send(from, to, bytes, i);
    }
  }
  ours.run_out();
  reference.run_out();
  ASSERT_EQ(ours.applied, reference.applied);
  ASSERT_EQ(ours.arrivals, reference.arrivals);
}

TEST(Network, AgreesWithEveryLinkKeptAsAnObject) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const double change : {0.0, 1.0, 5.0, 40.0}) {
      compare_random(change, seed);
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", change " << change;
    }
  }
}

}  // namespace
}  // namespace photonrail::published
