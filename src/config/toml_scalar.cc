#include "config/toml_scalar.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace photonrail::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

Problem take_unicode(Cursor& cursor, std::string& text, int digits) {
  const Cursor start = cursor;
  cursor.advance(2);
  std::uint32_t code = 0;
  for (int i = 0; i < digits; ++i, cursor.advance()) {
    const int value = hex_value(cursor.peek());
    if (value < 0) return {start.here(), fmt::format("\\{} needs {} hexadecimal digits", start.peek(1), digits), {}};
    code = code << 4 | static_cast<std::uint32_t>(value);
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    return {cursor.since(start), "no Unicode character has this number", {}};
  }
  append_utf8(text, code);
  return {};
}

// A backslash at the end of a line swallows the break and the white space that follows.
bool take_line_ending(Cursor& cursor) {
  Cursor ahead = cursor;
  ahead.advance();
  while (ahead.peek() == ' ' || ahead.peek() == '\t') ahead.advance();
  if (!ahead.at_newline()) return false;
  while (ahead.peek() == ' ' || ahead.peek() == '\t' || ahead.at_newline()) ahead.advance();
  cursor = ahead;
  return true;
}

Problem take_escape(Cursor& cursor, std::string& text, bool multi_line) {
  constexpr std::string_view kNames = "btnfr\"\\";
  constexpr std::string_view kValues = "\b\t\n\f\r\"\\";
  const char name = cursor.peek(1);
  if (name == 'u') return take_unicode(cursor, text, 4);
  if (name == 'U') return take_unicode(cursor, text, 8);
  if (multi_line && take_line_ending(cursor)) return {};
  const std::size_t index = kNames.find(name);
  if (index == std::string_view::npos || cursor.at + 1 >= cursor.text.size()) {
    return {cursor.here(), "an unknown escape", "write \\\\ for a backslash, or use single quotes"};
  }
  text += kValues[index];
  cursor.advance(2);
  return {};
}

// The closing quotes of a text of several lines; up to two more quotes before them belong to the text.
bool take_closing(Cursor& cursor, std::string& text, char quote) {
  std::size_t quotes = 0;
  while (quotes < 5 && cursor.peek(quotes) == quote) ++quotes;
  if (quotes < 3) return false;
  text.append(quotes - 3, quote);
  cursor.advance(quotes);
  return true;
}

// "1_000" without its underscores; false when one is not between digits, or nothing is there.
bool plain_digits(std::string_view word, int base, std::string& digits) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '_') {
      if (i == 0 || i + 1 == word.size() || word[i - 1] == '_' || word[i + 1] == '_') return false;
      continue;
    }
    const int value = hex_value(word[i]);
    if (value < 0 || value >= base) return false;
    digits += word[i];
  }
  return !digits.empty();
}

enum class Parsed : std::uint8_t { yes, no, out_of_range };

Parsed parse_integer(std::string_view word, std::int64_t& result) {
  int base = 10;
  std::string digits;
  if (word.substr(0, 2) == "0x") base = 16;
  if (word.substr(0, 2) == "0o") base = 8;
  if (word.substr(0, 2) == "0b") base = 2;
  if (base != 10) {
    word.remove_prefix(2);
  } else if (word[0] == '+' || word[0] == '-') {
    if (word[0] == '-') digits = "-";
    word.remove_prefix(1);
  }
  std::string plain;
  if (!plain_digits(word, base, plain)) return Parsed::no;
  if (base == 10 && plain.size() > 1 && plain[0] == '0') return Parsed::no;
  digits += plain;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result, base);
  return error == std::errc::result_out_of_range ? Parsed::out_of_range : Parsed::yes;
}

Parsed parse_float(std::string_view word, double& result) {
  std::string number;
  if (word[0] == '+' || word[0] == '-') {
    if (word[0] == '-') number = "-";
    word.remove_prefix(1);
  }
  if (word == "inf" || word == "nan") {
    const double magnitude =
        word == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    result = number.empty() ? magnitude : -magnitude;
    return Parsed::yes;
  }
  const std::size_t e = word.find_first_of("eE");
  const std::string_view head = word.substr(0, e);
  const std::size_t dot = head.find('.');
  if (e == std::string_view::npos && dot == std::string_view::npos) return Parsed::no;
  std::string whole, fraction, exponent;
  if (!plain_digits(head.substr(0, dot), 10, whole) || (whole.size() > 1 && whole[0] == '0')) return Parsed::no;
  number += whole;
  if (dot != std::string_view::npos) {
    if (!plain_digits(head.substr(dot + 1), 10, fraction)) return Parsed::no;
    number += "." + fraction;
  }
  if (e != std::string_view::npos) {
    std::string_view power = word.substr(e + 1);
    number += 'e';
    if (!power.empty() && (power[0] == '+' || power[0] == '-')) {
      if (power[0] == '-') number += '-';
      power.remove_prefix(1);
    }
    if (!plain_digits(power, 10, exponent)) return Parsed::no;
    number += exponent;
  }
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), result);
  return error == std::errc::result_out_of_range ? Parsed::out_of_range : Parsed::yes;
}

