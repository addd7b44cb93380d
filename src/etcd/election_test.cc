#include "etcd/election.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"

namespace photonrail::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at(std::int64_t ms) { return Instant(milliseconds(ms)); }

ElectionSpec named(std::string name) {
  ElectionSpec spec;
  spec.name = std::move(name);
  return spec;
}

TEST(Election, LeadsUntilTheLeaseThatWasAskedForIsOver) {
  Election e(named("a"));
  EXPECT_EQ(e.next().call, Election::Call::look);
  e.looked(std::nullopt, at(0));
  EXPECT_EQ(e.next().call, Election::Call::grant);
  e.granted(5, seconds(2), at(10));
  EXPECT_EQ(e.next().call, Election::Call::campaign);
  EXPECT_FALSE(e.leads());
  e.campaigned({"k", "a", 33, 5}, at(100));
  ASSERT_TRUE(e.leads());
  EXPECT_EQ(e.leads()->epoch, 33);
  EXPECT_EQ(e.leads()->until, at(10 + 2000 - 100)) << "from when the lease was asked for, less the margin";
  e.kept(seconds(2), at(500), at(900));
  EXPECT_EQ(e.leads()->until, at(2400));
  e.kept(seconds(2), at(400), at(901));
  EXPECT_EQ(e.leads()->until, at(2400)) << "an answer to an older message takes nothing away";
  e.failed(at(1000));
  EXPECT_TRUE(e.leads()) << "an answer that does not come changes nothing";
  e.tick(at(2399));
  EXPECT_TRUE(e.leads());
  e.tick(at(2400));
  EXPECT_FALSE(e.leads());
  EXPECT_EQ(e.next().call, Election::Call::revoke) << "so that others need not wait";
  e.revoked(at(2450));
  EXPECT_EQ(e.next().call, Election::Call::look);
}

TEST(Election, FollowsAndLooksAgain) {
  Election e(named("a"));
  e.looked(KeyValue{"k", "b", 3, 9}, at(0));
  EXPECT_EQ(e.leader(), "b");
  EXPECT_EQ(e.next().at, at(500));
  e.key_gone(at(20));
  EXPECT_EQ(e.next().at, at(20)) << "the watch is faster than looking";
  e.looked(std::nullopt, at(21));
  e.granted(5, seconds(1), at(22));
  e.campaigned({"k", "c", 7, 10}, at(25));
  EXPECT_FALSE(e.leads());
  EXPECT_EQ(e.leader(), "c");
  EXPECT_EQ(e.next().call, Election::Call::look);
}

TEST(Election, KnowsItsOwnCampaignWhoseAnswerWasLost) {
  Election e(named("a"));
  e.looked(std::nullopt, at(0));
  e.granted(5, seconds(1), at(0));
  e.failed(at(300));
  EXPECT_EQ(e.next().call, Election::Call::campaign);
  e.campaigned({"k", "a", 8, 5}, at(310));
  ASSERT_TRUE(e.leads());
  EXPECT_EQ(e.leads()->epoch, 8);
}

TEST(Election, EndsALeadershipOfItsOwnThatItGaveUpUnheard) {
  Election e(named("a"));
  e.looked(std::nullopt, at(0));
  e.granted(5, seconds(1), at(0));
  e.campaigned({"k", "a", 8, 5}, at(10));
  e.tick(at(1000));
  e.failed(at(1300));  // the revocation
  e.looked(KeyValue{"k", "a", 8, 5}, at(1400));
  EXPECT_EQ(e.next().call, Election::Call::revoke);
  EXPECT_EQ(e.next().lease, 5);
}

TEST(Election, ResignsForGood) {
  Election e(named("a"));
  e.looked(std::nullopt, at(0));
  e.granted(5, seconds(1), at(0));
  e.campaigned({"k", "a", 8, 5}, at(10));
  e.resign(at(20));
  EXPECT_FALSE(e.leads());
  EXPECT_EQ(e.next().call, Election::Call::revoke);
  e.revoked(at(30));
  EXPECT_EQ(e.next().call, Election::Call::none);
}

// An etcd with leases, in true time.
struct Leases {
  std::map<Lease, Instant> ends;
  std::optional<KeyValue> key;
  Revision revision = 1;

  void expire(Instant now) {
    std::erase_if(ends, [now](const auto& lease) { return lease.second <= now; });
    if (key && !ends.contains(key->lease)) key.reset();
  }
  Lease grant(Instant now) {
    ends[++revision] = now + seconds(1);
    return revision;
  }
  void campaign(const std::string& name, Lease lease) {
    if (!key && ends.contains(lease)) key = KeyValue{"k", name, ++revision, lease};
  }
  bool keep(Lease lease, Instant now) {
    if (!ends.contains(lease)) return false;
    ends[lease] = now + seconds(1);
    return true;
  }
  void revoke(Lease lease) {
    ends.erase(lease);
    if (key && key->lease == lease) key.reset();
  }
};

