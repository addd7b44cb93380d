// gNMI: unary calls and streams over gRPC. The bytes of messages pass through unread.
#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_callback.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>

#include "carrier/grpc_bytes.h"
#include "carrier/links.h"

namespace photonrail::carrier {
namespace {

using grpc::ByteBuffer;

constexpr auto kCallWithin = std::chrono::seconds(30);  // a backstop: the driver's deadline is sooner
constexpr std::size_t kCallsMost = 64;

class GnmiChannel : public std::enable_shared_from_this<GnmiChannel> {
 public:
  GnmiChannel(const LinkSpec& spec, LinkEvents events) : gate(std::move(events)), spec_(spec) {}

  // The first call finds out whether the switch can be reached.
  void open() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(Link::kFrameMost));
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);  // no connection, and no back-off, of an earlier link
    arguments.SetInt("grpc.keepalive_time_ms", 10'000);
    arguments.SetInt("grpc.keepalive_timeout_ms", 5'000);
    arguments.SetInt("grpc.enable_http_proxy", 0);
    if (!spec_.server_name.empty()) arguments.SetSslTargetNameOverride(spec_.server_name);
    auto credentials = grpc::InsecureChannelCredentials();
    if (spec_.tls) {
      grpc::SslCredentialsOptions options;
      const auto load = [](std::string& into, const std::string& path) {
        if (!path.empty()) into = read_file(path).value_or("");
      };
      load(options.pem_root_certs, spec_.authority_file);
      load(options.pem_cert_chain, spec_.certificate_file);
      load(options.pem_private_key, spec_.key_file);
      if (options.pem_root_certs.empty()) return gate.disconnected("cannot read " + spec_.authority_file);
      credentials = grpc::SslCredentials(options);
    }
    const bool v6 = spec_.host.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + spec_.host + "]" : spec_.host;
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(fmt::format("{}:{}", host, spec_.port), credentials, arguments));
    gate.connected();
  }

  void send(device::Frame frame) {
    if (!gate.open() || !stub_) return;  // sent after `connected` only
    if (!gate.may_write()) {
      gate.disconnected(Gate::kMayNot);
      return cancel_all();
    }
    if (frame.verb == "Subscribe") return subscribe(frame);
    auto call = std::make_shared<Call>(frame);
    if (!keep(call)) return;
    prepare(call->context);
    call->context.set_deadline(std::chrono::system_clock::now() + kCallWithin);
    stub_->UnaryCall(&call->context, "/gnmi.gNMI/" + frame.verb, {}, &call->request, &call->response,
                     [self = shared_from_this(), call](const grpc::Status& status) {
                       self->forget(call.get());
                       self->answer(call->frame, status, status.ok() ? bytes_of(call->response) : "");
                     });
  }

  void drop() {
    gate.shut();
    cancel_all();
  }

  Gate gate;

 private:
  struct Call {
    explicit Call(const device::Frame& asked)
        : frame{asked.verb, asked.target, 0, ""}, request(buffer_of(asked.body)) {}
    virtual ~Call() = default;
    device::Frame frame;  // without its body
    grpc::ClientContext context;
    ByteBuffer request, response;
  };

  // A stream; keeps itself alive until it is done.
  struct Stream final : Call, grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
    Stream(const device::Frame& asked, std::shared_ptr<GnmiChannel> of) : Call(asked), channel(std::move(of)) {}
    void OnReadDone(bool ok) override {
      if (!ok) return;
      channel->answer(frame, grpc::Status::OK, bytes_of(response));
      StartRead(&response);
    }
    void OnDone(const grpc::Status& status) override {
      const std::shared_ptr<Stream> keep = std::move(self);
      channel->forget(this);
      device::Frame end = frame;
      if (status.ok()) end.verb = "end";
      channel->answer(end, status, "");
    }
    std::shared_ptr<GnmiChannel> channel;
    std::shared_ptr<Stream> self;
  };

  void subscribe(const device::Frame& frame) {
    auto stream = std::make_shared<Stream>(frame, shared_from_this());
    if (!keep(stream)) return;
    stream->self = stream;
    prepare(stream->context);
    stub_->PrepareBidiStreamingCall(&stream->context, "/gnmi.gNMI/Subscribe", {}, stream.get());
    stream->StartRead(&stream->response);
    stream->StartWrite(&stream->request);
    stream->StartCall();
  }

  void prepare(grpc::ClientContext& context) {
    if (spec_.credentials.user.empty()) return;
    context.AddMetadata("username", spec_.credentials.user);
    context.AddMetadata("password", spec_.credentials.password);
  }

  // One call, one answer: a code of gRPC and the message or the text of the error. Where the switch cannot be reached,
  // the link has ended.
  void answer(device::Frame frame, const grpc::Status& status, std::string body) {
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      gate.disconnected(status.error_message());
      return cancel_all();
    }
    frame.status = static_cast<int>(status.error_code());
    frame.body = status.ok() ? std::move(body) : status.error_message();
    gate.frame(std::move(frame));
  }

  bool keep(const std::shared_ptr<Call>& call) {
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= kCallsMost) return false;
    calls_[call.get()] = call;
    return true;
  }
  void forget(const Call* call) {
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
  }
  void cancel_all() {
    std::vector<std::shared_ptr<Call>> alive;  // may be answered, and forgotten, while they are cancelled
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, call] : calls_) {
        if (auto one = call.lock()) alive.push_back(std::move(one));
      }
    }
    for (const auto& call : alive) call->context.TryCancel();
  }

  const LinkSpec spec_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::mutex mutex_;
  std::map<const Call*, std::weak_ptr<Call>> calls_;
};

}  // namespace

std::shared_ptr<Link> open_gnmi_link(boost::asio::io_context& io, const LinkSpec& spec, LinkEvents events) {
  auto channel = std::make_shared<GnmiChannel>(spec, std::move(events));
  boost::asio::post(io, [channel] { channel->open(); });
  return std::make_shared<HeldLink<GnmiChannel>>(std::move(channel));
}

}  // namespace photonrail::carrier
