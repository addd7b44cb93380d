#include "engine/event_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace photonrail::engine {
namespace {

TEST(EventQueue, EqualTimesComeOutByClassThenInScheduleOrder) {
  EventQueue queue;
  queue.push(nanoseconds(5), 1, 0, 10, 0);
  queue.push(nanoseconds(5), 0, 0, 11, 0);
  queue.push(nanoseconds(5), 1, 0, 12, 0);
  queue.push(nanoseconds(4), 9, 0, 13, 0);
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop().a);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{13, 11, 10, 12}));
}

TEST(EventQueue, AnEventOfAnEarlierClassAtTheSameInstantOvertakesThoseNotYetTaken) {
  EventQueue queue;
  queue.push(nanoseconds(5), 1, 0, 1, 0);
  queue.push(nanoseconds(5), 1, 0, 2, 0);
  EXPECT_EQ(queue.pop().a, 1U);
  queue.push(nanoseconds(5), 0, 0, 3, 0);
  queue.push(nanoseconds(5), 1, 0, 4, 0);
  EXPECT_EQ(queue.pop().a, 3U);
  EXPECT_EQ(queue.pop().a, 2U);
  EXPECT_EQ(queue.pop().a, 4U);
}

RC_GTEST_PROP(EventQueue, IsAStableSort, (const std::vector<std::uint8_t>& times)) {
  EventQueue queue;
  for (std::size_t i = 0; i < times.size(); ++i) {
    queue.push(picoseconds(times[i]), 0, 0, static_cast<std::uint32_t>(i), 0);
  }
  Event previous{picoseconds(-1), 0, 0, 0};
  while (!queue.empty()) {
    const Event event = queue.pop();
    RC_ASSERT(previous.at < event.at || (previous.at == event.at && previous.a < event.a));
    previous = event;
  }
}

}  // namespace
}  // namespace photonrail::engine
