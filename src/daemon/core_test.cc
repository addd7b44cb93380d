// The core as a whole, over modelled switches: the promises of core.h, one test each.
#include "daemon/core.h"

#include <gtest/gtest.h>

#include "daemon/test_world.h"

namespace photonrail::daemon {
namespace {

using namespace std::chrono_literals;
using control::Path;
using Code = control::Refused::Code;
using Shape = control::RegisterGroup::Shape;

// Four ranks with one port each on one switch; rank r speaks on connection r + 1.
struct Job4 : TestWorld {
  explicit Job4(std::size_t switches = 1) : TestWorld(switches) {
    start();
    run(100ms);
    EXPECT_TRUE(ask(job_of("a", 4), Identity::Role::scheduler).outcome.has_value());
    for (control::Rank rank = 0; rank < 4; ++rank) hello(rank + 1, "a", rank);
  }
  control::GroupId group(const std::string& key, std::vector<control::Rank> members) {
    for (const control::Rank rank : members) say(rank + 1, control::RegisterGroup{key, members, Shape::pair});
    const auto ready = heard<control::GroupReady>(members.front() + 1);
    EXPECT_FALSE(ready.empty());
    return ready.empty() ? 0 : ready.back().group;
  }
  void announce(control::GroupId group, control::Sequence sequence, std::vector<control::Rank> members) {
    for (const control::Rank rank : members) say(rank + 1, control::Announce{group, sequence, false});
  }
  void complete(control::GroupId group, control::Sequence through, std::vector<control::Rank> members) {
    for (const control::Rank rank : members) say(rank + 1, control::Complete{group, through});
  }
  std::vector<control::Granted> grants(control::Rank rank) const { return heard<control::Granted>(rank + 1); }
};

TEST(Core, GrantsAnOperationOverCircuitsThatAreThere) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  world.announce(row, 1, {0});
  world.run(1s);
  EXPECT_TRUE(world.matrix().empty()) << "an announcement alone switches nothing";
  world.announce(row, 1, {1});
  world.run(1s);
  for (const control::Rank rank : {0U, 1U}) {
    ASSERT_EQ(world.grants(rank).size(), 1U);
    EXPECT_EQ(world.grants(rank)[0].path, Path::rail);
    EXPECT_EQ(world.grants(rank)[0].group, row);
  }
  EXPECT_TRUE(world.joined(0, 1));
}

TEST(Core, ChangesNoCircuitWhileItIsHeld) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1}), column = world.group("column", {0, 2});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.announce(column, 1, {0, 2});
  world.run(1s);
  EXPECT_TRUE(world.joined(0, 1));
  EXPECT_TRUE(world.grants(2).empty());
  world.complete(row, 1, {0});
  world.run(1s);
  EXPECT_TRUE(world.joined(0, 1)) << "one of two has finished";
  world.complete(row, 1, {1});
  world.run(1s);
  EXPECT_TRUE(world.joined(0, 2));
  ASSERT_EQ(world.grants(2).size(), 1U);
}

TEST(Core, LetsNothingOutBeforeItIsDurable) {
  TestWorld world;
  world.start();
  world.run(100ms);
  ASSERT_TRUE(world.ask(world.job_of("a", 2)).outcome.has_value());
  world.hold_records = true;
  const auto add_frames = [&world] { return world.boxes[0]->writes; };
  world.hello(1, "a", 0);
  EXPECT_TRUE(world.heard<control::Welcome>(1).empty());
  world.sync();
  EXPECT_EQ(world.heard<control::Welcome>(1).size(), 1U);
  world.hello(2, "a", 1);
  world.sync();
  world.say(1, control::RegisterGroup{"g", {0, 1}, Shape::pair});
  world.say(2, control::RegisterGroup{"g", {0, 1}, Shape::pair});
  EXPECT_TRUE(world.heard<control::GroupReady>(1).empty());
  EXPECT_TRUE(world.heard<control::GroupReady>(2).empty());
  world.sync();
  EXPECT_EQ(world.heard<control::GroupReady>(1).size(), 1U);
  EXPECT_EQ(world.heard<control::GroupReady>(2).size(), 1U);
  world.say(1, control::Announce{0, 1, false});
  world.say(2, control::Announce{0, 1, false});
  world.run(100ms);
  EXPECT_EQ(add_frames(), 0U) << "a device write before its record is durable";
  world.sync();
  world.hold_records = false;
  world.run(2s);
  EXPECT_EQ(world.heard<control::Granted>(1).size(), 1U);
}

