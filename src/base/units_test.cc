// Quantities and their text forms.
#include "base/units_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace photonrail {
namespace {

template <class T>
std::string problem(const Result<T>& result) {
  return result ? "accepted: " + to_text(*result) : result.error().message;
}

// 2^30 B * 8 b/B / 800e9 b/s = 10,737,418,240 ps; in 64 bits the product overflows and gives 15,248,247 ps.
TEST(Units, SerializationTimeNeedsMoreThan64Bits) {
  EXPECT_EQ(serialization_time(Bytes{1LL << 30}, gigabits_per_second(800)), picoseconds(10'737'418'240));
  EXPECT_EQ(serialization_time(Bytes{1}, Rate{3'000'000'000'000}), picoseconds(3));  // 2.67 ps, rounded up
}

TEST(Units, TimeFromSecondsRoundsToNearest) {
  EXPECT_EQ(time_from_seconds(1.4e-12), picoseconds(1));
  EXPECT_EQ(time_from_seconds(1.6e-12), picoseconds(2));
  EXPECT_EQ(time_from_seconds(-1.6e-12), picoseconds(-2));
}

TEST(UnitsText, TimesOfEveryUnit) {
  EXPECT_EQ(*parse_time("7 ps"), picoseconds(7));
  EXPECT_EQ(*parse_time("7ns"), nanoseconds(7));
  EXPECT_EQ(*parse_time("7 us"), microseconds(7));
  EXPECT_EQ(*parse_time("7 \u00b5s"), microseconds(7));
  EXPECT_EQ(*parse_time("25 ms"), milliseconds(25));
  EXPECT_EQ(*parse_time("1.5 s"), milliseconds(1500));
  EXPECT_EQ(*parse_time("2 min"), seconds(120));
  EXPECT_EQ(*parse_time("1 h"), seconds(3600));
  EXPECT_EQ(*parse_time("0"), Time{});
  EXPECT_EQ(*parse_time("-3 ps"), picoseconds(-3));
  EXPECT_EQ(*parse_time("1e-3 s"), milliseconds(1));
  EXPECT_EQ(*parse_time(" .5 ns "), picoseconds(500));
}

TEST(UnitsText, BitsAndBytesAndPowersOf1024) {
  EXPECT_EQ(*parse_rate("50 GB/s"), gigabytes_per_second(50));
  for (const char* text : {"400 Gb/s", "400 Gbps", "400 Gbit/s", "0.4 Tb/s", "50 GB/s"}) {
    EXPECT_EQ(*parse_rate(text), gigabits_per_second(400)) << text;
  }
  EXPECT_EQ(*parse_rate("1 GiB/s"), Rate{8LL << 30});
  EXPECT_EQ(*parse_bytes("80 GB"), Bytes{80'000'000'000});
  EXPECT_EQ(*parse_bytes("80 GiB"), Bytes{80LL << 30});
}

// A double has 53 bits: read through one, this loses its last digits.
TEST(UnitsText, IntegersAreReadExactly) {
  EXPECT_EQ(*parse_time("9007.199254740993 s"), picoseconds(9'007'199'254'740'993));
  EXPECT_EQ(*parse_time("9223372036854775807 ps"), Time::max());
  EXPECT_EQ(*parse_bytes("-9223372036854775808 B"), Bytes{INT64_MIN});
}

TEST(UnitsText, FloatingQuantitiesRoundOnce) {
  EXPECT_EQ(parse_flop_rate("989 TFLOP/s")->flops_per_second, 989e12);
  EXPECT_EQ(parse_energy("0.1 pJ")->joules, 1e-13);
  EXPECT_EQ(parse_energy("1 kWh")->joules, 3.6e6);
  EXPECT_EQ(parse_power("0.7 kW")->watts, 700);
  EXPECT_EQ(parse_loss("-1.5 dB")->decibels, -1.5);
  EXPECT_EQ(*parse_ratio("12.5 %"), 0.125);
  EXPECT_EQ(*parse_ratio("0.125"), 0.125);
}

TEST(UnitsText, Money) {
  EXPECT_EQ(parse_dollars("$12.50")->amount, 12.5);
  EXPECT_EQ(parse_dollars("$1.2M")->amount, 1.2e6);
  EXPECT_EQ(parse_dollars("12.50 USD")->amount, 12.5);
  EXPECT_EQ(to_text(Dollars{12.5}), "$12.50");
  EXPECT_EQ(to_text(Dollars{-3}), "-$3");
  EXPECT_EQ(problem(parse_dollars("$")),
            "\"$\" is not an amount of money; write \"$12.50\", \"$1.2M\" or \"12.50 USD\"");
  EXPECT_EQ(problem(parse_dollars("$5X")),
            "\"$5X\" is not an amount of money; write \"$12.50\", \"$1.2M\" or \"12.50 USD\"");
}

TEST(UnitsText, Refusals) {
  EXPECT_EQ(problem(parse_time("25")), "\"25\" has no unit; a time is wanted, such as \"25 ms\"");
  EXPECT_EQ(problem(parse_rate("50 GB")), "\"50 GB\" is a size, but a rate is wanted, such as \"50 GB/s\"");
  EXPECT_EQ(problem(parse_time("3 mss")), "\"3 mss\": unknown unit \"mss\" for a time; did you mean \"ms\"?");
  EXPECT_EQ(problem(parse_bytes("3 parsec")),
            "\"3 parsec\": unknown unit \"parsec\" for a size; known: GB MB KB B TB GiB MiB KiB TiB kB");
  EXPECT_EQ(problem(parse_time("fast")),
            "\"fast\" is not a time; write a number of at most 24 digits and a unit, such as \"25 ms\"");
  EXPECT_EQ(problem(parse_time("")),
            "\"\" is not a time; write a number of at most 24 digits and a unit, such as \"25 ms\"");
  EXPECT_EQ(problem(parse_time("1.2.3 s")),
            "\"1.2.3 s\": unknown unit \".3 s\" for a time; known: ms us ns s ps min h \u00b5s");
  EXPECT_EQ(problem(parse_time("0.3 ps")), "\"0.3 ps\" is finer than one picosecond; write fewer digits");
  EXPECT_EQ(problem(parse_time("9223372036854775808 ps")), "\"9223372036854775808 ps\" is too large");
  EXPECT_EQ(problem(parse_time("4000 h")), "\"4000 h\" is too large");
  EXPECT_EQ(problem(parse_power("1e400 W")), "\"1e400 W\" is out of range");
  EXPECT_FALSE(parse_time(std::string(1000, '1')));
}

TEST(UnitsText, ShortestFormInTheLargestUnit) {
  EXPECT_EQ(to_text(milliseconds(25)), "25 ms");
  EXPECT_EQ(to_text(picoseconds(1'000'000'001)), "1.000000001 ms");
  EXPECT_EQ(to_text(seconds(3600)), "3600 s");
  EXPECT_EQ(to_text(Time{}), "0 ps");
  EXPECT_EQ(to_text(gigabits_per_second(400)), "50 GB/s");
  EXPECT_EQ(to_text(Rate{1}), "0.125 B/s");
  EXPECT_EQ(to_text(Bytes{80LL << 30}), "80 GiB");
  EXPECT_EQ(to_text(Bytes{80'000'000'000}), "80 GB");
  EXPECT_EQ(to_text(FlopRate{989e12}), "989 TFLOP/s");
  EXPECT_EQ(to_text(Power{0}), "0 W");
  EXPECT_EQ(to_text(Energy{5e-12}), "5 pJ");
}

// Every value prints to a text that reads back as itself.
RC_GTEST_PROP(UnitsText, IntegersRoundTrip, (std::int64_t value, unsigned shift)) {
  value /= std::int64_t{1} << (shift % 63);
  RC_ASSERT(*parse_time(to_text(Time{value})) == Time{value});
  RC_ASSERT(*parse_bytes(to_text(Bytes{value})) == Bytes{value});
  RC_ASSERT(*parse_rate(to_text(Rate{value})) == Rate{value});
}

RC_GTEST_PROP(UnitsText, DoublesRoundTrip, (std::int64_t mantissa, int exponent)) {
  const double value = std::ldexp(static_cast<double>(mantissa), exponent % 200);
  RC_ASSERT(*parse_flop_rate(to_text(FlopRate{value})) == FlopRate{value});
  RC_ASSERT(*parse_power(to_text(Power{value})) == Power{value});
  RC_ASSERT(*parse_energy(to_text(Energy{value})) == Energy{value});
  RC_ASSERT(*parse_dollars(to_text(Dollars{value})) == Dollars{value});
  RC_ASSERT(*parse_loss(to_text(Loss{value})) == Loss{value});
}

// No text crashes the reader, and what it accepts prints and reads back.
RC_GTEST_PROP(UnitsText, AnyTextIsReadOrRefused, (const std::string& head, std::int64_t number)) {
  for (const std::string& text : {head, std::to_string(number) + head, head + " ms"}) {
    if (const Result<Time> time = parse_time(text)) RC_ASSERT(*parse_time(to_text(*time)) == *time);
    if (const Result<Dollars> price = parse_dollars(text)) RC_ASSERT(*parse_dollars(to_text(*price)) == *price);
  }
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("port", "ports"), 1U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

}  // namespace
}  // namespace photonrail
