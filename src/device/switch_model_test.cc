#include "device/switch_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/digest.h"

namespace photonrail::device {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Pairs = std::vector<CrossConnect>;
using Conflict = WriteRequest::Conflict;

constexpr Instant kStart{seconds(1000)};

SwitchModelSpec box() {
  SwitchModelSpec spec;
  spec.inputs = spec.outputs = 8;
  return spec;
}

WriteRequest request(Pairs remove, Pairs add, Conflict conflict = Conflict::device_default) {
  return {"test", std::move(remove), std::move(add), conflict, false};
}

struct Box {
  explicit Box(SwitchModelSpec spec = box()) : model(std::move(spec)) { model.advance(now); }
  WriteReply write(Pairs remove, Pairs add, Conflict conflict = Conflict::device_default) {
    return model.write(request(std::move(remove), std::move(add), conflict), now);
  }
  void wait(Duration span) { model.advance(now += span); }
  Pairs matrix() { return model.connections(now); }
  PortStatus status(Position out) { return model.reading(out, now).status; }

  SwitchModel model;
  Instant now = kStart;
};

TEST(SwitchModel, GoesDarkTunesAndLights) {
  Box b;
  const WriteReply reply = b.write({}, {{0, 1}});
  EXPECT_EQ(reply.outcome, Outcome::applied);
  EXPECT_EQ(reply.accepted, kStart + milliseconds(2));
  EXPECT_EQ(b.status(1), PortStatus::tuning);
  EXPECT_EQ(b.status(0), PortStatus::blocked);
  EXPECT_FALSE(b.model.lit({0, 1}, b.now));
  EXPECT_EQ(b.model.reading(1, b.now).power_dbm, -60.0);
  const Instant settled = b.model.next_change();
  EXPECT_GT(settled, reply.accepted);
  EXPECT_LT(settled, kStart + milliseconds(60));
  b.now = settled - Duration(1);
  EXPECT_FALSE(b.model.lit({0, 1}, b.now));
  b.now = settled;
  EXPECT_TRUE(b.model.lit({0, 1}, b.now));
  EXPECT_EQ(b.status(1), PortStatus::tuned);
  EXPECT_NEAR(*b.model.reading(1, b.now).power_dbm, -1.5, 1.3);
  EXPECT_EQ(b.model.next_change(), kNever);
  b.write({{0, 1}}, {});
  EXPECT_FALSE(b.model.lit({0, 1}, b.now));
  EXPECT_EQ(b.status(1), PortStatus::blocked);
}

// The logarithm of settling times is normal: mean of the logarithm ln 20 ms, deviation 0.2. 4000 draws: the mean is
// within 4 * 0.2 / sqrt(4000) = 0.013 of it.
TEST(SwitchModel, SettlingTimesAreLognormal) {
  double sum = 0, squares = 0;
  constexpr int kDraws = 4000;
  Box b;
  for (int i = 0; i < kDraws; ++i) {
    const WriteReply reply = b.write({}, {{0, 1}});
    const Duration settling = b.model.next_change() - reply.accepted;
    const double x = std::log(std::chrono::duration<double, std::milli>(settling).count());
    sum += x;
    squares += x * x;
    b.wait(seconds(1));
    b.write({{0, 1}}, {});
    b.wait(seconds(1));
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, std::log(20.0), 0.013);
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.2, 0.01);
}

TEST(SwitchModel, CommandsQueueBehindEachOther) {
  Box b;
  EXPECT_EQ(b.write({}, {{0, 1}}).accepted, kStart + milliseconds(2));
  EXPECT_EQ(b.model.take_turn(b.now), kStart + milliseconds(4));
  EXPECT_EQ(b.write({}, {{1, 2}}).accepted, kStart + milliseconds(6));
  b.wait(seconds(1));
  EXPECT_EQ(b.model.take_turn(b.now), b.now + milliseconds(2));
}

