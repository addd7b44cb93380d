// The whole daemon: reads its journal, brings everything up, runs until SIGTERM or SIGINT, and goes down in order.
//
// Start: journal -> core -> gRPC, HTTP, switches -> leading. Nothing is granted before the switches are read and every
// rank that may be alive has come back or lost its lease (core.h). Stop: not serving, then the core steps down and
// every rank is told, then the servers, then the journal. Circuits stay. SIGHUP: the log level is taken from the file,
// authorities are looked at again; what else changed is told in the log and needs a restart. Certificates are read
// again whenever their files change.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/log.h"

namespace photonrail::runtime {

struct DaemonOptions {
  std::string config;  // path
  std::string version;
};

// Call it on the main thread before others run: it blocks the signals that it waits for. Returns when the daemon has
// stopped; an error where it could not start, or had to give up (its journal failed).
Status run_daemon(const DaemonOptions& options);

}  // namespace photonrail::runtime
