// The Operator service: calls become operator calls of the core; History, Probe and WatchEvents are answered here.
// A call is answered once: by the core, or as cancelled when its caller leaves. gRPC's threads.
#pragma once

#include <photonrail/control/v1/control.grpc.pb.h>

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "runtime/access.h"

namespace photonrail::runtime {

class EventWatch;

class OperatorService final : public control::v1::Operator::CallbackService {
 public:
  // Reads a switch; `done` is called once, on any thread.
  using Lines = Result<std::vector<std::string>>;
  using ProbeFunction = std::function<void(daemon::SwitchId ocs, std::function<void(Lines)> done)>;
  static constexpr std::size_t kWatchersMost = 64;
  static constexpr std::size_t kEventsWaiting = 1024;  // for one watcher; beyond it is closed

  OperatorService(CoreHost& host, RecordWriter& writer, const Access& access, wire::SwitchNames names,
                  ProbeFunction probe, Metrics& metrics, Log& log);
  ~OperatorService() override;

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const control::v1::SubmitJobRequest* request,
                                      control::v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* EndJob(grpc::CallbackServerContext* context, const control::v1::EndJobRequest* request,
                                   control::v1::EndJobResponse* response) override;
  grpc::ServerUnaryReactor* SetPort(grpc::CallbackServerContext* context, const control::v1::SetPortRequest* request,
                                    control::v1::SetPortResponse* response) override;
  grpc::ServerUnaryReactor* SetSwitch(grpc::CallbackServerContext* context,
                                      const control::v1::SetSwitchRequest* request,
                                      control::v1::SetSwitchResponse* response) override;
  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context, const control::v1::PlanJobRequest* request,
                                    control::v1::PlanJobResponse* response) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const control::v1::GetStatusRequest* request,
                                      control::v1::GetStatusResponse* response) override;
  grpc::ServerUnaryReactor* Probe(grpc::CallbackServerContext* context, const control::v1::ProbeRequest* request,
                                  control::v1::ProbeResponse* response) override;
  grpc::ServerUnaryReactor* History(grpc::CallbackServerContext* context, const control::v1::HistoryRequest* request,
                                    control::v1::HistoryResponse* response) override;
  grpc::ServerWriteReactor<control::v1::Event>* WatchEvents(grpc::CallbackServerContext* context,
                                                            const control::v1::WatchEventsRequest* request) override;

  void publish(const wire::Event& event);  // to all watchers
  void close_all(const std::string& why);

 private:
  friend class EventWatch;
  using Fill = std::function<void(const daemon::Reply& reply)>;  // the response, of a call that succeeded
  daemon::RequestId begin_call(grpc::CallbackServerContext* context, const char* method, const Caller& caller);
  grpc::ServerUnaryReactor* ask(grpc::CallbackServerContext* context, const char* method,
                                const std::function<Result<daemon::OperatorCall>()>& read, Fill fill);

  CoreHost& host_;
  RecordWriter& writer_;
  const Access& access_;
  const wire::SwitchNames names_;
  const ProbeFunction probe_;
  Metrics& metrics_;
  Log& log_;
  std::mutex mutex_;
  bool closed_ = false;
  std::unordered_set<EventWatch*> watchers_;
};

}  // namespace photonrail::runtime
