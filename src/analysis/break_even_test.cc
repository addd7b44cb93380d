// Rails pay while c t <= c0 t0, so up to an overhead of c0 / c - 1.
#include "analysis/break_even.h"

#include <gtest/gtest.h>

namespace photonrail::analysis {
namespace {

TEST(BreakEven, WorkedByHand) {
  EXPECT_DOUBLE_EQ(break_even_overhead({4.0}, {5.0}), 0.25);
  const OverheadPoint points[] = {{milliseconds(0), 0.01}, {milliseconds(10), 0.03}, {milliseconds(100), 0.21}};
  const BreakEven between = break_even(points, 0.12);
  EXPECT_EQ(between.kind, BreakEven::Kind::at);
  EXPECT_EQ(between.switching_time, milliseconds(55));
  EXPECT_EQ(break_even(points, 0.03).switching_time, milliseconds(10));
  EXPECT_EQ(break_even(points, 0.0).kind, BreakEven::Kind::never);
  EXPECT_EQ(break_even(points, 0.21).kind, BreakEven::Kind::always);
}

}  // namespace
}  // namespace photonrail::analysis
