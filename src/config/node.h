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
  // How a table or array was written, which decides what may still be added to it (TOML 1.0).
  enum class Origin : std::uint8_t {
    implied,  // [a.b] implies a
    header,   // [a], and each table of [[a]]
    dotted,   // a.b = 1 makes a
    closed,   // { ... } and [ ... ]
    headers,  // the array of [[a]]
  };
  Kind kind = Kind::table;
  Origin origin = Origin::implied;
  bool incomplete = false;  // the root: a line of the text could not be understood, so keys may be missing
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
