#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace photonrail::config {
namespace {

std::string wanted(std::string_view what, const Node& node) {
  return fmt::format("{} is wanted, not {}", what, name_of(node.kind));
}

// A fraction keeps its point, so that it reads back as the same kind.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

class BooleanLeaf final : public LeafValue {
 public:
  explicit BooleanLeaf(bool& member) : member_(member) {}
  LeafKind kind() const override { return LeafKind::boolean; }
  std::string assign(const Node& node) override {
    if (node.kind != Node::Kind::boolean) return wanted("true or false", node);
    member_ = node.boolean;
    return {};
  }
  std::string toml() const override { return member_ ? "true" : "false"; }

 private:
  bool& member_;
};

class NumberLeaf final : public LeafValue {
 public:
  explicit NumberLeaf(double& member) : member_(member) {}
  LeafKind kind() const override { return LeafKind::number; }
  std::string assign(const Node& node) override {
    if (node.kind == Node::Kind::integer) {
      member_ = static_cast<double>(node.integer);
    } else if (node.kind == Node::Kind::floating) {
      if (!std::isfinite(node.floating)) return "a finite number is wanted";
      member_ = node.floating;
    } else if (node.kind == Node::Kind::string) {
      const Result<double> ratio = parse_ratio(node.text);
      if (!ratio) return ratio.error().message;
      member_ = *ratio;
    } else {
      return wanted("a number", node);
    }
    return {};
  }
  std::optional<double> measure() const override { return member_; }
  std::string toml() const override {
    const std::string text = number_text(member_);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }

 private:
  double& member_;
};

class TextLeaf final : public LeafValue {
 public:
  explicit TextLeaf(std::string& member) : member_(member) {}
  LeafKind kind() const override { return LeafKind::text; }
  std::string assign(const Node& node) override {
    if (node.kind != Node::Kind::string && !node.from_option) return wanted("a string in quotes", node);
    member_ = node.text;
    return {};
  }
  std::string toml() const override { return quoted(member_); }

 private:
  std::string& member_;
};

template <class T>
struct QuantityTraits;

#define PR_QUANTITY(Type, which, parser, base)                                \
  template <>                                                                 \
  struct QuantityTraits<Type> {                                               \
    static constexpr Quantity kQuantity = Quantity::which;                    \
    static Result<Type> parse(std::string_view text) { return parser(text); } \
    static double measure([[maybe_unused]] Type v) { return base; }           \
  }
PR_QUANTITY(Time, time, parse_time, to_seconds(v));
PR_QUANTITY(Bytes, size, parse_bytes, static_cast<double>(v.count));
PR_QUANTITY(Rate, rate, parse_rate, static_cast<double>(v.bits_per_second));
PR_QUANTITY(FlopRate, flop_rate, parse_flop_rate, v.flops_per_second);
PR_QUANTITY(Power, power, parse_power, v.watts);
PR_QUANTITY(Energy, energy, parse_energy, v.joules);
PR_QUANTITY(Dollars, money, parse_dollars, v.amount);
PR_QUANTITY(Loss, loss, parse_loss, v.decibels);
#undef PR_QUANTITY

const char* base_unit(Quantity quantity) {
  switch (quantity) {
    case Quantity::time: return " s";
    case Quantity::size: return " B";
    case Quantity::rate: return " b/s";
    case Quantity::flop_rate: return " FLOP/s";
    case Quantity::power: return " W";
    case Quantity::energy: return " J";
    case Quantity::money: return " USD";
    case Quantity::loss: return " dB";
    case Quantity::ratio: return "";
  }
  return "";
}

template <class T>
class QuantityLeaf final : public LeafValue {
 public:
  using Traits = QuantityTraits<T>;
  explicit QuantityLeaf(T& member) : member_(member) {}
  LeafKind kind() const override { return LeafKind::quantity; }
  Quantity quantity() const override { return Traits::kQuantity; }
  std::string assign(const Node& node) override {
    const bool number = node.kind == Node::Kind::integer || node.kind == Node::Kind::floating;
    if (number && node.integer == 0 && node.floating == 0) {
      member_ = T{};
      return {};
    }
    const char* example = example_of(Traits::kQuantity);
    if (number)
      return fmt::format("a number without a unit; {} is wanted, such as \"{}\"", name_of(Traits::kQuantity), example);
    if (node.kind != Node::Kind::string) {
      return fmt::format("{} is wanted, such as \"{}\", not {}", name_of(Traits::kQuantity), example,
                         config::name_of(node.kind));
    }
    const Result<T> parsed = Traits::parse(node.text);
    if (!parsed) return parsed.error().message;
    member_ = *parsed;
    return {};
  }
  std::optional<double> measure() const override { return Traits::measure(member_); }
  std::string limit_text(double limit) const override {
    if (limit == 0) return fmt::format("0{}", base_unit(Traits::kQuantity));
    const Result<T> value = Traits::parse(fmt::format("{}{}", limit, base_unit(Traits::kQuantity)));
    return value ? to_text(*value) : fmt::format("{}{}", limit, base_unit(Traits::kQuantity));
  }
  std::string toml() const override { return quoted(to_text(member_)); }

