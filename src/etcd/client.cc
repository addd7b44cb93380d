#include "etcd/client.h"

#include <etcd/rpc.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace photonrail::etcd {
namespace {

namespace pb = etcdserverpb;

constexpr int kReceiveMost = 160 << 20;  // bytes of one answer: a page of the longest keys
constexpr int kReconnectMs = 100, kReconnectMostMs = 500;
constexpr unsigned kReloadSeconds = 10;
constexpr int kKeepaliveMs = 10'000;  // of the connection
constexpr int kConnectMs = 500;

std::shared_ptr<grpc::ChannelCredentials> credentials(const ClientSpec& spec) {
  if (spec.certificate.empty()) return grpc::InsecureChannelCredentials();
  namespace tls = grpc::experimental;
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::FileWatcherCertificateProvider>(
      spec.key, spec.certificate, spec.authority, kReloadSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

struct Endpoint {
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::KV::Stub> kv;
  std::unique_ptr<pb::Lease::Stub> lease;
  std::unique_ptr<pb::Watch::Stub> watch;
};

void fill(pb::Compare& out, const Guard& guard) {
  out.set_result(pb::Compare::EQUAL);
  out.set_key(guard.key);
  if (guard.what == Guard::What::created) {
    out.set_target(pb::Compare::CREATE);
    out.set_create_revision(guard.created);
  } else {
    out.set_target(pb::Compare::VALUE);
    out.set_value(guard.value);
  }
}

KeyValue plain(const mvccpb::KeyValue& kv) { return {kv.key(), kv.value(), kv.create_revision(), kv.lease()}; }

pb::TxnRequest request_of(const Transaction& transaction) {
  pb::TxnRequest request;
  for (const Guard& guard : transaction.guards) fill(*request.add_compare(), guard);
  for (const Put& put : transaction.puts) {
    pb::PutRequest& out = *request.add_success()->mutable_request_put();
    out.set_key(put.key);
    out.set_value(put.value);
    out.set_lease(put.lease);
  }
  for (const Erase& erase : transaction.erases) {
    pb::DeleteRangeRequest& out = *request.add_success()->mutable_request_delete_range();
    out.set_key(erase.first);
    out.set_range_end(erase.end);
  }
  for (const std::string& key : transaction.otherwise) request.add_failure()->mutable_request_range()->set_key(key);
  return request;
}

// Said by the cluster, not by a member in trouble: another one would say the same.
bool is_answer(const grpc::Status& status) {
  return status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND ||
         status.error_code() == grpc::StatusCode::OUT_OF_RANGE;  // a lease, a revision that is gone
}

}  // namespace

struct Client::Impl {
  explicit Impl(ClientSpec wanted) : spec(std::move(wanted)) {}

  // One attempt at the preferred endpoint. On failure another one is preferred from then on.
  grpc::Status attempt(Instant deadline, const std::function<grpc::Status(Endpoint&, grpc::ClientContext&)>& call) {
    const std::size_t chosen = preferred.load();
    grpc::ClientContext context;
    context.AddMetadata("hasleader", "true");
    context.set_deadline(wall(std::min(deadline, spec.now() + spec.attempt)));
    grpc::Status status = call(endpoints[chosen], context);
    if (!is_answer(status)) {
      std::size_t expected = chosen;
      preferred.compare_exchange_strong(expected, (chosen + 1) % endpoints.size());
      rest(deadline);
    }
    return status;
  }

  // For what may be sent any number of times.
  grpc::Status everywhere(Instant deadline, const std::function<grpc::Status(Endpoint&, grpc::ClientContext&)>& call) {
    grpc::Status status(grpc::StatusCode::DEADLINE_EXCEEDED, "no time");
    while (spec.now() < deadline && !stopped) {
      status = attempt(deadline, call);
      if (is_answer(status)) return status;
    }
    return status;
  }

  std::chrono::system_clock::time_point wall(Instant deadline) const {
    const Duration left = std::max(Duration::zero(), Duration(deadline - spec.now()));
    return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(left);
  }

  void rest(Instant deadline) {
    std::unique_lock lock(mutex);
    wake.wait_for(lock, std::min(spec.pause, std::max(Duration::zero(), Duration(deadline - spec.now()))),
                  [this] { return stopped.load(); });
  }

  tl::unexpected<Error> failed(const char* what, const grpc::Status& status) const {
    return fail(ErrorCode::io, fmt::format("etcd ({}): {}: {}", fmt::join(spec.endpoints, ", "), what,
                                           status.error_message().empty() ? "no answer" : status.error_message()));
  }

  ClientSpec spec;
  std::vector<Endpoint> endpoints;
  std::atomic<std::size_t> preferred{0};
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<bool> stopped{false};
  grpc::ClientContext* watching = nullptr;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() { stop_watching(); }

Result<std::unique_ptr<Client>> Client::make(ClientSpec spec) {
  if (spec.endpoints.empty()) return fail(ErrorCode::usage, "etcd: no endpoint is given");
  auto impl = std::make_unique<Impl>(std::move(spec));
  const auto secret = credentials(impl->spec);
  for (const std::string& address : impl->spec.endpoints) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kReceiveMost);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMostMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    Endpoint endpoint;
    endpoint.address = address;
    endpoint.channel = grpc::CreateCustomChannel(address, secret, arguments);
    endpoint.kv = pb::KV::NewStub(endpoint.channel);
    endpoint.lease = pb::Lease::NewStub(endpoint.channel);
    endpoint.watch = pb::Watch::NewStub(endpoint.channel);
    impl->endpoints.push_back(std::move(endpoint));
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Result<TransactionResult> Client::transact(const Transaction& transaction, Instant deadline) {
  const pb::TxnRequest request = request_of(transaction);
  pb::TxnResponse response;
  const grpc::Status status = impl_->attempt(deadline, [&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Txn(&context, request, &response);
  });
  if (!status.ok()) return impl_->failed("transaction", status);
  TransactionResult out{response.succeeded(), response.header().revision(), {}};
  if (out.done) return out;
  for (const pb::ResponseOp& read : response.responses()) {
    for (const mvccpb::KeyValue& kv : read.response_range().kvs()) out.read.push_back(plain(kv));
  }
  return out;
}

Result<RangeResult> Client::range(const Range& range, Instant deadline) {
  pb::RangeRequest request;
  request.set_key(range.first);
  request.set_range_end(range.end);
  request.set_limit(range.limit);
  request.set_revision(range.at);
  pb::RangeResponse response;
  const grpc::Status status = impl_->everywhere(deadline, [&](Endpoint& endpoint, grpc::ClientContext& context) {
    response.Clear();
    return endpoint.kv->Range(&context, request, &response);
  });
  if (!status.ok()) return impl_->failed("read", status);
  RangeResult out{{}, response.more(), response.header().revision()};
  for (const mvccpb::KeyValue& kv : response.kvs()) out.values.push_back(plain(kv));
  return out;
}

Result<GrantedLease> Client::grant(Duration ttl, Instant deadline) {
  pb::LeaseGrantRequest request;
  request.set_ttl(std::chrono::ceil<std::chrono::seconds>(ttl).count());
  pb::LeaseGrantResponse response;
  const grpc::Status status = impl_->attempt(deadline, [&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.lease->LeaseGrant(&context, request, &response);
  });
  if (!status.ok() || !response.error().empty()) return impl_->failed("lease", status);
  return GrantedLease{response.id(), std::chrono::seconds(response.ttl())};
}

// One message each way on a stream of its own: no state to keep, and another endpoint can answer the next one.
Result<Duration> Client::keep(Lease lease, Instant deadline) {
  pb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  pb::LeaseKeepAliveResponse response;
  const grpc::Status status = impl_->everywhere(deadline, [&](Endpoint& endpoint, grpc::ClientContext& context) {
    const auto stream = endpoint.lease->LeaseKeepAlive(&context);
    const bool answered = stream->Write(request) && stream->Read(&response);
    if (answered) context.TryCancel();
    const grpc::Status end = stream->Finish();
    return answered   ? grpc::Status::OK
           : end.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream ended")
                      : end;
  });
  if (!status.ok()) return impl_->failed("renewal of the lease", status);
  return Duration(std::chrono::seconds(response.ttl()));
}

Status Client::revoke(Lease lease, Instant deadline) {
  pb::LeaseRevokeRequest request;
  request.set_id(lease);
  pb::LeaseRevokeResponse response;
  const grpc::Status status = impl_->everywhere(deadline, [&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.lease->LeaseRevoke(&context, request, &response);
  });
  if (status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND) return {};
  return impl_->failed("end of the lease", status);
}

bool Client::watch_removal(const std::string& key, Revision from, Instant deadline) {
  Impl& impl = *impl_;
  grpc::ClientContext context;
  context.AddMetadata("hasleader", "true");
  context.set_deadline(impl.wall(deadline));
  {
    const std::lock_guard lock(impl.mutex);
    if (impl.stopped) return false;
    impl.watching = &context;
  }
  const auto stream = impl.endpoints[impl.preferred.load()].watch->Watch(&context);
  pb::WatchRequest request;
  request.mutable_create_request()->set_key(key);
  request.mutable_create_request()->set_start_revision(from);
  request.mutable_create_request()->add_filters(pb::WatchCreateRequest::NOPUT);
  pb::WatchResponse response;
  bool gone = false;
  bool going = stream->Write(request);
  while (going && !gone && stream->Read(&response) && !response.canceled()) {
    gone = std::any_of(response.events().begin(), response.events().end(),
                       [](const mvccpb::Event& event) { return event.type() == mvccpb::Event::DELETE; });
  }
  {
    const std::lock_guard lock(impl.mutex);
    impl.watching = nullptr;
  }
  context.TryCancel();
  stream->Finish();
  return gone;
}

void Client::stop_watching() {
  const std::lock_guard lock(impl_->mutex);
  impl_->stopped = true;
  impl_->wake.notify_all();
  if (impl_->watching != nullptr) impl_->watching->TryCancel();
}

}  // namespace photonrail::etcd
