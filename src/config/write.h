// Writing described structs: as TOML that reads back, as canonical lines for hashing, as a JSON Schema and as a
// reference page. All are pure functions of the struct and its describe().
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/value.h"

namespace photonrail::config {

// Comment behind a value, given its path ("rail.ports"); an empty text means none.
using Comment = std::function<std::string(std::string_view path)>;

// Every value, defaults too, as TOML text. An optional without value becomes a comment that tells what holds instead.
std::string write_toml(TableValue& root, const Comment& comment);

// One line "path = value" per value that is set, in the order of describe(); equal objects give equal text.
std::string write_canonical(TableValue& root);

// JSON Schema, draft 2020-12, of the JSON form of the text. Unknown keys are refused. `root` should hold the defaults.
std::string write_schema(TableValue& root, std::string_view title, std::string_view description);

// Markdown with one section per table: key, type, default, allowed values, meaning.
std::string write_reference(TableValue& root, std::string_view title, std::string_view introduction);

template <Described T>
std::string to_toml(const T& object, const Comment& comment = {}) {
  OwnTable<T> root(object);
  return write_toml(root, comment);
}

template <Described T>
std::string to_canonical(const T& object) {
  OwnTable<T> root(object);
  return write_canonical(root);
}

// ---- shared by the writers ------------------------------------------------------------------------------------------

// Whether the value is written on one line: leaves, lists of them, and tables with a shorthand.
bool is_inline(Value& value);
enum class Notation : std::uint8_t { toml, json };
// The value of an inline member; empty for an optional without value.
std::string inline_text(Value& value, Notation notation);
std::string key_text(std::string_view key);  // quoted where TOML needs it
std::string join_path(std::string_view path, std::string_view key);

}  // namespace photonrail::config
