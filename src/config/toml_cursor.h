// The place of a reader in a text. Internal to config.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/diagnostics.h"

namespace photonrail::config {

struct Cursor {
  std::string_view text;
  SourceId source = 0;
  std::size_t at = 0;
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // in code points

  bool end() const { return at == text.size(); }
  char peek(std::size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool starts(std::string_view prefix) const { return text.substr(at, prefix.size()) == prefix; }
  bool at_newline() const { return peek() == '\n' || starts("\r\n"); }
  void advance(std::size_t bytes = 1) {
    for (; bytes > 0 && at < text.size(); --bytes, ++at) {
      const auto c = static_cast<unsigned char>(text[at]);
      if (c == '\n') {
        ++line;
        column = 1;
      } else if ((c & 0xC0) != 0x80) {
        ++column;
      }
    }
  }
  Span here() const { return {source, line, column, column + 1}; }
  // From an earlier place to here; to the end of its line when that is another one.
  Span since(const Cursor& start) const { return {source, start.line, start.column, line == start.line ? column : 0}; }
};

}  // namespace photonrail::config