TEST(SwitchModel, FastCommandsWedgeIt) {
  SwitchModelSpec spec = box();
  spec.min_gap = milliseconds(20);
  Box b(spec);
  b.model.take_turn(b.now);
  b.wait(milliseconds(22));
  EXPECT_EQ(b.model.take_turn(b.now), b.now + milliseconds(2)) << "soon enough after the last";
  b.wait(milliseconds(21));
  EXPECT_EQ(b.model.take_turn(b.now), b.now + seconds(1) + milliseconds(2)) << "wedged for a second";
  EXPECT_EQ(b.model.faults_struck().at("wedged"), 1U);
}

TEST(SwitchModel, RejectsOrStealsBusyPorts) {
  for (const OnConflict policy : {OnConflict::rejects, OnConflict::steals}) {
    for (const Conflict asked : {Conflict::device_default, Conflict::reject, Conflict::steal}) {
      SwitchModelSpec spec = box();
      spec.on_conflict = policy;
      Box b(spec);
      b.write({}, {{0, 1}, {2, 3}});
      const WriteReply reply = b.write({}, {{0, 3}}, asked);
      const bool steals =
          asked == Conflict::steal || (asked == Conflict::device_default && policy == OnConflict::steals);
      EXPECT_EQ(reply.outcome, steals ? Outcome::applied : Outcome::rejected);
      EXPECT_EQ(b.matrix(), steals ? Pairs({{0, 3}}) : Pairs({{0, 1}, {2, 3}}));
      if (steals) {
        EXPECT_EQ(b.model.writer_log().back().removed, (Pairs{{0, 1}, {2, 3}}));
      }
    }
  }
}

TEST(SwitchModel, OneRequestMayMoveAPort) {
  Box b;
  b.write({}, {{0, 1}, {1, 0}});
  EXPECT_EQ(b.write({{0, 1}, {1, 0}}, {{0, 0}, {1, 1}}).outcome, Outcome::applied);
  EXPECT_EQ(b.matrix(), (Pairs{{0, 0}, {1, 1}}));
}

TEST(SwitchModel, ReplacesEverythingAndLeavesWhatStaysInTheLight) {
  Box b;
  b.write({}, {{0, 1}, {2, 3}});
  b.wait(seconds(1));
  WriteRequest only = request({}, {{0, 1}, {4, 3}});
  only.replace_all = true;
  EXPECT_EQ(b.model.write(only, b.now).outcome, Outcome::applied);
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}, {4, 3}}));
  EXPECT_TRUE(b.model.lit({0, 1}, b.now));
}

TEST(SwitchModel, WhatIsThereAlreadyIsNotTouched) {
  Box b;
  b.write({}, {{0, 1}});
  b.wait(seconds(1));
  EXPECT_EQ(b.write({}, {{0, 1}}).outcome, Outcome::applied);
  EXPECT_TRUE(b.model.lit({0, 1}, b.now));
  EXPECT_EQ(b.write({{5, 5}}, {}).remove, std::vector<Outcome>{Outcome::rejected});
  EXPECT_EQ(b.model.writer_log().size(), 1U);
}

TEST(SwitchModel, RefusesNonsenseWhole) {
  Box b;
  for (const Pairs& add : {Pairs{{0, 8}}, Pairs{{8, 0}}, Pairs{{0, 1}, {0, 2}}, Pairs{{0, 1}, {2, 1}}}) {
    const WriteReply reply = b.write({}, add);
    EXPECT_EQ(reply.outcome, Outcome::rejected);
    EXPECT_FALSE(reply.text.empty());
  }
  EXPECT_EQ(b.write({{0, 9}}, {}).outcome, Outcome::rejected);
  EXPECT_TRUE(b.matrix().empty());
  EXPECT_EQ(b.write({}, {{0, 1}, {1, 0}}).outcome, Outcome::applied) << "nothing is left of the refusals";
}

