#include "config/toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/toml_scalar.h"

namespace photonrail::config {
namespace {

constexpr std::size_t kTextMax = std::size_t{4} << 20;
constexpr std::size_t kLineMax = 4096;
constexpr std::size_t kKeysMax = 2000;
constexpr std::size_t kPartsMax = 16;
constexpr int kNestedMax = 16;

struct KeyPart {
  std::string name;
  Span span;
};
using KeyPath = std::vector<KeyPart>;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class TomlReader {
 public:
  TomlReader(Diagnostics& diagnostics, std::string_view text, SourceId source) : diagnostics_(diagnostics) {
    cursor_.text = text;
    cursor_.source = source;
    root_.span = {source, 1, 1, 2};
  }

  Node read_text() {
    if (cursor_.starts("\xEF\xBB\xBF")) cursor_.at = 3;  // a byte order mark is no column
    while (!cursor_.end() && !lost_) {
      if (!statement()) recover();
    }
    return std::move(root_);
  }

  // A value and nothing behind it.
  std::optional<Node> read_value() {
    Node node;
    blanks();
    if (!value(node, 0)) return std::nullopt;
    blanks();
    if (!cursor_.end()) return std::nullopt;
    return node;
  }

 private:
  bool fail(Span span, std::string message, std::string hint = {}) {
    diagnostics_.error(span, std::move(message), std::move(hint));
    root_.incomplete = true;
    return false;
  }
  bool fail(Problem problem) { return fail(problem.span, std::move(problem.message), std::move(problem.hint)); }

  void blanks() {
    while (cursor_.peek() == ' ' || cursor_.peek() == '\t') cursor_.advance();
  }

  bool comment() {
    while (!cursor_.end() && !cursor_.at_newline()) {
      if (is_control(cursor_.peek())) return fail(cursor_.here(), "a control character in a comment");
      cursor_.advance();
    }
    return true;
  }

  // White space, line breaks and comments between the items of an array.
  bool gap() {
    while (true) {
      blanks();
      if (cursor_.peek() == '#') {
        if (!comment()) return false;
      } else if (cursor_.at_newline()) {
        cursor_.advance(cursor_.peek() == '\r' ? 2 : 1);
      } else {
        return true;
      }
    }
  }

  void recover() {
    while (!cursor_.end() && cursor_.peek() != '\n') cursor_.advance();
    cursor_.advance();
  }

  bool statement() {
    blanks();
    if (cursor_.peek() == '[') {
      if (!header()) return false;
    } else if (cursor_.peek() != '#' && !cursor_.at_newline() && !cursor_.end()) {
      if (!assignment(*table_)) return false;
    }
    return end_of_line();
  }

  bool end_of_line() {
    blanks();
    if (cursor_.peek() == '#' && !comment()) return false;
    if (cursor_.end()) return true;
    if (!cursor_.at_newline())
      return fail(cursor_.here(), "something follows the end of the line", "one statement per line");
    cursor_.advance(cursor_.peek() == '\r' ? 2 : 1);
    return true;
  }

  bool key(KeyPath& path) {
    while (true) {
      blanks();
      const Cursor start = cursor_;
      KeyPart part;
      if (cursor_.peek() == '"' || cursor_.peek() == '\'') {
        Problem problem = take_string(cursor_, part.name, false);
        if (!problem.none()) return fail(std::move(problem));
      } else {
        while (is_bare(cursor_.peek())) part.name += take();
        if (part.name.empty()) {
          return fail(cursor_.here(), "a key is wanted here",
                      "keys are letters, digits, '_' and '-', or text in quotes");
        }
      }
      part.span = cursor_.since(start);
      path.push_back(std::move(part));
      if (path.size() > kPartsMax) return fail(path.back().span, fmt::format("a key of more than {} parts", kPartsMax));
      blanks();
      if (cursor_.peek() != '.') return true;
      cursor_.advance();
    }
  }

  char take() {
    const char c = cursor_.peek();
    cursor_.advance();
    return c;
  }

  bool header() {
    const Cursor start = cursor_;
    // Until the header is understood, the keys below it belong nowhere.
    nowhere_ = Node{};
    table_ = &nowhere_;
    const bool array = cursor_.peek(1) == '[';
    cursor_.advance(array ? 2 : 1);
    KeyPath path;
    if (!key(path)) return false;
    const std::string_view close = array ? "]]" : "]";
    if (!cursor_.starts(close)) return fail(cursor_.here(), fmt::format("'{}' is wanted here", close));
    cursor_.advance(close.size());
    const Span span = cursor_.since(start);
    Node* parent = &root_;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      parent = step(*parent, path[i], span);
      if (parent == nullptr) return false;
    }
    Node* const opened = array ? open_array(*parent, path.back(), span) : open_table(*parent, path.back(), span);
    if (opened == nullptr) return false;
    table_ = opened;
    return true;
  }

