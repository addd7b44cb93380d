// The generic reader, on a struct with one member of every kind.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <regex>

#include "config/read.h"
#include "config/write.h"

namespace sample {

using namespace photonrail;

enum class Colour : std::uint8_t { red, blue };
inline std::span<const config::EnumName<Colour>> names_of(Colour) {
  static constexpr config::EnumName<Colour> kNames[] = {{Colour::red, "red", "as a rose"},
                                                        {Colour::blue, "blue", "as the sky"}};
  return kNames;
}

// A time that may be written plainly or with its source.
struct Sourced {
  Time value;
  std::string source;
  bool operator==(const Sourced&) const = default;
};
inline void describe(config::Fields& f, Sourced& s) {
  f.shorthand("value", s.value);
  f("value", s.value, {.doc = "The time.", .required = true});
  f("source", s.source, {.doc = "Where it comes from."});
}

struct Part {
  std::string name;
  Dollars price;
  bool operator==(const Part&) const = default;
};
inline void describe(config::Fields& f, Part& p) {
  f("name", p.name, {.doc = "Name.", .required = true});
  f("price", p.price, {.doc = "Price."});
}

struct Box {
  std::int64_t ports = 4;
  std::uint64_t seed = 1;
  std::int32_t small = 0;
  double share = 0.5;
  bool on = true;
  std::string label;
  Colour colour = Colour::red;
  Rate rate;
  Bytes memory;
  Sourced settle;
  std::optional<Loss> loss;
  std::vector<Time> times;
  std::vector<Colour> colours;
  std::vector<Part> parts;
  std::map<std::string, Part> named;
  bool operator==(const Box&) const = default;
};
inline void describe(config::Fields& f, Box& b) {
  f("ports", b.ports, {.doc = "Ports.", .min = 1, .max = 64});
  f("seed", b.seed, {.doc = "Seed."});
  f("small", b.small, {.doc = "A small integer."});
  f("share", b.share, {.doc = "A share.", .min = 0, .max = 1});
  f("on", b.on, {.doc = "Whether."});
  f("label", b.label, {.doc = "Label."});
  f("colour", b.colour, {.doc = "Colour."});
  f("rate", b.rate, {.doc = "Rate.", .above = 0});
  f("memory", b.memory, {.doc = "Memory."});
  f("settle", b.settle, {.doc = "Settle time."});
  f("loss", b.loss, {.doc = "Loss.", .absent = "unknown"});
  f("times", b.times, {.doc = "Times."});
  f("colours", b.colours, {.doc = "Colours."});
  f("parts", b.parts, {.doc = "Parts."});
  f("named", b.named, {.doc = "Parts by name."});
}

}  // namespace sample

