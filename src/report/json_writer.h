// Writes JSON in the order in which it is told, so that equal reports give equal bytes. Numbers are the shortest that
// read back to the same double; a number that is not finite becomes null. Not thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace photonrail::report {

class JsonWriter {
 public:
  // A compact object or array stays on one line with everything in it.
  void begin_object(bool compact = false) { begin('{', '}', compact); }
  void begin_array(bool compact = false) { begin('[', ']', compact); }
  void end();
  void key(std::string_view name);
  void text(std::string_view value);
  void number(std::optional<double> value);
  void integer(std::int64_t value);
  void unsigned_integer(std::uint64_t value);
  void boolean(bool value);
  void null();

  void field(std::string_view name, std::string_view value) { key(name), text(value); }
  void field(std::string_view name, std::optional<double> value) { key(name), number(value); }

  // The finished text, with a newline at the end. Everything begun must have been ended.
  std::string take();

 private:
  struct Level {
    char close;
    bool compact;
    bool empty;
  };
  void begin(char open, char close, bool compact);
  void before_value();
  void separate();
  void raw(std::string_view value);

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// JSON string literal, quotes included. Bytes that are not UTF-8 are passed on as they are.
std::string json_quoted(std::string_view text);

}  // namespace photonrail::report
