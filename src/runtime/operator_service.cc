#include "runtime/operator_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace photonrail::runtime {
namespace {

namespace pb = control::v1;

grpc::StatusCode status_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
    case ErrorCode::invalid_input: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::io: return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::infeasible:
    case ErrorCode::deadlock: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::incomplete: return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::UNKNOWN;
}

grpc::Status status_of(const Error& error) { return {status_code(error.code), error.message.substr(0, 4096)}; }

// One unary call. Whoever answers first, wins: the core, or the caller that leaves.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  static std::shared_ptr<UnaryCall> make() {
    auto call = std::make_shared<UnaryCall>();
    call->self_ = call;
    return call;
  }

  // Runs `fill`, which writes the response, only while the response is still there.
  void finish(const grpc::Status& status, const std::function<void()>& fill = {}) {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (status.ok() && fill) fill();
    finished_ = true;
    Finish(status);
  }
  void OnCancel() override { finish(grpc::Status::CANCELLED); }
  void OnDone() override { const std::shared_ptr<UnaryCall> self = std::move(self_); }

 private:
  std::mutex mutex_;
  bool finished_ = false;
  std::shared_ptr<UnaryCall> self_;
};

grpc::ServerUnaryReactor* finished(const grpc::Status& status) {
  const auto call = UnaryCall::make();
  call->finish(status);
  return call.get();
}

std::string path_of(const char* method) { return fmt::format("/photonrail.control.v1.Operator/{}", method); }

}  // namespace

// A watcher of events. Writes one at a time; events wait in order.
class EventWatch final : public grpc::ServerWriteReactor<pb::Event> {
 public:
  EventWatch(OperatorService& service, grpc::CallbackServerContext* context) : service_(service), context_(context) {}

