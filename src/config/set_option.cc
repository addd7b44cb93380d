#include <fmt/format.h>

#include <algorithm>

#include "config/toml.h"

namespace photonrail::config {
namespace {

constexpr std::size_t kOptionMax = 4096;
constexpr std::size_t kPathMax = 16;

void place_all(Node& node, Span span) {
  node.span = span;
  node.from_option = true;
  for (Node& item : node.items) place_all(item, span);
  for (Member& member : node.members) {
    member.key_span = span;
    place_all(member.value, span);
  }
}

// A word that is no TOML value is a string as it stands. `text` keeps the writing, so that name=7 can be a name.
Node value_of_option(std::string_view text) {
  std::optional<Node> parsed = parse_toml_value(text);
  Node node = parsed ? std::move(*parsed) : Node{};
  if (!parsed) node.kind = Node::Kind::string;
  if (!parsed || node.kind != Node::Kind::string) node.text = text;
  return node;
}

// Column of the byte at `index`: columns count code points.
std::uint32_t column_of(std::string_view text, std::size_t index) {
  std::uint32_t column = 1;
  for (const char c : text.substr(0, index)) column += (static_cast<unsigned char>(c) & 0xC0) == 0x80 ? 0 : 1;
  return column;
}

}  // namespace

bool apply_set(Node& root, std::string_view option, Diagnostics& diagnostics) {
  const SourceId source = diagnostics.add_source("--set", std::string(option), SourceKind::option);
  const std::size_t equals = option.find('=');
  const Span whole = {source, 1, 1, column_of(option, option.size())};
  if (option.size() > kOptionMax) {
    diagnostics.error({}, fmt::format("--set with {} bytes; the limit is {}", option.size(), kOptionMax));
    return false;
  }
  if (equals == std::string_view::npos || equals == 0) {
    diagnostics.error(whole, "a key and a value are wanted", "write --set table.key=value");
    return false;
  }
  Node* table = &root;
  std::size_t start = 0, depth = 0;
  while (true) {
    const std::size_t end = std::min(option.find('.', start), equals);
    const std::string key(option.substr(start, end - start));
    const Span key_span = {source, 1, column_of(option, start), column_of(option, end)};
    if (++depth > kPathMax) {
      diagnostics.error(key_span, fmt::format("a key of more than {} parts", kPathMax));
      return false;
    }
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
      place_all(member->value, {source, 1, column_of(option, equals + 1), column_of(option, option.size())});
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
