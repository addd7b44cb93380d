// Fields and values: one describe() per struct tells the reader, the writers, the schema and the reference page
// everything about it.
//
//   void describe(config::Fields& fields, Rail& rail) {
//     fields("ports", rail.ports, {.doc = "Duplex optical ports per GPU.", .min = 1, .max = 64});
//     fields("latency", rail.latency, {.doc = "One step between neighbours."});   // "1 us"
//   }
//
// A member may be: bool, an integer, double, std::string, any unit type of base/units.h, an enum with names_of(),
// a struct with describe(), and std::optional, std::vector or std::map<std::string, .> of these. describe() and
// names_of() stand in the namespace of their type. The initial value of a member is its default.
//
// A Value is one member of one object, seen without its C++ type; it is valid as long as the object. Not thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/units_text.h"
#include "config/node.h"

namespace photonrail::config {

// What is to be known about a member beside its type. Limits are in the base unit of the type (s, B, b/s, FLOP/s, W,
// J, USD, dB) and hold for each element of a list. A time, size, rate, power, energy, price or loss is never negative
// unless `min` says otherwise.
struct Meta {
  std::string_view doc = {};                       // one line; units of plain numbers, source of the default
  std::optional<double> min = {};                  // smallest value allowed
  std::optional<double> max = {};                  // largest value allowed
  std::optional<double> above = {};                // the value must be greater than this
  bool required = false;                           // there is no default
  std::string_view absent = {};                    // optional: what holds when it is not given
  std::span<const std::string_view> choices = {};  // strings: the allowed ones
  std::size_t items_max = 4096;                    // lists and maps
};

template <class E>
struct EnumName {
  E value;
  const char* name;
  const char* doc;
};

enum class Form : std::uint8_t { leaf, table, list, optional, map };
enum class LeafKind : std::uint8_t { boolean, integer, number, text, choice, quantity };

class Value {
 public:
  virtual ~Value() = default;
  virtual Form form() const = 0;
};

class LeafValue : public Value {
 public:
  struct Choice {
    std::string_view name;
    std::string_view doc;
  };
  Form form() const final { return Form::leaf; }
  virtual LeafKind kind() const = 0;
  virtual Quantity quantity() const { return Quantity::ratio; }  // kind quantity only
  virtual std::vector<Choice> choices() const { return {}; }     // kind choice only
  // Takes the node's value; returns what is wrong with it, or an empty text.
  virtual std::string assign(const Node& node) = 0;
  virtual std::optional<double> measure() const { return std::nullopt; }  // in the base unit, for limits
  virtual std::string limit_text(double limit) const;
  virtual std::string toml() const = 0;  // reads back as the same value
};

class Fields;

class TableValue : public Value {
 public:
  Form form() const final { return Form::table; }
  virtual Fields fields() = 0;
  virtual void reset() = 0;                               // to the defaults of the type
  virtual std::unique_ptr<TableValue> fresh() const = 0;  // an unrelated object with the defaults of the type
};

class OptionalValue : public Value {
 public:
  Form form() const final { return Form::optional; }
  virtual bool has_value() const = 0;
  virtual std::unique_ptr<Value> emplace() = 0;
  virtual std::unique_ptr<Value> inner() = 0;  // of an unrelated default when there is no value
};

class ListValue : public Value {
 public:
  Form form() const final { return Form::list; }
  virtual std::size_t size() const = 0;
  virtual void clear() = 0;
  virtual std::unique_ptr<Value> append() = 0;
  virtual std::unique_ptr<Value> at(std::size_t index) = 0;
  virtual std::unique_ptr<Value> element() = 0;  // an unrelated default element
};

class MapValue : public Value {
 public:
  Form form() const final { return Form::map; }
  virtual std::vector<std::string> keys() const = 0;
  virtual std::unique_ptr<Value> at(const std::string& key) = 0;  // added when absent
  virtual std::unique_ptr<Value> element() = 0;
};

// The members of one object, in the order of describe().
class Fields {
 public:
  struct Field {
    std::string_view name;
    Meta meta;
    std::unique_ptr<Value> value;
  };

  template <class T>
  void operator()(std::string_view name, T& member, Meta meta = {});

  // The struct may also be written as a plain value, which sets this member: link_up = "25 ms" instead of
  // link_up = { typical = "25 ms" }. Say it before the first field.
  template <class T>
  void shorthand(std::string_view name, T& member, Meta meta = {});

  std::vector<Field>& all() { return all_; }
  Field* find(std::string_view name);
  Field* plain() { return plain_ ? &*plain_ : nullptr; }

 private:
  std::vector<Field> all_;
  std::optional<Field> plain_;
};

// ---- from C++ types to values ---------------------------------------------------------------------------------------

template <class T>
concept Described = requires(Fields& fields, T& object) { describe(fields, object); };

template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
  { names_of(value) } -> std::convertible_to<std::span<const EnumName<T>>>;
};

// The text name of an enum's value, as in configuration files.
template <Named E>
const char* enum_name(E value) {
  for (const EnumName<E>& entry : std::span<const EnumName<E>>(names_of(value))) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

std::unique_ptr<Value> make_value(bool& member);
std::unique_ptr<Value> make_value(double& member);
std::unique_ptr<Value> make_value(std::string& member);
std::unique_ptr<Value> make_value(Time& member);
std::unique_ptr<Value> make_value(Bytes& member);
std::unique_ptr<Value> make_value(Rate& member);
std::unique_ptr<Value> make_value(FlopRate& member);
std::unique_ptr<Value> make_value(Power& member);
std::unique_ptr<Value> make_value(Energy& member);
std::unique_ptr<Value> make_value(Dollars& member);
std::unique_ptr<Value> make_value(Loss& member);
template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>)
std::unique_ptr<Value> make_value(T& member);
template <Named T>
std::unique_ptr<Value> make_value(T& member);
template <Described T>
std::unique_ptr<Value> make_value(T& member);
template <class T>
std::unique_ptr<Value> make_value(std::optional<T>& member);
template <class T>
std::unique_ptr<Value> make_value(std::vector<T>& member);
template <class T>
std::unique_ptr<Value> make_value(std::map<std::string, T>& member);

