#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "runtime/config.h"
#include "runtime/daemon.h"

namespace {

using photonrail::ErrorCode;

constexpr const char* kHelp =
    R"(usage: photonraild CONFIG            run, in the foreground; logs as JSON lines on standard error
       photonraild --check CONFIG    say whether the configuration is good, and stop
       photonraild --show CONFIG     the whole configuration, defaults included, with the origin of each value
       photonraild --schema          every field, as JSON Schema
       photonraild --reference       every field, as a page
       photonraild --version | --help

The controller of optical circuit switches: ranks of jobs and operators connect over gRPC with mutual TLS.
To begin with: photonrail ctl make-certificates DIR; photonrail ctl --help. Signals: SIGTERM and SIGINT stop in order,
SIGHUP reads the log level again. Circuits stay as they are when the daemon stops.

Exit status: 0 stopped when asked to, 2 command line, 3 configuration refused, 4 cannot be done, 5 files or addresses.
)";

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return 2;
    case ErrorCode::invalid_input: return 3;
    case ErrorCode::infeasible:
    case ErrorCode::deadlock: return 4;
    case ErrorCode::io: return 5;
    case ErrorCode::incomplete: return 1;
  }
  return 1;
}

int failed(const photonrail::Error& error) {
  std::fprintf(stderr, "photonraild: error: %s\n", error.message.c_str());
  return exit_status(error.code);
}

int wrong_usage(const char* what) {
  std::fprintf(stderr, "photonraild: error: %s\n%s", what, kHelp);
  return exit_status(ErrorCode::usage);
}

int print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return written ? 0 : failed({ErrorCode::io, "cannot write to standard output"});
}

constexpr const char* kTitle = "photonraild";
constexpr const char* kAbout = "Configuration of the controller of optical circuit switches.";

int inspect(const std::string& path, bool show) {
  const auto config = photonrail::runtime::load_config(path);
  if (!config) return failed(config.error());
  const auto core = photonrail::runtime::core_spec(config->value);  // reads the files of passwords
  if (!core) return failed(core.error());
  if (show) return print(photonrail::config::show_document(*config));
  return print(path + ": good\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto is = [&](std::string_view word) { return !words.empty() && words[0] == word; };
  const photonrail::runtime::DaemonConfig defaults;
  if (is("--help") || is("-h")) return print(kHelp);
  if (is("--version")) return print("photonraild " PHOTONRAIL_VERSION "\n");
  if (is("--schema")) return print(photonrail::config::document_schema(defaults, kTitle, kAbout));
  if (is("--reference")) return print(photonrail::config::document_reference(defaults, kTitle, kAbout));
  if (is("--check") || is("--show")) {
    if (words.size() != 2) return wrong_usage("one configuration file is wanted");
    return inspect(words[1], is("--show"));
  }
  if (words.size() != 1 || words[0].starts_with("-")) return wrong_usage("one configuration file is wanted");
  const auto done = photonrail::runtime::run_daemon({words[0], PHOTONRAIL_VERSION});
  return done ? 0 : failed(done.error());
}