 private:
  T& member_;
};

}  // namespace

std::string LeafValue::limit_text(double limit) const { return fmt::format("{}", limit); }

std::unique_ptr<Value> make_value(bool& member) { return std::make_unique<BooleanLeaf>(member); }
std::unique_ptr<Value> make_value(double& member) { return std::make_unique<NumberLeaf>(member); }
std::unique_ptr<Value> make_value(std::string& member) { return std::make_unique<TextLeaf>(member); }
std::unique_ptr<Value> make_value(Time& member) { return std::make_unique<QuantityLeaf<Time>>(member); }
std::unique_ptr<Value> make_value(Bytes& member) { return std::make_unique<QuantityLeaf<Bytes>>(member); }
std::unique_ptr<Value> make_value(Rate& member) { return std::make_unique<QuantityLeaf<Rate>>(member); }
std::unique_ptr<Value> make_value(FlopRate& member) { return std::make_unique<QuantityLeaf<FlopRate>>(member); }
std::unique_ptr<Value> make_value(Power& member) { return std::make_unique<QuantityLeaf<Power>>(member); }
std::unique_ptr<Value> make_value(Energy& member) { return std::make_unique<QuantityLeaf<Energy>>(member); }
std::unique_ptr<Value> make_value(Dollars& member) { return std::make_unique<QuantityLeaf<Dollars>>(member); }
std::unique_ptr<Value> make_value(Loss& member) { return std::make_unique<QuantityLeaf<Loss>>(member); }

Fields::Field* Fields::find(std::string_view name) {
  for (Field& field : all_) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string assign_integer(const Node& node, std::int64_t low, std::uint64_t high, std::int64_t& value) {
  if (node.kind != Node::Kind::integer) return wanted("an integer", node);
  if (node.integer < low || (node.integer > 0 && static_cast<std::uint64_t>(node.integer) > high)) {
    return fmt::format("{} is outside {} to {}", node.integer, low, high);
  }
  value = node.integer;
  return {};
}

// Whether `word` stands in the description of a choice: "fsdp" for one that is "and weights: FSDP".
bool means(std::string_view doc, std::string_view word) {
  constexpr std::size_t kTellingLetters = 3;
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return word.size() >= kTellingLetters &&
         std::search(doc.begin(), doc.end(), word.begin(), word.end(), same) != doc.end();
}

std::string assign_choice(const Node& node, const std::vector<LeafValue::Choice>& choices, std::size_t& index) {
  std::vector<std::string_view> names;
  for (const LeafValue::Choice& choice : choices) names.push_back(choice.name);
  std::string known;
  for (const std::string_view name : names) known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", name);
  if (node.kind != Node::Kind::string) return fmt::format("one of {} is wanted, not {}", known, name_of(node.kind));
  for (index = 0; index < names.size(); ++index) {
    if (names[index] == node.text) return {};
  }
  const std::string_view near = nearest(node.text, names);
  if (!near.empty()) return fmt::format("\"{}\" is not one of {}; did you mean \"{}\"?", node.text, known, near);
  for (const LeafValue::Choice& choice : choices) {
    if (!means(choice.doc, node.text)) continue;
    return fmt::format("\"{}\" is not one of {}; did you mean \"{}\" ({})?", node.text, known, choice.name, choice.doc);
  }
  return fmt::format("\"{}\" is not one of {}", node.text, known);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < 0x20 || code == 0x7F) {
      out += fmt::format("\\u{:04X}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace photonrail::config
