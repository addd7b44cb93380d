#include "report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace photonrail::report {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "{}", kClearLine);
}

void Progress::show(std::size_t done, std::size_t total, std::string_view what) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  shown_ = true;
  const std::string of = total > 0 ? fmt::format("/{}", total) : "";
  fmt::print(stderr, "{}[{}{}] {}", kClearLine, done, of, what);
  std::fflush(stderr);
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace photonrail::report
