// Who calls, and whether they may: the check in front of every method. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core_host.h"

namespace photonrail::runtime {

// Metadata by which a client says who it is where there is no TLS to prove it (loopback only).
inline constexpr const char* kIdentityMetadata = "photonrail-identity";
// Trailing metadata: the number under which log and audit know the call.
inline constexpr const char* kRequestMetadata = "photonrail-request";

struct Caller {
  daemon::Identity identity;
  std::string peer;         // address, for logs
  std::string certificate;  // PEM; empty without TLS
  std::optional<std::chrono::system_clock::time_point> certificate_ends;
};

class Access {
 public:
  Access(std::string site, bool plaintext, CoreHost& host, Log& log)
      : site_(std::move(site)), plaintext_(plaintext), host_(host), log_(log) {}

  // The caller, or why not: UNAUTHENTICATED without an identity, PERMISSION_DENIED where its role does not allow the
  // method. Both are audited.
  struct Verdict {
    grpc::Status status;
    Caller caller;
  };
  Verdict check(const grpc::CallbackServerContext& context, const std::string& method) const;

  // For refusals that are found later, with the name of the rule that was broken.
  void refuse(const Caller& caller, const std::string& action, const std::string& detail) const;

 private:
  Result<daemon::Identity> identify(const grpc::CallbackServerContext& context) const;

  const std::string site_;
  const bool plaintext_;
  CoreHost& host_;
  Log& log_;
};

}  // namespace photonrail::runtime