TEST(SwitchModel, LiesInEveryWay) {
  Box b;
  b.model.force("ok_but_not_applied");
  EXPECT_EQ(b.write({}, {{0, 1}}).outcome, Outcome::applied);
  EXPECT_TRUE(b.matrix().empty());
  b.model.force("applied_but_error");
  EXPECT_EQ(b.write({}, {{0, 1}}).outcome, Outcome::failed);
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}}));
  b.model.force("busy");
  EXPECT_EQ(b.write({{0, 1}}, {}).outcome, Outcome::rejected);
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}}));
  for (const char* name : {"ok_but_not_applied", "applied_but_error", "busy"}) {
    EXPECT_EQ(b.model.faults_struck().at(name), 1U) << name;
  }
}

TEST(SwitchModel, AppliesPartsOfABatch) {
  for (const bool reported : {true, false}) {
    SwitchModelSpec spec = box();
    spec.faults.partial_reported = reported;
    Box b(spec);
    b.model.force("partial");
    EXPECT_EQ(b.write({}, {{7, 7}}).outcome, Outcome::applied) << "a single pair is never applied in part";
    const Pairs batch = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
    const WriteReply reply = b.write({}, batch);
    const std::size_t made = b.matrix().size() - 1;
    EXPECT_GE(made, 1U);
    EXPECT_LE(made, 3U);
    EXPECT_EQ(reply.outcome, reported ? Outcome::failed : Outcome::applied);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Pairs now = b.matrix();
      const bool there = std::count(now.begin(), now.end(), batch[i]) > 0;
      EXPECT_EQ(reply.add[i], there || !reported ? Outcome::applied : Outcome::failed);
    }
  }
}

TEST(SwitchModel, RevertsAfterFiveSeconds) {
  Box b;
  b.write({}, {{0, 1}});
  b.model.force("reverts");
  b.write({{0, 1}}, {{0, 2}});
  b.wait(seconds(4));
  EXPECT_EQ(b.matrix(), (Pairs{{0, 2}}));
  b.wait(seconds(2));
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}}));
  EXPECT_EQ(b.model.writer_log().back().writer, "device:revert");
  EXPECT_EQ(b.model.writer_log().back().at, kStart + seconds(5));
}

TEST(SwitchModel, ARevertLeavesPortsAloneThatWereUsedSince) {
  Box b;
  b.write({}, {{0, 1}});
  b.model.force("reverts");
  b.write({{0, 1}}, {{0, 2}});
  b.write({{0, 2}}, {{0, 3}, {4, 1}});
  b.wait(seconds(6));
  EXPECT_EQ(b.matrix(), (Pairs{{0, 3}, {4, 1}}));
}

TEST(SwitchModel, AMirrorThatMissesLightsAnotherOutput) {
  Box b;
  b.model.force("wrong_output");
  b.write({}, {{0, 1}});
  b.wait(seconds(1));
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}})) << "the box believes what it was told";
  EXPECT_EQ(b.status(1), PortStatus::tuned);
  EXPECT_FALSE(b.model.lit({0, 1}, b.now));
  EXPECT_LT(*b.model.reading(1, b.now).power_dbm, -50);
  int strays = 0;
  for (Position out = 0; out < 8; ++out) strays += b.model.lit({0, out}, b.now);
  EXPECT_EQ(strays, 1);
  b.write({{0, 1}}, {});
  for (Position out = 0; out < 8; ++out) EXPECT_FALSE(b.model.lit({0, out}, b.now));
}

TEST(SwitchModel, FailsToTuneAndSticks) {
  Box b;
  b.model.force("fails_to_tune");
  b.write({}, {{0, 1}});
  EXPECT_EQ(b.status(1), PortStatus::tuning);
  b.wait(seconds(1));
  EXPECT_EQ(b.status(1), PortStatus::failed);
  EXPECT_FALSE(b.model.lit({0, 1}, b.now));
  b.write({{0, 1}}, {});
  b.write({}, {{0, 1}});
  b.wait(seconds(1));
  EXPECT_TRUE(b.model.lit({0, 1}, b.now)) << "made anew, it tunes";

  b.model.force("mirror_stuck");
  b.write({}, {{2, 3}});
  b.wait(seconds(1));
  EXPECT_EQ(b.status(3), PortStatus::tuned);
  EXPECT_FALSE(b.model.lit({2, 3}, b.now));
  b.write({{2, 3}}, {{4, 3}});
  b.wait(seconds(1));
  EXPECT_FALSE(b.model.lit({4, 3}, b.now)) << "for every input";
  b.model.repair_port(3, b.now);
  b.wait(seconds(1));
  EXPECT_TRUE(b.model.lit({4, 3}, b.now));
}

