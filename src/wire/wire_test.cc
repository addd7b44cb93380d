#include <gtest/gtest.h>
#include <photonrail/control/v1/control.pb.h>
#include <rapidcheck/gtest.h>

#include "wire/limits.h"
#include "wire/operator_messages.h"
#include "wire/rank_messages.h"

namespace photonrail::wire {
namespace {

namespace pb = control::v1;

// Equal bytes stand for equal messages: the plain structs have no equality of their own.
std::string bytes(const google::protobuf::MessageLite& message) { return message.SerializeAsString(); }

std::string text() { return *rc::gen::container<std::string>(rc::gen::inRange('a', 'z')); }
std::uint32_t number() { return *rc::gen::arbitrary<std::uint32_t>(); }
std::uint64_t large() { return *rc::gen::arbitrary<std::uint64_t>(); }
control::Path path() { return *rc::gen::element(control::Path::rail, control::Path::management); }
Duration duration() { return Duration(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000)); }

control::Hello hello(control::Rank rank) {
  control::Hello out{text(), large(), rank, large(), {}, text()};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    out.groups.push_back({number(), large(), large(), large(), path(), large()});
  }
  return out;
}

control::RankMessage rank_message(control::Rank rank) {
  using Shape = control::RegisterGroup::Shape;
  switch (*rc::gen::inRange(0, 8)) {
    case 0: return hello(rank);
    case 1:
      return control::RegisterGroup{text(), *rc::gen::arbitrary<std::vector<control::Rank>>(),
                                    *rc::gen::element(Shape::pair, Shape::ring, Shape::any)};
    case 2: return control::Announce{number(), large(), *rc::gen::arbitrary<bool>()};
    case 3: return control::Complete{number(), large()};
    case 4: return control::Blocked{number(), large()};
    case 5: return control::Stopped{number(), large(), large()};
    case 6: return control::Renew{};
    default: return control::Goodbye{};
  }
}

FromDaemon daemon_message() {
  using Code = control::Refused::Code;
  switch (*rc::gen::inRange(0, 9)) {
    case 0: return control::Welcome{large(), duration(), duration()};
    case 1: return control::GroupReady{text(), number(), *rc::gen::arbitrary<bool>(), text()};
    case 2: return control::Granted{number(), large(), large(), path()};
    case 3: return control::Stop{number(), large()};
    case 4: return control::Limit{number(), large(), large()};
    case 5: return control::Failed{number(), large(), text()};
    case 6: return control::Renewed{duration()};
    case 7:
      return control::Refused{
          *rc::gen::element(Code::unknown_job, Code::stale_epoch, Code::not_yours, Code::bad_request, Code::overloaded,
                            Code::not_leader, Code::recovering),
          text(), duration()};
    default: return Closed{text()};
  }
}

// What is sent is what arrives: written, read and written again, a message has the same bytes. A member that one of the
// two directions forgets differs between them, because the values are random.
RC_GTEST_PROP(RankMessages, SurviveTheWire, ()) {
  const control::Rank rank = number();
  const control::RankMessage message = rank_message(rank);
  pb::RankMessage first, second;
  write(rank, message, first);
  const auto back = read(first);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->index() == message.index());
  if (const auto* greeting = std::get_if<control::Hello>(&*back)) {
    RC_ASSERT(greeting->rank == rank);
    RC_ASSERT(greeting->groups.size() == std::get<control::Hello>(message).groups.size());
  }
  write(rank, *back, second);
  RC_ASSERT(bytes(first) == bytes(second));
}

RC_GTEST_PROP(DaemonMessages, SurviveTheWire, ()) {
  const FromDaemon message = daemon_message();
  pb::DaemonMessage first, second;
  write(7, message, first);
  const auto back = read(first);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->index() == message.index());
  write(7, *back, second);
  RC_ASSERT(bytes(first) == bytes(second));
}

// Whatever bytes parse as a message are read or refused.
RC_GTEST_PROP(RankMessages, GarbageIsReadOrRefused, ()) {
  const auto garbage = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  pb::RankMessage message;
  if (!message.ParseFromString(garbage)) return;
  const auto back = read(message);
  if (!back) RC_ASSERT(!back.error().message.empty());
}

TEST(RankMessages, ValuesArriveInTheirFields) {
  pb::RankMessage message;
  write(3, control::Stopped{1, 20, 15}, message);
  const auto back = read(message);
  ASSERT_TRUE(back);
  const auto& stopped = std::get<control::Stopped>(*back);
  EXPECT_EQ(stopped.group, 1u);
  EXPECT_EQ(stopped.granted_last, 20u);
  EXPECT_EQ(stopped.highest_started, 15u);
  EXPECT_EQ(message.rank(), 3u);
}

