// The reconciler through every dialect: its drivers and front ends over one kind of box, with the faults of the model.
// The same intents end in the same matrix whatever is spoken, and nothing is called done without light.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/conformance.h"
#include "device/reconciler.h"

namespace photonrail::device {
namespace {

using Pairs = std::vector<CrossConnect>;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Position kPorts = 8;
constexpr Duration kLatency = microseconds(100);

SwitchModelSpec box_spec(std::uint64_t seed) {
  SwitchModelSpec spec;
  spec.inputs = spec.outputs = kPorts;
  spec.model = "EMU-8x8";
  spec.seed = seed;
  return spec;
}

ReconcilerSpec reconciler_spec(std::uint64_t seed) {
  ReconcilerSpec spec;
  spec.seed = seed;
  spec.serial = "0001";
  spec.inputs = spec.outputs = kPorts;
  return spec;
}

// A reconciler, its connection and its box; time is simulated.
class Wire {
 public:
  Wire(Dialect dialect, std::uint64_t seed)
      : box(dialect, box_spec(seed)), reconciler(reconciler_spec(seed), make_driver(dialect, {})) {
    drain();
  }

  void submit(Intent intent) {
    intent.deadline = now + seconds(30);
    reconciler.submit(intent, now);
    intents[intent.id] = std::move(intent);
    drain();
  }

  void run_for(Duration span) {
    const Instant end = now + span;
    constexpr int kStepsMost = 500'000;
    for (int i = 0; i < kStepsMost; ++i) {
      const Instant next = std::min({to_box_.empty() ? kNever : to_box_.front().first, from_box(), connect_at_,
                                     reconciler.next_deadline(), box.model().next_change()});
      if (next > end) {
        now = end;
        return box.advance(now);
      }
      now = std::max(now, next);
      step();
    }
    FAIL() << "the reconciler never sleeps";
  }

  bool done(IntentId id) const { return results.contains(id) && results.at(id).done; }

  EmulatedBox box;
  Reconciler reconciler;
  Instant now{seconds(1000)};
  std::map<IntentId, Intent> intents;
  std::map<IntentId, IntentResult> results;
  std::string recorded;   // frames of all records

 private:
  Instant from_box() const {
    if (!open_) return kNever;
    const Instant next = box.next(connection_);
    return next == kNever ? kNever : next + kLatency;
  }

  void step() {
    box.advance(now);
    if (now >= connect_at_) {
      connect();
    } else if (!to_box_.empty() && to_box_.front().first <= now) {
      const Frame frame = std::move(to_box_.front().second);
      to_box_.pop_front();
      if (open_) box.send(connection_, frame, now);
    } else if (from_box() <= now) {
      take();
    } else {
      reconciler.tick(now);
    }
    drain();
  }

  void connect() {
    connect_at_ = kNever;
    if (!box.model().up(now)) return reconciler.disconnected(now);
    connection_ = box.open(now);
    open_ = true;
    reconciler.connected(now);
  }

  void hang_up() {
    if (open_) box.close(connection_, now);
    open_ = false;
    to_box_.clear();
  }

  void take() {
    const std::optional<FrontEndReply> reply = box.take(connection_, now - kLatency);
    if (!reply) return;
    const Frame& frame = reply->frame;
    if (!frame.body.empty() || !frame.verb.empty() || frame.status != 0) reconciler.receive(frame, now);
    if (!reply->close || !open_) return;
    hang_up();
    reconciler.disconnected(now);
  }

  void drain() {
    for (const WriteRecord& record : reconciler.take_records()) {
      EXPECT_FALSE(record.frames.empty());
      recorded += record.frames;
    }
    for (Frame& frame : reconciler.take_frames()) to_box_.emplace_back(now + kLatency, std::move(frame));
    if (reconciler.take_connect_request()) {
      hang_up();
      connect_at_ = now + kLatency;
    }
    for (IntentResult& result : reconciler.take_results()) {
      EXPECT_FALSE(results.contains(result.id));
      check(result);
      results[result.id] = std::move(result);
    }
    reconciler.take_alarms();
  }

