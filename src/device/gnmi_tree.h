// Puts an answer to a gNMI Get together. A target may answer with one JSON value for the path that was asked for, or
// with a value for every leaf below it, typed or JSON (gNMI specification 2.3.1 and 3.3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gnmi {
class GetResponse;
}

namespace photonrail::device {

// The subtree at `path` (text form of gnmi_model.h) as JSON; "" where the answer holds nothing there. Nothing at all
// where the answer contradicts itself, or is more than can be believed.
std::optional<std::string> subtree_of(const gnmi::GetResponse& response, std::string_view path);

}  // namespace photonrail::device