TEST(RankMessages, WhatIsBeyondLimitsIsRefused) {
  pb::RankMessage message;
  EXPECT_FALSE(read(message));  // no kind

  message.mutable_register_group()->set_key("k");
  EXPECT_FALSE(read(message));  // no shape
  message.mutable_register_group()->set_shape(static_cast<pb::RegisterGroup::Shape>(77));
  EXPECT_FALSE(read(message));
  message.mutable_register_group()->set_shape(pb::RegisterGroup::SHAPE_RING);
  EXPECT_TRUE(read(message));
  message.mutable_register_group()->set_key(std::string(kKeyBytes + 1, 'k'));
  EXPECT_FALSE(read(message));
  message.mutable_register_group()->set_key("k");
  for (int i = 0; i <= kMembers; ++i) message.mutable_register_group()->add_members(0);
  EXPECT_FALSE(read(message));

  message.mutable_hello()->set_job(std::string(kNameBytes + 1, 'j'));
  EXPECT_FALSE(read(message));
  message.mutable_hello()->set_job("j");
  EXPECT_TRUE(read(message));
  message.mutable_hello()->add_groups();  // without a path
  EXPECT_FALSE(read(message));
}

TEST(DaemonMessages, DurationsAreNeverNegative) {
  pb::DaemonMessage message;
  message.mutable_renewed()->mutable_lease()->set_seconds(-1);
  EXPECT_FALSE(read(message));
  message.mutable_renewed()->mutable_lease()->set_seconds(1);
  message.mutable_renewed()->mutable_lease()->set_nanos(-1);
  EXPECT_FALSE(read(message));
}

const SwitchNames kNames = {"rail0", "rail1"};

RC_GTEST_PROP(OperatorMessages, JobsSurviveTheWire, ()) {
  daemon::SubmitJob job;
  job.job = "j" + text();
  job.job_epoch = large();
  job.ports_per_rank = *rc::gen::inRange(1u, kPortsPerRank + 1);
  for (int i = *rc::gen::inRange(0, 9); i > 0; --i) {
    job.ports.push_back({*rc::gen::inRange(0u, 2u), *rc::gen::arbitrary<device::Position>()});
    job.domain.push_back(number());
  }
  pb::SubmitJobRequest first, second;
  write(job, kNames, first);
  const auto back = read(first, kNames);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->ports == job.ports);
  RC_ASSERT(back->domain == job.domain);
  write(*back, kNames, second);
  RC_ASSERT(bytes(first) == bytes(second));
}

TEST(OperatorMessages, UnknownSwitchesAndStatesAreRefused) {
  pb::SetSwitchRequest request;
  request.set_ocs("rail9");
  request.set_state(pb::SetSwitchRequest::STATE_MAINTENANCE);
  const auto back = read(request, kNames);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message.find("rail0, rail1"), std::string::npos) << "the hint lists those that are there";
  request.set_ocs("rail1");
  ASSERT_TRUE(read(request, kNames));
  EXPECT_EQ(read(request, kNames)->ocs, 1u);
  request.set_state(pb::SetSwitchRequest::STATE_UNSPECIFIED);
  EXPECT_FALSE(read(request, kNames)) << "a state that was forgotten must not mean \"in service\"";

  pb::SetPortRequest port;
  port.mutable_port()->set_ocs("rail0");
  EXPECT_FALSE(read(port, kNames));
  port.set_state(pb::SetPortRequest::STATE_DRAINED);
  EXPECT_TRUE(read(port, kNames));
  port.mutable_port()->set_position(65536);
  EXPECT_FALSE(read(port, kNames)) << "must not wrap to position 0";
}

TEST(OperatorMessages, StatusSurvivesTheWire) {
  daemon::StatusReport report;
  report.epoch = 9;
  report.leading = true;
  report.circuits = {{1, {3, 4}, true, false, device::PortStatus::tuning, -3.5, "a", 2}};
  daemon::JobStatus job;
  job.job = "a";
  job.ranks = 4;
  job.counts.mispredictions = 5;
  job.counts.forgotten = 6;
  report.jobs = {job};
  daemon::SwitchStatus rail0, rail1;
  rail0.name = "rail0";
  rail1.name = "rail1";
  rail1.out_of_service = {{7, "dark"}};
  report.switches = {rail0, rail1};
  pb::GetStatusResponse first, second;
  write(report, kNames, first);
  SwitchNames seen;
  const auto back = read(first, seen);
  ASSERT_TRUE(back);
  EXPECT_EQ(seen, kNames);
  EXPECT_EQ(back->circuits.at(0).ocs, 1u);
  EXPECT_EQ(back->circuits.at(0).light, device::PortStatus::tuning);
  EXPECT_EQ(back->circuits.at(0).power_dbm, -3.5);
  EXPECT_EQ(back->jobs.at(0).counts.mispredictions, 5u);
  EXPECT_EQ(back->jobs.at(0).counts.forgotten, 6u);
  EXPECT_EQ(back->switches.at(1).out_of_service.at(0).second, "dark");
  write(*back, seen, second);
  EXPECT_EQ(first.DebugString(), second.DebugString());
}

}  // namespace
}  // namespace photonrail::wire
