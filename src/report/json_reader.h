// Reads JSON (RFC 8259) into a tree. Own reader because reports are read back to the last digit, and the JSON library
// at hand rounds numbers differently by one unit in the last place. Order of keys is kept; a repeated key is refused.
// Limits: 64 levels. Pure; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace photonrail::report {

struct JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

struct JsonNumber {
  double value = 0;
  std::string text;  // as written, for integers beyond 2^53
};

struct JsonValue {
  std::variant<std::nullptr_t, bool, JsonNumber, std::string, JsonArray, JsonObject> value = nullptr;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
};

// The value of a key, or null where the object does not have it.
const JsonValue* find(const JsonObject& object, std::string_view key);

// invalid_input as "file:line:column: not JSON: why".
Result<JsonValue> parse_json(std::string_view text, std::string_view file);

}  // namespace photonrail::report