TEST(Core, TellsWhyAGroupTakesTheManagementPath) {
  TestWorld world(2);
  world.start();
  world.run(100ms);
  SubmitJob job = world.job_of("a", 4);
  job.ports[3] = {1, 0};
  job.domain = {0, 0, 1, 2};
  ASSERT_TRUE(world.ask(job).outcome.has_value());
  world.hello(1, "a", 0);
  const auto ask = [&world](std::vector<control::Rank> members, Shape shape) {
    const std::string key = "g" + std::to_string(world.heard<control::GroupReady>(1).size());
    world.say(1, control::RegisterGroup{key, std::move(members), shape});
    return world.heard<control::GroupReady>(1).back();
  };
  EXPECT_NE(ask({0, 1}, Shape::ring).why.find("scale-up"), std::string::npos);
  EXPECT_NE(ask({0, 1, 2}, Shape::ring).why.find("two ports"), std::string::npos);
  EXPECT_NE(ask({0, 3}, Shape::pair).why.find("different switches"), std::string::npos);
  EXPECT_NE(ask({0, 2}, Shape::any).why.find("every pair"), std::string::npos);
  EXPECT_TRUE(ask({2, 0}, Shape::pair).rail);
}

TEST(Core, RingsUseTwoPortsOfEachRank) {
  TestWorld world;
  world.start();
  world.run(100ms);
  ASSERT_TRUE(world.ask(world.job_of("a", 4, 2)).outcome.has_value());
  for (control::Rank rank = 0; rank < 4; ++rank) {
    world.hello(rank + 1, "a", rank);
    world.say(rank + 1, control::RegisterGroup{"ring", {0, 1, 2, 3}, Shape::ring});
    world.say(rank + 1, control::Announce{0, 1, false});
  }
  world.run(1s);
  EXPECT_EQ(world.heard<control::Granted>(1).size(), 1U);
  EXPECT_EQ(world.matrix().size(), 8U);
  for (const auto& [a, b] : {std::pair{0, 3}, {2, 5}, {4, 7}, {6, 1}}) {
    EXPECT_TRUE(world.joined(static_cast<device::Position>(a), static_cast<device::Position>(b))) << a << " " << b;
  }
}

TEST(Core, RepeatedMessagesChangeNothing) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  EXPECT_EQ(world.group("row", {0, 1}), row);
  world.announce(row, 1, {0, 0, 1, 1});
  world.run(1s);
  EXPECT_EQ(world.grants(0).size(), 1U);
  world.complete(row, 1, {0, 0, 1, 1});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  EXPECT_EQ(world.grants(0).back().last, 1U);
  EXPECT_EQ(world.audited("refused"), 0U);
  EXPECT_EQ(world.boxes[0]->writes, 1U);
}

// ---- who may say what

