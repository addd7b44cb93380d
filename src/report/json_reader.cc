#include "report/json_reader.h"

#include <fmt/format.h>

#include <charconv>

namespace photonrail::report {
namespace {

constexpr int kMaxDepth = 64;

void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&out](unsigned b) { out += static_cast<char>(b); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) return byte(0xc0 | (code >> 6)), byte(0x80 | (code & 0x3f));
  if (code < 0x10000) return byte(0xe0 | (code >> 12)), byte(0x80 | ((code >> 6) & 0x3f)), byte(0x80 | (code & 0x3f));
  byte(0xf0 | (code >> 18));
  byte(0x80 | ((code >> 12) & 0x3f));
  byte(0x80 | ((code >> 6) & 0x3f));
  byte(0x80 | (code & 0x3f));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool run(JsonValue& out) {
    if (!value(out, 0)) return false;
    spaces();
    return at_ == text_.size() || fail("text after the end");
  }
  std::size_t at() const { return at_; }
  const std::string& why() const { return why_; }

 private:
  bool value(JsonValue& out, int depth) {
    spaces();
    if (depth > kMaxDepth) return fail("nested too deeply");
    switch (peek()) {
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"': return string(out.value.emplace<std::string>());
      case 't': return word("true", out, true);
      case 'f': return word("false", out, false);
      case 'n': return word("null", out, nullptr);
      default: return number(out.value.emplace<JsonNumber>());
    }
  }

  bool object(JsonValue& out, int depth) {
    auto& members = out.value.emplace<JsonObject>();
    ++at_;
    if (take('}')) return true;
    do {
      spaces();
      std::string key;
      if (peek() != '"') return fail("a key in quotes is expected");
      if (!string(key)) return false;
      if (find(members, key) != nullptr) return fail("the key '" + key + "' is repeated");
      if (!take(':')) return fail("':' is expected");
      JsonValue member;
      if (!value(member, depth + 1)) return false;
      members.emplace_back(std::move(key), std::move(member));
    } while (take(','));
    return take('}') || fail("',' or '}' is expected");
  }

  bool array(JsonValue& out, int depth) {
    auto& items = out.value.emplace<JsonArray>();
    ++at_;
    if (take(']')) return true;
    do {
      JsonValue item;
      if (!value(item, depth + 1)) return false;
      items.push_back(std::move(item));
    } while (take(','));
    return take(']') || fail("',' or ']' is expected");
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a text");
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    if (at_ >= text_.size()) return fail("a text without its end");
    ++at_;
    return true;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    const std::size_t index = kNames.find(c);
    if (index != std::string_view::npos && c != '\0') return out += kMeanings[index], true;
    unsigned code = 0;
    if (c != 'u' || !hex(code)) return fail("an unknown escape");
    if (code < 0xd800 || code > 0xdfff) return append_utf8(out, code), true;
    unsigned low = 0;
    const bool pair =
        code < 0xdc00 && text_.substr(at_, 2) == "\\u" && (at_ += 2, hex(low)) && low >= 0xdc00 && low <= 0xdfff;
    if (!pair) return fail("half a surrogate pair");
    append_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
    return true;
  }

  bool hex(unsigned& code) {
    if (at_ + 4 > text_.size()) return false;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, first + 4, code, 16);
    at_ += 4;
    return error == std::errc() && end == first + 4;
  }

  bool number(JsonNumber& out) {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    const std::size_t whole = digits();
    if (whole == 0) return fail("a value is expected");
    if (whole > 1 && text_[at_ - whole] == '0') return fail("a number with a leading zero");
    if (peek() == '.' && (++at_, digits() == 0)) return fail("digits are expected after '.'");
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (digits() == 0) return fail("digits are expected in the exponent");
    }
    out.text = std::string(text_.substr(start, at_ - start));
    const auto result = std::from_chars(out.text.data(), out.text.data() + out.text.size(), out.value);
    return result.ec == std::errc() || fail("a number out of range");
  }

  std::size_t digits() {
    const std::size_t start = at_;
    while (is_digit(peek())) ++at_;
    return at_ - start;
  }

  template <class T>
  bool word(std::string_view expected, JsonValue& out, T meaning) {
    if (text_.substr(at_, expected.size()) != expected) return fail("a value is expected");
    at_ += expected.size();
    out.value = meaning;
    return true;
  }

  bool take(char c) {
    spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool fail(std::string why) {
    if (why_.empty()) why_ = at_ >= text_.size() ? "the text ends too early" : std::move(why);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string why_;
};

std::string position_of(std::string_view text, std::size_t at) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < at && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    if (text[i] == '\n') ++line;
  }
  return fmt::format("{}:{}", line, column);
}

}  // namespace

const JsonValue* find(const JsonObject& object, std::string_view key) {
  for (const auto& [name, value] : object) {
    if (name == key) return &value;
  }
  return nullptr;
}

Result<JsonValue> parse_json(std::string_view text, std::string_view file) {
  Parser parser(text);
  JsonValue root;
  if (parser.run(root)) return root;
  return photonrail::fail(ErrorCode::invalid_input,
                          fmt::format("{}:{}: not JSON: {}", file, position_of(text, parser.at()), parser.why()));
}

}  // namespace photonrail::report