TEST(SwitchModel, AStaleEntryGoesWhenThePairIsMadeAndRemovedAgain) {
  Box b;
  b.write({}, {{0, 1}});
  b.model.force("stale_entry");
  b.write({{0, 1}}, {});
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}}));
  EXPECT_EQ(b.status(1), PortStatus::blocked);
  EXPECT_EQ(b.write({{0, 1}}, {}).remove, std::vector<Outcome>{Outcome::rejected});
  EXPECT_EQ(b.matrix(), (Pairs{{0, 1}}));
  EXPECT_EQ(b.write({}, {{0, 1}}).outcome, Outcome::applied);
  b.write({{0, 1}}, {});
  EXPECT_TRUE(b.matrix().empty());
}

TEST(SwitchModel, PortsFailAndAreShut) {
  Box b;
  b.write({}, {{0, 1}, {2, 3}});
  b.wait(seconds(1));
  b.model.set_port(1, false, b.now);
  EXPECT_EQ(b.status(1), PortStatus::disabled);
  EXPECT_FALSE(b.model.lit({0, 1}, b.now));
  b.model.set_port(1, true, b.now);
  EXPECT_EQ(b.status(1), PortStatus::tuning);
  b.wait(seconds(1));
  EXPECT_TRUE(b.model.lit({0, 1}, b.now));
  b.model.fail_port(3, b.now);
  EXPECT_EQ(b.status(3), PortStatus::failed);
  EXPECT_FALSE(b.model.lit({2, 3}, b.now));
}

TEST(SwitchModel, APowerCycleLeavesWhatItsPolicySays) {
  for (const ColdBoot policy : {ColdBoot::remove, ColdBoot::restore, ColdBoot::maintain}) {
    SwitchModelSpec spec = box();
    spec.cold_boot = policy;
    Box b(spec);
    b.write({}, {{0, 1}});
    b.wait(seconds(1));
    b.model.power_cycle(b.now, seconds(30));
    EXPECT_FALSE(b.model.up(b.now));
    EXPECT_EQ(b.write({}, {{4, 5}}).outcome, Outcome::rejected);
    EXPECT_EQ(b.model.lit({0, 1}, b.now), policy == ColdBoot::maintain);
    b.wait(seconds(30));
    EXPECT_TRUE(b.model.up(b.now));
    EXPECT_EQ(b.matrix(), policy == ColdBoot::remove ? Pairs{} : Pairs({{0, 1}}));
    b.wait(seconds(1));
    EXPECT_EQ(b.model.lit({0, 1}, b.now), policy != ColdBoot::remove);
  }
}

TEST(SwitchModel, AWarmRestartLeavesTheLight) {
  Box b;
  b.write({}, {{0, 1}});
  b.wait(seconds(1));
  b.model.restart_management(b.now, seconds(30));
  EXPECT_FALSE(b.model.up(b.now));
  EXPECT_TRUE(b.model.lit({0, 1}, b.now));
}

TEST(SwitchModel, ModelsWithoutDetectorsReadNoPower) {
  SwitchModelSpec spec = box();
  spec.has_power = false;
  Box b(spec);
  EXPECT_FALSE(b.model.reading(0, b.now).power_dbm);
}

