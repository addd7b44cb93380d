// The TOML reader alone: what each text means, and what is no TOML.
#include "config/toml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace photonrail::config {
namespace {

// A tree as one line, so that cases stay readable: {a=1 b=[x,2.5]}.
std::string show(const Node& node) {
  std::string out;
  switch (node.kind) {
    case Node::Kind::string: return fmt::format("'{}'", node.text);
    case Node::Kind::integer: return fmt::format("{}", node.integer);
    case Node::Kind::floating: return fmt::format("f{}", node.floating);
    case Node::Kind::boolean: return node.boolean ? "true" : "false";
    case Node::Kind::date: return "date";
    case Node::Kind::array:
      for (const Node& item : node.items) out += (out.empty() ? "" : ",") + show(item);
      return fmt::format("[{}]", out);
    case Node::Kind::table:
      for (const Member& member : node.members) {
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", member.key, show(member.value));
      }
      return fmt::format("{{{}}}", out);
  }
  return out;
}

// The tree, or the first line of the first error.
std::string parsed(std::string_view text) {
  Diagnostics diagnostics;
  const std::optional<Node> node = parse_toml(diagnostics, diagnostics.add_source("t", std::string(text)));
  if (!diagnostics.has_errors()) return show(*node);
  const std::string errors = diagnostics.text();
  return errors.substr(0, errors.find('\n'));
}

TEST(Toml, ValuesOfEveryKind) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a = 1", "{a=1}"},
      {"a = -17 # c", "{a=-17}"},
      {"a = +1_000", "{a=1000}"},
      {"a = 0xDEAD_beef", "{a=3735928559}"},
      {"a = 0o17", "{a=15}"},
      {"a = 0b101", "{a=5}"},
      {"a = 9223372036854775807", "{a=9223372036854775807}"},
      {"a = -9223372036854775808", "{a=-9223372036854775808}"},
      {"a = 1.5", "{a=f1.5}"},
      {"a = -1e-3", "{a=f-0.001}"},
      {"a = 1_0.2_5E+2", "{a=f1025}"},
      {"a = inf", "{a=finf}"},
      {"a = -inf", "{a=f-inf}"},
      {"a = true", "{a=true}"},
      {"a = 1979-05-27", "{a=date}"},
      {"a = 1979-05-27 07:32:00Z", "{a=date}"},
      {"a = 07:32:00.5", "{a=date}"},
      {"a = \"x\\t\\\"\\u00e9\\U0001F600\"", "{a='x\t\"\u00e9\U0001F600'}"},
      {"a = 'C:\\x'", "{a='C:\\x'}"},
      {"a = \"\"\"\nx\r\ny\"\"\"", "{a='x\ny'}"},
      {"a = \"\"\"x \\\n   \n  y\"\"\"", "{a='x y'}"},
      {"a = \"\"\"\"x\"\"\"\"\"", "{a='\"x\"\"'}"},
      {"a = '''x'y'''", "{a='x'y'}"},
      {"a = []", "{a=[]}"},
      {"a = [ 1, # c\n\n 2,\n]", "{a=[1,2]}"},
      {"a = [[1], ['x', {b = 2}]]", "{a=[[1],['x',{b=2}]]}"},
      {"a = { b = 1, c.d = 2 }", "{a={b=1 c={d=2}}}"},
      {"a = {}", "{a={}}"},
      {"", "{}"},
      {"# only\n\r\n\t\n", "{}"},
      {"\xEF\xBB\xBF"
       "a = 1\r\nb = 2\r\n",
       "{a=1 b=2}"},
  };
  for (const auto& [text, tree] : kCases) EXPECT_EQ(parsed(text), tree) << text;
}

