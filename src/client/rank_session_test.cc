// A rank starts what was granted, once, and nothing else; it stops when its lease or the daemon says so.
#include "client/rank_session.h"

#include <gtest/gtest.h>

namespace photonrail::client {
namespace {

using namespace control;
using namespace std::chrono_literals;

class RankSessionTest : public testing::Test {
 protected:
  static Instant at(Duration since) { return Instant(since); }

  RankSession session{{"job", 1, 0, 7, "test"}};
  GroupHandle group = session.add_group("dp", {0, 1}, RegisterGroup::Shape::pair);

  void attach(Instant now = at(0s), Epoch epoch = 1) {
    session.opened(now);
    session.receive(Welcome{epoch, 10s, 1s}, now);
    session.receive(GroupReady{"dp", 4, true, ""}, now);
    session.take_messages();
  }
  template <class Message>
  std::vector<Message> sent() {
    std::vector<Message> found;
    for (const RankMessage& message : session.take_messages()) {
      if (const auto* m = std::get_if<Message>(&message)) found.push_back(*m);
    }
    return found;
  }
  std::vector<Sequence> starts(Instant now = at(1s)) {
    std::vector<Sequence> result;
    for (const Start& start : session.take_starts(now)) result.push_back(start.sequence);
    return result;
  }
};

TEST_F(RankSessionTest, RegistersThenAnnouncesThenStartsWhenGranted) {
  session.opened(at(0s));
  EXPECT_EQ(sent<Hello>().size(), 1U);
  session.receive(Welcome{1, 10s, 1s}, at(0s));
  EXPECT_EQ(sent<RegisterGroup>().size(), 1U);
  EXPECT_FALSE(session.ready(group));
  session.receive(GroupReady{"dp", 4, true, ""}, at(0s));
  EXPECT_EQ(session.issue(group, true), 1U);
  const auto announced = sent<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  EXPECT_EQ(announced[0].group, 4U);
  EXPECT_FALSE(announced[0].alone);  // something else may have come before it
  EXPECT_TRUE(starts().empty());
  session.receive(Granted{4, 1, 1, Path::rail}, at(1s));
  EXPECT_EQ(starts(), std::vector<Sequence>{1});
  EXPECT_TRUE(starts().empty());
}

TEST_F(RankSessionTest, ABatchCoversWhatIsIssuedLaterWithoutAWord) {
  attach();
  session.issue(group, true);
  session.receive(Granted{4, 1, 3, Path::rail}, at(1s));
  sent<Announce>();
  EXPECT_EQ(starts(), std::vector<Sequence>{1});
  session.issue(group, true);
  session.issue(group, true);
  session.issue(group, true);
  EXPECT_EQ(starts(), (std::vector<Sequence>{2, 3}));
  EXPECT_EQ(sent<Announce>().size(), 1U);  // the fourth
}

TEST_F(RankSessionTest, CompletionsAreReportedInOrder) {
  attach();
  for (int i = 0; i < 3; ++i) session.issue(group, true);
  session.receive(Granted{4, 1, 3, Path::rail}, at(1s));
  starts();
  session.take_messages();
  session.finished(group, 2);
  EXPECT_TRUE(sent<Complete>().empty());
  session.finished(group, 1);
  const auto complete = sent<Complete>();
  ASSERT_EQ(complete.size(), 1U);
  EXPECT_EQ(complete[0].through, 2U);
}

TEST_F(RankSessionTest, NothingStartsOnceTheLeaseIsOver) {
  attach(at(0s));
  session.issue(group, true);
  session.receive(Granted{4, 1, 1, Path::rail}, at(1s));
  EXPECT_TRUE(starts(at(9s)).empty());       // 10 s less 1 s of margin
  EXPECT_EQ(starts(at(9s - 1ns)).size(), 1U);
}

TEST_F(RankSessionTest, TheLeaseCountsFromTheSendingOfTheRenewal) {
  attach(at(0s));
  session.tick(at(4s));
  EXPECT_EQ(sent<Renew>().size(), 1U);
  session.receive(Renewed{10s}, at(8s));
  EXPECT_TRUE(session.lease_valid(at(13s - 1ns)));
  EXPECT_FALSE(session.lease_valid(at(13s)));
}

TEST_F(RankSessionTest, AfterAStopNothingStartsUntilTheLimit) {
  attach();
  session.issue(group, true);
  session.issue(group, true);
  session.receive(Granted{4, 1, 5, Path::rail}, at(1s));
  starts();
  session.take_messages();
  session.receive(Stop{4, 5}, at(1s));
  const auto stopped = sent<Stopped>();
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_EQ(stopped[0].highest_started, 2U);
  session.issue(group, true);
  session.issue(group, true);
  EXPECT_TRUE(starts().empty());
  session.receive(Limit{4, 5, 1}, at(1s));
  EXPECT_TRUE(session.failed());  // two have started
}

TEST_F(RankSessionTest, TheLimitEndsTheGrantAndWhatLiesBeyondIsAnnouncedAgain) {
  attach();
  session.issue(group, true);
  session.issue(group, true);
  session.receive(Granted{4, 1, 5, Path::rail}, at(1s));
  starts();
  session.receive(Stop{4, 5}, at(1s));
  session.issue(group, true);
  session.issue(group, true);
  session.take_messages();
  session.receive(Limit{4, 5, 3}, at(1s));
  EXPECT_EQ(starts(), std::vector<Sequence>{3});
  const auto announced = sent<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  EXPECT_EQ(announced[0].sequence, 4U);
}

TEST_F(RankSessionTest, LeavingABatchIsSaidFirst) {
  const GroupHandle other = session.add_group("pp", {0, 2}, RegisterGroup::Shape::pair);
  attach();
  session.receive(GroupReady{"pp", 5, true, ""}, at(0s));
  session.issue(group, true);
  session.receive(Granted{4, 1, 4, Path::rail}, at(1s));
  session.take_messages();
  session.issue(other, false);
  const auto messages = session.take_messages();
  ASSERT_EQ(messages.size(), 2U);
  const auto* stopped = std::get_if<Stopped>(&messages[0]);
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(stopped->granted_last, 4U);
  EXPECT_EQ(stopped->highest_started, 1U);   // issued counts: it will start
  EXPECT_TRUE(std::holds_alternative<Announce>(messages[1]));
  session.issue(group, false);
  EXPECT_EQ(starts(), std::vector<Sequence>{1});
  session.receive(Limit{4, 4, 1}, at(1s));
  EXPECT_EQ(sent<Announce>().size(), 1U);
}

TEST_F(RankSessionTest, ABatchThatComesTooLateIsLeftAtOnce) {
  const GroupHandle other = session.add_group("pp", {0, 2}, RegisterGroup::Shape::pair);
  attach();
  session.receive(GroupReady{"pp", 5, true, ""}, at(0s));
  session.issue(group, true);
  session.issue(other, false);
  session.take_messages();
  session.receive(Granted{4, 1, 3, Path::rail}, at(1s));
  const auto stopped = sent<Stopped>();
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_EQ(stopped[0].highest_started, 1U);
  session.issue(group, false);
  EXPECT_EQ(starts(), std::vector<Sequence>{1});
}

TEST_F(RankSessionTest, AnOperationThatAsksNobodyLeavesABatchToo) {
  attach();
  session.issue(group, true);
  session.receive(Granted{4, 1, 3, Path::rail}, at(1s));
  session.issued_elsewhere();
  EXPECT_EQ(sent<Stopped>().size(), 1U);
}

TEST_F(RankSessionTest, WhatALimitLeavesIsNotLeftAgain) {
  const GroupHandle other = session.add_group("pp", {0, 2}, RegisterGroup::Shape::pair);
  attach();
  session.receive(GroupReady{"pp", 5, true, ""}, at(0s));
  session.issue(group, true);
  session.receive(Granted{4, 1, 9, Path::rail}, at(1s));
  session.receive(Stop{4, 9}, at(1s));
  session.receive(Limit{4, 9, 2}, at(1s));   // another member has started the second
  session.issue(other, false);
  EXPECT_TRUE(sent<Stopped>().size() == 1U);  // the answer to the stop alone
  session.issue(group, false);
  EXPECT_EQ(starts(), (std::vector<Sequence>{1, 2}));
}

TEST_F(RankSessionTest, WhatEndsBetweenHelloAndWelcomeIsReported) {
  attach();
  session.issue(group, true);
  session.receive(Granted{4, 1, 1, Path::rail}, at(1s));
  starts();
  session.closed();
  session.opened(at(2s));
  session.take_messages();
  session.finished(group, 1);
  session.receive(Welcome{1, 10s, 1s}, at(2s));
  const auto complete = sent<Complete>();
  ASSERT_EQ(complete.size(), 1U);
  EXPECT_EQ(complete[0].through, 1U);
}

TEST_F(RankSessionTest, AWaitIsSaidOnceAndAgainAfterABreak) {
  attach();
  session.issue(group, true);
  session.waiting(group, 1);
  session.waiting(group, 1);
  EXPECT_EQ(sent<Blocked>().size(), 1U);
  session.closed();
  session.opened(at(2s));
  session.receive(Welcome{1, 10s, 1s}, at(2s));
  EXPECT_EQ(sent<Blocked>().size(), 1U);
}

TEST_F(RankSessionTest, ARepeatedStopOrLimitOfAnOldBatchChangesNothing) {
  attach();
  session.issue(group, true);
  session.receive(Granted{4, 1, 2, Path::rail}, at(1s));
  session.receive(Stop{4, 2}, at(1s));
  session.receive(Limit{4, 2, 1}, at(1s));
  session.receive(Limit{4, 2, 1}, at(1s));
  EXPECT_EQ(starts(), std::vector<Sequence>{1});
  session.issue(group, true);
  session.receive(Granted{4, 2, 3, Path::rail}, at(1s));
  session.receive(Stop{4, 2}, at(1s));
  EXPECT_EQ(starts(), std::vector<Sequence>{2});
}

TEST_F(RankSessionTest, AfterABreakHelloSaysWhereTheRankStands) {
  attach();
  for (int i = 0; i < 4; ++i) session.issue(group, true);
  session.receive(Granted{4, 1, 2, Path::rail}, at(1s));
  session.receive(Granted{4, 3, 3, Path::management}, at(1s));
  starts();
  session.finished(group, 1);
  session.closed();
  session.opened(at(2s));
  const auto hello = sent<Hello>();
  ASSERT_EQ(hello.size(), 1U);
  ASSERT_EQ(hello[0].groups.size(), 2U);
  EXPECT_EQ(hello[0].groups[0].completed, 1U);
  EXPECT_EQ(hello[0].groups[0].granted, 2U);
  EXPECT_EQ(hello[0].groups[1].granted_first, 3U);
  EXPECT_EQ(hello[0].groups[1].granted_path, Path::management);
  EXPECT_EQ(hello[0].groups[1].announced, 4U);
  session.receive(Welcome{1, 10s, 1s}, at(2s));
  EXPECT_TRUE(sent<Announce>().empty());
  session.receive(Granted{4, 4, 4, Path::rail}, at(2s));
  EXPECT_EQ(starts(at(2s)), std::vector<Sequence>{4});
}

TEST_F(RankSessionTest, AStopDiesWithItsController) {
  attach(at(0s), 1);
  session.issue(group, true);
  session.receive(Granted{4, 1, 2, Path::rail}, at(1s));
  session.receive(Stop{4, 2}, at(1s));
  session.issue(group, true);
  session.closed();
  session.opened(at(2s));
  session.receive(Welcome{1, 10s, 1s}, at(2s));
  EXPECT_EQ(starts(at(2s)), std::vector<Sequence>{1});   // the same controller will say the limit
  session.closed();
  session.opened(at(3s));
  session.receive(Welcome{2, 10s, 1s}, at(3s));
  EXPECT_EQ(starts(at(3s)), std::vector<Sequence>{2});
}

TEST_F(RankSessionTest, AGapInGrantsIsNotTaken) {
  attach();
  for (int i = 0; i < 3; ++i) session.issue(group, true);
  session.receive(Granted{4, 3, 3, Path::rail}, at(1s));
  EXPECT_TRUE(starts().empty());
}

TEST_F(RankSessionTest, ARefusalForGoodEndsTheSession) {
  attach();
  session.receive(Refused{Refused::Code::stale_epoch, "the job has a newer life", Duration::zero()}, at(1s));
  EXPECT_TRUE(session.failed());
  session.issue(group, true);
  session.receive(Granted{4, 1, 1, Path::rail}, at(1s));
  EXPECT_TRUE(starts().empty());
}

}  // namespace
}  // namespace photonrail::client