TEST(Core, RefusesAndAuditsWhatIsNotOnesOwn) {
  Job4 world;
  ASSERT_TRUE(world.ask(world.job_of("b", 2, 1, 0, 8)).outcome.has_value());
  const control::GroupId row = world.group("row", {0, 1});
  world.open(20, rank_identity("b", 0));
  world.say(20, control::Hello{"a", 1, 0, 7, {}, ""});  // another job's rank
  EXPECT_EQ(world.heard<control::Refused>(20).back().code, Code::not_yours);
  EXPECT_TRUE(world.closed(20));
  world.open(21, rank_identity("b", 0));
  world.say(21, control::Announce{row, 1, false});  // before Hello
  EXPECT_EQ(world.heard<control::Refused>(21).back().code, Code::bad_request);
  world.say(3, control::Announce{row, 1, false});  // rank 2 is not in it
  EXPECT_EQ(world.heard<control::Refused>(3).back().code, Code::not_yours);
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.say(3, control::Complete{row, 1});  // releases a peer's hold
  EXPECT_EQ(world.heard<control::Refused>(3).back().code, Code::not_yours);
  EXPECT_EQ(world.status().circuits[0].holds, 1U);
  world.say(3, control::RegisterGroup{"row", {0, 1}, Shape::pair});
  EXPECT_EQ(world.heard<control::Refused>(3).back().code, Code::not_yours);
  world.say(1, control::RegisterGroup{"row", {1, 0}, Shape::pair});  // other members under the same key
  EXPECT_EQ(world.heard<control::Refused>(1).back().code, Code::bad_request);
  world.say(1, control::Announce{row, 5, false});  // a gap
  EXPECT_EQ(world.heard<control::Refused>(1).back().code, Code::bad_request);
  EXPECT_EQ(world.audited("refused"), 7U);
}

TEST(Core, ClosesAStreamThatKeepsBeingRefused) {
  Job4 world;
  for (int i = 0; i < 100; ++i) world.say(1, control::Announce{99, 1, false});
  EXPECT_TRUE(world.closed(1));
  EXPECT_LE(world.audited("refused"), 8U);
}

TEST(Core, RolesMayDoWhatTheyMay) {
  TestWorld world;
  world.start();
  world.run(100ms);
  using Role = Identity::Role;
  const OperatorCall submit = world.job_of("a", 2), drain = SetPort{{0, 1}, SetPort::State::drained, "x"};
  EXPECT_FALSE(world.ask(submit, Role::viewer).outcome.has_value());
  EXPECT_FALSE(world.ask(submit, Role::rank).outcome.has_value());
  EXPECT_FALSE(world.ask(drain, Role::scheduler).outcome.has_value());
  EXPECT_FALSE(world.ask(GetStatus{}, Role::rank).outcome.has_value());
  EXPECT_TRUE(world.ask(GetStatus{}, Role::viewer).outcome.has_value());
  EXPECT_TRUE(world.ask(submit, Role::scheduler).outcome.has_value());
  EXPECT_TRUE(world.ask(drain, Role::operator_).outcome.has_value());
  EXPECT_EQ(world.audited("refused"), 4U);
}

TEST(Core, PortsBelongToOneJob) {
  Job4 world;
  const Reply taken = world.ask(world.job_of("b", 2, 1, 0, 3));
  ASSERT_FALSE(taken.outcome.has_value());
  EXPECT_NE(taken.outcome.error().message.find("belongs to job a"), std::string::npos);
  EXPECT_FALSE(world.ask(world.job_of("b", 2, 1, 0, 15)).outcome.has_value()) << "position 16 does not exist";
  EXPECT_FALSE(world.ask(world.job_of("b", 2, 1, 7)).outcome.has_value()) << "nor does switch 7";
  EXPECT_TRUE(world.ask(world.job_of("b", 2, 1, 0, 4)).outcome.has_value());
  EXPECT_TRUE(world.ask(world.job_of("b", 2, 1, 0, 4)).outcome.has_value()) << "the same again";
  EXPECT_FALSE(world.ask(world.job_of("b", 3, 1, 0, 4)).outcome.has_value()) << "another under the same epoch";
}

// ---- leases

TEST(Core, GivesARankUpWhenItsLeaseAndTheMarginAreOver) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1}), column = world.group("column", {0, 2});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  const auto keep = [&world](std::vector<ConnectionId> who, Duration time) {
    for (Duration t{}; t < time; t += 1s) {
      for (const ConnectionId id : who) world.say(id, control::Renew{});
      world.run(1s);
    }
  };
  world.announce(column, 1, {2});
  keep({2, 3, 4}, 9s);
  EXPECT_TRUE(world.heard<control::Failed>(3).empty());
  EXPECT_EQ(world.job("a").lost, 0U);
  keep({2, 3, 4}, 3s);
  EXPECT_EQ(world.job("a").lost, 1U);
  EXPECT_TRUE(world.closed(1));
  ASSERT_EQ(world.heard<control::Failed>(3).size(), 1U) << "who waits for it is told";
  EXPECT_TRUE(world.joined(0, 1)) << "fail static";
  world.hello(50, "a", 0);
  EXPECT_EQ(world.heard<control::Refused>(50).back().code, Code::stale_epoch) << "the same life does not come back";
  world.hello(51, "a", 0, 2);
  EXPECT_EQ(world.heard<control::Welcome>(51).size(), 1U);
}

