// A described struct from its file: read, laid over with --set values, checked, shown with the origin of each value.
// Every command with an input file of its own uses this; scenarios of `simulate` have model/scenario_text.h.
//
//   PR_ASSIGN(auto doc, config::load_document<InferenceScenario>(path, sets, {}, check_inference));
//   doc.value.model...
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "config/read.h"
#include "config/write.h"

namespace photonrail::config {

template <Described T>
struct Document {
  T value{};
  Places places;            // where each value was given, by path
  Diagnostics diagnostics;  // the sources that places refer to, and warnings
  std::string directory;    // of the file; "" for the working directory

  bool given(std::string_view path) const { return places.find(path) != places.end(); }
  Span span(std::string_view path) const {
    const auto found = places.find(path);
    return found == places.end() ? Span{} : found->second.value;
  }
  std::string origin(std::string_view path) const {
    return given(path) ? diagnostics.place_text(span(path)) : "default";
  }
};

// Rules between fields: adds errors, at doc.span(path), to doc.diagnostics.
template <Described T>
using Check = std::function<void(Document<T>& doc)>;

template <Described T>
Result<Document<T>> parse_document(std::string_view text, std::string_view name, std::span<const std::string> sets = {},
                                   T defaults = {}, const Check<T>& check = {}) {
  Document<T> doc;
  doc.value = std::move(defaults);
  const SourceId source = doc.diagnostics.add_source(std::string(name), std::string(text));
  std::optional<Node> root = parse_toml(doc.diagnostics, source);
  if (!root) return fail(doc.diagnostics.to_error());
  for (const std::string& set : sets) apply_set(*root, set, doc.diagnostics);
  read(*root, doc.value, doc.diagnostics, doc.places);
  if (check && !doc.diagnostics.has_errors()) check(doc);
  if (doc.diagnostics.has_errors()) return fail(doc.diagnostics.to_error());
  return doc;
}

// "" as path: no file, all from defaults and `sets`.
template <Described T>
Result<Document<T>> load_document(const std::string& path, std::span<const std::string> sets = {}, T defaults = {},
                                  const Check<T>& check = {}) {
  std::string text;
  if (!path.empty()) { PR_ASSIGN(text, read_file(path)); }
  PR_ASSIGN(Document<T> doc,
            parse_document<T>(text, path.empty() ? "(no file)" : path, sets, std::move(defaults), check));
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos) doc.directory = path.substr(0, slash);
  return doc;
}

// The whole as TOML, each value with its origin.
template <Described T>
std::string show_document(const Document<T>& doc) {
  OwnTable<T> root(doc.value);
  return write_toml(root, [&doc](std::string_view path) { return doc.origin(path); });
}

// Equal values, equal text: for digests.
template <Described T>
std::string canonical_document(const T& value) {
  OwnTable<T> root(value);
  return write_canonical(root);
}

template <Described T>
std::string document_schema(const T& defaults, std::string_view title, std::string_view about) {
  OwnTable<T> root(defaults);
  return write_schema(root, title, about);
}

template <Described T>
std::string document_reference(const T& defaults, std::string_view title, std::string_view about) {
  OwnTable<T> root(defaults);
  return write_reference(root, title, about);
}

}  // namespace photonrail::config
