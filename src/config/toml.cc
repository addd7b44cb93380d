#include "config/toml.h"

#include <fmt/format.h>

#include <algorithm>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

namespace photonrail::config {
namespace {

constexpr std::size_t kTextMax = std::size_t{4} << 20;
constexpr std::size_t kLineMax = 4096;

Span span_of(const toml::source_region& region, SourceId source) {
  const bool one_line = region.end.line == region.begin.line;
  const std::uint32_t end = one_line ? std::max(region.end.column, region.begin.column + 1) : 0;
  return {source, region.begin.line, region.begin.column, end};
}

Node convert(const toml::node& from, SourceId source);

void convert_table(const toml::table& table, SourceId source, Node& to) {
  for (auto&& [key, value] : table) {
    to.members.push_back({std::string(key.str()), span_of(key.source(), source), convert(value, source)});
  }
  // The library sorts by key; messages and documents read better in the order of the text.
  std::stable_sort(to.members.begin(), to.members.end(), [](const Member& a, const Member& b) {
    return a.key_span.line != b.key_span.line ? a.key_span.line < b.key_span.line : a.key_span.column < b.key_span.column;
  });
}

Node convert(const toml::node& from, SourceId source) {
  Node to;
  to.span = span_of(from.source(), source);
  if (const toml::table* table = from.as_table()) {
    to.kind = Node::Kind::table;
    convert_table(*table, source, to);
  } else if (const toml::array* array = from.as_array()) {
    to.kind = Node::Kind::array;
    for (auto&& item : *array) to.items.push_back(convert(item, source));
  } else if (const auto* text = from.as_string()) {
    to.kind = Node::Kind::string;
    to.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    to.kind = Node::Kind::integer;
    to.integer = integer->get();
  } else if (const auto* floating = from.as_floating_point()) {
    to.kind = Node::Kind::floating;
    to.floating = floating->get();
  } else if (const auto* boolean = from.as_boolean()) {
    to.kind = Node::Kind::boolean;
    to.boolean = boolean->get();
  } else {
    to.kind = Node::Kind::date;
  }
  return to;
}

bool within_limits(Diagnostics& diagnostics, SourceId source) {
  const std::string_view text = diagnostics.source_text(source);
  if (text.size() > kTextMax) {
    diagnostics.error({}, fmt::format("a text of {} bytes; the limit is {}", text.size(), kTextMax));
    return false;
  }
  std::uint32_t line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end - start > kLineMax) {
      diagnostics.error({source, line, 1, 2}, fmt::format("a line of {} bytes; the limit is {}", end - start, kLineMax));
      return false;
    }
    start = end + 1;
  }
  return true;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// What the parser says, in words that tell what to do.
void add_syntax_error(Diagnostics& diagnostics, const toml::parse_error& error, SourceId source) {
  std::string message(error.description());
  std::string hint;
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (message.rfind(kPrefix, 0) == 0) message.erase(0, kPrefix.size());
  if (contains(message, "cannot redefine existing")) {
    const std::size_t quote = message.find('\'');
    const std::size_t end = message.find('\'', quote + 1);
    const bool table = contains(message, "existing table");
    message = fmt::format("{} \"{}\" is defined twice", table ? "table" : "key", message.substr(quote + 1, end - quote - 1));
    hint = "keep one of the two";
  } else if (contains(message, "expected a comment or whitespace")) {
    hint = "a value with a unit or a word is written in quotes: \"50 GB/s\"";
  } else if (contains(message, "expected value, saw")) {
    hint = "write a value after '='";
  } else if (contains(message, "unescaped control characters")) {
    hint = "a text ends with a quote on the same line";
  }
  diagnostics.error(span_of(error.source(), source), message, hint);
}

void place_all(Node& node, Span span) {
  node.span = span;
  node.from_option = true;
  for (Node& item : node.items) place_all(item, span);
  for (Member& member : node.members) {
    member.key_span = span;
    place_all(member.value, span);
  }
}

Node value_of_option(std::string_view text) {
  const std::string document = fmt::format("v = {}", text);
  Node node;
  node.kind = Node::Kind::string;
  if (text.find('\n') == std::string_view::npos) {
    const toml::parse_result parsed = toml::parse(std::string_view(document), std::string_view("option"));
    if (parsed && parsed.table().contains("v")) node = convert(*parsed.table().get("v"), 0);
  }
  if (node.kind != Node::Kind::string) node.text = text;
  if (node.kind == Node::Kind::string && (text.empty() || (text[0] != '"' && text[0] != '\''))) node.text = text;
  return node;
}

std::uint32_t to_column(std::size_t index) { return static_cast<std::uint32_t>(index + 1); }

}  // namespace

Member* Node::find(std::string_view key) {
  for (Member& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

const Member* Node::find(std::string_view key) const { return const_cast<Node*>(this)->find(key); }

const char* name_of(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::table: return "a table";
    case Node::Kind::array: return "an array";
    case Node::Kind::string: return "a string";
    case Node::Kind::integer: return "an integer";
    case Node::Kind::floating: return "a number with a fraction";
    case Node::Kind::boolean: return "true or false";
    case Node::Kind::date: return "a date";
  }
  return "";
}

std::optional<Node> parse_toml(Diagnostics& diagnostics, SourceId source) {
  if (!within_limits(diagnostics, source)) return std::nullopt;
  const toml::parse_result parsed = toml::parse(diagnostics.source_text(source), std::string_view("text"));
  if (!parsed) {
    add_syntax_error(diagnostics, parsed.error(), source);
    return std::nullopt;
  }
  return convert(parsed.table(), source);
}

bool apply_set(Node& root, std::string_view option, Diagnostics& diagnostics) {
  const SourceId source = diagnostics.add_source("--set", std::string(option), SourceKind::option);
  const std::size_t equals = option.find('=');
  const Span whole = {source, 1, 1, to_column(option.size())};
  if (option.size() > kLineMax) {
    diagnostics.error({}, fmt::format("--set with {} bytes; the limit is {}", option.size(), kLineMax));
    return false;
  }
  if (equals == std::string_view::npos || equals == 0) {
    diagnostics.error(whole, "a key and a value are wanted", "write --set table.key=value");
    return false;
  }
  Node* table = &root;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = std::min(option.find('.', start), equals);
    const std::string key(option.substr(start, end - start));
    const Span key_span = {source, 1, to_column(start), to_column(end)};
    if (key.empty()) {
      diagnostics.error(whole, "an empty key", "write --set table.key=value");
      return false;
    }
    Member* member = table->find(key);
    const bool created = member == nullptr;
    if (created) member = &table->members.emplace_back(Member{key, key_span, Node{}});
    if (end == equals) {
      member->key_span = key_span;
      member->value = value_of_option(option.substr(equals + 1));
      place_all(member->value, {source, 1, to_column(equals + 1), to_column(option.size())});
      return true;
    }
    if (created) member->value.span = key_span;
    if (member->value.kind != Node::Kind::table) {
      diagnostics.error(key_span, fmt::format("\"{}\" is {} here, not a table", key, name_of(member->value.kind)),
                        fmt::format("set it whole: --set {}=...", option.substr(0, end)));
      diagnostics.note(member->value.span, "it is set here");
      return false;
    }
    table = &member->value;
    start = end + 1;
  }
}

}  // namespace photonrail::config