TEST(Core, ANewLifeOfARankStartsItsGroupsAnew) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.announce(row, 2, {1});
  world.hello(11, "a", 0, 2);
  EXPECT_TRUE(world.closed(1));
  EXPECT_EQ(world.heard<control::Failed>(2).size(), 1U);
  world.say(2, control::Complete{row, 1});
  for (const ConnectionId id : {ConnectionId{11}, ConnectionId{2}}) {
    world.say(id, control::RegisterGroup{"row", {0, 1}, Shape::pair});
  }
  const control::GroupId again = world.heard<control::GroupReady>(11).back().group;
  EXPECT_NE(again, row);
  EXPECT_EQ(world.heard<control::GroupReady>(2).back().group, again);
  world.say(11, control::Announce{row, 1, false});
  EXPECT_EQ(world.heard<control::Refused>(11).back().code, Code::not_yours) << "the groups of its former life";
  world.say(11, control::Announce{again, 1, false});
  world.say(2, control::Announce{again, 1, false});
  world.run(1s);
  ASSERT_EQ(world.heard<control::Granted>(11).size(), 1U);
  EXPECT_EQ(world.heard<control::Granted>(11)[0].group, again);
  world.hello(12, "a", 0, 1);
  EXPECT_EQ(world.heard<control::Refused>(12).back().code, Code::stale_epoch) << "the former life";
}

TEST(Core, ARankComesBackOnANewStreamAndHearsItsGrants) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  world.announce(row, 1, {0, 1});
  world.hang_up_rank(1);
  world.run(1s);
  world.hello(11, "a", 0, 1, {{row, 0, 0, 0, Path::rail, 1}});
  ASSERT_EQ(world.heard<control::Granted>(11).size(), 1U);
  EXPECT_EQ(world.heard<control::Welcome>(11).size(), 1U);
  EXPECT_EQ(world.job("a").lost, 0U);
}

TEST(Core, AFormerLifeOfTheJobIsFenced) {
  Job4 world;
  ASSERT_TRUE(world.ask(world.job_of("a", 4, 1, 0, 0, 2)).outcome.has_value());
  EXPECT_TRUE(world.closed(1));
  world.hello(11, "a", 0, 1);
  EXPECT_EQ(world.heard<control::Refused>(11).back().code, Code::stale_epoch);
  world.hello(12, "a", 0, 9, {}, 2);
  EXPECT_TRUE(world.heard<control::Welcome>(12).empty()) << "while ranks of the former life may be alive";
  world.run(10s);
  EXPECT_TRUE(world.heard<control::Welcome>(12).empty());
  world.run(2s);
  EXPECT_EQ(world.heard<control::Welcome>(12).size(), 1U);
  EXPECT_FALSE(world.ask(world.job_of("a", 4, 1, 0, 0, 1)).outcome.has_value()) << "an older life again";
}

