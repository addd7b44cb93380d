// The same behaviour of every dialect, driver against front end: what a caller may rely on whatever the switch speaks.
#include "device/conformance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace photonrail::device {
namespace {

using Pairs = std::vector<CrossConnect>;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kTextMax = 4096;

SwitchModelSpec sized(Position inputs, Position outputs) {
  SwitchModelSpec spec;
  spec.inputs = inputs;
  spec.outputs = outputs;
  spec.model = "EMU-" + std::to_string(inputs) + "x" + std::to_string(outputs) + "-LU1";
  spec.serial = "002414";
  spec.firmware = "6.5.2.18";
  return spec;
}

SwitchModelSpec small() { return sized(16, 16); }

Pairs diagonal(Position from, Position count, Position shift = 0) {
  Pairs pairs;
  for (Position i = 0; i < count; ++i) {
    pairs.push_back({static_cast<Position>(from + i), static_cast<Position>(from + i + shift)});
  }
  return pairs;
}

Pairs sorted(Pairs pairs) {
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

class Conformance : public testing::TestWithParam<Dialect> {
 protected:
  void begin(SwitchModelSpec spec = small(), FrontEndOptions options = {}, CarrierSpec carrier = {}) {
    box = std::make_unique<EmulatedBox>(GetParam(), std::move(spec), options);
    line = std::make_unique<Carrier>(*box, options.credentials, carrier);
    ASSERT_EQ(line->connect().outcome, Outcome::applied);
  }

  SwitchModel& model() { return box->model(); }
  Pairs truth() { return box->model().connections(line->now()); }

  // What the driver reads is what the model holds.
  void expect_read() {
    const Answer answer = line->read();
    ASSERT_EQ(answer.outcome, Outcome::applied) << answer.device_text;
    EXPECT_EQ(answer.snapshot.connections, truth());
  }

  void foreign(Pairs remove, Pairs add) {
    WriteRequest request;
    request.writer = "foreign";
    request.remove = std::move(remove);
    request.add = std::move(add);
    request.conflict = WriteRequest::Conflict::steal;
    model().foreign_write(request, line->now());
  }

  std::unique_ptr<EmulatedBox> box;
  std::unique_ptr<Carrier> line;
};

TEST_P(Conformance, IdentifiesTheBox) {
  box = std::make_unique<EmulatedBox>(GetParam(), sized(24, 20));
  line = std::make_unique<Carrier>(*box);
  const Answer answer = line->connect();
  ASSERT_EQ(answer.outcome, Outcome::applied);
  EXPECT_EQ(answer.identity.serial, "002414");
  EXPECT_EQ(answer.identity.firmware, "6.5.2.18");
  EXPECT_EQ(answer.identity.inputs, 24);
  EXPECT_EQ(answer.identity.outputs, 20);
  EXPECT_FALSE(line->driver().wants_new_connection());
  EXPECT_TRUE(model().writer_log().empty()) << "first contact writes nothing";
}

TEST_P(Conformance, ReadsAnEmptyMatrix) {
  begin();
  const Answer answer = line->read();
  EXPECT_EQ(answer.outcome, Outcome::applied);
  EXPECT_TRUE(answer.snapshot.connections.empty());
}

TEST_P(Conformance, AddsReadsBackAndRemoves) {
  begin();
  const Pairs pairs{{0, 3}, {3, 0}, {5, 15}, {15, 5}};
  EXPECT_EQ(line->add(pairs).outcome, Outcome::applied);
  EXPECT_EQ(truth(), sorted(pairs));
  expect_read();
  EXPECT_EQ(line->remove({{3, 0}, {5, 15}}).outcome, Outcome::applied);
  EXPECT_EQ(truth(), (Pairs{{0, 3}, {15, 5}}));
  expect_read();
}

TEST_P(Conformance, MovesABatchAsLargeAsTheBox) {
  begin(sized(160, 160));  // more than one line or request of any dialect
  EXPECT_EQ(line->run({Command::Kind::add, diagonal(0, 160), {}, true}, seconds(60)).outcome, Outcome::applied);
  EXPECT_EQ(truth(), diagonal(0, 160));
  expect_read();
  EXPECT_EQ(line->run({Command::Kind::remove, diagonal(10, 140), {}, true}, seconds(60)).outcome, Outcome::applied);
  EXPECT_EQ(truth().size(), 20U);
  expect_read();
}

TEST_P(Conformance, AnEmptyWriteIsDone) {
  begin();
  EXPECT_EQ(line->add({}).outcome, Outcome::applied);
  EXPECT_EQ(line->remove({}).outcome, Outcome::applied);
  EXPECT_TRUE(model().writer_log().empty());
}

// A remove names a pair, not a port: what else the port holds stays.
TEST_P(Conformance, RemovesNothingThatItWasNotTold) {
  begin();
  ASSERT_EQ(line->add({{1, 5}, {2, 6}}).outcome, Outcome::applied);
  EXPECT_EQ(line->remove({{1, 6}, {2, 5}, {9, 9}}).outcome, Outcome::applied);
  EXPECT_EQ(truth(), (Pairs{{1, 5}, {2, 6}}));
}

TEST_P(Conformance, NeverTouchesCircuitsOfOthers) {
  begin();
  foreign({}, {{0, 0}, {7, 9}});
  ASSERT_EQ(line->add({{1, 1}}).outcome, Outcome::applied);
  ASSERT_EQ(line->remove({{1, 1}}).outcome, Outcome::applied);
  EXPECT_EQ(truth(), (Pairs{{0, 0}, {7, 9}}));
  expect_read();
}

// It removes a circuit that somebody else has made, when it is told to.
TEST_P(Conformance, RemovesWhatOthersMade) {
  begin();
  foreign({}, {{4, 8}});
  EXPECT_EQ(line->remove({{4, 8}}).outcome, Outcome::applied);
  EXPECT_TRUE(truth().empty());
}

TEST_P(Conformance, ABoxThatRejectsConflictsKeepsWhatItHas) {
  if (GetParam() == Dialect::sonic_gnmi) GTEST_SKIP() << "SONiC steals by default";
  begin();
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  const Answer answer = line->add({{2, 5}});
  EXPECT_NE(answer.outcome, Outcome::applied);
  EXPECT_FALSE(answer.device_text.empty());
  EXPECT_EQ(truth(), (Pairs{{1, 5}}));
  expect_read();
}

TEST_P(Conformance, ABoxThatStealsIsReadBackAsItIs) {
  SwitchModelSpec spec = small();
  spec.on_conflict = OnConflict::steals;
  begin(spec);
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  line->add({{2, 5}});
  expect_read();
}

TEST_P(Conformance, SendsNothingForPortsThatThereAreNot) {
  begin();
  const std::size_t before = line->sent().size();
  EXPECT_EQ(line->add({{0, 1}, {16, 2}}).outcome, Outcome::rejected);
  EXPECT_EQ(line->remove({{2, 16}}).outcome, Outcome::rejected);
  EXPECT_EQ(line->readings({16}).outcome, Outcome::rejected);
  EXPECT_EQ(line->sent().size(), before);
  EXPECT_TRUE(truth().empty());
}

TEST_P(Conformance, DisablesAndEnablesPorts) {
  begin();
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  const Answer off = line->set_ports({5}, false);
  if (!line->driver().capabilities().port_control) {
    EXPECT_EQ(off.outcome, Outcome::rejected);
    EXPECT_NE(model().reading(5, line->now()).status, PortStatus::disabled);
    return;
  }
  EXPECT_EQ(off.outcome, Outcome::applied);
  EXPECT_EQ(model().reading(5, line->now()).status, PortStatus::disabled);
  EXPECT_EQ(line->readings().snapshot.outputs.at(5).status, PortStatus::disabled);
  EXPECT_EQ(line->set_ports({5}, true).outcome, Outcome::applied);
  line->pass(seconds(1));
  EXPECT_NE(line->readings().snapshot.outputs.at(5).status, PortStatus::disabled);
}

TEST_P(Conformance, SeesFailedPorts) {
  begin();
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  model().fail_port(5, line->now());
  const Answer answer = line->readings();
  ASSERT_EQ(answer.outcome, Outcome::applied);
  EXPECT_EQ(answer.snapshot.outputs.at(5).status, PortStatus::failed);
}

TEST_P(Conformance, SeesLight) {
  begin();
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  line->pass(seconds(1));
  const Answer answer = line->readings();
  ASSERT_EQ(answer.outcome, Outcome::applied);
  ASSERT_EQ(answer.snapshot.outputs.size(), 16U);
  const Capabilities& can = line->driver().capabilities();
  if (can.status) {
    EXPECT_EQ(answer.snapshot.outputs[5].status, PortStatus::tuned);
    EXPECT_NE(answer.snapshot.outputs[6].status, PortStatus::tuned);
  }
  if (can.power) {
    EXPECT_NEAR(answer.snapshot.outputs[5].power_dbm.value_or(-99), -1.5, 2.0);
    EXPECT_LT(answer.snapshot.outputs[6].power_dbm.value_or(-99), -50);
  }
  EXPECT_TRUE(can.status || can.power) << "a reconciler has to see light somehow";
}

TEST_P(Conformance, ReadsTheOutputsThatItIsAskedFor) {
  begin();
  model().fail_port(9, line->now());
  const Answer answer = line->readings({9, 3});
  ASSERT_EQ(answer.outcome, Outcome::applied);
  ASSERT_EQ(answer.snapshot.outputs.size(), 16U);
  EXPECT_EQ(answer.snapshot.outputs[9].status, PortStatus::failed);
}

// Light that is not there yet is never reported as tuned.
TEST_P(Conformance, SaysTunedOnlyWhenItIs) {
  SwitchModelSpec spec = small();
  spec.settle_median = milliseconds(400);
  begin(spec);
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  for (int i = 0; i < 20; ++i) {
    line->begin({Command::Kind::readings, {}, {5}, true});
    const bool lit_before = model().lit({1, 5}, line->now());
    const Answer answer = line->finish();
    const bool lit_after = model().lit({1, 5}, line->now());
    ASSERT_EQ(answer.outcome, Outcome::applied);
    EXPECT_TRUE(lit_after || answer.snapshot.outputs.at(5).status != PortStatus::tuned);
    if (line->driver().capabilities().power && !lit_after) {
      EXPECT_LT(answer.snapshot.outputs.at(5).power_dbm.value_or(0), -50);
    }
    if (line->driver().capabilities().status && lit_before) {
      EXPECT_EQ(answer.snapshot.outputs.at(5).status, PortStatus::tuned);
    }
    line->pass(milliseconds(50));
  }
}

TEST_P(Conformance, ABoxWithoutDetectorsIsNotBelievedToHaveThem) {
  SwitchModelSpec spec = small();
  spec.has_power = false;
  begin(spec);
  const Answer answer = line->readings();
  EXPECT_EQ(answer.outcome, Outcome::applied);
  const Capabilities& can = line->driver().capabilities();
  EXPECT_TRUE(can.status || !can.power) << "without status, power would be taken for darkness";
}

TEST_P(Conformance, AFailureThatAppliedIsNoSuccessAndIsReadBack) {
  begin();
  model().force("applied_but_error");
  const Answer answer = line->add({{1, 5}});
  EXPECT_NE(answer.outcome, Outcome::applied);
  EXPECT_NE(answer.outcome, Outcome::rejected) << "refused means that nothing was done";
  EXPECT_EQ(truth(), (Pairs{{1, 5}}));
  expect_read();
}

TEST_P(Conformance, ASuccessThatDidNothingIsReadBack) {
  begin();
  model().force("ok_but_not_applied");
  EXPECT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  EXPECT_TRUE(truth().empty());
  expect_read();
  // The difference can be sent again.
  EXPECT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  EXPECT_EQ(truth(), (Pairs{{1, 5}}));
  model().force("ok_but_not_applied");
  line->remove({{1, 5}});
  EXPECT_EQ(truth(), (Pairs{{1, 5}}));
  expect_read();
  EXPECT_EQ(line->remove({{1, 5}}).outcome, Outcome::applied);
  EXPECT_TRUE(truth().empty());
}

TEST_P(Conformance, APartialBatchIsNoSuccess) {
  begin();
  const Pairs pairs = diagonal(0, 8, 2);
  model().force("partial");
  const Answer answer = line->add(pairs);
  const Pairs held = truth();
  if (held.size() < pairs.size()) {  // a dialect that writes pair by pair cannot do a batch in part
    EXPECT_NE(answer.outcome, Outcome::applied);
    EXPECT_NE(answer.outcome, Outcome::rejected);
  }
  expect_read();
  Pairs missing;
  std::set_difference(pairs.begin(), pairs.end(), held.begin(), held.end(), std::back_inserter(missing));
  EXPECT_EQ(line->add(missing).outcome, Outcome::applied);
  EXPECT_EQ(truth(), pairs);
}

TEST_P(Conformance, ABusyBoxRefuses) {
  begin();
  model().force("busy");
  const Answer answer = line->add({{1, 5}});
  EXPECT_NE(answer.outcome, Outcome::applied);
  expect_read();
  EXPECT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
}

TEST_P(Conformance, ALostReplyIsUnknownAndThenRead) {
  begin();
  model().force("no_reply");
  line->begin({Command::Kind::add, {{1, 5}}, {}, true});
  const Answer answer = line->finish();
  EXPECT_EQ(answer.outcome, Outcome::unknown);
  expect_read();
  EXPECT_EQ(line->stray_answers(), 0U);
}

// The reply to an expired read comes while the next read waits, and tells of a matrix that is gone.
TEST_P(Conformance, ALateReplyIsNotTakenForTheNextOne) {
  SwitchModelSpec spec = small();
  spec.faults.late_by = milliseconds(2100);
  begin(spec);
  foreign({}, {{1, 5}});
  for (int i = 0; i < 5; ++i) {
    model().force("late_reply");
    line->begin({Command::Kind::read, {}, {}, true});
    EXPECT_EQ(line->finish().outcome, Outcome::unknown);
    foreign({{1, static_cast<Position>(5 + i)}}, {{1, static_cast<Position>(6 + i)}});
    model().force("late_reply");  // so that the one before comes first
    if (line->driver().wants_new_connection()) line->connect();
    line->begin({Command::Kind::read, {}, {}, true});
    const Answer answer = line->finish(seconds(4));
    EXPECT_TRUE(answer.outcome != Outcome::applied || answer.snapshot.connections == truth());
  }
  EXPECT_EQ(line->stray_answers(), 0U);
}

TEST_P(Conformance, ABrokenConnectionIsUnknownAndThenRead) {
  begin();
  for (int i = 0; i < 4; ++i) {  // before the command is applied, and after it
    model().force("disconnects");
    line->begin({Command::Kind::add, {{static_cast<Position>(i), static_cast<Position>(i)}}, {}, true});
    EXPECT_EQ(line->finish().outcome, Outcome::unknown);
    ASSERT_EQ(line->connect().outcome, Outcome::applied);
    expect_read();
  }
}

TEST_P(Conformance, AConnectionThatFallsSilentIsRenewed) {
  begin();
  model().force("half_open");
  line->begin({Command::Kind::add, {{1, 5}}, {}, true});
  EXPECT_EQ(line->finish().outcome, Outcome::unknown);
  for (int i = 0; i < 3 && !line->driver().wants_new_connection(); ++i) {
    line->begin({Command::Kind::read, {}, {}, true});
    EXPECT_EQ(line->finish().outcome, Outcome::unknown);
  }
  expect_read();
}

TEST_P(Conformance, SurvivesAPowerCycle) {
  SwitchModelSpec spec = small();
  spec.cold_boot = ColdBoot::restore;
  begin(spec);
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  model().power_cycle(line->now(), seconds(30));
  EXPECT_NE(line->read().outcome, Outcome::applied);
  line->hang_up();
  line->pass(seconds(31));
  ASSERT_EQ(line->connect().outcome, Outcome::applied);
  expect_read();
}

TEST_P(Conformance, AnswersOnceWhenTheConnectionIsLost) {
  begin();
  line->begin({Command::Kind::read, {}, {}, true});
  line->driver().disconnected();
  const auto answer = line->driver().take_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, Outcome::unknown);
  EXPECT_FALSE(line->driver().take_answer());
  line->driver().expire();
  EXPECT_FALSE(line->driver().take_answer());
}

TEST_P(Conformance, AWrongPasswordIsRefusedAndNeverShown) {
  FrontEndOptions options;
  options.credentials = {"root", "correct-horse"};
  box = std::make_unique<EmulatedBox>(GetParam(), small(), options);
  line = std::make_unique<Carrier>(*box, Credentials{"root", "battery-staple"});
  const bool in_band = GetParam() != Dialect::polatis_scpi && GetParam() != Dialect::polatis_netconf &&
                       GetParam() != Dialect::ocp_gnmi && GetParam() != Dialect::sonic_gnmi;
  const Answer answer = line->connect();
  EXPECT_TRUE(!in_band || answer.outcome != Outcome::applied);  // SSH, TLS or nobody checks the others
  EXPECT_EQ(answer.device_text.find("battery-staple"), std::string::npos);
  line = std::make_unique<Carrier>(*box, options.credentials);
  EXPECT_EQ(line->connect().outcome, Outcome::applied);
  expect_read();
}

TEST_P(Conformance, SessionsHaveALimit) {
  FrontEndOptions options;
  options.credentials = {"root", "root"};
  options.max_sessions = 1;
  begin(small(), options);
  Carrier other(*box, options.credentials);
  const bool first = GetParam() == Dialect::polatis_restconf;  // HTTP has no sessions
  EXPECT_TRUE(first || other.connect().outcome != Outcome::applied);
  expect_read();
  line->hang_up();
  EXPECT_EQ(other.connect().outcome, Outcome::applied);
}

TEST_P(Conformance, TwoClientsSeeOneMatrix) {
  begin();
  Carrier other(*box);
  ASSERT_EQ(other.connect().outcome, Outcome::applied);
  ASSERT_EQ(line->add({{1, 5}}).outcome, Outcome::applied);
  other.pass(seconds(1));
  EXPECT_EQ(other.read().snapshot.connections, (Pairs{{1, 5}}));
}

TEST_P(Conformance, KeepsTheGapOfItsDialect) {
  SwitchModelSpec spec = small();
  spec.min_gap = milliseconds(5);
  begin(spec);
  if (line->driver().capabilities().min_gap < spec.min_gap) GTEST_SKIP() << "this dialect knows no gap";
  ASSERT_EQ(line->add(diagonal(0, 8)).outcome, Outcome::applied);
  ASSERT_EQ(line->remove(diagonal(0, 4)).outcome, Outcome::applied);
  expect_read();
  EXPECT_EQ(model().faults_struck().count("wedged"), 0U);
}

TEST_P(Conformance, TellsOfChangesWhereItCan) {
  begin();
  if (!line->driver().capabilities().events) GTEST_SKIP() << "this dialect has no events";
  (void)line->driver().take_events();
  foreign({}, {{4, 8}});
  line->pass(seconds(1));
  const auto events = line->driver().take_events();
  ASSERT_FALSE(events.empty());
  for (const Event& event : events) EXPECT_LE(event.device_text.size(), kTextMax);
  expect_read();
}

// ---- The same program, whatever happens to the bytes on their way.

// Removes and adds at random, as a controller does: what is busy is removed first.
struct Program {
  explicit Program(std::uint64_t seed) : random(seed, "program") {}

