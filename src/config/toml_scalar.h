// Strings and numbers of TOML. Internal to config.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"
#include "config/toml_cursor.h"

namespace photonrail::config {

// What is wrong, and what to do; empty when nothing is.
struct Problem {
  Span span;
  std::string message;
  std::string hint;
  bool none() const { return message.empty(); }
};

// A string of any of the four kinds at the cursor, which stands at its quote.
Problem take_string(Cursor& cursor, std::string& text, bool multi_line_allowed);

// A word such as 12, 1e3, 0x1F, true, inf or a date: everything but strings, arrays and tables.
Problem take_word(Cursor& cursor, Node& node);

// The rest of the line up to a comment or bracket, for hints.
std::string rest_of_line(const Cursor& cursor);

bool is_control(char c);  // a control character that TOML does not allow

}  // namespace photonrail::config
