#include "runtime/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/clock.h"

namespace photonrail::runtime {
namespace {

// Bytes of the UTF-8 character that begins at `at`; 0 where none does.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(at + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned second = byte(at + 1);
    const bool good = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F);
    return good && follows(at + 1) && follows(at + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned second = byte(at + 1);
    const bool good = !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
    return good && follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

const char* name(Log::Level level) {
  switch (level) {
    case Log::Level::debug: return "debug";
    case Log::Level::info: return "info";
    case Log::Level::warning: return "warning";
    case Log::Level::error: return "error";
  }
  return "?";
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length > 1) {
      out += text.substr(i, length);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
    i += length == 0 ? 1 : length;
  }
  return out + '"';
}

void Log::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  emit(level, event, fields.begin(), fields.size());
}

void Log::write(Level level, std::string_view event, const std::vector<Field>& fields) {
  emit(level, event, fields.data(), fields.size());
}

void Log::set_threshold(Level level) {
  const std::lock_guard lock(mutex_);
  threshold_ = level;
}

void Log::emit(Level level, std::string_view event, const Field* fields, std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (level < threshold_) return;
  const Instant at = now();
  if (at - second_ >= std::chrono::seconds(1)) {
    if (suppressed_ > 0) {
      put(fmt::format("{{\"time\":\"{}\",\"level\":\"warning\",\"event\":\"suppressed\",\"lines\":{}}}\n", wall_time(),
                      suppressed_));
    }
    second_ = at;
    written_ = 0;
    suppressed_ = 0;
  }
  if (level != Level::error && ++written_ > kBurst) {
    ++suppressed_;
    return;
  }
  std::string line =
      fmt::format("{{\"time\":\"{}\",\"level\":\"{}\",\"event\":{}", wall_time(), name(level), json_text(event));
  for (const Field* field = fields; field != fields + count; ++field) {
    line += fmt::format(",{}:{}", json_text(field->key), field->quoted ? json_text(field->text) : field->text);
  }
  put(line + "}\n");
}

void Log::put(const std::string& line) const {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nowhere to tell it
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace photonrail::runtime
