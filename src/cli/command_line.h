// Command line text to a Command. The only user of the command line library.
#pragma once

#include <variant>

#include "cli/options.h"

namespace photonrail::cli {

// The command, or the exit status where help or an error has been printed instead.
std::variant<Command, int> parse_command_line(int argc, const char* const* argv);

}  // namespace photonrail::cli
