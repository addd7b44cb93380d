#include "fabric/layout.h"

#include <gtest/gtest.h>

namespace photonrail::fabric {
namespace {

TEST(Layout, RanksFillDomainsTensorInnermost) {
  const auto layout = make_layout(16, 8);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->gpus(), 16u);
  EXPECT_EQ(layout->domains, 2u);
  EXPECT_EQ(layout->rails, 8u);
  EXPECT_EQ(layout->domain_of(11), 1u);
  EXPECT_EQ(layout->local_of(11), 3u);
  EXPECT_EQ(layout->rank_at(1, 3), 11u);
}

TEST(Layout, FewerGpusThanADomainAreOneDomain) {
  const auto layout = make_layout(4, 8);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->domains, 1u);
  EXPECT_EQ(layout->rails, 4u);
}

TEST(Layout, ExplicitPlacesMayLeaveHoles) {
  const auto layout = make_layout({{1, 0}, {0, 2}, {0, 0}});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->rails, 3u);
  EXPECT_EQ(layout->rank_at(0, 2), 1u);
  EXPECT_EQ(layout->rank_at(1, 2), kNoRank);
}

TEST(Layout, RefusesWhatDoesNotFit) {
  EXPECT_NE(make_layout(20, 8).error().message.find("4 are left over"), std::string::npos);
  EXPECT_FALSE(make_layout(0, 8));
  EXPECT_FALSE(make_layout(8, 0));
  EXPECT_FALSE(make_layout(std::int64_t{1} << 40, 8));
  EXPECT_NE(make_layout({{0, 0}, {0, 0}}).error().message.find("ranks 0 and 1 both sit"), std::string::npos);
  EXPECT_NE(make_layout({{0, 0}, {2, 0}, {2, 1}}).error().message.find("no rank sits in domain 1"), std::string::npos);
  EXPECT_FALSE(make_layout({{0, 7}}));
  EXPECT_FALSE(make_layout(std::vector<Place>{}));
}

}  // namespace
}  // namespace photonrail::fabric
