// What `photonrail ctl` is asked for. Filled by command_line.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace photonrail::cli {

struct CtlOptions {
  enum class Action : std::uint8_t {
    status, circuits, jobs, plan, submit, end, drain, undrain, quarantine, maintenance, history, watch, probe, bundle,
    make_certificates, emulate_ranks,
  } action = Action::status;
  bool json = false;

  // How to reach the daemon; each also from PHOTONRAIL_ADDRESS, ..._CERTIFICATE, ..._KEY, ..._AUTHORITY, ..._IDENTITY.
  std::string address = "127.0.0.1:7443";
  std::string certificates;                     // directory of make-certificates; with `as`
  std::string as = "operator";
  std::string certificate, key, authority, server_name, identity;
  bool plaintext = false;
  double timeout_seconds = 10;

  std::string target;                           // of the action: a job, file, port, switch or directory
  std::uint64_t epoch = 0;                      // of a job to end; 0: the running one
  std::string reason;
  bool over = false;                            // maintenance: end it
  std::string job, text;                        // history: only of this job; only with this text
  unsigned limit = 100;
  std::string dialect, user, password_file;     // probe: not through the daemon, but straight to an address

  std::string site = "trial";                   // make-certificates
  std::vector<std::string> hosts, cert_jobs;
  unsigned ranks = 0, days = 30;

  double seconds = 10;                          // emulate-ranks: how long
  unsigned gang = 0, per_stream = 1;
  double run_ms = 10, pause_ms = 50;
  bool own_connections = false;
};

}  // namespace photonrail::cli
