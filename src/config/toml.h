// TOML 1.0 text into a Node tree, and values given on the command line on top of it.
//
// Our own reader, because all syntax errors of a text are wanted, each with its span and a hint, and because input is
// hostile: the toml++ of Debian 12 runs into undefined behaviour on texts as short as "[!]". After an error the reader
// goes on with the next line, unless the error lies within brackets or a text of several lines.
//
// Differences from TOML 1.0: dates and times are recognised, but not checked (nothing takes one); a float beyond the
// range of double is refused. Limits, so that no input exhausts memory, stack or patience: text of 4 MiB, lines of
// 4,096 bytes, 2,000 keys in a table, keys of 16 parts, arrays and inline tables nested 16 deep.
#pragma once

#include <optional>
#include <string_view>

#include "config/node.h"

namespace photonrail::config {

// The table of the source's text, with an error added for each line that is not TOML; the rest of the text is there
// (Node::incomplete). Nothing when the text breaks a limit or is not UTF-8.
std::optional<Node> parse_toml(Diagnostics& diagnostics, SourceId source);

// A single value, such as "[1, 2]". Nothing when it is none.
std::optional<Node> parse_toml_value(std::string_view text);

// Applies "a.b=c" to the tree: c is a TOML value, or failing that a string ("25 ms" needs no quotes here).
// The new value's positions lie in the option's own text. False with an error added when it cannot be understood.
bool apply_set(Node& root, std::string_view option, Diagnostics& diagnostics);

}  // namespace photonrail::config