TEST(Toml, KeysAndTables) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a.b = 1\na.c = 2", "{a={b=1 c=2}}"},
      {"\"a b\" . 'c.d' = 1", "{a b={c.d=1}}"},
      {"\"\" = 1", "{=1}"},
      {"1.2 = 3", "{1={2=3}}"},
      {"[a]\nx = 1\n[b]\nx = 2", "{a={x=1} b={x=2}}"},
      {"[a.b]\nx = 1\n[a]\ny = 2", "{a={b={x=1} y=2}}"},
      {"[ a . b ] # c", "{a={b={}}}"},
      {"[a.b.c]\n[a]\nb.d = 1", "{a={b={c={} d=1}}}"},
      {"[[a]]\nx = 1\n[[a]]\nx = 2", "{a=[{x=1},{x=2}]}"},
      {"[[a]]\n[a.b]\nx = 1\n[[a]]\n[[a.c]]\n[[a.c]]", "{a=[{b={x=1}},{c=[{},{}]}]}"},
      {"[f]\na.b = 1\n[f.a.c]\nx = 2", "{f={a={b=1 c={x=2}}}}"},
  };
  for (const auto& [text, tree] : kCases) EXPECT_EQ(parsed(text), tree) << text;
}

TEST(Toml, WhatIsNoToml) {
  const std::pair<const char*, const char*> kCases[] = {
      {"[!]", "t:1:2: error: a key is wanted here"},
      {"a = 0;79-05-27T07:32:0\xD0\xA2", "t:1:5: error: \"0;79-05-27T07:32:0\xD0\xA2\" is no value"},
      {"a", "t:1:2: error: '=' is wanted after the key"},
      {"= 1", "t:1:1: error: a key is wanted here"},
      {"a =", "t:1:4: error: a value is missing"},
      {"a = # c", "t:1:5: error: a value is missing"},
      {"a = 01", "t:1:5: error: \"01\" is no value"},
      {"a = 1__0", "t:1:5: error: \"1__0\" is no value"},
      {"a = _1", "t:1:5: error: \"_1\" is no value"},
      {"a = .5", "t:1:5: error: \".5\" is no value"},
      {"a = 5.", "t:1:5: error: \"5.\" is no value"},
      {"a = 1e", "t:1:5: error: \"1e\" is no value"},
      {"a = +0x1", "t:1:5: error: \"+0x1\" is no value"},
      {"a = +", "t:1:5: error: \"+\" is no value"},
      {"a = True", "t:1:5: error: \"True\" is no value"},
      {"a = 9223372036854775808", "t:1:5: error: 9223372036854775808 is beyond the range of numbers"},
      {"a = 1e999", "t:1:5: error: 1e999 is beyond the range of numbers"},
      {"a = \"x", "t:1:5: error: a text without its closing quote"},
      {"a = \"x\nb = 1", "t:1:5: error: a text without its closing quote"},
      {"a = '''x", "t:1:5: error: a text without its closing quote"},
      {"a = \"\\q\"", "t:1:6: error: an unknown escape"},
      {"a = \"\\", "t:1:6: error: an unknown escape"},
      {"a = \"\\u12\"", "t:1:6: error: \\u needs 4 hexadecimal digits"},
      {"a = \"\\uD800\"", "t:1:6: error: no Unicode character has this number"},
      {"a = \"\x01\"", "t:1:6: error: a control character in a text"},
      {"# \x01", "t:1:3: error: a control character in a comment"},
      {"a = 1\rb = 2", "t:1:6: error: something follows the end of the value"},
      {"a = 1 b = 2", "t:1:7: error: something follows the end of the value"},
      {"[a] b = 2", "t:1:5: error: something follows the end of the line"},
      {"[a", "t:1:3: error: ']' is wanted here"},
      {"[[a]", "t:1:4: error: ']]' is wanted here"},
      {"[]", "t:1:2: error: a key is wanted here"},
      {"a. = 1", "t:1:4: error: a key is wanted here"},
      {"\"\"\"a\"\"\" = 1", "t:1:1: error: a key is written on one line"},
      {"a = [1", "t:1:5: error: a list without its closing ']'"},
      {"a = [1 2]", "t:1:8: error: ',' or ']' is wanted here"},
      {"a = [,]", "t:1:6: error: a value is missing"},
      {"a = { b = 1, }", "t:1:14: error: a key is wanted here"},
      {"a = { b = 1\n}", "t:1:12: error: ',' or '}' is wanted here"},
      {"a = 1\na = 2", "t:2:1: error: key \"a\" is defined twice"},
      {"a = 1\na.b = 2", "t:2:1: error: key \"a\" is defined twice"},
      {"a = 1\n[a]", "t:2:2: error: key \"a\" is defined twice"},
      {"a = 1\n[a.b]", "t:2:2: error: \"a\" is an integer and takes no more keys"},
      {"[a]\n[a]", "t:2:2: error: table \"a\" is defined twice"},
      {"[a]\n[[a]]", "t:2:3: error: table \"a\" is defined twice"},
      {"[[a]]\n[a]", "t:2:2: error: key \"a\" is defined twice"},
      {"a = []\n[[a]]", "t:2:3: error: key \"a\" is defined twice"},
      {"a = {}\n[a.b]", "t:2:2: error: \"a\" is a table and takes no more keys"},
      {"a = {}\na.b = 1", "t:2:1: error: table \"a\" is defined twice"},
      {"a.b = 1\n[a]", "t:2:2: error: table \"a\" is defined twice"},
      {"[a.b.c]\n[a]\nb.c.d = 1", "t:3:3: error: table \"c\" is defined twice"},
      {"[a.b.c]\n[a]\nb.d = 1\n[a.b]", "t:4:4: error: table \"b\" is defined twice"},
      {"a = {b.c = 1, b = 2}", "t:1:15: error: table \"b\" is defined twice"},
      {"a = 1\nb = \"\xff\"", "t:2:6: error: this byte is not UTF-8"},
      {"a = \"\xED\xA0\x80\"", "t:1:6: error: this byte is not UTF-8"},
      {"a = \"\xC0\x80\"", "t:1:6: error: this byte is not UTF-8"},
  };
  for (const auto& [text, error] : kCases) EXPECT_EQ(parsed(text), error) << text;
}