  std::pair<Pairs, Pairs> next(const Pairs& held, Position ports) {
    Pairs remove, add;
    std::set<Position> inputs, outputs;
    for (std::uint64_t n = 1 + random.below(5); n > 0; --n) {
      const auto in = static_cast<Position>(random.below(ports)), out = static_cast<Position>(random.below(ports));
      if (!inputs.insert(in).second || !outputs.insert(out).second) continue;
      add.push_back({in, out});
    }
    for (const CrossConnect& pair : held) {
      const bool stays = std::find(add.begin(), add.end(), pair) != add.end();
      if (!stays && (inputs.contains(pair.in) || outputs.contains(pair.out))) remove.push_back(pair);
    }
    std::erase_if(add, [&](const CrossConnect& pair) { return std::binary_search(held.begin(), held.end(), pair); });
    return {remove, add};
  }
  RandomStream random;
};

// Reads until an answer comes; a driver that wants a new connection gets one.
Pairs read_somehow(Carrier& line) {
  for (int tries = 0; tries < 100; ++tries) {
    const Answer answer = line.read();
    if (answer.outcome == Outcome::applied) return answer.snapshot.connections;
  }
  ADD_FAILURE() << "no answer in 100 tries";
  return {};
}

void run_program(EmulatedBox& box, Carrier& line, std::uint64_t seed, int rounds) {
  Program program(seed);
  for (int round = 0; round < rounds; ++round) {
    const Pairs held = read_somehow(line);
    EXPECT_EQ(held, box.model().connections(line.now()));
    const auto [remove, add] = program.next(held, box.model().spec().inputs);
    // A write that is not known to be done is read and sent again, as far as it is missing.
    for (int tries = 0; tries < 50; ++tries) {
      const Pairs now = read_somehow(line);
      ASSERT_EQ(now, box.model().connections(line.now()));
      Pairs gone, missing;
      for (const CrossConnect& pair : remove) {
        if (std::binary_search(now.begin(), now.end(), pair)) gone.push_back(pair);
      }
      for (const CrossConnect& pair : add) {
        if (!std::binary_search(now.begin(), now.end(), pair)) missing.push_back(pair);
      }
      if (gone.empty() && missing.empty()) break;
      if (!gone.empty()) line.remove(gone);
      else line.add(missing);
    }
  }
}

Pairs result_of_program(Dialect dialect, std::uint64_t seed, CarrierSpec spec, Faults faults = {}) {
  SwitchModelSpec model = small();
  model.faults = faults;
  model.seed = seed;
  EmulatedBox box(dialect, model);
  spec.seed = seed;
  Carrier line(box, {}, spec);
  run_program(box, line, seed, 12);
  EXPECT_EQ(line.stray_answers(), 0U);
  return box.model().connections(line.now());
}

TEST_P(Conformance, EndsInTheSameMatrixAsEveryOther) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Pairs first = result_of_program(built_in_dialects().front(), seed, {});
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(result_of_program(GetParam(), seed, {}), first) << "seed " << seed;
  }
}

