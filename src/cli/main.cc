#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/output.h"

int main(int argc, char** argv) {
  using namespace photonrail;
  const auto parsed = cli::parse_command_line(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  const Status done = std::visit([](const auto& options) { return cli::run(options); }, std::get<cli::Command>(parsed));
  if (done) return cli::kDone;
  cli::print_error(done.error());
  return cli::exit_status(done.error().code);
}