TEST(Core, AnEndedJobFreesItsPortsAndItsCircuitsGoWhenTheyAreInTheWay) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.complete(row, 1, {0, 1});
  for (const ConnectionId id : {1U, 2U, 3U, 4U}) world.say(id, control::Goodbye{});
  ASSERT_TRUE(world.ask(EndJob{"a", 1}).outcome.has_value());
  ASSERT_TRUE(world.ask(EndJob{"a", 1}).outcome.has_value());
  world.run(1s);
  EXPECT_TRUE(world.joined(0, 1));
  SubmitJob job = world.job_of("b", 2, 1, 0, 1);
  const Reply plan = world.ask(PlanJob{job});
  EXPECT_EQ(std::count_if(plan.plan.begin(), plan.plan.end(), [](const auto& l) { return l.starts_with("drops"); }), 2);
  ASSERT_TRUE(world.ask(job).outcome.has_value());
  world.hello(11, "b", 0);
  world.hello(12, "b", 1);
  for (const ConnectionId id : {11U, 12U}) {
    world.say(id, control::RegisterGroup{"g", {0, 1}, Shape::pair});
    world.say(id, control::Announce{0, 1, false});
  }
  world.run(1s);
  EXPECT_TRUE(world.joined(1, 2));
  EXPECT_EQ(world.matrix().size(), 2U);
}

// ---- load

TEST(Core, RefusesWhatIsTooMuchAndClosesTheStream) {
  Job4 world;
  world.core.reset();
  TestWorld other;
  other.spec.max_outstanding_per_rank = 3;
  other.start();
  other.run(100ms);
  ASSERT_TRUE(other.ask(other.job_of("a", 2)).outcome.has_value());
  other.hello(1, "a", 0);
  other.say(1, control::RegisterGroup{"g", {0, 1}, Shape::pair});
  for (control::Sequence n = 1; n <= 4; ++n) other.say(1, control::Announce{0, n, false});
  EXPECT_EQ(other.heard<control::Refused>(1).back().code, Code::overloaded);
  EXPECT_GT(other.heard<control::Refused>(1).back().retry_after, Duration::zero());
  EXPECT_TRUE(other.closed(1));
  other.hello(2, "a", 0, 1, {{0, 0, 0, 0, Path::rail, 3}});
  EXPECT_EQ(other.heard<control::Welcome>(2).size(), 1U);
}

// ---- leadership

TEST(Core, WritesNothingWhenItsTimeIsOver) {
  TestWorld world;
  world.start({}, world.now + 5s);
  world.run(1s);
  ASSERT_TRUE(world.ask(world.job_of("a", 2)).outcome.has_value());
  world.hello(1, "a", 0);
  world.hello(2, "a", 1);
  for (const ConnectionId id : {1U, 2U}) world.say(id, control::RegisterGroup{"g", {0, 1}, Shape::pair});
  world.say(1, control::Announce{0, 1, false});
  world.now += 10s;  // a pause
  const std::size_t before = world.records.size();
  world.say(2, control::Announce{0, 1, false});
  world.run(5s);
  EXPECT_TRUE(world.matrix().empty());
  EXPECT_EQ(world.records.size(), before);
  EXPECT_EQ(world.heard<control::Refused>(2).back().code, Code::not_leader);
  EXPECT_TRUE(world.closed(1));
  EXPECT_FALSE(world.ask(world.job_of("b", 2, 1, 0, 4)).outcome.has_value());
  EXPECT_FALSE(world.status().leading);
}

TEST(Core, DoesNotLeadWithAnEpochOfThePast) {
  TestWorld world;
  world.start();
  world.epoch = 0;
  world.start(world.records);
  EXPECT_FALSE(world.status().leading);
  EXPECT_FALSE(world.ask(world.job_of("a", 2)).outcome.has_value());
  world.hello(1, "a", 0);
  EXPECT_EQ(world.heard<control::Refused>(1).back().code, Code::not_leader);
}

TEST(Core, ALostCircuitTakesItsPortsOutUntilItIsBack) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.complete(row, 1, {0, 1});
  world.boxes[0]->model.foreign_write({"somebody", {{0, 1}, {1, 0}}, {}, {}, false}, world.now);
  world.run(10s);
  EXPECT_TRUE(world.joined(0, 1));
  EXPECT_EQ(world.audited("circuit lost"), 1U);
  EXPECT_EQ(world.audited("circuit restored"), 1U);
  EXPECT_GE(world.audited("alarm"), 1U);
}

// ---- ports and switches that are not well

