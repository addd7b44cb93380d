// X.509: certificates for trials, and what the daemon wants to know of its clients' ones.
// `make_certificates` writes files; the others are pure. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::security {

struct CertificatesSpec {
  std::string directory;
  std::string site = "trial";
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};  // names and addresses of the daemon
  std::vector<std::string> jobs;                                       // a node agent's certificate for each
  unsigned ranks = 0;                                                  // of each job: also one for each rank
  std::chrono::hours valid = std::chrono::hours(24 * 30);
};

// Writes ca.crt and ca.key (those that are there already are used again), and NAME.crt and NAME.key signed by it for:
// daemon, operator, scheduler, viewer, job-ID, job-ID-rank-N. Keys: EC P-256, readable by their owner alone.
// Returns the names of the files written. Not for production: the key of the authority lies beside what it signed.
Result<std::vector<std::string>> make_certificates(const CertificatesSpec& spec);

// When the first certificate of a PEM text ends; nothing where it cannot be read.
std::optional<std::chrono::system_clock::time_point> not_after(std::string_view pem);

// Whether the first certificate of `pem`, with the others as intermediates, is signed by one of `roots` and in time.
bool chains_to(std::string_view pem, std::string_view roots);

}  // namespace photonrail::security
