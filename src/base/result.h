// Result<T>: a value, or an Error that users, files or devices can cause. Constructors never fail; use a make function.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace photonrail {

// What kind of failure it is; the command line maps each to an exit status (README of src/cli).
enum class ErrorCode {
  usage,          // a command line that cannot be understood
  invalid_input,  // a scenario, trace or table that is refused
  io,             // a file or directory that cannot be read or written
  infeasible,     // well-formed, but it cannot be done: too few ports, too little memory
  deadlock,       // a simulated program or admission rule that can never finish
  incomplete,     // the result was given, but parts of it were refused
};

// A failure with everything that a user needs to mend it.
struct Error {
  ErrorCode code = ErrorCode::invalid_input;
  std::string message;  // full text, may span lines: where (file:line:column when known), what, and a hint
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace photonrail

// Returns the error of a Status or Result from the enclosing function.
#define PR_TRY(expression)                                                    \
  do {                                                                        \
    if (auto pr_status = (expression); !pr_status) return ::photonrail::fail(std::move(pr_status.error())); \
  } while (false)

#define PR_CONCAT_INNER(a, b) a##b
#define PR_CONCAT(a, b) PR_CONCAT_INNER(a, b)
// Declares `declaration` with the value of a Result, or returns its error from the enclosing function.
#define PR_ASSIGN(declaration, expression) PR_ASSIGN_IMPL(PR_CONCAT(pr_result_, __LINE__), declaration, expression)
#define PR_ASSIGN_IMPL(name, declaration, expression)        \
  auto name = (expression);                                  \
  if (!name) return ::photonrail::fail(std::move(name.error())); \
  declaration = std::move(*name)
