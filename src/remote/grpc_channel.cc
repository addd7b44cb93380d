#include "remote/grpc_channel.h"

#include <fmt/format.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "wire/limits.h"

namespace photonrail::remote {
namespace {

constexpr int kKeepaliveMs = 20'000, kKeepaliveTimeoutMs = 10'000;
constexpr unsigned kReloadSeconds = 10;

Status readable(const std::string& path, std::string_view what) {
  if (path.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("no {} given; mutual TLS wants a certificate, its key and the authority", what));
  }
  if (std::ifstream(path)) return {};
  return fail(ErrorCode::io, fmt::format("{}: {}", path, std::strerror(errno)));
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials(const ChannelSpec& spec) {
  if (spec.plaintext) return grpc::InsecureChannelCredentials();
  PR_TRY(readable(spec.authority, "authority"));
  PR_TRY(readable(spec.certificate, "certificate"));
  PR_TRY(readable(spec.key, "key"));
  namespace tls = grpc::experimental;
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::FileWatcherCertificateProvider>(
      spec.key, spec.certificate, spec.authority, kReloadSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> make_channel(const ChannelSpec& spec) {
  PR_ASSIGN(const auto with, credentials(spec));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(wire::kMessageBytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // who repeats what is decided above
  if (spec.own_connection) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  if (!spec.server_name.empty()) arguments.SetSslTargetNameOverride(spec.server_name);
  return grpc::CreateCustomChannel(spec.address, with, arguments);
}

void prepare(grpc::ClientContext& context, const ChannelSpec& spec) {
  if (spec.plaintext) context.AddMetadata("photonrail-identity", spec.identity);
}

}  // namespace photonrail::remote