// A candidate whose clock runs at its own rate, and its one question that is on its way.
struct Daemon {
  Daemon(std::string n, double r) : name(std::move(n)), rate(r), election(eager(name)) {}
  static ElectionSpec eager(const std::string& name) {
    ElectionSpec spec = named(name);
    spec.poll = milliseconds(10);  // as fast as a watch
    return spec;
  }

  std::string name;
  double rate;
  Election election;
  bool asked = false, applied = false, lost = false;
  Election::Next question;
  Instant sent{}, arrives{}, answered{};  // its clock; true time
  Lease lease = 0;
  bool kept = false;
  std::optional<KeyValue> key;

  Instant clock(Instant now) const {
    return Instant(Duration(static_cast<Duration::rep>(static_cast<double>(now.time_since_epoch().count()) * rate)));
  }
  bool leads(Instant now) const { return election.leads() && clock(now) < election.leads()->until; }

  // `cut`: off from etcd; the question never arrives.
  void ask(Instant now, bool cut, RandomStream& random) {
    question = election.next();
    if (question.call == Election::Call::none || question.at > clock(now)) return;
    asked = true;
    applied = cut;
    lost = cut || random.below(8) == 0;
    sent = clock(now);
    arrives = now + milliseconds(random.below(random.below(20) == 0 ? 900 : 30));
    answered = arrives + milliseconds(random.below(random.below(20) == 0 ? 900 : 30));
  }

  void apply(Leases& etcd, Instant now) {
    applied = true;
    using Call = Election::Call;
    if (question.call == Call::grant) lease = etcd.grant(now);
    if (question.call == Call::campaign) etcd.campaign(name, question.lease);
    if (question.call == Call::keep) kept = etcd.keep(question.lease, now);
    if (question.call == Call::revoke) etcd.revoke(question.lease);
    key = etcd.key;
  }

  void hear(Instant now) {
    asked = false;
    const Instant at_home = clock(now);
    if (lost) return election.failed(at_home);
    using Call = Election::Call;
    if (question.call == Call::look) election.looked(key, at_home);
    if (question.call == Call::grant) election.granted(lease, seconds(1), sent);
    if (question.call == Call::campaign && key) election.campaigned(*key, at_home);
    if (question.call == Call::campaign && !key) election.failed(at_home);
    if (question.call == Call::keep) election.kept(kept ? seconds(1) : seconds(0), sent, at_home);
    if (question.call == Call::revoke) election.revoked(at_home);
  }
};

// Clocks run at different rates, questions and answers are lost or take long, daemons stand still: no two of them
// believe at one moment that they lead, and epochs grow.
RC_GTEST_PROP(ElectionProperty, AtMostOneLeads, (std::uint64_t seed)) {
  RandomStream random(seed, "election");
  Leases etcd;
  std::vector<Daemon> daemons;
  for (const char* name : {"a", "b", "c"}) daemons.emplace_back(name, 1 + random.uniform(-0.04, 0.04));
  std::vector<Instant> stands_until(daemons.size()), cut_until(daemons.size());
  Revision newest = 0;
  std::size_t led = 0;
  for (Instant now{}; now < at(20'000); now += milliseconds(2)) {
    etcd.expire(now);
    std::size_t leaders = 0;
    for (std::size_t i = 0; i < daemons.size(); ++i) {
      Daemon& d = daemons[i];
      if (d.asked && !d.applied && d.arrives <= now) d.apply(etcd, now);
      if (random.below(2000) == 0) stands_until[i] = now + milliseconds(random.below(3000));
      if (random.below(1000) == 0) cut_until[i] = now + milliseconds(random.below(2000));
      if (stands_until[i] <= now) {
        d.election.tick(d.clock(now));
        if (random.below(3000) == 0) d.election.abandon(d.clock(now));
        if (d.asked && d.answered <= now) d.hear(now);
        if (!d.asked) d.ask(now, cut_until[i] > now, random);
      }
      if (!d.leads(now)) continue;
      ++leaders;
      RC_ASSERT(d.election.leads()->epoch >= newest);
      newest = d.election.leads()->epoch;
    }
    RC_ASSERT(leaders <= 1U);
    led += leaders;
  }
  RC_ASSERT(led > 2000U);  // of 10,000 looks: leading is what they do for most of the time
}

}  // namespace
}  // namespace photonrail::etcd