TEST(Core, DrainedPortsTakeTheManagementPath) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  ASSERT_TRUE(world.ask(SetPort{{0, 1}, SetPort::State::drained, "cleaning"}).outcome.has_value());
  world.announce(row, 1, {0, 1});
  world.run(1s);
  ASSERT_EQ(world.grants(0).size(), 1U);
  EXPECT_EQ(world.grants(0)[0].path, Path::management);
  world.complete(row, 1, {0, 1});
  ASSERT_TRUE(world.ask(SetPort{{0, 1}, SetPort::State::in_service, ""}).outcome.has_value());
  world.announce(row, 2, {0, 1});
  world.run(1s);
  ASSERT_EQ(world.grants(0).size(), 2U);
  EXPECT_EQ(world.grants(0)[1].path, Path::rail);
}

TEST(Core, MaintenanceLeavesASwitchAlone) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  ASSERT_TRUE(world.ask(SetSwitch{0, SetSwitch::State::maintenance, "firmware"}).outcome.has_value());
  world.announce(row, 1, {0, 1});
  world.run(1s);
  ASSERT_EQ(world.grants(0).size(), 1U);
  EXPECT_EQ(world.grants(0)[0].path, Path::management);
  EXPECT_EQ(world.boxes[0]->writes, 0U);
  EXPECT_TRUE(world.status().switches[0].maintenance);
}

TEST(Core, QuarantinesAPortThatKeepsFailing) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1});
  world.boxes[0]->model.fail_port(1, world.now);
  control::Sequence n = 0;
  for (; n < 10 && world.audited("quarantine") == 0;) {
    ++n;
    world.announce(row, n, {0, 1});
    world.run(12s / 2);
    for (const ConnectionId id : {1U, 2U, 3U, 4U}) world.say(id, control::Renew{});
    world.run(12s / 2);
    for (const ConnectionId id : {1U, 2U, 3U, 4U}) world.say(id, control::Renew{});
    ASSERT_EQ(world.grants(0).size(), n) << "nobody waits for a port that fails";
    EXPECT_EQ(world.grants(0).back().path, Path::management);
    world.complete(row, n, {0, 1});
  }
  EXPECT_GE(world.audited("quarantine"), 1U);
  EXPECT_LE(n, 3U);
  EXPECT_FALSE(world.status().switches[0].out_of_service.empty());
  const unsigned writes = world.boxes[0]->writes;
  world.announce(row, ++n, {0, 1});
  world.run(1s);
  EXPECT_EQ(world.grants(0).back().path, Path::management);
  EXPECT_EQ(world.boxes[0]->writes, writes);
  world.complete(row, n, {0, 1});
  world.boxes[0]->model.repair_port(1, world.now);
  for (const device::Position port : {device::Position{0}, device::Position{1}}) {
    ASSERT_TRUE(world.ask(SetPort{{0, port}, SetPort::State::in_service, "cleaned"}).outcome.has_value());
  }
  world.announce(row, ++n, {0, 1});
  world.run(1s);
  EXPECT_EQ(world.grants(0).back().path, Path::rail) << "an operator can undo it";
}

TEST(Core, TellsAnOperatorThatTheOutcomeIsNotKnownWhenItStepsDown) {
  TestWorld world;
  world.start({}, world.now + 5s);
  world.run(100ms);
  world.hold_records = true;
  world.core->operator_call(1, {Identity::Role::operator_, "someone", {}, {}}, world.job_of("a", 2), world.now);
  world.drain();
  EXPECT_TRUE(world.replies.empty());
  world.core->step_down(world.now);
  world.drain();
  ASSERT_EQ(world.replies.size(), 1U);
  EXPECT_FALSE(world.replies.at(1).outcome.has_value());
}

TEST(Core, DemandsOverASwitchThatDoesNotAnswerTakeTheManagementPath) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1}), column = world.group("column", {0, 2});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.complete(row, 1, {0, 1});
  world.cut(0);
  world.run(3s);
  world.announce(row, 2, {0, 1});
  EXPECT_EQ(world.grants(0).back().path, Path::rail) << "circuits that are up stay so (fail static)";
  world.complete(row, 2, {0, 1});
  world.announce(column, 1, {0, 2});
  world.run(100ms);
  ASSERT_EQ(world.grants(2).size(), 1U);
  EXPECT_EQ(world.grants(2).back().path, Path::management);
  world.complete(column, 1, {0, 2});
  world.mend(0);
  world.run(6s);
  world.announce(column, 2, {0, 2});
  world.run(1s);
  ASSERT_EQ(world.grants(2).size(), 2U);
  EXPECT_EQ(world.grants(2).back().path, Path::rail);
}

