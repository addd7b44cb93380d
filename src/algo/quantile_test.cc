// Quantiles by type 7 of Hyndman and Fan (quantile.h): h = (n - 1) q, linear between the neighbours of h.
#include "algo/quantile.h"

#include <gtest/gtest.h>

namespace photonrail::algo {
namespace {

// n = 5: q = 0.5 falls on x[2]; q = 0.9 gives h = 3.6, 4 + 0.6 * (10 - 4) = 7.6.
TEST(Quantile, InterpolatesBetweenNeighbours) {
  const std::vector<double> sorted{1, 2, 3, 4, 10};
  EXPECT_EQ(quantile(sorted, 0), 1);
  EXPECT_EQ(quantile(sorted, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.9), 7.6);
  EXPECT_EQ(quantile(sorted, 1), 10);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.3), 7);
}

TEST(Quantile, SampleMayComeInAnyOrderAndMayBeEmpty) {
  const std::vector<double> qs{0.25, 0.75};
  EXPECT_EQ(quantiles({5, 1, 3, 2, 4}, qs), (std::vector<double>{2, 4}));
  EXPECT_TRUE(quantiles({}, qs).empty());
}

TEST(Cdf, OnePointPerDistinctValueEndsAtOne) {
  const auto points = empirical_cdf({2, 1, 2, -3});
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].value, -3);
  EXPECT_EQ(points[0].fraction, 0.25);
  EXPECT_EQ(points[1].fraction, 0.5);
  EXPECT_EQ(points[2].value, 2);
  EXPECT_EQ(points[2].fraction, 1);
  EXPECT_TRUE(empirical_cdf({}).empty());
}

TEST(Cdf, FractionBelowIsStrict) {
  const std::vector<double> sorted{1, 2, 2, 3};
  EXPECT_EQ(fraction_below(sorted, 2), 0.25);
  EXPECT_EQ(fraction_below(sorted, 2.5), 0.75);
  EXPECT_EQ(fraction_below(sorted, 0), 0);
  EXPECT_EQ(fraction_below({}, 1), 0);
}

}  // namespace
}  // namespace photonrail::algo
