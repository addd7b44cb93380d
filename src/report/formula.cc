#include "report/formula.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace photonrail::report {
namespace {

constexpr int kMaxDepth = 64;  // of parentheses; formulas also come from files

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

// Recursive descent. A value that is missing stays missing (nullopt) while parsing goes on; `valid` tells about syntax.
class Parser {
 public:
  Parser(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  std::optional<double> run() {
    std::optional<double> value = expression(0);
    skip_spaces();
    if (at_ != text_.size()) valid_ = false;
    return valid_ ? value : std::nullopt;
  }
  bool valid() const { return valid_; }

 private:
  std::optional<double> expression(int depth) {
    std::optional<double> value = term(depth);
    while (valid_) {
      const char op = peek();
      if (op != '+' && op != '-') break;
      ++at_;
      value = combine(op, value, term(depth));
    }
    return value;
  }

  std::optional<double> term(int depth) {
    std::optional<double> value = factor(depth);
    while (valid_) {
      const char op = peek();
      if (op != '*' && op != '/') break;
      ++at_;
      value = combine(op, value, factor(depth));
    }
    return value;
  }

  std::optional<double> factor(int depth) {
    const char c = peek();
    if (depth > kMaxDepth) return broken();
    if (starts_name(c)) return name();
    if (is_digit(c)) return number();
    if (c != '-' && c != '(') return broken();
    ++at_;
    if (c == '-') return combine('-', 0.0, factor(depth + 1));
    const std::optional<double> value = expression(depth + 1);
    if (peek() != ')') return broken();
    ++at_;
    return value;
  }

  std::optional<double> name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return lookup_(text_.substr(start, at_ - start));
  }

  std::optional<double> number() {
    double value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc()) return broken();
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  static std::optional<double> combine(char op, std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return std::nullopt;
    if (op == '+') return *a + *b;
    if (op == '-') return *a - *b;
    if (op == '*') return *a * *b;
    if (std::fpclassify(*b) == FP_ZERO) return std::nullopt;
    return *a / *b;
  }

  std::optional<double> broken() {
    valid_ = false;
    return std::nullopt;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string_view text_;
  const Lookup& lookup_;
  std::size_t at_ = 0;
  bool valid_ = true;
};

}  // namespace

std::optional<double> evaluate(std::string_view formula, const Lookup& lookup) { return Parser(formula, lookup).run(); }

bool formula_is_valid(std::string_view formula) {
  const Lookup one = [](std::string_view) { return std::optional<double>(1.0); };
  Parser parser(formula, one);
  parser.run();
  return parser.valid();
}

std::vector<std::string> names_in(std::string_view formula) {
  std::vector<std::string> names;
  const Lookup collect = [&names](std::string_view name) -> std::optional<double> {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    return 1.0;
  };
  Parser(formula, collect).run();
  return names;
}

}  // namespace photonrail::report