// Problem texts shared by every integer and every enum.
std::string assign_integer(const Node& node, std::int64_t low, std::uint64_t high, std::int64_t& value);
std::string assign_choice(const Node& node, const std::vector<LeafValue::Choice>& choices, std::size_t& index);
std::string quoted(std::string_view text);  // as a TOML string

template <class T>
class IntegerLeaf final : public LeafValue {
 public:
  explicit IntegerLeaf(T& member) : member_(member) {}
  LeafKind kind() const override { return LeafKind::integer; }
  std::string assign(const Node& node) override {
    std::int64_t value = 0;
    std::string problem = assign_integer(node, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                         static_cast<std::uint64_t>(std::numeric_limits<T>::max()), value);
    if (problem.empty()) member_ = static_cast<T>(value);
    return problem;
  }
  std::optional<double> measure() const override { return static_cast<double>(member_); }
  std::string toml() const override { return std::to_string(member_); }

 private:
  T& member_;
};

template <class T>
class EnumLeaf final : public LeafValue {
 public:
  explicit EnumLeaf(T& member) : member_(member) {}
  LeafKind kind() const override { return LeafKind::choice; }
  std::vector<Choice> choices() const override {
    std::vector<Choice> all;
    for (const EnumName<T>& entry : names()) all.push_back({entry.name, entry.doc});
    return all;
  }
  std::string assign(const Node& node) override {
    std::size_t index = 0;
    std::string problem = assign_choice(node, choices(), index);
    if (problem.empty()) member_ = names()[index].value;
    return problem;
  }
  std::string toml() const override { return quoted(enum_name(member_)); }

 private:
  std::span<const EnumName<T>> names() const { return names_of(member_); }
  T& member_;
};

template <class T>
class TableOf final : public TableValue {
 public:
  explicit TableOf(T& member) : member_(member) {}
  Fields fields() override {
    Fields all;
    describe(all, member_);
    return all;
  }
  void reset() override { member_ = T{}; }
  std::unique_ptr<TableValue> fresh() const override;

 private:
  T& member_;
};

// A table that owns its object.
template <class T>
class OwnTable final : public TableValue {
 public:
  explicit OwnTable(T object) : object_(std::move(object)) {}
  Fields fields() override { return TableOf<T>(object_).fields(); }
  void reset() override { object_ = T{}; }
  std::unique_ptr<TableValue> fresh() const override { return std::make_unique<OwnTable<T>>(T{}); }

 private:
  T object_;
};

template <class T>
std::unique_ptr<TableValue> TableOf<T>::fresh() const {
  return std::make_unique<OwnTable<T>>(T{});
}

template <class T>
class OptionalOf final : public OptionalValue {
 public:
  explicit OptionalOf(std::optional<T>& member) : member_(member) {}
  bool has_value() const override { return member_.has_value(); }
  std::unique_ptr<Value> emplace() override { return make_value(member_.emplace()); }
  std::unique_ptr<Value> inner() override { return make_value(member_ ? *member_ : scratch_); }

 private:
  std::optional<T>& member_;
  T scratch_{};
};

template <class T>
class ListOf final : public ListValue {
 public:
  explicit ListOf(std::vector<T>& member) : member_(member) {}
  std::size_t size() const override { return member_.size(); }
  void clear() override { member_.clear(); }
  std::unique_ptr<Value> append() override { return make_value(member_.emplace_back()); }
  std::unique_ptr<Value> at(std::size_t index) override { return make_value(member_[index]); }
  std::unique_ptr<Value> element() override { return make_value(scratch_); }

 private:
  std::vector<T>& member_;
  T scratch_{};
};

template <class T>
class MapOf final : public MapValue {
 public:
  explicit MapOf(std::map<std::string, T>& member) : member_(member) {}
  std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    for (const auto& [key, value] : member_) all.push_back(key);
    return all;
  }
  std::unique_ptr<Value> at(const std::string& key) override { return make_value(member_[key]); }
  std::unique_ptr<Value> element() override { return make_value(scratch_); }

 private:
  std::map<std::string, T>& member_;
  T scratch_{};
};

template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>)
std::unique_ptr<Value> make_value(T& member) {
  return std::make_unique<IntegerLeaf<T>>(member);
}
template <Named T>
std::unique_ptr<Value> make_value(T& member) {
  return std::make_unique<EnumLeaf<T>>(member);
}
template <Described T>
std::unique_ptr<Value> make_value(T& member) {
  return std::make_unique<TableOf<T>>(member);
}
template <class T>
std::unique_ptr<Value> make_value(std::optional<T>& member) {
  return std::make_unique<OptionalOf<T>>(member);
}
template <class T>
std::unique_ptr<Value> make_value(std::vector<T>& member) {
  return std::make_unique<ListOf<T>>(member);
}
template <class T>
std::unique_ptr<Value> make_value(std::map<std::string, T>& member) {
  return std::make_unique<MapOf<T>>(member);
}

template <class T>
void Fields::operator()(std::string_view name, T& member, Meta meta) {
  all_.push_back({name, meta, make_value(member)});
}
template <class T>
void Fields::shorthand(std::string_view name, T& member, Meta meta) {
  plain_.emplace(Field{name, meta, make_value(member)});
}

}  // namespace photonrail::config
