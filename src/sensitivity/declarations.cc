#include "sensitivity/declarations.h"

namespace photonrail::sensitivity {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_numbers(const std::string& text) {
  std::string shape;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool inside = is_digit(text[i]) || (text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1]));
    if (!inside) {
      shape += text[i];
    } else if (shape.empty() || shape.back() != '#') {
      shape += '#';
    }
  }
  return shape;
}

}  // namespace

void Declarations::add(std::string_view what, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [at, added] = said_.try_emplace({std::string(what), without_numbers(text)}, Said{text, false});
  if (added || at->second.text == text) return;
  at->second.differs = true;
  if (text < at->second.text) at->second.text = text;
}

std::vector<std::pair<std::string, std::string>> Declarations::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [key, said] : said_) {
    lines.emplace_back(key.first, said.differs ? said.text + "; other numbers at other points" : said.text);
  }
  return lines;
}

}  // namespace photonrail::sensitivity
