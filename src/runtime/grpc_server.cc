#include "runtime/grpc_server.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <atomic>

#include "wire/limits.h"

namespace photonrail::runtime {
namespace {

constexpr int kPingsApartMs = 5'000;                   // clients that ping more often are disconnected
constexpr int kHandshakeMs = 10'000;                   // slow handshakes hold a connection no longer than this
constexpr int kIdleConnectionMs = 300'000;             // connections without a call
constexpr std::size_t kMemory = std::size_t{1} << 30;  // of gRPC's buffers; beyond it reading waits

int milliseconds(Duration value) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
}

std::shared_ptr<grpc::ServerCredentials> credentials(const GrpcSpec& spec) {
  if (spec.plaintext) return grpc::InsecureServerCredentials();
  namespace tls = grpc::experimental;
  const auto reload = std::chrono::duration_cast<std::chrono::seconds>(spec.tls.reload).count();
  const auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      spec.tls.key, spec.tls.certificate, spec.tls.authority, static_cast<unsigned>(std::max<std::int64_t>(1, reload)));
  tls::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

void set_limits(grpc::ServerBuilder& builder, const GrpcSpec& spec) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMessageBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, spec.streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(spec.keepalive));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(spec.keepalive) / 2);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingsApartMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnectionMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8192);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two daemons must not share a port unnoticed
  grpc::ResourceQuota quota("photonraild");
  quota.Resize(kMemory);
  builder.SetResourceQuota(quota);
}

// gpr_set_log_function takes no context: the one place with a pointer of the process.
std::atomic<Log*> grpc_log{nullptr};

void write_grpc_log(gpr_log_func_args* args) {
  Log* const log = grpc_log.load();
  if (log == nullptr || args->severity == GPR_LOG_SEVERITY_DEBUG) return;
  const bool error = args->severity == GPR_LOG_SEVERITY_ERROR;
  // Also what a client does wrong in a handshake comes as an error; to us it is a warning, and may be suppressed.
  log->write(error ? Log::Level::warning : Log::Level::info, "grpc", {{"text", args->message}});
}

}  // namespace

struct GrpcServer::Impl {
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() { stop(Duration::zero()); }

Result<std::unique_ptr<GrpcServer>> GrpcServer::listen(const GrpcSpec& spec, RankService& ranks,
                                                       OperatorService& operators) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto impl = std::make_unique<Impl>();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(spec.address, credentials(spec), &impl->port);
  builder.RegisterService(&ranks);
  builder.RegisterService(&operators);
  set_limits(builder, spec);
  impl->server = builder.BuildAndStart();
  if (!impl->server || impl->port == 0) {
    return fail(ErrorCode::io,
                fmt::format("cannot listen on {}: the address is in use or not of this machine{}", spec.address,
                            spec.plaintext ? "" : ", or the certificate files are not good"));
  }
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

int GrpcServer::port() const { return impl_->port; }

void GrpcServer::set_serving(bool serving) {
  grpc::HealthCheckServiceInterface* health = impl_->server->GetHealthCheckService();
  if (health == nullptr) return;
  health->SetServingStatus(serving);
  health->SetServingStatus("photonrail.control.v1.Ranks", serving);
  health->SetServingStatus("photonrail.control.v1.Operator", serving);
}

void GrpcServer::stop(Duration grace) {
  if (!impl_->server) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() +
                          std::chrono::duration_cast<std::chrono::microseconds>(grace));
  impl_->server->Wait();
  impl_->server.reset();
}

void log_grpc_to(Log& log) {
  grpc_log = &log;
  gpr_set_log_function(write_grpc_log);
}

}  // namespace photonrail::runtime
