// Node: a parsed configuration text before anyone knows what it means, with the position of every key and value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"

namespace photonrail::config {

struct Member;

struct Node {
  enum class Kind : std::uint8_t { table, array, string, integer, floating, boolean, date };
  Kind kind = Kind::table;
  Span span;
  bool from_option = false;  // written after --set: `text` holds it as written, and a list may be "a, b"
  std::string text;          // string
  std::int64_t integer = 0;
  double floating = 0;
  bool boolean = false;
  std::vector<Node> items;      // array
  std::vector<Member> members;  // table, in the order of the text

  Member* find(std::string_view key);
  const Member* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Span key_span;
  Node value;
};

const char* name_of(Node::Kind kind);  // "a table", "an integer"

}  // namespace photonrail::config
