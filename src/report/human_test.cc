#include "report/human.h"

#include <gtest/gtest.h>

#include <limits>

namespace photonrail::report {
namespace {

TEST(Human, PicksAUnitThatFits) {
  EXPECT_EQ(human(12.1931, "s"), "12.19 s");
  EXPECT_EQ(human(0.0125, "s"), "12.50 ms");
  EXPECT_EQ(human(-3.2e-5, "s"), "-32.00 us");
  EXPECT_EQ(human(0.0, "s"), "0 s");
  EXPECT_EQ(human(5.78e13, "B"), "57.80 TB");
  EXPECT_EQ(human(64400, "W"), "64.40 kW");
  EXPECT_EQ(human(2'050'000, "USD"), "$2.05M");
  EXPECT_EQ(human(0.4312, "ratio"), "43.1 %");
  EXPECT_EQ(human(0.0244, "relative"), "+2.44 %");
  EXPECT_EQ(human(-0.0244, "relative"), "-2.44 %");
  EXPECT_EQ(human(-0.00001, "relative"), "0.00 %");
  EXPECT_EQ(human(0.00001, "relative"), "0.00 %");
  EXPECT_EQ(human(9.99, "relative"), "+999 %");
  EXPECT_EQ(human(36.18, "relative"), "x 37.18");
  EXPECT_EQ(human(23.858, "times"), "23.86x");
  EXPECT_EQ(human(1234567, "count"), "1,234,567");
  EXPECT_EQ(human(std::nullopt, "s"), "-");
  EXPECT_EQ(human(std::numeric_limits<double>::infinity(), "s"), "-");
}

// Red if the largest power of ten below were chosen by a comparison that rounding defeats (0.001 s as 1000 us).
TEST(Human, KeepsRoundTimesInTheirUnit) {
  EXPECT_EQ(human(0.001, "s"), "1.000 ms");
  EXPECT_EQ(human(0.1, "s"), "100.0 ms");
  EXPECT_EQ(human(1.0, "s"), "1.000 s");
}

TEST(Human, LabelsTimesAsGiven) {
  EXPECT_EQ(time_label(milliseconds(100)), "100 ms");
  EXPECT_EQ(time_label(Time{}), "0 s");
  EXPECT_EQ(seconds_of(milliseconds(100)), 0.1);
}

TEST(Human, SeparatesThousands) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(-1234567), "-1,234,567");
}

TEST(Human, CountsThingsInTheirNumber) {
  EXPECT_EQ(counted(1, "rail"), "1 rail");
  EXPECT_EQ(counted(8, "rail"), "8 rails");
  EXPECT_EQ(counted(0, "duplex port"), "0 duplex ports");
}

TEST(Human, ExactReadsBackAndKeepsIntegersPlain) {
  EXPECT_EQ(exact(12'193'000'000'000.0), "12193000000000");
  EXPECT_EQ(exact(0.1), "0.1");
  EXPECT_EQ(std::stod(exact(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(exact(std::numeric_limits<double>::quiet_NaN()), "null");
}

}  // namespace
}  // namespace photonrail::report