  void publish(const wire::Event& event) {
    const std::lock_guard lock(mutex_);
    if (leaving_) return;
    if (waiting_.size() >= OperatorService::kEventsWaiting) {
      leave({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many events wait for this client to read"});
      if (writing_) context_->TryCancel();
      return;
    }
    wire::write(event, waiting_.emplace_back());
    write_on();
  }
  void close(const std::string& why) {
    const std::lock_guard lock(mutex_);
    leave({grpc::StatusCode::UNAVAILABLE, why});
    if (writing_) context_->TryCancel();
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    waiting_.pop_front();
    if (!ok) leave(grpc::Status::CANCELLED);
    if (leaving_) return finish();
    write_on();
  }
  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    leave(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    {
      const std::lock_guard lock(service_.mutex_);  // nobody publishes to it any more
      service_.watchers_.erase(this);
    }
    delete this;
  }

 private:
  void write_on() {
    if (writing_ || leaving_ || waiting_.empty()) return;
    writing_ = true;
    StartWrite(&waiting_.front());
  }
  void leave(const grpc::Status& status) {
    if (leaving_) return;
    leaving_ = true;
    status_ = status;
    finish();
  }
  void finish() {
    if (writing_ || finished_) return;
    finished_ = true;
    Finish(status_);
  }

  OperatorService& service_;
  grpc::CallbackServerContext* const context_;
  std::mutex mutex_;
  std::deque<pb::Event> waiting_;
  grpc::Status status_;
  bool writing_ = false, leaving_ = false, finished_ = false;
};

namespace {

class RefusedWatch final : public grpc::ServerWriteReactor<pb::Event> {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

OperatorService::OperatorService(CoreHost& host, RecordWriter& writer, const Access& access, wire::SwitchNames names,
                                 ProbeFunction probe, Metrics& metrics, Log& log)
    : host_(host),
      writer_(writer),
      access_(access),
      names_(std::move(names)),
      probe_(std::move(probe)),
      metrics_(metrics),
      log_(log) {}

OperatorService::~OperatorService() = default;

daemon::RequestId OperatorService::begin_call(grpc::CallbackServerContext* context, const char* method,
                                              const Caller& caller) {
  const daemon::RequestId request = host_.next_request();
  context->AddTrailingMetadata(kRequestMetadata, std::to_string(request));
  ++metrics_.operator_calls;
  log_.write(Log::Level::info, "call", {{"request", request}, {"method", method}, {"who", caller.identity.name}});
  return request;
}

grpc::ServerUnaryReactor* OperatorService::ask(grpc::CallbackServerContext* context, const char* method,
                                               const std::function<Result<daemon::OperatorCall>()>& read, Fill fill) {
  const Access::Verdict verdict = access_.check(*context, path_of(method));
  if (!verdict.status.ok()) return finished(verdict.status);
  Result<daemon::OperatorCall> call = read();
  if (!call) {
    ++metrics_.malformed;
    return finished(status_of(call.error()));
  }
  const auto reactor = UnaryCall::make();
  const auto answer = [reactor, fill = std::move(fill)](const daemon::Reply& reply) {
    reactor->finish(reply.outcome ? grpc::Status::OK : status_of(reply.outcome.error()), [&] { fill(reply); });
  };
  const daemon::RequestId number = begin_call(context, method, verdict.caller);
  if (!host_.call(number, verdict.caller.identity, std::move(*call), answer)) {
    reactor->finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls wait; try again later"});
  }
  return reactor.get();
}

grpc::ServerUnaryReactor* OperatorService::SubmitJob(grpc::CallbackServerContext* context,
                                                     const pb::SubmitJobRequest* request, pb::SubmitJobResponse*) {
  return ask(context, "SubmitJob", [&] { return wire::read(*request, names_); }, [](const daemon::Reply&) {});
}

grpc::ServerUnaryReactor* OperatorService::EndJob(grpc::CallbackServerContext* context,
                                                  const pb::EndJobRequest* request, pb::EndJobResponse*) {
  return ask(context, "EndJob", [&] { return wire::read(*request); }, [](const daemon::Reply&) {});
}

grpc::ServerUnaryReactor* OperatorService::SetPort(grpc::CallbackServerContext* context,
                                                   const pb::SetPortRequest* request, pb::SetPortResponse*) {
  return ask(context, "SetPort", [&] { return wire::read(*request, names_); }, [](const daemon::Reply&) {});
}

grpc::ServerUnaryReactor* OperatorService::SetSwitch(grpc::CallbackServerContext* context,
                                                     const pb::SetSwitchRequest* request, pb::SetSwitchResponse*) {
  return ask(context, "SetSwitch", [&] { return wire::read(*request, names_); }, [](const daemon::Reply&) {});
}

grpc::ServerUnaryReactor* OperatorService::PlanJob(grpc::CallbackServerContext* context,
                                                   const pb::PlanJobRequest* request, pb::PlanJobResponse* response) {
  return ask(
      context, "PlanJob", [&] { return wire::read(*request, names_); },
      [response](const daemon::Reply& reply) {
        for (const std::string& line : reply.plan) response->add_lines(line);
      });
}

grpc::ServerUnaryReactor* OperatorService::GetStatus(grpc::CallbackServerContext* context,
                                                     const pb::GetStatusRequest* request,
                                                     pb::GetStatusResponse* response) {
  return ask(
      context, "GetStatus", [&]() -> Result<daemon::OperatorCall> { return wire::read(*request); },
      [response, this](const daemon::Reply& reply) { wire::write(reply.status, names_, *response); });
}

grpc::ServerUnaryReactor* OperatorService::Probe(grpc::CallbackServerContext* context, const pb::ProbeRequest* request,
                                                 pb::ProbeResponse* response) {
  const Access::Verdict verdict = access_.check(*context, path_of("Probe"));
  if (!verdict.status.ok()) return finished(verdict.status);
  const auto found = std::find(names_.begin(), names_.end(), request->ocs());
  if (found == names_.end()) {
    return finished({grpc::StatusCode::INVALID_ARGUMENT,
                     fmt::format("no switch of that name; there are: {}", fmt::join(names_, ", "))});
  }
  begin_call(context, "Probe", verdict.caller);
  const auto reactor = UnaryCall::make();
  probe_(static_cast<daemon::SwitchId>(found - names_.begin()), [reactor, response](Lines lines) {
    if (!lines) return reactor->finish(status_of(lines.error()));
    reactor->finish(grpc::Status::OK, [&] {
      for (const std::string& line : *lines) response->add_lines(line);
    });
  });
  return reactor.get();
}

grpc::ServerUnaryReactor* OperatorService::History(grpc::CallbackServerContext* context,
                                                   const pb::HistoryRequest* request, pb::HistoryResponse* response) {
  const Access::Verdict verdict = access_.check(*context, path_of("History"));
  if (!verdict.status.ok()) return finished(verdict.status);
  const auto query = wire::read(*request);
  if (!query) return finished(status_of(query.error()));
  begin_call(context, "History", verdict.caller);
  const auto events = writer_.history(*query);
  if (!events) return finished(status_of(events.error()));
  for (const wire::Event& event : *events) wire::write(event, *response->add_events());
  return finished(grpc::Status::OK);
}

grpc::ServerWriteReactor<pb::Event>* OperatorService::WatchEvents(grpc::CallbackServerContext* context,
                                                                  const pb::WatchEventsRequest*) {
  const Access::Verdict verdict = access_.check(*context, path_of("WatchEvents"));
  if (!verdict.status.ok()) return new RefusedWatch(verdict.status);
  const std::lock_guard lock(mutex_);
  if (closed_) return new RefusedWatch({grpc::StatusCode::UNAVAILABLE, "the daemon stops"});
  if (watchers_.size() >= kWatchersMost) {
    return new RefusedWatch({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watchers"});
  }
  auto* const watch = new EventWatch(*this, context);
  watchers_.insert(watch);
  return watch;
}

void OperatorService::publish(const wire::Event& event) {
  const std::lock_guard lock(mutex_);
  for (EventWatch* watch : watchers_) watch->publish(event);
}

void OperatorService::close_all(const std::string& why) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (EventWatch* watch : watchers_) watch->close(why);
}

}  // namespace photonrail::runtime
