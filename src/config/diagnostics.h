// Diagnostics: everything that is wrong with an input, each with its place, shown together and in order of position.
//
//   rail.toml:12:1: error: unknown key "port"
//      12 | port = 4
//         | ^~~~
//         = hint: did you mean "ports"?
//
// Lines and columns count from 1; a column is a Unicode code point. Not thread-safe; one per input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::config {

using SourceId = std::uint32_t;

// A piece of one line of a source. line 0: nowhere, for what a default brought in.
struct Span {
  SourceId source = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_column = 0;  // one past the last column; 0: to the end of the line
  bool known() const { return line != 0; }
};

enum class SourceKind : std::uint8_t { file, option };  // option: the text of one --set a.b=c

class Diagnostics {
 public:
  static constexpr std::size_t kEntriesMax = 100;  // an input with more errors than this is not worth listing whole

  // `text` is kept: messages quote it.
  SourceId add_source(std::string name, std::string text, SourceKind kind = SourceKind::file);

  void error(Span span, std::string message, std::string hint = {});
  void warning(Span span, std::string message, std::string hint = {});
  // Adds a second place, with its own line, to the error or warning before it.
  void note(Span span, std::string message);

  bool has_errors() const { return error_count_ > 0; }
  bool has_error_at(Span span) const;  // an error that begins exactly there
  bool full() const { return entries_.size() >= kEntriesMax; }  // more are counted, but not kept
  std::size_t error_count() const { return error_count_; }
  std::string_view source_text(SourceId id) const { return sources_[id].text; }
  std::string place_text(Span span) const;  // "file.toml:12", "--set", or "default"
  std::string text() const;                 // all of it, sorted, ending in a newline; empty when there is nothing
  Error to_error() const;                   // text() as an Error of invalid_input

 private:
  struct Source {
    std::string name;
    std::string text;
    SourceKind kind;
  };
  struct Note {
    Span span;
    std::string message;
  };
  struct Entry {
    const char* severity;
    Span span;
    std::string message;
    std::string hint;
    std::vector<Note> notes;
  };
  void add(const char* severity, Span span, std::string message, std::string hint);
  void show(std::string& out, const char* severity, Span span, const std::string& message) const;
  void show_line(std::string& out, Span span) const;

  std::vector<Source> sources_;
  std::vector<Entry> entries_;
  std::size_t error_count_ = 0;
};

// The candidate that `word` most likely means: few edits, or equal but for case, '-' and '_'. Empty when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// "; did you mean "a", "b" or "c"?": all candidates that begin with `word` or contain it, else the nearest; empty where
// nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace photonrail::config