namespace photonrail::config {
namespace {

using sample::Box;
using sample::Colour;

constexpr std::string_view kEverything = R"(ports = 8
seed = 7
small = -3
share = "25 %"
on = false
label = "é"
colour = "blue"
rate = "400 Gb/s"
memory = "80 GiB"
settle = "25 ms"
loss = "1.5 dB"
times = ["1 ms", 0]
colours = ["blue", "red"]
[[parts]]
name = "a"
price = "$2.50"
[[parts]]
name = "b"
[named.x]
name = "y"
)";

TEST(Read, EveryKindOfMember) {
  const Result<Box> read = read_toml<Box>(kEverything, "box.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->ports, 8);
  EXPECT_EQ(read->seed, 7U);
  EXPECT_EQ(read->small, -3);
  EXPECT_EQ(read->share, 0.25);
  EXPECT_FALSE(read->on);
  EXPECT_EQ(read->label, "é");
  EXPECT_EQ(read->colour, Colour::blue);
  EXPECT_EQ(read->rate, gigabits_per_second(400));
  EXPECT_EQ(read->memory, Bytes{80LL << 30});
  EXPECT_EQ(read->settle.value, milliseconds(25));
  EXPECT_EQ(read->loss, Loss{1.5});
  EXPECT_EQ(read->times, (std::vector<Time>{milliseconds(1), Time{}}));
  EXPECT_EQ(read->colours, (std::vector<Colour>{Colour::blue, Colour::red}));
  ASSERT_EQ(read->parts.size(), 2U);
  EXPECT_EQ(read->parts[0].price, Dollars{2.5});
  EXPECT_EQ(read->parts[1].name, "b");
  EXPECT_EQ(read->named.at("x").name, "y");
}

std::string errors(std::string_view text) {
  const Result<Box> read = read_toml<Box>(text, "box.toml");
  return read ? "accepted" : read.error().message;
}

TEST(ReadErrors, AllOfAFileInOrderOfPosition) {
  EXPECT_EQ(errors("rate = \"50 GB\"\nport = 4\nports = 65\n"),
            R"(box.toml:1:8: error: "50 GB" is a size, but a rate is wanted, such as "50 GB/s"
    1 | rate = "50 GB"
      |        ^~~~~~~
box.toml:2:1: error: unknown key "port" at the top level
    2 | port = 4
      | ^~~~
      = hint: did you mean "ports"?
box.toml:3:9: error: 65 is out of range; it must be at most 64
    3 | ports = 65
      |         ^~
3 errors)");
}

TEST(ReadErrors, KeyOfAnotherTable) {
  EXPECT_EQ(errors("[settle]\nvalue = \"1 ms\"\nmemory = \"1 GB\"\n"),
            R"(box.toml:3:1: error: unknown key "memory" in [settle]
    3 | memory = "1 GB"
      | ^~~~~~
      = hint: "memory" belongs at the top level)");
}

TEST(ReadErrors, KeyNearNothingListsWhatIsKnown) {
  EXPECT_EQ(errors("[[parts]]\nname = \"a\"\nqqqqqqqq = 1\n"),
            R"(box.toml:3:1: error: unknown key "qqqqqqqq" in [parts[0]]
    3 | qqqqqqqq = 1
      | ^~~~~~~~
      = hint: known keys: name, price)");
}

TEST(ReadErrors, MissingRequiredKey) {
  EXPECT_EQ(errors("ports = 4\n[[parts]]\nprice = \"$2\"\n"),
            R"(box.toml:2:1: error: missing key "name" in [parts[0]]
    2 | [[parts]]
      | ^~~~~~~~~
      = hint: Name.)");
}

// One message per kind of value that is not what the member wants.
TEST(ReadErrors, WrongKinds) {
  const std::pair<const char*, const char*> kCases[] = {
      {"ports = \"4\"", "an integer is wanted, not a string"},
      {"ports = 4.0", "an integer is wanted, not a number with a fraction"},
      {"small = 3000000000", "3000000000 is outside -2147483648 to 2147483647"},
      {"seed = -1", "-1 is outside 0 to 18446744073709551615"},
      {"share = true", "a number is wanted, not true or false"},
      {"share = nan", "a finite number is wanted"},
      {"share = 1.5", "1.5 is out of range; it must be at most 1"},
      {"on = \"true\"", "true or false is wanted, not a string"},
      {"label = 3", "a string in quotes is wanted, not an integer"},
      {"colour = \"bleu\"", "\"bleu\" is not one of \"red\", \"blue\"; did you mean \"blue\"?"},
      {"colour = \"SKY\"", "\"SKY\" is not one of \"red\", \"blue\"; did you mean \"blue\" (as the sky)?"},
      {"colour = 1", "one of \"red\", \"blue\" is wanted, not an integer"},
      {"rate = 50", "a number without a unit; a rate is wanted, such as \"50 GB/s\""},
      {"rate = \"50\"", "\"50\" has no unit; a rate is wanted, such as \"50 GB/s\""},
      {"rate = 0", "\"0 B/s\" is out of range; it must be more than 0 b/s"},
      {"rate = 1979-05-27", "a rate is wanted, such as \"50 GB/s\", not a date"},
      {"memory = \"-1 B\"", "\"-1 B\" is out of range; it must be at least 0 B"},
      {"times = \"1 ms\"", "a list in brackets is wanted, not a string"},
      {"times = [\"1 ms\", \"2\"]", "\"2\" has no unit; a time is wanted, such as \"25 ms\""},
      {"parts = [1]", "a table is wanted, not an integer"},
      {"named = []", "a table of names is wanted, not an array"},
      {"settle = \"2 GB\"", "\"2 GB\" is a size, but a time is wanted, such as \"25 ms\""},
  };
  for (const auto& [text, message] : kCases) {
    const std::string whole = errors(text);
    EXPECT_NE(whole.find(fmt::format(": error: {}\n", message)), std::string::npos) << text << "\n" << whole;
  }
}

TEST(ReadErrors, DuplicateKeyAndTable) {
  EXPECT_EQ(errors("ports = 1\nports = 2\n"),
            R"(box.toml:2:1: error: key "ports" is defined twice
    2 | ports = 2
      | ^~~~~
      = hint: keep one of the two
box.toml:1:1: note: first here
    1 | ports = 1
      | ^~~~~)");
  EXPECT_EQ(errors("[settle]\nvalue = 0\n[settle]\n"),
            R"(box.toml:3:2: error: table "settle" is defined twice
    3 | [settle]
      |  ^~~~~~
      = hint: keep one of the two
box.toml:1:2: note: first here
    1 | [settle]
      |  ^~~~~~)");
}

// A line that is not TOML hides no error of another line, and brings no complaint that its key is missing.
TEST(ReadErrors, SyntaxAndMeaningTogether) {
  EXPECT_EQ(errors("rate = 50 GB/s\nport = 4\n[[parts]]\nname = a\n"),
            R"(box.toml:1:11: error: something follows the end of the value
    1 | rate = 50 GB/s
      |           ^
      = hint: a value with a unit or spaces is written in quotes: "50 GB/s"
box.toml:2:1: error: unknown key "port" at the top level
    2 | port = 4
      | ^~~~
      = hint: did you mean "ports"?
box.toml:4:8: error: "a" is no value
    4 | name = a
      |        ^
      = hint: a text is written in quotes: "a"
3 errors)");
}

// Columns are code points; a tab is shown as one space; a long line is cut around its column.
TEST(ReadErrors, CaretStandsUnderTheText) {
  EXPECT_EQ(errors("\tlabel = \"äöü\" # ✓\n\tshare\t= 2\n"),
            R"(box.toml:2:10: error: 2.0 is out of range; it must be at most 1
    2 |  share = 2
      |          ^)");
  const std::string text = errors(fmt::format("settle = {{ source = \"{}\", value = 3 }}", std::string(300, 'x')));
  EXPECT_NE(text.find("\n    1 | ...xxx"), std::string::npos) << text;
  for (std::size_t start = 0, end = 0; start < text.size(); start = end + 1) {
    end = std::min(text.find('\n', start), text.size());
    EXPECT_LE(end - start, 140U);
  }
}

TEST(ReadErrors, LimitsOfTheText) {
  EXPECT_NE(
      errors(fmt::format("label = \"{}\"", std::string(5000, 'x'))).find("a line of 5010 bytes; the limit is 4096"),
      std::string::npos);
  EXPECT_NE(errors(std::string((4 << 20) + 1, '\n')).find("the limit is 4194304"), std::string::npos);
  std::string nested = "times = ";
  for (int i = 0; i < 40; ++i) nested += "[";
  EXPECT_NE(errors(nested).find("values nested more than 16 deep"), std::string::npos);
  std::string dotted = "a";
  for (int i = 0; i < 2000; ++i) dotted += ".a";
  EXPECT_NE(errors(dotted + " = 1").find("a key of more than 16 parts"), std::string::npos);
  std::string keys;
  for (int i = 0; i < 2001; ++i) keys += fmt::format("k{} = 1\n", i);
  EXPECT_NE(errors(keys).find("2001 errors"), std::string::npos);
  std::string many;
  for (int i = 0; i < 500; ++i) many += fmt::format("k{} = 1\n", i);
  const std::string hundred = errors(many);
  EXPECT_NE(hundred.find("\n500 errors"), std::string::npos);
  EXPECT_EQ(hundred.find("k100 "), std::string::npos);
}

// ---- --set ----------------------------------------------------------------------------------------------------------

struct SetResult {
  Box box;
  std::string errors;
};

SetResult set(std::string_view text, const std::vector<std::string>& options) {
  Diagnostics diagnostics;
  std::optional<Node> root = parse_toml(diagnostics, diagnostics.add_source("box.toml", std::string(text)));
  for (const std::string& option : options) apply_set(*root, option, diagnostics);
  SetResult result;
  Places places;
  read(*root, result.box, diagnostics, places);
  result.errors = diagnostics.text();
  return result;
}

TEST(Set, OverridesTheFileAndNeedsNoQuotes) {
  const SetResult result = set("ports = 2\nsettle = \"1 ms\"\n",
                               {"ports=8", "rate=400 Gb/s", "times=1 ms, 2 ms", "colours=[\"blue\"]", "label=7",
                                "on=false", "named.x.name=y", "loss=\"2 dB\"", "share=10%", "settle=3 ms"});
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.box.ports, 8);
  EXPECT_EQ(result.box.rate, gigabits_per_second(400));
  EXPECT_EQ(result.box.times, (std::vector<Time>{milliseconds(1), milliseconds(2)}));
  EXPECT_EQ(result.box.colours, std::vector<Colour>{Colour::blue});
  EXPECT_EQ(result.box.label, "7");
  EXPECT_FALSE(result.box.on);
  EXPECT_EQ(result.box.named.at("x").name, "y");
  EXPECT_EQ(result.box.loss, Loss{2});
  EXPECT_EQ(result.box.share, 0.1);
  EXPECT_EQ(result.box.settle.value, milliseconds(3));
}

TEST(Set, LaterOptionsWin) { EXPECT_EQ(set("", {"ports=8", "ports=9"}).box.ports, 9); }

TEST(Set, ErrorsNameTheOption) {
  EXPECT_EQ(set("", {"port=4"}).errors, R"(--set port=4: error: unknown key "port" at the top level
      | port=4
      | ^~~~
      = hint: did you mean "ports"?
)");
  EXPECT_EQ(set("", {"rate=50"}).errors,
            R"(--set rate=50: error: a number without a unit; a rate is wanted, such as "50 GB/s"
      | rate=50
      |      ^~
)");
  EXPECT_EQ(set("", {"ports"}).errors, R"(--set ports: error: a key and a value are wanted
      | ports
      | ^~~~~
      = hint: write --set table.key=value
)");
  EXPECT_NE(set("", {"a..b=1"}).errors.find("an empty key"), std::string::npos);
  EXPECT_EQ(set("settle = \"1 ms\"\n", {"settle.value=2 ms"}).errors,
            R"(--set settle.value=2 ms: error: "settle" is a string here, not a table
      | settle.value=2 ms
      | ^~~~~~
      = hint: set it whole: --set settle=...
box.toml:1:10: note: it is set here
    1 | settle = "1 ms"
      |          ^~~~~~
)");
}

// ---- writing --------------------------------------------------------------------------------------------------------

TEST(Write, ReadsBackAsTheSame) {
  const Box box = *read_toml<Box>(kEverything, "box.toml");
  const std::string text = to_toml(box);
  const Result<Box> again = read_toml<Box>(text, "again.toml");
  ASSERT_TRUE(again) << again.error().message << text;
  EXPECT_TRUE(*again == box) << text;
  EXPECT_EQ(to_canonical(*again), to_canonical(box));
}

TEST(Write, ShorthandOnlyWhereNothingElseIsSaid) {
  Box box;
  box.settle = {milliseconds(25), ""};
  EXPECT_NE(to_toml(box).find("\nsettle = \"25 ms\"\n"), std::string::npos) << to_toml(box);
  box.settle.source = "a \"page\"";
  EXPECT_NE(to_toml(box).find("\nsettle = { value = \"25 ms\", source = \"a \\\"page\\\"\" }\n"), std::string::npos)
      << to_toml(box);
}

RC_GTEST_PROP(Write, AnyBoxRoundTrips, (std::string label, std::int64_t time, double share, std::vector<int> colours)) {
  Box box;
  // TOML holds Unicode; invalid UTF-8 cannot be written, so the property keeps to ASCII.
  for (char& c : label) c = static_cast<char>(c & 0x7F);
  box.label = label;
  box.settle = {Time{time < 0 ? -(time + 1) : time}, label};
  box.share = std::fabs(std::remainder(share, 1));
  for (const int c : colours) box.colours.push_back(c % 2 == 0 ? Colour::red : Colour::blue);
  box.rate = gigabits_per_second(1);
  box.named[fmt::format("a b.{}", label)] = {label, {}};
  const Result<Box> again = read_toml<Box>(to_toml(box), "again.toml");
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == box);
}