TEST(SwitchModel, LossGrowsWithAgeWhereItDrifts) {
  SwitchModelSpec spec = box();
  spec.drift_db_per_day = 1;
  spec.noise_db = 0;
  Box b(spec);
  b.write({}, {{0, 1}});
  b.wait(seconds(1));
  const double fresh = *b.model.reading(1, b.now).power_dbm;
  b.wait(seconds(86400));
  EXPECT_NEAR(*b.model.reading(1, b.now).power_dbm, fresh - 1, 1e-3);
}

TEST(SwitchModel, PairsOfABatchSettleInTurnWhereTheBoxDoesSo) {
  SwitchModelSpec spec = box();
  spec.settle_sigma = 0;
  spec.settles_in_turn = true;
  Box b(spec);
  b.write({}, {{0, 1}, {2, 3}});
  b.wait(milliseconds(23));
  EXPECT_TRUE(b.model.lit({0, 1}, b.now));
  EXPECT_FALSE(b.model.lit({2, 3}, b.now));
  b.wait(milliseconds(20));
  EXPECT_TRUE(b.model.lit({2, 3}, b.now));
}

TEST(SwitchModel, StealingTakesLonger) {
  SwitchModelSpec spec = box();
  spec.settle_sigma = 0;
  spec.conflict_time = milliseconds(300);
  Box b(spec);
  b.write({}, {{0, 1}});
  b.wait(seconds(1));
  b.write({}, {{2, 1}}, Conflict::steal);
  EXPECT_EQ(b.model.next_change(), b.now + milliseconds(322));
}

TEST(SwitchModel, TellsWhichOutputsChanged) {
  Box b;
  std::uint64_t mine = 0, other = 0;
  b.write({}, {{0, 1}});
  EXPECT_EQ(b.model.changed_outputs(mine), std::vector<Position>{1});
  EXPECT_TRUE(b.model.changed_outputs(mine).empty());
  b.wait(seconds(1));
  EXPECT_EQ(b.model.changed_outputs(mine), std::vector<Position>{1}) << "settled";
  EXPECT_EQ(b.model.changed_outputs(other), std::vector<Position>{1});
  EXPECT_EQ(b.model.changed_outputs(), std::vector<Position>{1});
  EXPECT_TRUE(b.model.changed_outputs().empty());
}

TEST(SwitchModel, RatesOfFaultsAreKept) {
  SwitchModelSpec spec = box();
  spec.faults.foreign_change = 2;
  spec.faults.port_fails = 0.01;
  spec.faults.retunes = 1;
  Box b(spec);
  b.wait(seconds(1000));
  // Poisson: 2000 +- 4 * 45, and 10 with a chance of 3e-4 of none or over 25.
  EXPECT_NEAR(static_cast<double>(b.model.faults_struck().at("foreign_change")), 2000, 180);
  EXPECT_LE(b.model.faults_struck().at("port_fails"), 25U);
  EXPECT_GT(b.model.faults_struck().at("retunes"), 100U);
  b.model.set_faults({}, b.now);
  const auto before = b.model.faults_struck();
  b.wait(seconds(1000));
  EXPECT_EQ(b.model.faults_struck(), before);
}

TEST(SwitchModel, FaultsStrikeAsOftenAsTheyShould) {
  SwitchModelSpec spec = box();
  spec.faults.busy = 0.25;
  Box b(spec);
  for (int i = 0; i < 4000; ++i) b.write({}, {{0, 1}});
  EXPECT_NEAR(static_cast<double>(b.model.faults_struck().at("busy")), 1000, 4 * 27.4);
}

TEST(SwitchModel, EveryFaultHasItsName) {
  Faults faults;
  for (const std::string& name : fault_names()) EXPECT_TRUE(set_fault(faults, name, 0.5)) << name;
  EXPECT_EQ(faults.retunes, 0.5);
  EXPECT_EQ(faults.applied_but_error, 0.5);
  EXPECT_FALSE(set_fault(faults, "late_by", 0.5));
  EXPECT_EQ((std::set<std::string>(fault_names().begin(), fault_names().end()).size()), fault_names().size());
}

