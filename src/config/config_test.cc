// The generic reader, on a struct with one member of every kind.
#include <gtest/gtest.h>

#include "config/read.h"

namespace sample {

using namespace photonrail;

enum class Colour : std::uint8_t { red, blue };
inline std::span<const config::EnumName<Colour>> names_of(Colour) {
  static constexpr config::EnumName<Colour> kNames[] = {{Colour::red, "red", "as a rose"}, {Colour::blue, "blue", "as the sky"}};
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

}  // namespace
}  // namespace photonrail::config