TEST(Core, ASickSwitchIsLeftAloneAndThenProbed) {
  TestWorld world(1, 32);
  world.spec.quarantine_failures = 1000;
  world.start();
  world.run(100ms);
  ASSERT_TRUE(world.ask(world.job_of("a", 16)).outcome.has_value());
  for (control::Rank rank = 0; rank < 16; ++rank) {
    world.hello(rank + 1, "a", rank);
    const control::Rank first = rank / 2 * 2;
    world.say(rank + 1, control::RegisterGroup{std::to_string(first), {first, first + 1}, Shape::pair});
  }
  for (device::Position port = 0; port < 16; ++port) world.boxes[0]->model.fail_port(port, world.now);
  const auto announce = [&world](control::Rank first, control::Sequence n) {
    for (const control::Rank rank : {first, first + 1}) world.say(rank + 1, control::Announce{first / 2, n, false});
  };
  const auto renew = [&world] {
    for (ConnectionId id = 1; id <= 16; ++id) world.say(id, control::Renew{});
  };
  for (control::Rank first = 0; first < 10; first += 2) {
    announce(first, 1);
    for (int i = 0; i < 100 && world.heard<control::Granted>(first + 1).empty(); ++i) world.run(200ms);
    renew();
    ASSERT_EQ(world.heard<control::Granted>(first + 1).size(), 1U);
  }
  EXPECT_EQ(world.status().switches[0].state, "sick");
  const unsigned writes = world.boxes[0]->writes;
  announce(12, 1);
  ASSERT_EQ(world.heard<control::Granted>(13).size(), 1U) << "at once";
  EXPECT_EQ(world.heard<control::Granted>(13)[0].path, Path::management);
  for (device::Position port = 0; port < 16; ++port) world.boxes[0]->model.repair_port(port, world.now);
  world.run(3s);
  EXPECT_EQ(world.boxes[0]->writes, writes);
  renew();
  world.run(4s);
  renew();
  announce(14, 1);
  world.run(1s);
  ASSERT_EQ(world.heard<control::Granted>(15).size(), 1U);
  EXPECT_EQ(world.heard<control::Granted>(15)[0].path, Path::rail);
  EXPECT_EQ(world.status().switches[0].state, "ready");
}

// A new life of a job starts while a write of the former one is on its way.
TEST(Core, CountsOnNoCircuitThatAFormerJobMayStillChange) {
  Job4 world;
  const control::GroupId row = world.group("row", {0, 1}), column = world.group("column", {0, 2});
  world.announce(row, 1, {0, 1});
  world.run(1s);
  world.complete(row, 1, {0, 1});
  world.announce(column, 1, {0, 2});
  for (const ConnectionId id : {1U, 2U, 3U, 4U}) world.say(id, control::Goodbye{});
  ASSERT_TRUE(world.ask(world.job_of("a", 4, 1, 0, 0, 2)).outcome.has_value());
  for (control::Rank rank : {0U, 1U}) {
    world.hello(rank + 11, "a", rank, 9, {}, 2);
    world.say(rank + 11, control::RegisterGroup{"row", {0, 1}, Shape::pair});
    world.say(rank + 11, control::Announce{0, 1, false});
  }
  EXPECT_TRUE(world.heard<control::Granted>(11).empty());
  world.run(2s);
  ASSERT_EQ(world.heard<control::Granted>(11).size(), 1U);
  EXPECT_EQ(world.heard<control::Granted>(11)[0].path, Path::rail);
  EXPECT_TRUE(world.joined(0, 1));
}

}  // namespace
}  // namespace photonrail::daemon
