#include "device/dialect_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace photonrail::device {
namespace {

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view leading_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return text.substr(0, n);
}

constexpr std::uint32_t kPortsMax = 32767;  // of one side; both sides fit one 16-bit number space

// "24x24" or "32xCC", the whole of it.
std::optional<ModelSize> size_in_part(std::string_view part) {
  const std::string_view first = leading_digits(part);
  const auto inputs = parse_natural(first, kPortsMax);
  part.remove_prefix(first.size());
  if (!inputs || *inputs == 0 || part.empty() || upper(part.front()) != 'X') return std::nullopt;
  part.remove_prefix(1);
  ModelSize size;
  size.inputs = static_cast<Position>(*inputs);
  size.outputs = size.inputs;
  size.symmetric = equal_words(part, "CC");
  if (size.symmetric) return size;
  const auto outputs = parse_natural(part, kPortsMax);
  if (!outputs || *outputs == 0) return std::nullopt;
  size.outputs = static_cast<Position>(*outputs);
  return size;
}

}  // namespace

std::string shown_text(std::string_view raw, std::string_view secret) {
  std::string text(raw.substr(0, kDeviceTextMax + secret.size()));
  if (!secret.empty()) {
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), secret.size(), '*');
    }
  }
  if (text.size() > kDeviceTextMax) text.resize(kDeviceTextMax);
  return text;
}

void append_text(std::string& text, std::string_view more) {
  if (!text.empty() && text.size() < kDeviceTextMax) text += '\n';
  text += more.substr(0, kDeviceTextMax - std::min(kDeviceTextMax, text.size()));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), upper);
  return result;
}

bool equal_words(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return upper(x) == upper(y); });
}

bool contains_word(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](char x, char y) { return upper(x) == upper(y); }) != text.end();
}

std::optional<std::uint32_t> parse_natural(std::string_view text, std::uint32_t max) {
  if (text.empty() || text.size() > 10 || leading_digits(text).size() != text.size()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  if (value > max) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::optional<double> parse_decimal(std::string_view text) {
  constexpr std::size_t kLengthMax = 32;
  if (text.empty() || text.size() > kLengthMax) return std::nullopt;
  if (text.find_first_not_of("+-.0123456789") != std::string_view::npos) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string two_decimals(double value) { return fmt::format("{:.2f}", value); }

std::optional<std::vector<std::string_view>> split_outside(std::string_view text, char separator, std::size_t limit,
                                                           bool brackets) {
  std::vector<std::string_view> pieces;
  bool quoted = false;
  std::size_t depth = 0, from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (brackets && c == '(') ++depth;
    if (brackets && c == ')' && depth > 0) --depth;
    if (c != separator || depth > 0) continue;
    if (pieces.size() + 1 >= limit) return std::nullopt;
    pieces.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  pieces.push_back(text.substr(from));
  return pieces;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
  return text.substr(1, text.size() - 2);
}

std::optional<ModelSize> size_in_model(std::string_view model) {
  constexpr std::size_t kPartsMax = 64;
  const auto parts = split_outside(model, '-', kPartsMax);
  if (!parts) return std::nullopt;
  for (const std::string_view part : *parts) {
    if (const auto size = size_in_part(part)) return size;
  }
  return std::nullopt;
}

Outcome outcome_of_pairs(const std::vector<Outcome>& pairs) {
  Outcome worst = Outcome::applied;
  for (const Outcome pair : pairs) worst = std::max(worst, pair);
  const bool all_refused = std::all_of(pairs.begin(), pairs.end(), [](Outcome o) { return o == Outcome::rejected; });
  return worst == Outcome::rejected && !all_refused ? Outcome::failed : worst;
}

void LineReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? bytes.size() : end + 1);
    bytes.remove_prefix(piece.size());
    const std::size_t open = pending_.size() - scanned_;
    if (!dropping_ && open + piece.size() > line_max_) {
      pending_.resize(scanned_);
      dropping_ = true;
      ++dropped_;
    }
    if (!dropping_) pending_ += piece;
    if (end == std::string_view::npos) return;
    dropping_ = false;
    scanned_ = pending_.size();
  }
}

std::optional<std::string> LineReader::next() {
  const auto end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  scanned_ -= end + 1;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

void LineReader::clear() {
  pending_.clear();
  scanned_ = 0;
  dropped_ = 0;
  dropping_ = false;
}

}  // namespace photonrail::device
