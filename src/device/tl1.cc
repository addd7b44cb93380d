#include "device/tl1.h"

#include <algorithm>
#include <array>
#include <utility>

#include "device/dialect_text.h"

namespace photonrail::device::tl1 {
namespace {

constexpr std::array<std::pair<Completion, const char*>, 5> kCompletions{{
    {Completion::complete, "COMPLD"},
    {Completion::deny, "DENY"},
    {Completion::partial, "PRTL"},
    {Completion::delayed, "DELAY"},
    {Completion::retrieve, "RTRV"},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Groups of digits of these lengths, with `separator` between: 26-12-01, 2026-12-01, 02:30:00.
bool is_stamp(std::string_view word, char separator) {
  constexpr std::size_t kGroups = 3;
  const auto groups = split_outside(word, separator, kGroups);
  if (!groups || groups->size() != kGroups) return false;
  return std::all_of(groups->begin(), groups->end(), [](std::string_view group) {
    const bool fits = group.size() == 2 || group.size() == 4;
    return fits && std::all_of(group.begin(), group.end(), is_digit);
  });
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  line = trimmed(line);
  while (!line.empty()) {
    const auto end = line.find_first_of(" \t");
    result.push_back(line.substr(0, end));
    line = end == std::string_view::npos ? std::string_view{} : trimmed(line.substr(end));
  }
  return result;
}

}  // namespace

const char* name(Completion completion) {
  for (const auto& [known, text] : kCompletions) {
    if (known == completion) return text;
  }
  return "DENY";
}

std::string Message::error_code() const {
  constexpr std::size_t kLength = 4;
  for (const std::string& line : lines) {
    const std::string_view word = std::string_view(line).substr(0, line.find_first_of(" ,/\t"));
    if (word.size() != kLength) continue;
    if (std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) return std::string(word);
  }
  return {};
}

std::string Message::text() const {
  std::string result;
  for (const std::string& line : lines) append_text(result, line);
  return result;
}

std::vector<std::string_view> Message::data() const {
  std::vector<std::string_view> result;
  for (const std::string& line : lines) {
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') result.push_back(unquoted(line));
  }
  return result;
}

void MessageReader::feed(std::string_view bytes) {
  for (const char c : bytes) consume(c);
}

std::optional<Message> MessageReader::next() {
  if (ready_.empty()) return std::nullopt;
  Message message = std::move(ready_.front());
  ready_.pop_front();
  return message;
}

void MessageReader::clear() { *this = MessageReader(); }

void MessageReader::consume(char c) {
  if (c == '\n' || c == '\r') return end_line();
  if (!quoted_ && c == ';') {
    end_line();
    if (state_ == State::body) return end_message();
    state_ = outer_ ? State::body : State::seek;
    return;
  }
  if (!quoted_ && c == '>' && state_ == State::body && trimmed(line_).empty()) return end_page();
  if (c == '"' && state_ == State::body && (line_.empty() || line_.back() != '\\')) quoted_ = !quoted_;
  if (line_.size() < kLineMax) line_ += c;
  else overlong_ = true;
}

void MessageReader::end_line() {
  const std::string line = std::exchange(line_, {});
  quoted_ = false;
  const bool overlong = std::exchange(overlong_, false);
  if (overlong && state_ != State::seek) return drop();
  const std::string_view text = trimmed(line);
  if (overlong || text.empty()) return;
  if (state_ == State::ident) return take_ident(text);
  if (take_header(line)) return;
  if (state_ != State::body) return;
  size_ += text.size();
  if (size_ > kMessageMax) return drop();
  current_.lines.emplace_back(text);
}

void MessageReader::drop() {
  ++dropped_;
  current_ = {};
  outer_.reset();
  pages_.reset();
  size_ = 0;
  state_ = State::seek;
}

// "   SID YY-MM-DD HH:MM:SS", possibly behind a prompt. In a body it begins an autonomous message that interrupts.
bool MessageReader::take_header(std::string_view line) {
  constexpr std::size_t kWordsMin = 2;
  if (state_ == State::body && line.find('"') != std::string_view::npos && trimmed(line).front() == '"') return false;
  const auto parts = words(line);
  if (parts.size() < kWordsMin || !is_stamp(parts[parts.size() - 2], '-') || !is_stamp(parts.back(), ':')) return false;
  std::string_view source = parts.size() > kWordsMin ? parts[parts.size() - 3] : std::string_view{};
  const auto prompt = source.find_last_of("><;");
  if (prompt != std::string_view::npos) source = source.substr(prompt + 1);
  if (state_ == State::body && !current_.autonomous) outer_ = std::move(current_);
  current_ = {};
  current_.source = unquoted(source);
  size_ = 0;
  state_ = State::ident;
  return true;
}

// "M  CTAG COMPLD" or "A  ATAG REPT ALM OCS".
void MessageReader::take_ident(std::string_view line) {
  const auto parts = words(line);
  const bool alarm = parts[0] == "A" || parts[0] == "*" || parts[0] == "**" || parts[0] == "*C";
  if (alarm && parts.size() > 2) {
    current_.autonomous = true;
    current_.tag = parts[1];
    current_.verb = trimmed(line.substr(static_cast<std::size_t>(parts[2].data() - line.data())));
    state_ = State::body;
    return;
  }
  const auto code = std::find_if(kCompletions.begin(), kCompletions.end(),
                                 [&](const auto& known) { return parts.size() > 2 && parts[2] == known.second; });
  if (parts[0] != "M" || code == kCompletions.end()) {  // no message at all
    state_ = State::seek;
    if (outer_) current_ = std::exchange(outer_, std::nullopt).value_or(Message{});
    if (!current_.tag.empty()) state_ = State::body;
    else take_header(line);
    return;
  }
  outer_.reset();  // the response before it has lost its end
  current_.tag = parts[1];
  current_.completion = code->first;
  if (pages_ && pages_->tag == current_.tag) {
    current_.lines = std::move(pages_->lines);
    for (const std::string& text : current_.lines) size_ += text.size();
  }
  pages_.reset();
  state_ = State::body;
}

void MessageReader::end_page() {
  line_.clear();
  if (current_.autonomous) return;
  pages_ = std::move(current_);
  current_ = {};
  state_ = State::seek;
}

void MessageReader::end_message() {
  if (!current_.autonomous && current_.completion == Completion::retrieve) return end_page();
  ready_.push_back(std::exchange(current_, Message{}));
  size_ = 0;
  state_ = State::seek;
  if (!outer_) return;
  current_ = std::move(*outer_);
  outer_.reset();
  for (const std::string& text : current_.lines) size_ += text.size();
  state_ = State::body;
}

std::optional<Request> parse_request(std::string_view text) {
  constexpr std::size_t kBlocksMax = 16;
  text = trimmed(text);
  const auto parts = split_outside(text, ':', kBlocksMax);
  if (!parts || text.empty()) return std::nullopt;
  Request request;
  request.verb = upper_case(trimmed(parts->front()));
  const bool is_verb = !request.verb.empty() && std::all_of(request.verb.begin(), request.verb.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-';
  });
  if (!is_verb) return std::nullopt;
  const auto part = [&](std::size_t i) { return i < parts->size() ? trimmed((*parts)[i]) : std::string_view{}; };
  request.target = unquoted(part(1));
  request.access = part(2);
  request.tag = part(3).empty() ? "0" : part(3);
  for (std::size_t i = 4; i < parts->size(); ++i) request.blocks.emplace_back(part(i));
  return request;
}

void RequestReader::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '"') quoted_ = !quoted_;
    const bool ends = c == ';' && !quoted_;
    if (!ends) {
      if (current_.size() < kRequestMax) current_ += c;
      else overlong_ = true;
      if (overlong_) quoted_ = false;  // an open quote must not swallow the stream for good
      continue;
    }
    ready_.push_back(overlong_ ? std::string{} : current_);
    current_.clear();
    overlong_ = false;
  }
}

