// Client: etcd over gRPC, for several endpoints of one cluster.
// A call goes to the endpoint that answered last. Reads and renewals that are not answered are tried at the next one,
// within their deadline; what must not be sent twice unasked (transactions, grants) fails, and the next call goes
// elsewhere.
// A member that has lost its cluster says so at once, rather than wait (etcd's metadata "hasleader").
// Certificates are read again when their files change. Any thread; calls block until their deadline at most.
#pragma once

#include <functional>
#include <memory>

#include "etcd/kv.h"

namespace photonrail::etcd {

struct ClientSpec {
  std::vector<std::string> endpoints;                 // host:port
  std::string certificate, key, authority;            // PEM files; all empty: without TLS
  Duration attempt = std::chrono::milliseconds(300);  // before the next endpoint is tried
  Duration pause = std::chrono::milliseconds(20);     // after a failure
  std::function<Instant()> now;
};

struct GrantedLease {
  Lease lease = 0;
  Duration ttl{};
};

class Client final : public Kv {
 public:
  static Result<std::unique_ptr<Client>> make(ClientSpec spec);  // connects to nothing yet
  ~Client() override;

  Result<TransactionResult> transact(const Transaction& transaction, Instant deadline) override;
  Result<RangeResult> range(const Range& range, Instant deadline) override;

  Result<GrantedLease> grant(Duration ttl, Instant deadline);
  Result<Duration> keep(Lease lease, Instant deadline);  // what it has from now on; not above zero: it is gone
  Status revoke(Lease lease, Instant deadline);          // also where it is gone already

  // Blocks until the key is removed at a revision from `from` on (true), or something else ends the watch: an error,
  // the deadline, stop_watching().
  bool watch_removal(const std::string& key, Revision from, Instant deadline);
  void stop_watching();  // for good

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::etcd
