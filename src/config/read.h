// Reading configuration text into structs. Every key is either understood or refused with its place; all errors of a
// text are reported together.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/toml.h"
#include "config/value.h"

namespace photonrail::config {

// Where a value came from: the key and the value, unknown where the default holds.
struct Place {
  Span key;
  Span value;
};

// By path: "rail.ports", "switching.times[0]". Holds what was given, not defaults.
using Places = std::map<std::string, Place, std::less<>>;

// Reads `node` over the present values of `root`. Errors are added to `diagnostics`; what is wrong keeps its old value.
void read_table(TableValue& root, const Node& node, Diagnostics& diagnostics, Places& places);

template <Described T>
void read(const Node& node, T& object, Diagnostics& diagnostics, Places& places) {
  TableOf<T> root(object);
  read_table(root, node, diagnostics, places);
}

// A whole TOML text into a T over its defaults, for example one catalog file. `name` is what messages call the text.
template <Described T>
Result<T> read_toml(std::string_view text, std::string_view name) {
  Diagnostics diagnostics;
  const SourceId source = diagnostics.add_source(std::string(name), std::string(text));
  T object{};
  Places places;
  if (const std::optional<Node> node = parse_toml(diagnostics, source)) read(*node, object, diagnostics, places);
  if (diagnostics.has_errors()) return fail(diagnostics.to_error());
  return object;
}

// The bytes of a file, up to 4 MiB. Error: io, with the path and the reason.
Result<std::string> read_file(const std::string& path);

}  // namespace photonrail::config
