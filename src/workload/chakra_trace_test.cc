#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "workload/chakra_test_writer.h"
#include "workload/chakra_trace.h"

namespace photonrail::workload {
namespace {

using namespace test;

Result<ChakraTrace> parse(const std::string& text, bool keep_names = false) {
  return parse_chakra(bytes_of(text), "t.0.et", keep_names);
}

void expect_refused(const std::string& text, const std::vector<std::string>& fragments) {
  const auto trace = parse(text);
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().code, ErrorCode::invalid_input);
  for (const std::string& fragment : fragments)
    EXPECT_NE(trace.error().message.find(fragment), std::string::npos)
        << trace.error().message << "\nlacks " << fragment;
}

TEST(ChakraTrace, ReadsEveryField) {
  const auto trace = parse(metadata() + compute(2, 1'000'000'000'000, 4096) + collective(3, 7, 512, "17", {2}) +
                               send(4, 9, 325316, 77, {2, 3}) + replay(5, 12),
                           true);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  ASSERT_EQ(trace->nodes.size(), 4u);
  const ChakraNode& work = trace->nodes[0];
  EXPECT_EQ(work.id, 2u);
  EXPECT_EQ(work.type, ChakraType::compute);
  EXPECT_EQ(work.num_ops, 1'000'000'000'000);
  EXPECT_EQ(work.tensor_size, 4096);
  EXPECT_TRUE(work.has_num_ops && work.has_tensor_size);
  EXPECT_EQ(trace->name(work), "n2");
  const ChakraNode& reduce = trace->nodes[1];
  EXPECT_EQ(reduce.comm_type, 7);
  EXPECT_EQ(reduce.comm_size, 512);
  EXPECT_EQ(reduce.group, 17);
  const ChakraNode& message = trace->nodes[2];
  EXPECT_EQ(message.comm_dst, 9);
  EXPECT_EQ(message.comm_tag, 325316);
  ASSERT_EQ(trace->needs(message).size(), 2u);
  EXPECT_EQ(trace->needs(message)[1], 3u);
  EXPECT_EQ(trace->nodes[3].duration_micros, 12u);
  EXPECT_FALSE(trace->nodes[3].has_num_ops);
}

TEST(ChakraTrace, TakesEveryIntegerKind) {
  const std::string fixed32 = key(19, 5) + std::string("\x07\0\0\0", 4);
  const std::string fixed64 = key(25, 1) + std::string("\x07\0\0\0\0\0\0\0", 8);
  for (const std::string& value :
       {number(7, 7), number(9, 7), number(11, 7), number(13, 7), number(15, 14), number(17, 14), fixed32, fixed64}) {
    const auto trace = parse(metadata() + node(1, 4, {}, attribute("num_ops", value)));
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    EXPECT_EQ(trace->nodes[0].num_ops, 7);
  }
}

TEST(ChakraTrace, TakesUnpackedAndControlDependencies) {
  const auto trace = parse(metadata() + node(1, 4, {}) + node(2, 4, {1}, number(4, 1) + number(5, 1)));
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->needs(trace->nodes[1]).size(), 3u);
}

TEST(ChakraTrace, RefusesEveryTruncation) {
  const std::string whole = metadata() + compute(2, 1000, 4096) + collective(300, 7, 512, "17", {2});
  const std::size_t node_ends[] = {metadata().size(), metadata().size() + compute(2, 1000, 4096).size()};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const bool at_record_end = size == node_ends[0] || size == node_ends[1];
    EXPECT_EQ(parse(whole.substr(0, size)).has_value(), at_record_end) << size;
  }
  expect_refused(whole.substr(0, whole.size() - 1), {"t.0.et: byte ", "truncated", "hint"});
}

TEST(ChakraTrace, RefusesWhatIsWrongWithPositionAndNode) {
  expect_refused("", {"byte 0", "empty"});
  expect_refused(compute(1, 1, 1), {"byte 1", "metadata"});
  expect_refused(metadata() + record(text(1, "x")), {"byte 9", "wire type 2 instead of 0"});
  expect_refused(metadata() + node(5, 9, {}), {"node 5 'n5'", "unknown node type 9"});
  expect_refused(metadata() + node(5, 4, {}, number(13, 1)), {"unknown field 13"});
  expect_refused(metadata() + replay(5, 1) + replay(6, 1) + replay(5, 1), {"node id 5 occurs more than once"});
  expect_refused(metadata() + node(5, 7, {}, int64_attribute("comm_type", 0)),
                 {"node 5", "comm_size is missing", "COMM_COLL"});
  expect_refused(metadata() + node(5, 5, {}, int64_attribute("comm_dst", 0)), {"comm_size is missing"});
  expect_refused(metadata() + collective(5, 10, 8, ""), {"comm_type = 10 is out of range"});
  expect_refused(metadata() + collective(5, 0, -8, ""), {"comm_size = -8 is out of range"});
  expect_refused(metadata() + collective(5, 0, 8, "world"), {"pg_name 'world'"});
  expect_refused(metadata() + node(5, 4, {}, attribute("num_ops", key(3, 1) + std::string(8, '\0'))),
                 {"num_ops is not an integer"});
  expect_refused(metadata() + node(5, 4, {}, attribute("num_ops", number(13, ~std::uint64_t{0}))),
                 {"num_ops = 18446744073709551615"});
  expect_refused(metadata() + std::string(11, '\xff'), {"longer than 64 bits"});
}

TEST(ChakraTrace, SkipsUnusedAttributesUnread) {
  const auto trace =
      parse(metadata() + node(5, 4, {}, text(10, text(1, "inputs") + "\xff\xff") + int64_attribute("num_ops", 3)));
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->nodes[0].num_ops, 3);
}

RC_GTEST_PROP(ChakraTrace, SurvivesAnyBytes, (const std::string& noise)) {
  const auto plain = parse(noise);
  const auto after = parse(metadata() + noise, true);
  RC_ASSERT(plain.has_value() || !plain.error().message.empty());
  RC_ASSERT(after.has_value() || !after.error().message.empty());
}

RC_GTEST_PROP(ChakraTrace, SurvivesFlippedBytes, (std::uint32_t where, std::uint8_t with)) {
  std::string whole =
      metadata() + compute(2, 1000, 4096) + collective(300, 7, 512, "17", {2}) + send(4, 9, 32, 77, {2, 3});
  whole[where % whole.size()] = static_cast<char>(with);
  const auto trace = parse(whole);
  RC_ASSERT(trace.has_value() || !trace.error().message.empty());
}

}  // namespace
}  // namespace photonrail::workload
