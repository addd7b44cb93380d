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
  if (enabled_ && done_ > 0) fmt::print(stderr, "{}", kClearLine);
}

void Progress::advance(std::string_view what) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  ++done_;
  fmt::print(stderr, "{}[{}/{}] {}", kClearLine, done_, total_, what);
  std::fflush(stderr);
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace photonrail::report