  Member* add(Node& table, const KeyPart& part) {
    if (table.members.size() >= kKeysMax) {
      fail(part.span, fmt::format("more than {} keys in one table", kKeysMax));
      return nullptr;
    }
    return &table.members.emplace_back(Member{part.name, part.span, Node{}});
  }

  void twice(const KeyPart& part, const Member& first) {
    const bool table = first.value.kind == Node::Kind::table;
    fail(part.span, fmt::format("{} \"{}\" is defined twice", table ? "table" : "key", part.name),
         "keep one of the two");
    diagnostics_.note(first.key_span, "first here");
  }

  // One part of a header's path before the last.
  Node* step(Node& table, const KeyPart& part, Span span) {
    Member* member = table.find(part.name);
    if (member == nullptr) {
      member = add(table, part);
      if (member != nullptr) member->value.span = span;
      return member == nullptr ? nullptr : &member->value;
    }
    Node& node = member->value;
    if (node.kind == Node::Kind::table && node.origin != Node::Origin::closed) return &node;
    if (node.origin == Node::Origin::headers) return &node.items.back();
    fail(part.span, fmt::format("\"{}\" is {} and takes no more keys", part.name, name_of(node.kind)));
    diagnostics_.note(member->key_span, "it is written here");
    return nullptr;
  }

  Node* open_table(Node& parent, const KeyPart& part, Span span) {
    Member* member = parent.find(part.name);
    if (member == nullptr)
      member = add(parent, part);
    else if (member->value.kind != Node::Kind::table || member->value.origin != Node::Origin::implied) {
      twice(part, *member);
      return nullptr;
    }
    if (member == nullptr) return nullptr;
    member->key_span = part.span;
    member->value.origin = Node::Origin::header;
    member->value.span = span;
    return &member->value;
  }

  Node* open_array(Node& parent, const KeyPart& part, Span span) {
    Member* member = parent.find(part.name);
    if (member != nullptr && member->value.origin != Node::Origin::headers) {
      twice(part, *member);
      return nullptr;
    }
    if (member == nullptr) {
      member = add(parent, part);
      if (member == nullptr) return nullptr;
      member->value.kind = Node::Kind::array;
      member->value.origin = Node::Origin::headers;
      member->value.span = span;
    }
    Node& item = member->value.items.emplace_back();
    item.origin = Node::Origin::header;
    item.span = span;
    return &item;
  }

  // key = value into `table`.
  bool assignment(Node& table) {
    KeyPath path;
    if (!key(path)) return false;
    if (cursor_.peek() != '=') return fail(cursor_.here(), "'=' is wanted after the key");
    cursor_.advance();
    blanks();
    Node* parent = &table;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      parent = dotted_step(*parent, path[i]);
      if (parent == nullptr) return false;
    }
    if (const Member* first = parent->find(path.back().name)) {
      twice(path.back(), *first);
      return false;
    }
    Node node;
    const Cursor start = cursor_;
    if (!value(node, nested_)) return false;
    if (nested_ == 0 && !ends_here()) return unquoted(start);
    Member* member = add(*parent, path.back());
    if (member == nullptr) return false;
    member->value = std::move(node);
    return true;
  }

  bool ends_here() {
    blanks();
    return cursor_.end() || cursor_.at_newline() || cursor_.peek() == '#';
  }

  // 50 GB/s is the number 50 and then nonsense; what is meant is "50 GB/s".
  bool unquoted(const Cursor& start) {
    const bool text = start.peek() != '"' && start.peek() != '\'' && start.peek() != '[' && start.peek() != '{';
    std::string hint =
        text ? fmt::format("a value with a unit or spaces is written in quotes: \"{}\"", rest_of_line(start))
             : std::string("one key and one value per line");
    return fail(cursor_.here(), "something follows the end of the value", std::move(hint));
  }

