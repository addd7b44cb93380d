// ready(i) = sent(i) + travel + endpoint + reduction, and another endpoint delay at the end of a chunk;
// sent(i+1) = max(ready(i), sent(i) + hold); a message that was ready when its link was free turns the order.
#include "published/ring_plan.h"

#include <gtest/gtest.h>

namespace photonrail::published {
namespace {

// travel 100, hold 105, endpoint 10: an all-gather of 3 members is always ready after 110 ns, past the hold.
TEST(RingPlan, ReadyAfterTheHoldTurnsEveryTime) {
  const RingPlan plan = make_ring_plan({1, 2, 0, 2, 0}, {100, 105}, 10);
  EXPECT_EQ(plan.sent, (std::vector<Nanoseconds>{0, 110, 230, 340}));
  EXPECT_EQ(plan.turns, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// hold 115: inside a chunk (110) a message waits for its link and the order stays; between chunks (120) it does not.
TEST(RingPlan, WaitingForTheLinkKeepsTheOrder) {
  const RingPlan plan = make_ring_plan({1, 2, 0, 2, 0}, {100, 115}, 10);
  EXPECT_EQ(plan.sent, (std::vector<Nanoseconds>{0, 115, 235, 350}));
  EXPECT_EQ(plan.turns, (std::vector<std::uint32_t>{0, 0, 1, 1}));
}

// Ready in the very instant in which the link becomes free: the link's event comes first, so the order turns.
TEST(RingPlan, ReadyInTheInstantOfTheLinkTurns) {
  const RingPlan plan = make_ring_plan({1, 2, 0, 1, 0}, {100, 110}, 10);
  EXPECT_EQ(plan.sent, (std::vector<Nanoseconds>{0, 110}));
  EXPECT_EQ(plan.turns, (std::vector<std::uint32_t>{0, 1}));
}

// All-reduce of 3 members: 4 messages a chunk, the first two receipts are reduced for 7 ns.
TEST(RingPlan, OnlyTheFirstReceiptsAreReduced) {
  const RingPlan plan = make_ring_plan({1, 4, 2, 1, 7}, {100, 50}, 10);
  EXPECT_EQ(plan.sent, (std::vector<Nanoseconds>{0, 117, 234, 344}));
  EXPECT_EQ(plan.ready.back(), 344 + 100 + 10 + 10);
}

}  // namespace
}  // namespace photonrail::published