TEST(Write, CanonicalTextHoldsEveryValueOnce) {
  Box box;
  box.rate = gigabits_per_second(1);
  EXPECT_EQ(to_canonical(box), R"(ports = 4
seed = 1
small = 0
share = 0.5
on = true
label = ""
colour = "red"
rate = "125 MB/s"
memory = "0 B"
settle.value = "0 ps"
settle.source = ""
)");
}

TEST(Schema, IsJsonThatRefusesUnknownKeys) {
  OwnTable<Box> root(Box{});
  const std::string text = write_schema(root, "Box", "A \"box\".");
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(text, error);
  ASSERT_FALSE(error) << text;
  const boost::json::object& schema = parsed.as_object();
  EXPECT_EQ(schema.at("additionalProperties"), false);
  const boost::json::object& properties = schema.at("properties").as_object();
  EXPECT_EQ(properties.size(), 15U);
  EXPECT_EQ(properties.at("ports").at("minimum"), 1);
  EXPECT_EQ(properties.at("ports").at("maximum"), 64);
  EXPECT_EQ(properties.at("ports").at("default"), 4);
  EXPECT_EQ(properties.at("colour").at("enum").as_array().size(), 2U);
  EXPECT_EQ(properties.at("parts").at("items").at("required").as_array().size(), 1U);
  EXPECT_EQ(properties.at("settle").at("anyOf").as_array().size(), 2U);
  EXPECT_FALSE(properties.at("loss").as_object().contains("default"));
}