  void check(const IntentResult& result) {
    const Pairs& add = intents.at(result.id).add;
    ASSERT_EQ(result.add.size(), add.size());
    for (std::size_t i = 0; i < add.size(); ++i) {
      if (result.add[i] == Outcome::applied) {
        EXPECT_TRUE(box.model().lit(add[i], now)) << add[i].in << "-" << add[i].out << " has no light";
      }
    }
  }

  std::deque<std::pair<Instant, Frame>> to_box_;
  ConnectionId connection_ = 0;
  Instant connect_at_ = kNever;
  bool open_ = false;
};

Intent wish(IntentId id, Pairs remove, Pairs add) {
  Intent intent;
  intent.id = id;
  intent.remove = std::move(remove);
  intent.add = std::move(add);
  return intent;
}

struct EveryDialect : testing::TestWithParam<Dialect> {};

TEST_P(EveryDialect, MovesCircuitsAndTellsWhenLightIsThere) {
  Wire wire(GetParam(), 1);
  const Pairs ring = {{0, 1}, {1, 0}, {2, 3}, {3, 2}};
  const Pairs moved = {{0, 3}, {3, 0}, {2, 1}, {1, 2}};
  wire.submit(wish(1, {}, ring));
  wire.run_for(seconds(20));
  ASSERT_TRUE(wire.done(1)) << wire.results[1].reason;
  EXPECT_EQ(wire.box.model().connections(wire.now), ring);
  wire.submit(wish(2, ring, moved));
  wire.run_for(seconds(20));
  ASSERT_TRUE(wire.done(2)) << wire.results[2].reason;
  wire.submit(wish(3, {{0, 3}, {3, 0}}, {{4, 5}}));
  wire.run_for(seconds(20));
  ASSERT_TRUE(wire.done(3)) << wire.results[3].reason;
  EXPECT_EQ(wire.box.model().connections(wire.now), (Pairs{{1, 2}, {2, 1}, {4, 5}}));
  for (const WriterLogEntry& entry : wire.box.model().writer_log()) EXPECT_NE(entry.writer, "");
}

// Dialects that delete by port read first; the deletion, sent after that answer, is on record all the same.
TEST_P(EveryDialect, RecordsTheWriteItselfAndNotOnlyWhatGoesBefore) {
  Wire wire(GetParam(), 1);
  wire.submit(wish(1, {}, {{0, 1}}));
  wire.run_for(seconds(20));
  ASSERT_TRUE(wire.done(1));
  wire.recorded.clear();
  wire.submit(wish(2, {{0, 1}}, {}));
  wire.run_for(seconds(20));
  ASSERT_TRUE(wire.done(2));
  const std::map<Dialect, std::string> deletion = {
      {Dialect::polatis_scpi, ":oxc:swit:conn:sub"}, {Dialect::polatis_tl1, "DLT-PATCH"},
      {Dialect::calient_tl1, "DLT-CRS"},             {Dialect::glimmerglass_tl1, "DLT-CRS-FIBER"},
      {Dialect::polatis_netconf, "operation=\"remove\""}, {Dialect::polatis_restconf, "DELETE"},
      {Dialect::ocp_gnmi, "Set"},                    {Dialect::sonic_gnmi, "Set"}};
  EXPECT_NE(wire.recorded.find(deletion.at(GetParam())), std::string::npos) << wire.recorded;
}

TEST_P(EveryDialect, LeavesASomebodyElsesCircuitAlone) {
  Wire wire(GetParam(), 1);
  wire.box.model().advance(wire.now);
  wire.box.model().foreign_write({"foreign", {}, {{0, 5}}, WriteRequest::Conflict::device_default, false}, wire.now);
  wire.submit(wish(1, {}, {{0, 1}}));
  wire.submit(wish(2, {}, {{2, 3}}));
  wire.run_for(seconds(20));
  ASSERT_TRUE(wire.results.contains(1));
  EXPECT_FALSE(wire.done(1));
  EXPECT_TRUE(wire.done(2));
  EXPECT_EQ(wire.box.model().connections(wire.now), (Pairs{{0, 5}, {2, 3}}));
}

// SONiC's tables have no power, only a status that a mirror which misses does not change: nobody could tell there.
bool tells_power(Dialect dialect) { return dialect != Dialect::sonic_gnmi; }

Faults some_faults(RandomStream& draw, Dialect dialect) {
  Faults faults;
  for (const std::string& name : fault_names()) {
    set_fault(faults, name, draw.uniform() < 0.5 ? 0.0 : draw.uniform(0.0, 0.15));
  }
  faults.foreign_change = faults.port_fails = faults.retunes = faults.reverts = 0;
  faults.half_open *= 0.2;
  if (dialect != Dialect::sonic_gnmi) faults.stale_entry = 0;  // was seen there; others refuse to add what is listed
  if (!tells_power(dialect)) faults.wrong_output = faults.mirror_stuck = 0;
  return faults;
}

TEST_P(EveryDialect, KeepsItsWordUnderFaults) {
  std::map<std::string, std::uint64_t> struck;
  std::size_t done = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream draw(seed, "dialects");
    Wire wire(GetParam(), seed);
    wire.box.model().set_faults(some_faults(draw, GetParam()), wire.now);
    IntentId id = 0;
    for (int i = 0; i < 6; ++i) {
      Pairs held = wire.reconciler.snapshot().connections;
      Pairs remove, add;
      for (const CrossConnect& pair : held) {
        if (draw.uniform() < 0.3) remove.push_back(pair);
      }
      std::array<bool, kPorts> in{}, out{};
      for (std::uint64_t n = 1 + draw.below(3); n > 0; --n) {
        const CrossConnect pair{static_cast<Position>(draw.below(kPorts)), static_cast<Position>(draw.below(kPorts))};
        if (in[pair.in] || out[pair.out] || std::count(remove.begin(), remove.end(), pair) > 0) continue;
        in[pair.in] = out[pair.out] = true;
        add.push_back(pair);
      }
      wire.submit(wish(++id, remove, add));
      wire.run_for(milliseconds(static_cast<int>(draw.below(3000))));
    }
    wire.run_for(seconds(40));
    EXPECT_EQ(wire.results.size(), wire.intents.size());
    wire.box.model().set_faults({}, wire.now);
    for (Position port = 0; port < kPorts; ++port) wire.box.model().repair_port(port, wire.now);
    wire.run_for(seconds(20));
    wire.submit(wish(++id, wire.reconciler.snapshot().connections, {}));
    wire.run_for(seconds(30));
    EXPECT_TRUE(wire.done(id)) << wire.results[id].reason;
    Pairs all;
    for (Position port = 0; port < kPorts; ++port) all.push_back({port, static_cast<Position>(kPorts - 1 - port)});
    wire.submit(wish(++id, {}, all));
    wire.run_for(seconds(30));
    EXPECT_TRUE(wire.done(id)) << wire.results[id].reason;
    EXPECT_EQ(wire.box.model().connections(wire.now), all);
    for (const auto& [name, n] : wire.box.model().faults_struck()) struck[name] += n;
    for (const auto& [number, result] : wire.results) done += result.done ? 1 : 0;
  }
  EXPECT_GT(done, 40U);
  for (const char* name : {"applied_but_error", "ok_but_not_applied", "no_reply", "late_reply", "garbage",
                           "disconnects", "half_open", "busy", "wrong_output", "fails_to_tune"}) {
    if (!tells_power(GetParam()) && std::string_view(name) == "wrong_output") continue;
    EXPECT_GT(struck[name], 0U) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Reconciler, EveryDialect, testing::ValuesIn(built_in_dialects()), [](const auto& given) {
  std::string text = name(given.param);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

}  // namespace
}  // namespace photonrail::device