  Node* dotted_step(Node& table, const KeyPart& part) {
    Member* member = table.find(part.name);
    if (member != nullptr) {
      const Node::Origin origin = member->value.origin;
      const bool open = origin == Node::Origin::dotted || origin == Node::Origin::implied;
      if (member->value.kind != Node::Kind::table || !open) {
        twice(part, *member);
        return nullptr;
      }
      member->value.origin = Node::Origin::dotted;
      return &member->value;
    }
    member = add(table, part);
    if (member == nullptr) return nullptr;
    member->value.origin = Node::Origin::dotted;
    member->value.span = part.span;
    return &member->value;
  }

  bool value(Node& node, int nested) {
    const Cursor start = cursor_;
    const char c = cursor_.peek();
    bool good = false;
    if (c == '"' || c == '\'') {
      node.kind = Node::Kind::string;
      Problem problem = take_string(cursor_, node.text, true);
      // Where a text of several lines goes wrong, the next line may still be text.
      lost_ = lost_ || (!problem.none() && cursor_.line != start.line);
      good = problem.none() || fail(std::move(problem));
    } else if (c == '[' || c == '{') {
      if (nested >= kNestedMax) {
        lost_ = true;
        return fail(cursor_.here(), fmt::format("values nested more than {} deep", kNestedMax));
      }
      nested_ = nested + 1;
      good = c == '[' ? array(node) : inline_table(node);
      nested_ = nested;
      lost_ = lost_ || (!good && cursor_.line != start.line) || (!good && c == '[');
    } else {
      Problem problem = take_word(cursor_, node);
      good = problem.none() || fail(std::move(problem));
    }
    node.span = cursor_.since(start);
    return good;
  }

  bool array(Node& node) {
    const Cursor start = cursor_;
    node.kind = Node::Kind::array;
    node.origin = Node::Origin::closed;
    cursor_.advance();
    while (true) {
      if (!gap()) return false;
      if (cursor_.peek() == ']') break;
      if (cursor_.end()) return fail(start.here(), "a list without its closing ']'");
      if (!value(node.items.emplace_back(), nested_)) return false;
      if (!gap()) return false;
      if (cursor_.peek() == ']') break;
      if (cursor_.end()) return fail(start.here(), "a list without its closing ']'");
      if (cursor_.peek() != ',') return fail(cursor_.here(), "',' or ']' is wanted here");
      cursor_.advance();
    }
    cursor_.advance();
    return true;
  }

  bool inline_table(Node& node) {
    node.kind = Node::Kind::table;
    node.origin = Node::Origin::closed;
    cursor_.advance();
    blanks();
    if (cursor_.peek() == '}') {
      cursor_.advance();
      return true;
    }
    while (true) {
      blanks();
      if (!assignment(node)) return false;
      blanks();
      if (cursor_.peek() == '}') break;
      if (cursor_.peek() != ',') return fail(cursor_.here(), "',' or '}' is wanted here", "{ ... } stands on one line");
      cursor_.advance();
    }
    cursor_.advance();
    return true;
  }

  Diagnostics& diagnostics_;
  Cursor cursor_;
  Node root_;
  Node nowhere_;
  Node* table_ = &root_;  // that of the last header
  int nested_ = 0;
  bool lost_ = false;  // an error after which nobody knows where the next statement begins
};

// Index of the first byte that is not UTF-8, or the size.
std::size_t utf8_prefix(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [text](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
    const unsigned lead = at(i);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return i;
    }
    const unsigned second = at(i + 1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second > 0x9F;
    if (overlong || surrogate || (lead == 0xF4 && second > 0x8F)) return i;
    i += length;
  }
  return text.size();
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
      diagnostics.error({source, line, 1, 2},
                        fmt::format("a line of {} bytes; the limit is {}", end - start, kLineMax));
      return false;
    }
    start = end + 1;
  }
  const std::size_t good = utf8_prefix(text);
  if (good == text.size()) return true;
  Cursor cursor{text, source, 0, 1, 1};
  cursor.advance(good);
  diagnostics.error(cursor.here(), "this byte is not UTF-8", "save the file as UTF-8");
  return false;
}

}  // namespace

std::optional<Node> parse_toml(Diagnostics& diagnostics, SourceId source) {
  if (!within_limits(diagnostics, source)) return std::nullopt;
  // A copy: the diagnostics move their texts when a source is added.
  const std::string text(diagnostics.source_text(source));
  return TomlReader(diagnostics, text, source).read_text();
}

std::optional<Node> parse_toml_value(std::string_view text) {
  if (utf8_prefix(text) != text.size()) return std::nullopt;
  Diagnostics ignored;
  return TomlReader(ignored, text, ignored.add_source("value", std::string(text))).read_value();
}

}  // namespace photonrail::config
