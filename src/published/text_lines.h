// Pieces of small text formats.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace photonrail::published {

std::string_view trim(std::string_view text);                   // without blanks at both ends
std::optional<double> to_number(std::string_view text);         // a decimal number and nothing else
std::vector<std::string_view> lines_of(std::string_view text);  // trimmed

}  // namespace photonrail::published