bool looks_like_date(std::string_view word) {
  const auto digits = [word](std::size_t from, std::size_t count) {
    for (std::size_t i = from; i < from + count; ++i) {
      if (i >= word.size() || !is_digit(word[i])) return false;
    }
    return true;
  };
  const bool date =
      digits(0, 4) && word.substr(4, 1) == "-" && digits(5, 2) && word.substr(7, 1) == "-" && digits(8, 2);
  return date || (digits(0, 2) && word.substr(2, 1) == ":" && digits(3, 2));
}

}  // namespace

std::string rest_of_line(const Cursor& cursor) {
  std::string_view rest = cursor.text.substr(cursor.at);
  rest = rest.substr(0, rest.find_first_of("\r\n#,]}\""));
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t')) rest.remove_suffix(1);
  return std::string(rest.substr(0, 40));
}

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t') || code == 0x7F;
}

Problem take_string(Cursor& cursor, std::string& text, bool multi_line_allowed) {
  const Cursor start = cursor;
  const char quote = cursor.peek();
  const bool multi_line = cursor.peek(1) == quote && cursor.peek(2) == quote;
  if (multi_line && !multi_line_allowed) return {start.here(), "a key is written on one line", {}};
  cursor.advance(multi_line ? 3 : 1);
  if (multi_line && cursor.starts("\r\n")) cursor.advance();
  if (multi_line && cursor.peek() == '\n') cursor.advance();
  while (true) {
    const char c = cursor.peek();
    if (cursor.end() || (!multi_line && cursor.at_newline())) {
      return {cursor.since(start), "a text without its closing quote",
              fmt::format("end it with {}", multi_line ? std::string(3, quote) : std::string(1, quote))};
    }
    if (c == quote && !multi_line) break;
    if (c == quote && take_closing(cursor, text, quote)) return {};
    if (c == '\\' && quote == '"') {
      Problem problem = take_escape(cursor, text, multi_line);
      if (!problem.none()) return problem;
    } else if (multi_line && cursor.at_newline()) {
      cursor.advance(c == '\r' ? 2 : 1);
      text += '\n';
    } else if (is_control(c)) {
      return {cursor.here(), "a control character in a text", "write it as an escape: \\u0000 with its number"};
    } else {
      text += c;
      cursor.advance();
    }
  }
  cursor.advance();
  return {};
}

Problem take_word(Cursor& cursor, Node& node) {
  const Cursor start = cursor;
  constexpr std::string_view kEnd = " \t\r\n#,]}=\"'";
  while (!cursor.end() && kEnd.find(cursor.peek()) == std::string_view::npos) cursor.advance();
  std::string_view word = cursor.text.substr(start.at, cursor.at - start.at);
  // A date and its time may be parted by a space.
  if (looks_like_date(word) && word.size() == 10 && cursor.peek() == ' ' && is_digit(cursor.peek(1)) &&
      cursor.peek(3) == ':') {
    cursor.advance();
    while (!cursor.end() && kEnd.find(cursor.peek()) == std::string_view::npos) cursor.advance();
  }
  const Span span = word.empty() ? start.here() : cursor.since(start);
  if (word.empty()) return {span, "a value is missing", "write it behind the '='"};
  if (word == "true" || word == "false") {
    node.kind = Node::Kind::boolean;
    node.boolean = word == "true";
    return {};
  }
  if (looks_like_date(word)) {
    node.kind = Node::Kind::date;
    return {};
  }
  node.kind = Node::Kind::integer;
  Parsed parsed = parse_integer(word, node.integer);
  if (parsed == Parsed::no) {
    node.kind = Node::Kind::floating;
    parsed = parse_float(word, node.floating);
  }
  if (parsed == Parsed::yes) return {};
  if (parsed == Parsed::out_of_range) return {span, fmt::format("{} is beyond the range of numbers", word), {}};
  const std::string text = rest_of_line(start);
  return {span, fmt::format("\"{}\" is no value", word), fmt::format("a text is written in quotes: \"{}\"", text)};
}

}  // namespace photonrail::config
