// The gRPC server of the daemon: mutual TLS (or plaintext, on loopback alone), limits, health, reflection.
// Certificates are read again when their files change; nobody is disconnected by that but who is not trusted any more.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/core_host.h"
#include "runtime/operator_service.h"
#include "runtime/rank_service.h"
#include "runtime/server_spec.h"

namespace photonrail::runtime {

class GrpcServer {
 public:
  static Result<std::unique_ptr<GrpcServer>> listen(const GrpcSpec& spec, RankService& ranks,
                                                    OperatorService& operators);
  ~GrpcServer();
  int port() const;
  void set_serving(bool serving);  // grpc.health.v1, for "" and both services
  void stop(Duration grace);       // no new calls; those in progress have `grace`

 private:
  struct Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// gRPC's own messages (failed handshakes among them) as lines of the log. For the life of the process.
void log_grpc_to(Log& log);

}  // namespace photonrail::runtime