TEST_P(Conformance, BytesCutAnywhereChangeNothing) {
  if (!is_byte_stream(GetParam())) GTEST_SKIP() << "frames come whole";
  CarrierSpec spec;
  spec.cut = true;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(result_of_program(GetParam(), seed, spec), result_of_program(GetParam(), seed, {})) << "seed " << seed;
  }
}

TEST_P(Conformance, LostRepliesChangeNothing) {
  CarrierSpec spec;
  spec.cut = true;
  spec.lost = 0.1;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(result_of_program(GetParam(), seed, spec), result_of_program(GetParam(), seed, {})) << "seed " << seed;
  }
}

TEST_P(Conformance, RepeatedRepliesChangeNothing) {
  if (GetParam() == Dialect::polatis_restconf) GTEST_SKIP() << "an HTTP client joins each response to its request";
  CarrierSpec spec;
  spec.cut = true;
  spec.repeated = 0.5;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(result_of_program(GetParam(), seed, spec), result_of_program(GetParam(), seed, {})) << "seed " << seed;
  }
}

TEST_P(Conformance, NoiseChangesNothing) {
  CarrierSpec spec;
  spec.cut = true;
  spec.noise = 0.2;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(result_of_program(GetParam(), seed, spec), result_of_program(GetParam(), seed, {})) << "seed " << seed;
  }
}

