#include "validation/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace photonrail::validation {
namespace {

std::string message(const Result<Csv>& csv) { return csv ? "" : csv.error().message; }

TEST(Csv, CellsByColumnWhateverTheirOrder) {
  const auto csv = Csv::parse("b,a\n1,x\n2,y\n", "dir/t.csv");
  ASSERT_TRUE(csv) << message(csv);
  EXPECT_EQ(csv->name(), "t.csv");
  ASSERT_EQ(csv->rows(), 2U);
  EXPECT_EQ(csv->text(1, "a"), "y");
  EXPECT_EQ(*csv->number(1, "b"), 2);
  EXPECT_EQ(csv->line(1), 3U);
}

TEST(Csv, QuotesHoldCommasQuotesAndLineEnds) {
  const auto csv = Csv::parse("a,b\n\"x, \"\"y\"\"\nz\",2\nlast,3", "t.csv");
  ASSERT_TRUE(csv) << message(csv);
  EXPECT_EQ(csv->text(0, "a"), "x, \"y\"\nz");
  EXPECT_EQ(csv->line(1), 4U);
  EXPECT_EQ(csv->text(1, "b"), "3");
}

TEST(Csv, LineEndsOfBothKindsAndAByteOrderMark) {
  const auto csv = Csv::parse(
      "\xEF\xBB\xBF"
      "a,b\r\n1,2\r\n\r\n3,4\r\n",
      "t.csv");
  ASSERT_TRUE(csv) << message(csv);
  ASSERT_EQ(csv->rows(), 2U);
  EXPECT_EQ(csv->text(1, "b"), "4");
}

// A folder opens as an empty file does.
TEST(Csv, AFolderIsNoTable) {
  const auto csv = Csv::read(PHOTONRAIL_SOURCE_DIR);
  ASSERT_FALSE(csv);
  EXPECT_EQ(csv.error().code, ErrorCode::io);
  EXPECT_NE(csv.error().message.find("a folder"), std::string::npos);
}

TEST(Csv, WhatIsNoTableIsRefusedWithItsLine) {
  EXPECT_EQ(message(Csv::parse("", "t.csv")), "t.csv:1: empty; a line with the names of the columns is wanted");
  EXPECT_EQ(message(Csv::parse("a,a\n", "t.csv")), "t.csv:1: column 'a' twice");
  EXPECT_EQ(message(Csv::parse("a,\n", "t.csv")), "t.csv:1: column 2 has no name");
  EXPECT_EQ(message(Csv::parse("a,b\n1,2\n3\n", "t.csv")), "t.csv:3: 1 cells, but the header has 2");
  EXPECT_EQ(message(Csv::parse("a,b\n1,\"2\n", "t.csv")),
            "t.csv:2: a quoted cell never closes; is the file truncated?");
  EXPECT_NE(message(Csv::parse("a,b\n1,\"2\"x\n", "t.csv")).find("t.csv:2: text after a closing quote"),
            std::string::npos);
  EXPECT_NE(message(Csv::parse(std::string("a\n\0\n", 4), "t.csv")).find("t.csv:2: byte 0x00"), std::string::npos);
}

TEST(Csv, NumbersAreWholeCellsAndFinite) {
  const auto csv = Csv::parse("a\n1.5\n1x\n\nnan\n1e999\n", "t.csv");
  ASSERT_TRUE(csv);
  EXPECT_EQ(*csv->number(0, "a"), 1.5);
  for (std::size_t row = 1; row < csv->rows(); ++row) EXPECT_FALSE(csv->number(row, "a")) << row;
  EXPECT_EQ(csv->number(1, "a").error().message, "t.csv:3: a: '1x' is no number");
  EXPECT_EQ(csv->require({"a", "b"}).error().message, "t.csv:1: no column 'b'");
}

// What is written with every cell quoted reads back as it was.
RC_GTEST_PROP(Csv, QuotedCellsReadBack, ()) {
  const auto cells = *rc::gen::container<std::vector<std::string>>(
      2, rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,\"\n x"))));
  std::string text = "one,two\n";
  for (std::size_t i = 0; i < 2; ++i) {
    text += '"';
    for (const char c : cells[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += i == 0 ? "\"," : "\"\n";
  }
  const auto csv = Csv::parse(text, "t.csv");
  RC_ASSERT(csv.has_value());
  RC_ASSERT(csv->rows() == 1U);
  RC_ASSERT(csv->text(0, "one") == cells[0]);
  RC_ASSERT(csv->text(0, "two") == cells[1]);
}

}  // namespace
}  // namespace photonrail::validation
