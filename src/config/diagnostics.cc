#include "config/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"

namespace photonrail::config {
namespace {

constexpr std::size_t kShownColumns = 120;  // longest piece of a source line that is quoted

// Code points of line `number` of `text`; control characters and broken UTF-8 become '?', a tab one space.
std::vector<std::string> characters_of_line(std::string_view text, std::uint32_t number) {
  for (std::uint32_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  std::vector<std::string> characters;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    bool good =
        length != 0 && i + length <= text.size() && lead != 0x7F && lead <= 0xF4 && (lead >= 0x20 || lead == '\t');
    for (std::size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    characters.push_back(!good ? "?" : lead == '\t' ? " " : std::string(text.substr(i, length)));
    i += good ? length : 1;
  }
  return characters;
}

std::string folded(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

SourceId Diagnostics::add_source(std::string name, std::string text, SourceKind kind) {
  sources_.push_back({std::move(name), std::move(text), kind});
  return static_cast<SourceId>(sources_.size() - 1);
}

bool Diagnostics::has_error_at(Span span) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const Span& at = entry.span;
    return at.known() && at.source == span.source && at.line == span.line && at.column == span.column;
  });
}

void Diagnostics::add(const char* severity, Span span, std::string message, std::string hint) {
  if (!full()) entries_.push_back({severity, span, std::move(message), std::move(hint), {}});
}

void Diagnostics::error(Span span, std::string message, std::string hint) {
  ++error_count_;
  add("error", span, std::move(message), std::move(hint));
}

void Diagnostics::warning(Span span, std::string message, std::string hint) {
  add("warning", span, std::move(message), std::move(hint));
}

void Diagnostics::note(Span span, std::string message) {
  if (!entries_.empty() && error_count_ <= kEntriesMax) entries_.back().notes.push_back({span, std::move(message)});
}

std::string Diagnostics::place_text(Span span) const {
  if (!span.known()) return "default";
  const Source& source = sources_[span.source];
  return source.kind == SourceKind::option ? source.name : fmt::format("{}:{}", source.name, span.line);
}

void Diagnostics::show_line(std::string& out, Span span) const {
  const std::vector<std::string> characters = characters_of_line(sources_[span.source].text, span.line);
  const std::size_t column = std::max<std::size_t>(span.column, 1) - 1;
  const std::size_t first = column < kShownColumns ? 0 : column - kShownColumns / 2;
  const std::size_t last = std::min(characters.size(), first + kShownColumns);
  const bool is_file = sources_[span.source].kind == SourceKind::file;
  out += is_file ? fmt::format("{:5} | ", span.line) : std::string("      | ");
  if (first > 0) out += "...";
  for (std::size_t i = first; i < last; ++i) out += characters[i];
  if (last < characters.size()) out += "...";
  const std::size_t end = span.end_column == 0 ? characters.size() : span.end_column - 1;
  const std::size_t shown_end = std::min(end, last);
  out += "\n      | " + std::string(column - first + (first > 0 ? 3 : 0), ' ') + "^";
  if (shown_end > column + 1) out += std::string(shown_end - column - 1, '~');
  out += '\n';
}

void Diagnostics::show(std::string& out, const char* severity, Span span, const std::string& message) const {
  if (!span.known()) {
    const std::string where = sources_.empty() ? std::string() : sources_.front().name + ": ";
    out += fmt::format("{}{}: {}\n", where, severity, message);
    return;
  }
  const Source& source = sources_[span.source];
  out += source.kind == SourceKind::option
             ? fmt::format("{} {}: {}: {}\n", source.name, source.text, severity, message)
             : fmt::format("{}:{}:{}: {}: {}\n", source.name, span.line, span.column, severity, message);
  show_line(out, span);
}

std::string Diagnostics::text() const {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    // What has no place concerns the whole input and comes last.
    if (a->span.known() != b->span.known()) return a->span.known();
    if (a->span.source != b->span.source) return a->span.source < b->span.source;
    if (a->span.line != b->span.line) return a->span.line < b->span.line;
    if (a->span.column != b->span.column) return a->span.column < b->span.column;
    return a < b;  // in the order of entries_
  });
  std::string out;
  for (const Entry* entry : order) {
    show(out, entry->severity, entry->span, entry->message);
    if (!entry->hint.empty()) out += fmt::format("      = hint: {}\n", entry->hint);
    for (const Note& note : entry->notes) show(out, "note", note.span, note.message);
  }
  if (error_count_ > 1) out += fmt::format("{} errors\n", error_count_);
  return out;
}

Error Diagnostics::to_error() const {
  std::string message = text();
  if (!message.empty()) message.pop_back();
  return {ErrorCode::invalid_input, std::move(message)};
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  if (word.size() > 64) return best;
  for (const std::string_view candidate : candidates) {
    const bool same = folded(word) == folded(candidate);
    const std::size_t distance = same ? 0 : edit_distance(word, candidate);
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kSuggestions = 5;
  constexpr std::size_t kTellingLetters = 2;  // below it, containing a word says nothing
  const std::string wanted = folded(word);
  const std::string_view near = nearest(word, candidates);
  std::vector<std::string_view> found;
  if (!near.empty()) found.push_back(near);
  for (const bool begins : {true, false}) {
    for (const std::string_view candidate : candidates) {
      const std::size_t at = wanted.size() < kTellingLetters ? std::string::npos : folded(candidate).find(wanted);
      const bool fits = begins ? at == 0 : at != std::string::npos && at > 0;
      const bool told = std::find(found.begin(), found.end(), candidate) != found.end();
      if (fits && !told && found.size() < kSuggestions) found.push_back(candidate);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == found.size() ? " or " : ", ", found[i]);
  }
  return text.empty() ? text : "; did you mean " + text + "?";
}

}  // namespace photonrail::config
