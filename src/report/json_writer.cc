#include "report/json_writer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "report/human.h"

namespace photonrail::report {

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

void JsonWriter::begin(char open, char close, bool compact) {
  before_value();
  const bool inherited = !levels_.empty() && levels_.back().compact;
  levels_.push_back({close, compact || inherited, true});
  out_ += open;
}

void JsonWriter::end() {
  PR_CHECK(!levels_.empty(), "JSON ended more often than begun");
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.compact) {
    out_ += '\n';
    out_.append(levels_.size() * 2, ' ');
  }
  out_ += level.close;
}

void JsonWriter::separate() {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += level.compact ? ", " : ",";
  if (!level.compact) {
    out_ += '\n';
    out_.append(levels_.size() * 2, ' ');
  }
  level.empty = false;
}

void JsonWriter::before_value() {
  if (!after_key_) separate();
  after_key_ = false;
}

void JsonWriter::key(std::string_view name) {
  separate();
  out_ += json_quoted(name) + ": ";
  after_key_ = true;
}

void JsonWriter::raw(std::string_view value) {
  before_value();
  out_ += value;
}

void JsonWriter::text(std::string_view value) { raw(json_quoted(value)); }
void JsonWriter::number(std::optional<double> value) { raw(value ? exact(*value) : "null"); }
void JsonWriter::integer(std::int64_t value) { raw(fmt::format("{}", value)); }
void JsonWriter::unsigned_integer(std::uint64_t value) { raw(fmt::format("{}", value)); }
void JsonWriter::boolean(bool value) { raw(value ? "true" : "false"); }
void JsonWriter::null() { raw("null"); }

std::string JsonWriter::take() {
  PR_CHECK(levels_.empty(), "JSON begun more often than ended");
  return std::move(out_) + "\n";
}

}  // namespace photonrail::report
