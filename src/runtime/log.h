// Structured log: one JSON object a line, {"time","level","event",...}, on a file descriptor (standard error).
//
//   log.write(Log::Level::info, "stream opened", {{"who", identity.name}, {"request", id}});
//
// A flood from outside must not fill disks: beyond kBurst lines in a second the rest of that second is counted and told
// in one line ("suppressed"). Errors are always written. Secrets are never handed to it: no field holds a credential.
// Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"

namespace photonrail::runtime {

class Log {
 public:
  enum class Level : std::uint8_t { debug, info, warning, error };
  static constexpr unsigned kBurst = 200;

  struct Field {
    std::string key;
    std::string text;
    bool quoted = true;
    Field(std::string_view k, std::string_view value) : key(k), text(value) {}
    Field(std::string_view k, const char* value) : key(k), text(value) {}
    Field(std::string_view k, std::uint64_t value) : key(k), text(std::to_string(value)), quoted(false) {}
  };

  explicit Log(int file, Level threshold = Level::info) : file_(file), threshold_(threshold) {}
  void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});
  void write(Level level, std::string_view event, const std::vector<Field>& fields);
  void set_threshold(Level level);

 private:
  void emit(Level level, std::string_view event, const Field* fields, std::size_t count);
  void put(const std::string& line) const;

  int file_;
  std::mutex mutex_;
  Level threshold_;
  Instant second_{};      // when the current second of counting began
  unsigned written_ = 0;  // in it
  std::uint64_t suppressed_ = 0;
};

const char* name(Log::Level level);

// The text as a JSON string, with quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

}  // namespace photonrail::runtime
