// t = max(F / (P e_f), B / (M e_b)) + launch (roofline.h): a swapped efficiency, a minimum for the maximum or a
// forgotten launch floor turns these red.
#include "operators/roofline.h"

#include <gtest/gtest.h>

namespace photonrail::operators {
namespace {

GpuRates gpu() { return {{100e12}, gigabytes_per_second(2000), 0.5, 0.8, {}}; }

TEST(Roofline, ComputeBoundAndMemoryBound) {
  EXPECT_DOUBLE_EQ(roofline_seconds({100e12, 1}, gpu()), 2.0);  // 100e12 / (100e12 * 0.5)
  EXPECT_DOUBLE_EQ(roofline_seconds({1, 3200e9}, gpu()), 2.0);  // 3200e9 / (2000e9 * 0.8)
  EXPECT_DOUBLE_EQ(roofline_seconds({100e12, 6400e9}, gpu()), 4.0);
}

TEST(Roofline, LaunchIsAFloorOfEveryOperator) {
  GpuRates slow = gpu();
  slow.launch = microseconds(3);
  EXPECT_DOUBLE_EQ(roofline_seconds({}, slow), 3e-6);
  EXPECT_DOUBLE_EQ(work_of({}, slow).seconds + work_of({}, slow).seconds, 6e-6);
}

// A compute-bound and a memory-bound operator do not overlap: their times add.
TEST(Roofline, TimesOfABlockAdd) {
  const Work both = work_of({100e12, 0}, gpu()) + work_of({0, 3200e9}, gpu());
  EXPECT_DOUBLE_EQ(both.seconds, 4.0);
  EXPECT_DOUBLE_EQ(both.flops, 100e12);
  EXPECT_DOUBLE_EQ(both.bytes, 3200e9);
}

}  // namespace
}  // namespace photonrail::operators
