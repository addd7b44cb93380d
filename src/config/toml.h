// TOML 1.0 text into a Node tree, and values given on the command line on top of it.
//
// Limits, so that no input can exhaust memory or stack: text of 4 MiB, lines of 4,096 bytes, arrays and inline tables
// nested 16 deep. A file that breaks a limit is refused with the line.
#pragma once

#include <optional>
#include <string_view>

#include "config/node.h"

namespace photonrail::config {

// The table of the source's text, or nothing with an error added. The parser stops at the first syntax error.
std::optional<Node> parse_toml(Diagnostics& diagnostics, SourceId source);

// Applies "a.b=c" to the tree: c is a TOML value, or failing that a string ("25 ms" needs no quotes here).
// The new value's positions lie in the option's own text. False with an error added when it cannot be understood.
bool apply_set(Node& root, std::string_view option, Diagnostics& diagnostics);

}  // namespace photonrail::config
