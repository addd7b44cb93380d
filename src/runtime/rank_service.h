// Ranks.Attach: streams of ranks and node agents, on gRPC's callback API.
// Writing: while one frame is on its way, messages for the stream gather in the next. A client that does not read is
// closed when more than `messages_waiting` have gathered. Reading: at most kReadAhead frames are ahead of the core.
#pragma once

#include <photonrail/control/v1/control.grpc.pb.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/access.h"
#include "runtime/server_spec.h"

namespace photonrail::runtime {

class RankStream;

class RankService final : public control::v1::Ranks::CallbackService {
 public:
  RankService(CoreHost& host, const Access& access, RankLimits limits, Metrics& metrics, Log& log);
  ~RankService() override;

  grpc::ServerBidiReactor<control::v1::RankFrame, control::v1::DaemonFrame>* Attach(
      grpc::CallbackServerContext* context) override;

  // Ends streams whose certificate is over, or is not signed by `roots` any more (empty: not looked at), and streams
  // that never said Hello. Called every second.
  void sweep(const std::string& roots);
  void close_all(const std::string& why);  // and refuses new ones

 private:
  friend class RankStream;
  void ended(RankStream* stream);

  CoreHost& host_;
  const Access& access_;
  const RankLimits limits_;
  Metrics& metrics_;
  Log& log_;
  std::mutex mutex_;
  bool closed_ = false;
  std::unordered_map<RankStream*, std::weak_ptr<RankStream>> streams_;
};

}  // namespace photonrail::runtime
