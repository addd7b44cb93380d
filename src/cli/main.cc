#include <new>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace {

// The one exception that is caught: a question may simply be too large for the machine.
photonrail::Status run(const photonrail::cli::Command& command) {
  using namespace photonrail;
  try {
    return std::visit([](const auto& options) { return cli::run(options); }, command);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::infeasible,
                "not enough memory for this; fewer GPUs, cases or threads (--threads 1) need less");
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace photonrail;
  const auto parsed = cli::parse_command_line(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  const Status done = run(std::get<cli::Command>(parsed));
  if (done) return cli::kDone;
  cli::print_error(done.error());
  return cli::exit_status(done.error().code);
}