// The pattern of a quantity accepts what the reader accepts.
TEST(Schema, PatternsAgreeWithTheReader) {
  OwnTable<Box> root(Box{});
  const boost::json::value schema = boost::json::parse(write_schema(root, "", ""));
  const auto pattern = [&schema](const char* key) {
    const boost::json::string& text = schema.at("properties").at(key).at("anyOf").at(0).at("pattern").as_string();
    return std::regex(text.begin(), text.end(), std::regex::ECMAScript);
  };
  for (const char* text :
       {"1 b/s", "1.5e3 Gb/s", ".5 GB/s", "50GB/s", "50 Gbps", "50 GB", "50", "0", "0.0", "", "x", "1 gb/s"}) {
    EXPECT_EQ(std::regex_search(text, pattern("rate")), parse_rate(text).has_value()) << text;
  }
}

TEST(Reference, OneRowPerKey) {
  OwnTable<Box> root(Box{});
  const std::string page = write_reference(root, "Box", "About boxes.");
  EXPECT_NE(page.find("| `ports` | integer | `4` | at least 1, at most 64 | Ports. |\n"), std::string::npos) << page;
  EXPECT_NE(page.find("| `colour` | one of | `\"red\"` | `red` (as a rose), `blue` (as the sky) | Colour. |\n"),
            std::string::npos);
  EXPECT_NE(page.find("| `loss` | loss | unknown |"), std::string::npos);
  EXPECT_NE(page.find("\n## [parts[]]\n"), std::string::npos);
  EXPECT_NE(page.find("\n## [named.NAME]\n"), std::string::npos);
}