std::optional<std::string> RequestReader::next() {
  if (ready_.empty()) return std::nullopt;
  std::string text = std::move(ready_.front());
  ready_.pop_front();
  return text;
}

std::optional<std::string_view> field(std::string_view line, std::string_view key) {
  std::size_t from = 0;
  while (from <= line.size()) {
    const auto end = std::min(line.find_first_of(",:", from), line.size());
    const std::string_view part = trimmed(line.substr(from, end - from));
    if (part.size() > key.size() && part[key.size()] == '=' && equal_words(part.substr(0, key.size()), key)) {
      return trimmed(part.substr(key.size() + 1));
    }
    from = end + 1;
  }
  return std::nullopt;
}

std::optional<std::vector<std::uint32_t>> parse_numbers(std::string_view text, std::uint32_t max, std::size_t limit) {
  std::vector<std::uint32_t> result;
  const auto parts = split_outside(text, '&', 2 * limit + 1);
  if (!parts) return std::nullopt;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const bool range = (*parts)[i].empty();  // between the two signs of "&&"
    if (range && (i == 0 || result.empty() || ++i >= parts->size())) return std::nullopt;
    const auto number = parse_natural(trimmed((*parts)[i]), max);
    if (!number || *number == 0) return std::nullopt;
    const std::uint32_t first = range ? result.back() + 1 : *number;
    if (range && *number < result.back()) return std::nullopt;
    for (std::uint32_t n = first; n <= *number; ++n) {
      if (result.size() >= limit) return std::nullopt;
      result.push_back(n);
    }
  }
  return result;
}

}  // namespace photonrail::device::tl1
