#include "report/formula.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace photonrail::report {
namespace {

std::optional<double> value(std::string_view formula, const std::map<std::string, double, std::less<>>& names = {}) {
  return evaluate(formula, [&](std::string_view name) -> std::optional<double> {
    const auto at = names.find(name);
    if (at == names.end()) return std::nullopt;
    return at->second;
  });
}

// Red if products did not bind tighter than sums, or if equals did not associate to the left.
TEST(Formula, FollowsTheUsualPrecedence) {
  EXPECT_DOUBLE_EQ(*value("2 + 3 * 4"), 14);
  EXPECT_DOUBLE_EQ(*value("(2 + 3) * 4"), 20);
  EXPECT_DOUBLE_EQ(*value("12 / 3 / 2"), 2);
  EXPECT_DOUBLE_EQ(*value("10 - 3 - 2"), 5);
  EXPECT_DOUBLE_EQ(*value("-2 * -3 + 1"), 7);
  EXPECT_DOUBLE_EQ(*value("1.5e3 / 2"), 750);
}

TEST(Formula, ReadsNamesWithPrefix) { EXPECT_DOUBLE_EQ(*value("a.b_1 / b - 1", {{"a.b_1", 3}, {"b", 2}}), 0.5); }

// A missing input must not become a zero.
TEST(Formula, HasNoValueWithoutInputsOrWithAZeroDivisor) {
  EXPECT_FALSE(value("a + 1"));
  EXPECT_FALSE(value("1 / a", {{"a", 0}}));
  EXPECT_FALSE(value("0 * a"));
}

TEST(Formula, TellsSyntaxFromMissingValues) {
  EXPECT_TRUE(formula_is_valid("a / (b - 1)"));
  for (const char* broken : {"", "a +", "(a", "a b", "a)", "*a", "a $ b", "1..2.."}) {
    EXPECT_FALSE(formula_is_valid(broken)) << broken;
    EXPECT_FALSE(value(broken, {{"a", 1}, {"b", 1}})) << broken;
  }
  EXPECT_FALSE(formula_is_valid(std::string(100'000, '(')));  // depth is limited, not the stack
}

TEST(Formula, ListsNamesOnceInOrder) {
  const std::vector<std::string> expected{"b", "baseline.a"};
  EXPECT_EQ(names_in("b / baseline.a - b"), expected);
}

}  // namespace
}  // namespace photonrail::report