TEST_P(Conformance, ALyingBoxEndsInTheSameMatrix) {
  Faults faults;
  faults.applied_but_error = faults.ok_but_not_applied = faults.partial = faults.busy = 0.1;
  faults.no_reply = faults.late_reply = faults.garbage = faults.split = faults.disconnects = 0.05;
  CarrierSpec spec;
  spec.cut = true;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(result_of_program(GetParam(), seed, spec, faults), result_of_program(GetParam(), seed, {}))
        << "seed " << seed;
  }
}

// ---- Hostile bytes.

// A box that sends anything: never a success, one answer for each command, bounded texts.
TEST_P(Conformance, RandomBytesAreNeverAnAnswer) {
  const Dialect dialect = GetParam();
  rc::check("random frames", [dialect](const std::vector<std::string>& bodies, bool in_flight) {
    const auto driver = make_driver(dialect, {"root", "root"});
    driver->connected();
    std::size_t answers = 0;
    for (const std::string& body : bodies) {
      Frame frame;
      frame.body = body;
      driver->receive(frame);
      (void)driver->take_frames();
      if (const auto answer = driver->take_answer()) {
        ++answers;
        RC_ASSERT(answer->outcome != Outcome::applied);
        RC_ASSERT(answer->device_text.size() <= kTextMax);
      }
    }
    if (in_flight) driver->expire();
    else driver->disconnected();
    if (driver->take_answer()) ++answers;
    RC_ASSERT(answers == 1U);
    RC_ASSERT(!driver->take_answer());
  });
}