// Draws of one purpose move no other: turning a fault on changes nothing until it strikes.
TEST(SwitchModel, FaultsDoNotMoveSettlingTimes) {
  SwitchModelSpec spec = box();
  Box plain(spec);
  spec.faults.no_reply = 0.5;
  spec.faults.busy = 1e-12;
  Box other(spec);
  for (Position i = 0; i < 8; ++i) {
    plain.write({}, {{i, i}});
    other.write({}, {{i, i}});
    EXPECT_EQ(plain.model.next_change(), other.model.next_change());
    plain.wait(seconds(1));
    other.wait(seconds(1));
  }
}

// What a random program sees and does, as one number; checks the matrix at every step.
std::uint64_t run_program(std::uint64_t seed, bool checks) {
  RandomStream draw(seed, "program");
  SwitchModelSpec spec = box();
  spec.seed = seed;
  spec.on_conflict = draw.uniform() < 0.5 ? OnConflict::steals : OnConflict::rejects;
  for (const std::string& name : fault_names()) set_fault(spec.faults, name, draw.uniform(0, 0.3));
  Box b(spec);
  Digest digest;
  const auto some = [&](Pairs& pairs) {
    for (std::uint64_t n = draw.below(4); n > 0; --n) {
      pairs.push_back({static_cast<Position>(draw.below(8)), static_cast<Position>(draw.below(8))});
    }
  };
  for (int i = 0; i < 60; ++i) {
    WriteRequest wish = request({}, {});
    some(wish.remove);
    some(wish.add);
    wish.conflict = static_cast<Conflict>(draw.below(3));
    wish.replace_all = draw.uniform() < 0.1;
    const WriteReply reply = b.model.write(wish, b.now);
    digest.add(static_cast<std::uint64_t>(reply.outcome));
    b.wait(milliseconds(static_cast<int>(draw.below(200))));
    if (draw.uniform() < 0.02) b.model.power_cycle(b.now, milliseconds(100));
    for (const CrossConnect& pair : b.matrix()) digest.add(std::uint64_t{pair.in} * 65536 + pair.out);
    for (Position out = 0; out < 8; ++out) digest.add(static_cast<std::uint64_t>(b.status(out)));
    if (!checks) continue;
    for (Position out = 0; out < 8; ++out) {
      int sources = 0;
      for (Position in = 0; in < 8; ++in) sources += b.model.lit({in, out}, b.now);
      EXPECT_LE(sources, 1) << "two lights in one fibre, seed " << seed;
    }
  }
  return digest.value();
}

TEST(SwitchModelProperty, HoldsAMatchingAndTheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::uint64_t first = run_program(seed, true);  // a pair over a busy port would abort
    EXPECT_EQ(run_program(seed, false), first) << "seed " << seed;
  }
}

// The true matrix is what the writer log adds up to.
TEST(SwitchModelProperty, TheWriterLogTellsTheMatrix) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomStream draw(seed, "log");
    SwitchModelSpec spec = box();
    spec.seed = seed;
    spec.faults = {};
    spec.faults.partial = spec.faults.reverts = spec.faults.foreign_change = spec.faults.ok_but_not_applied = 0.3;
    Box b(spec);
    for (int i = 0; i < 40; ++i) {
      b.write({}, {{static_cast<Position>(draw.below(8)), static_cast<Position>(draw.below(8))}}, Conflict::steal);
      b.wait(milliseconds(static_cast<int>(draw.below(700))));
    }
    std::set<CrossConnect> replayed;
    Instant last{};
    for (const WriterLogEntry& entry : b.model.writer_log()) {
      EXPECT_GE(entry.at, last);
      last = entry.at;
      for (const CrossConnect& pair : entry.removed) EXPECT_EQ(replayed.erase(pair), 1U);
      for (const CrossConnect& pair : entry.added) EXPECT_TRUE(replayed.insert(pair).second);
    }
    const Pairs matrix = b.matrix();
    EXPECT_EQ(Pairs(replayed.begin(), replayed.end()), matrix) << "seed " << seed;
  }
}

}  // namespace
}  // namespace photonrail::device
