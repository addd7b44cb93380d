// Checks for what only a bug can cause; always on. What users, files or devices can cause is a Result (result.h).
#pragma once

namespace photonrail {

// Prints the place and the message to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);

}  // namespace photonrail

#define PR_CHECK(condition, message)                                              \
  do {                                                                            \
    if (!(condition)) ::photonrail::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)
