// gNMI: a gRPC server that takes any method of the service, as bytes. Each call is a connection of the front end.
#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "carrier/grpc_bytes.h"
#include "carrier/links.h"
#include "carrier/listeners.h"

namespace photonrail::carrier {
namespace {

constexpr std::string_view kService = "/gnmi.gNMI/";

class GnmiCall;

// The calls that are under way, and the events that they cause.
class Calls {
 public:
  explicit Calls(ListenerEvents events) : events_(std::move(events)) {}

  device::ConnectionId add(GnmiCall* call);  // 0: too many, or stopped
  void remove(device::ConnectionId id);      // afterwards nobody uses the call
  void frame(device::ConnectionId id, device::Frame frame);
  template <class Act>
  void with(device::ConnectionId id, Act&& act) {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(id);
    if (found != calls_.end()) act(*found->second);
  }
  void stop();  // no events from now on

 private:
  const ListenerEvents events_;
  std::mutex event_mutex_;  // one event at a time; taken before mutex_
  bool stopped_ = false;    // under event_mutex_
  std::mutex mutex_;        // of the calls, also against their end
  std::map<device::ConnectionId, GnmiCall*> calls_;
  device::ConnectionId last_ = 0;
};

// One call; deletes itself when gRPC is done with it.
class GnmiCall final : public grpc::ServerGenericBidiReactor {
 public:
  GnmiCall(std::shared_ptr<Calls> calls, std::string method) : calls_(std::move(calls)), method_(std::move(method)) {
    id_ = calls_->add(this);
    if (id_ != 0)
      StartRead(&request_);
    else
      finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls"});
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // the client has nothing more to say, or is gone: OnCancel tells
    const std::string bytes = bytes_of(request_);
    calls_->frame(id_, {method_, std::to_string(id_), 0, bytes});
    if (method_ == "Subscribe") StartRead(&request_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok || finished_) return finish({grpc::StatusCode::CANCELLED, "the client does not read"});
    unsent_ -= writes_.front().Length();
    writes_.pop_front();
    write_on();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish({grpc::StatusCode::CANCELLED, ""});
  }

  void OnDone() override {
    calls_->remove(id_);
    delete this;
  }

  void send(const device::Frame& frame) {
    const std::lock_guard lock(mutex_);
    if (finished_ || ending_) return;
    const bool error = frame.status != 0;
    if (error || frame.verb == "end") {
      ending_ = error ? grpc::Status(static_cast<grpc::StatusCode>(frame.status), frame.body) : grpc::Status::OK;
    } else {
      writes_.push_back(buffer_of(frame.body));
      unsent_ += frame.body.size();
      if (unsent_ > Listener::kUnsentMost)
        return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the client does not read"});
      if (method_ != "Subscribe") ending_ = grpc::Status::OK;
    }
    if (!writing_) write_on();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (!ending_) ending_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the switch has gone");
    if (!writing_) write_on();
  }

 private:
  // The next write, or the end of the call.
  void write_on() {
    writing_ = !writes_.empty();
    if (writing_)
      StartWrite(&writes_.front());
    else if (ending_)
      finish(*ending_);
  }
  void finish(const grpc::Status& status) {
    if (!std::exchange(finished_, true)) Finish(status);
  }

  const std::shared_ptr<Calls> calls_;
  const std::string method_;
  device::ConnectionId id_ = 0;
  grpc::ByteBuffer request_;
  std::mutex mutex_;  // of what follows
  std::deque<grpc::ByteBuffer> writes_;
  std::size_t unsent_ = 0;
  std::optional<grpc::Status> ending_;
  bool writing_ = false, finished_ = false;
};

device::ConnectionId Calls::add(GnmiCall* call) {
  const std::lock_guard one(event_mutex_);
  if (stopped_) return 0;
  device::ConnectionId id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= Listener::kConnectionsMost) return 0;
    id = ++last_;
    calls_[id] = call;
  }
  events_.opened(id);
  return id;
}

void Calls::remove(device::ConnectionId id) {
  const std::lock_guard one(event_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (calls_.erase(id) == 0) return;
  }
  if (!stopped_) events_.closed(id);
}

void Calls::frame(device::ConnectionId id, device::Frame frame) {
  const std::lock_guard one(event_mutex_);
  if (!stopped_) events_.frame(id, std::move(frame));
}

void Calls::stop() {
  const std::lock_guard one(event_mutex_);
  stopped_ = true;
}

class GnmiListener final : public Listener, private grpc::CallbackGenericService {
 public:
  explicit GnmiListener(ListenerEvents events) : calls_(std::make_shared<Calls>(std::move(events))) {}

  ~GnmiListener() override {
    calls_->stop();
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  Status open(const ListenerSpec& spec) {
    auto credentials = grpc::InsecureServerCredentials();
    if (spec.tls) {
      grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      PR_ASSIGN(const std::string key, read_file(spec.key_file));
      PR_ASSIGN(const std::string certificate, read_file(spec.certificate_file));
      PR_ASSIGN(options.pem_root_certs, read_file(spec.authority_file));
      options.pem_key_cert_pairs.push_back({key, certificate});
      credentials = grpc::SslServerCredentials(options);
    }
    const bool v6 = spec.host.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + spec.host + "]" : spec.host;
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(static_cast<int>(kFrameMost));
    builder.AddListeningPort(fmt::format("{}:{}", host, spec.port), credentials, &bound_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (server_ && bound_ != 0) return {};
    return fail(ErrorCode::io, fmt::format("cannot listen on {}:{}", spec.host, spec.port));
  }

  std::uint16_t port() const override { return static_cast<std::uint16_t>(bound_); }
  void send(device::ConnectionId connection, device::Frame frame) override {
    calls_->with(connection, [&](GnmiCall& call) { call.send(frame); });
  }
  void close(device::ConnectionId connection) override {
    calls_->with(connection, [](GnmiCall& call) { call.close(); });
  }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    const std::string& method = context->method();
    const bool ours = std::string_view(method).substr(0, kService.size()) == kService;
    return new GnmiCall(calls_, ours ? method.substr(kService.size()) : method);
  }

  const std::shared_ptr<Calls> calls_;
  std::unique_ptr<grpc::Server> server_;
  int bound_ = 0;
};

}  // namespace

Result<std::unique_ptr<Listener>> listen_for_gnmi(const ListenerSpec& spec, ListenerEvents events) {
  auto listener = std::make_unique<GnmiListener>(std::move(events));
  PR_TRY(listener->open(spec));
  return listener;
}

}  // namespace photonrail::carrier
