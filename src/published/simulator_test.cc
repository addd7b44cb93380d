// Steps worked by hand, and stepped against computed collectives on random small workloads.
//
// Peak 1 TFLOP/s and unlimited memory: 1000 operations a nanosecond. Latency 936.25 ns; all rates are chosen so that
// B is a whole number of bytes per nanosecond: GB/s of 1e9 bytes.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "published/phases.h"
#include "published/published.h"
#include "published/test_traces.h"

namespace photonrail::published {
namespace {

PublishedConfig config_of(std::uint32_t dp, std::uint32_t pp, std::uint32_t tp, Mode mode = Mode::static_eps) {
  PublishedConfig config;
  config.dp = dp;
  config.pp = pp;
  config.tp = tp;
  config.mode = mode;
  config.scale_out_GBps = 1;
  config.scale_up_GBps = 4;
  config.bytes_per_gigabyte = 1e9;
  config.peak_tflops = 1;
  config.local_memory_GBps = 1e8;
  config.keep_log = true;
  config.keep_nodes = true;
  return config;
}

PublishedResult run(const TestTraces& traces, const PublishedConfig& config) {
  auto result = run_published(traces.set(), config);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : PublishedResult{};
}

std::string error_of(const TestTraces& traces, const PublishedConfig& config) {
  const auto result = run_published(traces.set(), config);
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

// Two ranks, all-gather of 4 chunks of 1,000 bytes at 4 B/ns: transfer 250, travel trunc(936.25 + 250) = 1186, hold
// 250 + 1872 = 2122. First message at 10; the next is ready 1186 + 10 + 10 later but waits for its link: every 2122.
// Last arrival at 10 + 3 x 2122 + 1186 = 7562, and 10 ns later the collective ends.
TEST(Simulator, AllGatherOfTwo) {
  TestTraces traces(2);
  traces.group(1, {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) traces.collective(rank, 1, 2, 4000);
  for (const bool fast : {false, true}) {
    PublishedConfig config = config_of(1, 1, 2);
    config.fast = fast;
    const PublishedResult result = run(traces, config);
    EXPECT_EQ(result.last_ns, 7572);
    EXPECT_EQ(result.last_exposed_ns, 7572);
    EXPECT_EQ(result.traffic.tensor, 8000);
  }
}

// The stock rule frees the link after 250: each chunk takes 10 + 1186 + 10.
TEST(Simulator, StockLinkRule) {
  TestTraces traces(2);
  traces.group(1, {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) traces.collective(rank, 1, 2, 4000);
  PublishedConfig config = config_of(1, 1, 2);
  config.link_held_for_twice_latency = false;
  EXPECT_EQ(run(traces, config).last_ns, 4 * (10 + 1186 + 10));
}

// All-reduce of three, one chunk each of 4 x 3,000 bytes: messages of 1,000; local memory at 1,000 B/ns reduces in
// 3 x 1 ns. Steps: sent(0) = 10; ready after travel + 10 (+ 3): 1199 or 1196, link free after 2122, so every 2122.
// 16 messages: the last leaves at 10 + 15 x 2122 and arrives 1186 later; 10 ns to the end.
TEST(Simulator, AllReduceOfThree) {
  TestTraces traces(3);
  traces.group(1, {0, 1, 2});
  for (const std::uint32_t rank : {0U, 1U, 2U}) traces.collective(rank, 1, 0, 12'000);
  PublishedConfig config = config_of(1, 1, 3);
  config.local_memory_GBps = 1000;
  EXPECT_EQ(run(traces, config).last_ns, 10 + 15 * 2122 + 1186 + 10);
}

// Ready nodes are tried in ascending id: of two computes the lower id runs first, whatever their order of arrival.
TEST(Simulator, ComputesRunOneAtATimeLowestIdFirst) {
  TestTraces traces(2);
  traces.compute(0, 100);
  traces.compute(0, 30, {1});
  traces.compute(0, 8, {1});
  traces.compute(1, 1);
  const PublishedResult result = run(traces, config_of(1, 1, 2));
  EXPECT_EQ(result.ranks[0].finish_ns, 138);
  EXPECT_EQ(result.ranks[0].exposed_ns, 0);
  ASSERT_EQ(result.nodes.size(), 4U);
  EXPECT_EQ(result.nodes[2].node, 2U);
  EXPECT_EQ(result.nodes[2].end_ns, 130);
}

// Two stages of one rank; 1,000 bytes at 1 B/ns arrive trunc(936.25 + 1000) = 1936 after the compute of 50. The send
// holds the communication slot, so the second send (from 50 too) starts at 1986, when its link is still busy until
// 50 + 1000 + 1872 = 2922.
TEST(Simulator, ASendHoldsTheSlotUntilItsMessageHasArrived) {
  TestTraces traces(2);
  traces.compute(0, 50);
  traces.send(0, 1, 1000, {1}, 1);
  traces.send(0, 1, 1000, {1}, 2);
  traces.receive(1, 0, 1000, {}, 1);
  traces.receive(1, 0, 1000, {}, 2);
  const PublishedResult result = run(traces, config_of(1, 2, 1));
  EXPECT_EQ(result.ranks[0].finish_ns, 2922 + 1936);
  EXPECT_EQ(result.ranks[1].finish_ns, 2922 + 1936);
  ASSERT_EQ(result.nodes.size(), 5U);
  EXPECT_EQ(result.nodes[1].end_ns, 1986) << "the sender is told before the receiver";
  EXPECT_EQ(result.nodes[1].rank, 0U);
}

// dp 2, pp 2, tp 1: ranks 0 1 | 2 3. The sends at 0 ask for topology 3; all links are busy until 1 ns (the first
// topology is installed then), so the drain ends at 1, the pipeline links switch until 1 + delay + 1 and carry 1,000
// bytes that arrive 1936 later. Then stage 1 all-reduces: rank 3 votes last and leads at once; rank 2 has nothing
// more that would make it try again, so it starts when no event is left.
class OnDemand : public ::testing::Test {
 protected:
  static TestTraces make() {
    TestTraces traces(4);
    traces.group(1, {0, 1});
    traces.group(2, {2, 3});
    for (const std::uint32_t rank : {0U, 1U}) {
      traces.send(rank, rank + 2, 1000);
      traces.receive(rank + 2, rank, 1000);
      traces.collective(rank + 2, 2, 0, 8000, {1});
    }
    return traces;
  }
  static constexpr std::int64_t kArrived = 1 + 1'000'000 + 1 + 1936;  // delay 1 ms
};

TEST_F(OnDemand, CircuitsFollowTheOperations) {
  PublishedConfig config = config_of(2, 2, 1, Mode::on_demand);
  config.delay_ms = 1;
  const PublishedResult result = run(make(), config);
  EXPECT_EQ(result.topologies, (std::vector<std::uint32_t>{0, 3, 2}));
  EXPECT_EQ(result.reconfigurations, 2U);
  EXPECT_EQ(result.ranks[0].finish_ns, kArrived);
  std::vector<LogEntry> changes;
  for (const LogEntry& entry : result.log) {
    if (entry.kind != LogEntry::Kind::communication) changes.push_back(entry);
  }
  ASSERT_EQ(changes.size(), 5U);
  EXPECT_EQ(changes[0], (LogEntry{LogEntry::Kind::accepted, 0, 0, 3, 0}));
  EXPECT_EQ(changes[1], (LogEntry{LogEntry::Kind::applied, 0, 0, 3, 1}));
  EXPECT_EQ(changes[2], (LogEntry{LogEntry::Kind::accepted, 0, 3, 2, kArrived}));
  EXPECT_EQ(changes[3], (LogEntry{LogEntry::Kind::leader, 3, 2, 0, kArrived}));
  // The pipeline links that carried the messages are busy for 1000 + 1872 from their start.
  EXPECT_EQ(changes[4], (LogEntry{LogEntry::Kind::applied, 0, 0, 2, kArrived - 1936 + 2872}));
  const auto phases = rail_phases(result.log, 4);
  EXPECT_EQ(phases[2], (std::vector<Phase>{{true, 1}, {false, 1}}));
}

// 8,000 bytes in 4 chunks of 2,000, messages of 1,000 at 1 B/ns: travel 1936, hold 2872. Rank 3's first message waits
// for its data link; rank 2 starts only when no event is left: at the arrival of rank 3's message. Its data link has
// been free for long, so it sends 10 ns later, and so on: one exchange follows the other.
TEST_F(OnDemand, OtherMembersAreNotWoken) {
  PublishedConfig config = config_of(2, 2, 1, Mode::on_demand);
  config.delay_ms = 1;
  const PublishedResult result = run(make(), config);
  const std::int64_t applied = kArrived - 1936 + 2872;
  const std::int64_t up = applied + 1'000'000 + 1;  // data links of stage 1
  // Rank 3 sends at `up`, arrival at up + 1936 and its link is free at up + 2872, the last event before rank 2 tries.
  std::int64_t start = 0;
  for (const NodeTimes& node : result.nodes) {
    if (node.rank == 2 && node.node == 2) start = node.start_ns;
  }
  EXPECT_EQ(start, up + 2872);
}

TEST_F(OnDemand, WokenMembersStartWithTheLeader) {
  PublishedConfig config = config_of(2, 2, 1, Mode::on_demand);
  config.delay_ms = 1;
  config.wake_members = true;
  const PublishedResult result = run(make(), config);
  for (const NodeTimes& node : result.nodes) {
    if (node.rank >= 2 && node.node == 2) { EXPECT_EQ(node.start_ns, kArrived); }
  }
  // Both send at `up`; 2 (N - 1) messages a chunk, 8 in all, each 2872 after the one before it; 1936 + 10 for the last.
  const std::int64_t up = kArrived - 1936 + 2872 + 1'000'000 + 1;
  EXPECT_EQ(result.last_ns, up + 7 * 2872 + 1936 + 10);
}

// The list of a run: rank 2 changes from pipeline (operation 0) to data, and is to ask after operation 0.
TEST_F(OnDemand, ProvisioningAsksAfterTheOperationBeforeTheChange) {
  PublishedConfig config = config_of(2, 2, 1, Mode::provisioned);
  config.delay_ms = 1;
  const PublishedResult result = run(make(), config);
  EXPECT_EQ(result.provision, (std::vector<ProvisionEntry>{{0, 2, 0}, {1, 3, 0}, {2, -1, 0}, {3, -1, 0}}));
}

// Rank 2 starts the first all-reduce later than its leader, rank 3, but ends it earlier, for all that it waits for has
// come by then. A whole round ahead, it is refused the second one until rank 3 has ended the first.
TEST_F(OnDemand, AMemberThatIsARoundAheadWaits) {
  TestTraces traces = make();
  for (const std::uint32_t rank : {2U, 3U}) traces.collective(rank, 2, 0, 8000, {2});
  PublishedConfig config = config_of(2, 2, 1, Mode::on_demand);
  const PublishedResult result = run(traces, config);
  std::map<std::pair<std::uint32_t, std::uint64_t>, NodeTimes> nodes;
  for (const NodeTimes& node : result.nodes) nodes[{node.rank, node.node}] = node;
  EXPECT_LT(nodes[std::pair(2U, 2ULL)].end_ns, nodes[std::pair(3U, 2ULL)].end_ns);
  EXPECT_GE(nodes[std::pair(2U, 3ULL)].start_ns, nodes[std::pair(3U, 2ULL)].end_ns);
}

// Two receives from one peer and no change after them: the entry (operation 0, that peer) is of the kind that has just
// ended, so nothing is asked for it. The sends ask four times: once accepted, the others find it so.
TEST_F(OnDemand, AnEntryOfTheSameKindAsksNothing) {
  TestTraces traces(4);
  for (const std::uint32_t rank : {0U, 1U}) {
    for (const std::int32_t tag : {1, 2}) {
      traces.send(rank, rank + 2, 1000, {}, tag);
      traces.receive(rank + 2, rank, 1000, {}, tag);
    }
  }
  const PublishedResult result = run(traces, config_of(2, 2, 1, Mode::provisioned));
  EXPECT_EQ(result.provision, (std::vector<ProvisionEntry>{{0, 2, 0}, {1, 3, 0}, {2, 0, 0}, {3, 1, 0}}));
  EXPECT_EQ(result.reconfigurations, 1U);
  EXPECT_EQ(result.same, 3U);
}

TEST(Simulator, AReceiveWithoutItsSendIsADeadlock) {
  TestTraces traces(2);
  traces.receive(1, 0, 1000);
  const auto result = run_published(traces.set(), config_of(1, 2, 1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::deadlock);
  EXPECT_NE(result.error().message.find("rank 1 waits for a message"), std::string::npos) << result.error().message;
}

TEST(Simulator, DifferentSizesNeverMeet) {
  TestTraces traces(2);
  traces.send(0, 1, 1000);
  traces.receive(1, 0, 1001);
  const auto result = run_published(traces.set(), config_of(1, 2, 1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::deadlock);
}

// A member that never joins: its group's other member stands in the collective.
TEST(Simulator, AMissingMemberIsADeadlock) {
  TestTraces traces(2);
  traces.group(1, {0, 1});
  traces.collective(0, 1, 2, 4000);
  EXPECT_NE(error_of(traces, config_of(1, 1, 2)).find("rank 0 is in collective node 1 of group 1"), std::string::npos);
}

// Random programs of the shape of training steps: chains of computes, tensor collectives and data all-reduces, with
// pipeline messages between the stages. Members start collectives together or apart, by chance.
TestTraces random_traces(RandomStream& random, std::uint32_t dp, std::uint32_t pp, std::uint32_t tp) {
  const std::uint32_t stage_size = dp * tp;
  TestTraces traces(stage_size * pp);
  const auto data_group = [&](std::uint32_t rank) { return static_cast<std::int32_t>(rank / dp + 1); };
  const auto tensor_group = [&](std::uint32_t rank) {
    return static_cast<std::int32_t>(1000 + rank / stage_size * dp + rank % dp);
  };
  for (std::uint32_t rank = 0; rank < stage_size * pp; ++rank) {
    const std::uint32_t stage = rank / stage_size, base = stage * stage_size;
    if (rank % dp == 0) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t d = 0; d < dp; ++d) members.push_back(rank + d);
      traces.group(data_group(rank), members);
    }
    if (rank - base < dp) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t t = 0; t < tp; ++t) members.push_back(rank + t * dp);
      traces.group(tensor_group(rank), members);
    }
  }
  constexpr std::uint8_t kKinds[] = {0, 2, 7};
  for (std::uint32_t stage = 0; stage < pp; ++stage) {
    const bool even = random.below(2) == 0;  // all ranks of a stage compute equally long
    std::vector<std::uint64_t> last(stage_size, 0);
    const auto needs = [&](std::uint32_t i) {
      return last[i] == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{last[i]};
    };
    const auto each = [&](const auto& act) {
      for (std::uint32_t i = 0; i < stage_size; ++i) last[i] = act(stage * stage_size + i, i);
    };
    if (stage > 0)
      each([&](std::uint32_t r, std::uint32_t i) { return traces.receive(r, r - stage_size, 3000, needs(i)); });
    for (std::uint64_t layer = 1 + random.below(4); layer-- > 0;) {
      const auto time = static_cast<std::int64_t>(1 + random.below(4000));
      const std::uint8_t kind = kKinds[random.below(3)];
      const auto bytes = static_cast<std::int64_t>(400 + random.below(40'000));
      const auto gradient = static_cast<std::int64_t>(400 + random.below(20'000));
      const bool reduces = random.below(2) == 0;
      each([&](std::uint32_t r, std::uint32_t i) {
        const auto own = even ? time : time + static_cast<std::int64_t>(random.below(3));
        return traces.compute(r, own, needs(i));
      });
      if (tp > 1)
        each([&](std::uint32_t r, std::uint32_t i) {
          return traces.collective(r, tensor_group(r), kind, bytes, needs(i));
        });
      if (dp > 1 && reduces) {
        for (std::uint32_t i = 0; i < stage_size; ++i) {
          traces.collective(stage * stage_size + i, data_group(stage * stage_size + i), 0, gradient, needs(i));
        }
      }
    }
    if (stage + 1 < pp)
      each([&](std::uint32_t r, std::uint32_t i) { return traces.send(r, r + stage_size, 3000, needs(i)); });
  }
  return traces;
}

// Rule 7: who leads a collective starts it, the others do not start with it, and a tensor collective may take their
// slot. Stage 0: data groups {0, 1} and {2, 3}, tensor groups {0, 2} and {1, 3}; ranks 0 and 3 lead their data groups,
// 1 and 2 have voted before and then start a tensor collective: 0 waits for 1, 1 for 3, 3 for 2, and 2 for 0.
TEST(Simulator, CollectivesThatWaitForEachOtherInACircleAreNamed) {
  TestTraces traces(8);
  for (const std::uint32_t rank : {4U, 5U, 6U, 7U}) traces.compute(rank, 1);
  traces.group(1, {0, 1});
  traces.group(2, {2, 3});
  traces.group(3, {0, 2});
  traces.group(4, {1, 3});
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U}) {
    const bool leads = rank == 0 || rank == 3;
    const auto first = traces.compute(rank, leads ? 3000 : 1);
    const auto second = traces.compute(rank, 5000, {first});
    traces.collective(rank, rank % 2 == 0 ? 3 : 4, 0, 4000, {second});
    traces.collective(rank, rank < 2 ? 1 : 2, 0, 4000, {first});
  }
  PublishedConfig config = config_of(2, 2, 2, Mode::on_demand);
  for (const bool fast : {false, true}) {
    config.fast = fast;
    const auto result = run_published(traces.set(), config);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::deadlock);
    for (const char* part :
         {"4 of 8 ranks unfinished; collectives wait for each other in a circle",
          "node 4 of group 1, which waits for rank 1", "node 3 of group 4, which waits for rank 3",
          "node 4 of group 2, which waits for rank 2", "node 3 of group 3, which waits for rank 0"}) {
      EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
    }
  }
  config.wake_members = true;
  EXPECT_TRUE(run_published(traces.set(), config));
}

TEST(Simulator, ComputedCollectivesEqualSteppedOnes) {
  RandomStream random(11, "simulator_test");
  std::uint64_t stepped_events = 0, computed_events = 0;
  for (int round = 0; round < 300; ++round) {
    const auto dp = static_cast<std::uint32_t>(1 + random.below(3)),
               pp = static_cast<std::uint32_t>(1 + random.below(3)),
               tp = static_cast<std::uint32_t>(1 + random.below(4));
    if (dp * pp * tp < 2) continue;
    const TestTraces traces = random_traces(random, dp, pp, tp);
    constexpr Mode kModes[] = {Mode::static_eps, Mode::on_demand, Mode::provisioned};
    PublishedConfig config = config_of(dp, pp, tp, kModes[random.below(3)]);
    config.local_memory_GBps = random.below(2) == 0 ? 1e8 : 5;
    config.delay_ms = static_cast<double>(random.below(30)) * 1e-4;
    config.wake_members = random.below(2) == 0;
    config.fast = false;
    const auto stepped = run_published(traces.set(), config);
    config.fast = true;
    const auto computed = run_published(traces.set(), config);
    ASSERT_EQ(stepped.has_value(), computed.has_value()) << "round " << round;
    if (!stepped) continue;
    stepped_events += stepped->events;
    computed_events += computed->events;
    ASSERT_EQ(stepped->topologies, computed->topologies) << "round " << round;
    for (std::size_t r = 0; r < stepped->ranks.size(); ++r) {
      ASSERT_EQ(stepped->ranks[r].finish_ns, computed->ranks[r].finish_ns) << "round " << round << ", rank " << r;
    }
    ASSERT_EQ(stepped->traffic.tensor, computed->traffic.tensor) << "round " << round;
    ASSERT_EQ(stepped->log.size(), computed->log.size()) << "round " << round;
    for (std::size_t i = 0; i < stepped->log.size(); ++i) {
      ASSERT_EQ(stepped->log[i], computed->log[i]) << "round " << round << ", entry " << i;
    }
  }
  EXPECT_LT(computed_events * 10, stepped_events * 9) << "hardly any collective was computed";
}

}  // namespace
}  // namespace photonrail::published
