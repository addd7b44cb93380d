#include "config/node.h"

namespace photonrail::config {

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

}  // namespace photonrail::config
