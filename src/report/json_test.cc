#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "report/json_reader.h"
#include "report/json_writer.h"

namespace photonrail::report {
namespace {

TEST(Json, WritesInTheOrderTold) {
  JsonWriter json;
  json.begin_object();
  json.field("b", "x\"\n\x01");
  json.field("a", std::optional(0.25));
  json.key("list");
  json.begin_array(true);
  json.integer(-1);
  json.null();
  json.boolean(true);
  json.end();
  json.key("none");
  json.begin_object();
  json.end();
  json.end();
  EXPECT_EQ(json.take(),
            "{\n  \"b\": \"x\\\"\\n\\u0001\",\n  \"a\": 0.25,\n  \"list\": [-1, null, true],\n  \"none\": {}\n}\n");
}

TEST(Json, ReadsEveryKindOfValue) {
  const auto root = parse_json(R"( {"a": [1, -2.5e3, true, false, null, "x\u00e9\ud83d\ude00\/"], "b": {}} )", "f");
  ASSERT_TRUE(root) << root.error().message;
  const JsonArray& a = *find(*root->as<JsonObject>(), "a")->as<JsonArray>();
  EXPECT_EQ(a[0].as<JsonNumber>()->text, "1");
  EXPECT_EQ(a[1].as<JsonNumber>()->value, -2500);
  EXPECT_EQ(*a[5].as<std::string>(), "xé😀/");
}

// Each of these is refused with the place; none is read as something else.
TEST(Json, RefusesWhatIsNotJson) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "1e", "-", "tru", "\"\\x\"",
                          "\"\\ud800\"", "\"\n\"", "\"abc", "1 2", "{\"a\":1,\"a\":2}", "1e999", "[1 2]", "nan"}) {
    const auto refused = parse_json(bad, "f");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message.rfind("f:1:", 0) == 0 || refused.error().message.rfind("f:2:", 0) == 0, true);
  }
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "f"));
}

TEST(Json, TellsLineAndColumn) {
  const auto refused = parse_json("{\n  \"a\": x\n}", "f.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "f.json:2:8: not JSON: a value is expected");
}

RC_GTEST_PROP(Json, NumbersReadBackToTheLastBit, (std::uint64_t bits)) {
  const double value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  JsonWriter json;
  json.number(value);
  const auto back = parse_json(json.take(), "f");
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->as<JsonNumber>()->value == value);
}

RC_GTEST_PROP(Json, TextsReadBack, (const std::string& text)) {
  const auto back = parse_json(json_quoted(text), "f");
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back->as<std::string>() == text);
}

}  // namespace
}  // namespace photonrail::report