TEST(Toml, SpansOfKeysAndValues) {
  Diagnostics diagnostics;
  const std::string text = "\"é\" = 1 # c\n[a]\n  b.c = [1,\n 'x']\n";
  const std::optional<Node> root = parse_toml(diagnostics, diagnostics.add_source("t", text));
  const auto span = [](Span s) { return fmt::format("{}:{}-{}", s.line, s.column, s.end_column); };
  ASSERT_TRUE(root);
  EXPECT_EQ(span(root->members[0].key_span), "1:1-4");
  EXPECT_EQ(span(root->members[0].value.span), "1:7-8");
  const Node& a = root->members[1].value;
  EXPECT_EQ(span(a.span), "2:1-4");
  EXPECT_EQ(span(a.members[0].key_span), "3:3-4");
  const Member& c = a.members[0].value.members[0];
  EXPECT_EQ(span(c.key_span), "3:5-6");
  EXPECT_EQ(span(c.value.span), "3:9-0");
  EXPECT_EQ(span(c.value.items[1].span), "4:2-5");
}

// Errors on separate lines are all reported; the keys under a header that is not understood go nowhere.
TEST(Toml, GoesOnWithTheNextLine) {
  Diagnostics diagnostics;
  const std::string text = "a = \n[b\nc = 1\n[d]\ne = 1 2\nf = 3\n";
  const std::optional<Node> root = parse_toml(diagnostics, diagnostics.add_source("t", text));
  EXPECT_EQ(diagnostics.error_count(), 3U) << diagnostics.text();
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->incomplete);
  EXPECT_EQ(show(*root), "{d={f=3}}");
}

}  // namespace
}  // namespace photonrail::config
