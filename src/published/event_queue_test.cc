// Red when events of one instant change places, or an earlier instant comes later.
#include "published/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace photonrail::published {
namespace {

TEST(EventQueue, EventsOfOneInstantKeepTheirOrderAlsoThoseAddedWhileItRuns) {
  EventQueue queue;
  queue.push(5, {EventKind::wake, 1, 0});
  queue.push(3, {EventKind::wake, 2, 0});
  queue.push(5, {EventKind::wake, 3, 0});
  EXPECT_EQ(queue.pop().a, 2U);
  EXPECT_EQ(queue.pop().a, 1U);
  queue.push(5, {EventKind::wake, 4, 0});
  EXPECT_EQ(queue.pop().a, 3U);
  queue.push(5, {EventKind::wake, 5, 0});
  EXPECT_EQ(queue.pop().a, 4U);
  EXPECT_EQ(queue.pop().a, 5U);
  EXPECT_EQ(queue.now(), 5);
  queue.push(5, {EventKind::wake, 6, 0});
  EXPECT_EQ(queue.pop().a, 6U);
  EXPECT_TRUE(queue.empty());
}

// Against the rule itself: a stable sort by time of what is pending.
TEST(EventQueue, AgreesWithAStableSort) {
  RandomStream random(7, "event_queue_test");
  EventQueue queue;
  std::vector<std::pair<Nanoseconds, std::uint32_t>> pending;
  std::uint32_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (pending.empty() || random.below(5) < 3) {
      const auto time = queue.now() + static_cast<Nanoseconds>(random.below(random.below(2) == 0 ? 3 : 5000));
      pending.emplace_back(time, next);
      queue.push(time, {EventKind::wake, next++, 0});
      continue;
    }
    const auto first = std::min_element(pending.begin(), pending.end(),
                                        [](const auto& x, const auto& y) { return x.first < y.first; });
    ASSERT_EQ(queue.pop().a, first->second);
    ASSERT_EQ(queue.now(), first->first);
    pending.erase(first);
  }
}

}  // namespace
}  // namespace photonrail::published
