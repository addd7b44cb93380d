#include "cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "report/progress.h"

namespace photonrail::cli {

ExitStatus exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return kUsage;
    case ErrorCode::invalid_input: return kInvalidInput;
    case ErrorCode::infeasible:
    case ErrorCode::deadlock: return kInfeasible;
    case ErrorCode::io: return kIo;
    case ErrorCode::incomplete: return kFailed;
  }
  return kFailed;
}

Status print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return {};
  return fail(ErrorCode::io, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void print_error(const Error& error) {
  std::string text = error.message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  fmt::print(stderr, "photonrail: error: {}\n", text);
}

void print_warnings(std::string_view text) { fmt::print(stderr, "{}", text); }

report::TextStyle output_style() {
  report::TextStyle style;
  style.colour = report::colour_wanted();
  return style;
}

unsigned thread_count(unsigned wanted) {
  return wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace photonrail::cli
