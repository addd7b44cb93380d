#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace photonrail {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The three vectors of Random123's kat_vectors for philox4x32 with ten rounds.
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<std::uint64_t> first_draws(RandomStream stream) {
  std::vector<std::uint64_t> draws;
  for (int i = 0; i < 8; ++i) draws.push_back(stream.next());
  return draws;
}

TEST(Random, StreamsDifferBySeedNameAndIdAndRepeat) {
  const auto draws = first_draws(RandomStream(1, "ocs", 2));
  EXPECT_EQ(draws, first_draws(RandomStream(1, "ocs", 2)));
  EXPECT_NE(draws, first_draws(RandomStream(2, "ocs", 2)));
  EXPECT_NE(draws, first_draws(RandomStream(1, "nic", 2)));
  EXPECT_NE(draws, first_draws(RandomStream(1, "ocs", 3)));
}

// Results of every seeded run hang on these: a change must not pass unnoticed.
TEST(Random, KnownDraws) {
  RandomStream stream(1, "known");
  EXPECT_EQ(stream.next(), 5958120111259824084U);
  EXPECT_EQ(stream.next(), 2559119048633743304U);
  EXPECT_EQ(stream.below(1000), 32U);
}

TEST(Random, UniformStaysInRangeAndHasItsMoments) {
  RandomStream stream(1, "uniform");
  double sum = 0, squares = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.003);  // 4.6 standard errors
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.003);
}

TEST(Random, BelowReachesEveryMemberEvenly) {
  RandomStream stream(1, "below");
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts[stream.below(6)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 460);  // 5 standard errors
  EXPECT_EQ(stream.below(1), 0U);
}

// Mean 0, deviation 1, and the shares beyond 1.96 and 3 deviations: 5.00 % and 0.27 %.
TEST(Random, NormalHasItsMomentsAndTails) {
  RandomStream stream(1, "normal");
  constexpr int kDraws = 400'000;
  double sum = 0, squares = 0;
  int beyond_2 = 0, beyond_3 = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond_2 += std::fabs(x) > 1.959964 ? 1 : 0;
    beyond_3 += std::fabs(x) > 3 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.008);
  EXPECT_NEAR(squares / kDraws, 1, 0.012);
  EXPECT_NEAR(beyond_2, 0.05 * kDraws, 690);
  EXPECT_NEAR(beyond_3, 0.0027 * kDraws, 165);
}

}  // namespace
}  // namespace photonrail