TEST(Nearest, FewEditsOrOnlyCaseAndDashes) {
  EXPECT_EQ(nearest("port", {"rate", "ports"}), "ports");
  EXPECT_EQ(nearest("Rail-Only", {"rail_only", "fat_tree"}), "rail_only");
  EXPECT_EQ(nearest("zzzz", {"rate", "ports"}), "");
  EXPECT_EQ(nearest("ab", {"xy"}), "");
}

// Red if part of a longer name found nothing, which the edit distance alone would say.
TEST(Diagnostics, SuggestsWhatBeginsWithOrContainsTheWord) {
  EXPECT_EQ(did_you_mean("polatis", {"calient-s320", "polatis-6000", "polatis-576"}),
            "; did you mean \"polatis-6000\" or \"polatis-576\"?");
  EXPECT_EQ(did_you_mean("S320", {"calient-s320", "polatis-576"}), "; did you mean \"calient-s320\"?");
  EXPECT_EQ(did_you_mean("H201", {"H100", "H200"}), "; did you mean \"H200\"?");
  EXPECT_EQ(did_you_mean("zzzz", {"rate", "ports"}), "");
  EXPECT_EQ(did_you_mean("r", {"rate", "ports"}), "");
}

TEST(ReadFile, ReportsWhatTheSystemSays) {
  const Result<std::string> missing = read_file("no/such/file.toml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_EQ(missing.error().message, "no/such/file.toml: cannot be opened: No such file or directory");
  EXPECT_EQ(read_file(".").error().message, ".: cannot be read: Is a directory");
}

}  // namespace
}  // namespace photonrail::config
