// Standard output, standard error and exit statuses.
#pragma once

#include <string_view>

#include "base/result.h"
#include "report/render.h"

namespace photonrail::cli {

// Exit statuses; README.md of this folder lists them for users.
enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,  // a defect of the program, or rows of the result were refused
  kUsage = 2,
  kInvalidInput = 3,
  kInfeasible = 4,  // or deadlock
  kIo = 5,
};

ExitStatus exit_status(ErrorCode code);

// Writes all of `text` to standard output. io when that fails (a full disk, a closed pipe).
Status print(std::string_view text);

// "photonrail: error: ..." on standard error.
void print_error(const Error& error);
void print_warnings(std::string_view text);  // as they are, on standard error

// Style of standard output: colour on a terminal without NO_COLOR.
report::TextStyle output_style();

// 0 means as many as the machine has.
unsigned thread_count(unsigned wanted);

}  // namespace photonrail::cli