// Real replies with a few bytes changed: no crash, one answer, and never one when nobody asked.
TEST_P(Conformance, DamagedRepliesNeverBreakTheDriver) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    begin();
    RandomStream random(seed, "damage");
    Driver& driver = line->driver();
    foreign({}, diagonal(0, 8));
    driver.begin({seed % 2 == 0 ? Command::Kind::read : Command::Kind::readings, {}, {}, true});
    Instant now = line->now();
    const ConnectionId connection = 1;
    bool answered = false;
    for (int turn = 0; turn < 8 && !answered; ++turn) {
      for (const Frame& frame : driver.take_frames()) box->send(connection, frame, now);
      now += milliseconds(50);
      box->advance(now);
      while (auto reply = box->take(connection, now)) {
        std::string& body = reply->frame.body;
        for (std::uint64_t n = random.below(4); n > 0 && !body.empty(); --n) {
          const auto at = static_cast<std::size_t>(random.below(body.size()));
          if (random.below(3) == 0) body.erase(at, 1 + static_cast<std::size_t>(random.below(20)));
          else body[at] = static_cast<char>(random.below(256));
        }
        driver.receive(reply->frame);
      }
      answered = driver.take_answer().has_value();
    }
    if (!answered) {
      driver.expire();
      EXPECT_TRUE(driver.take_answer());
    }
    EXPECT_FALSE(driver.take_answer());
  }
}

// Front ends take anything from a client, and the matrix stays as it is.
TEST_P(Conformance, FrontEndsSurviveRandomBytes) {
  const Dialect dialect = GetParam();
  rc::check("random requests", [dialect](const std::vector<std::string>& bodies) {
    EmulatedBox target(dialect, small());
    Instant now{};
    const ConnectionId connection = target.open(now);
    for (const std::string& body : bodies) {
      Frame frame;
      frame.body = body + (is_byte_stream(dialect) ? ";\n" : "");
      now += milliseconds(1);
      target.send(connection, frame, now);
    }
    RC_ASSERT(target.model().connections(now).empty());
  });
}

INSTANTIATE_TEST_SUITE_P(Dialects, Conformance, testing::ValuesIn(built_in_dialects()), [](const auto& parameter) {
  std::string text = name(parameter.param);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

TEST(Dialects, HaveNamesThatAreFoundAgain) {
  for (const Dialect dialect : built_in_dialects()) EXPECT_EQ(dialect_named(name(dialect)), dialect);
  EXPECT_FALSE(dialect_named("polatis"));
  EXPECT_EQ(built_in_dialects().size(), 8U);
}

}  // namespace
}  // namespace photonrail::device
