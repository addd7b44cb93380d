// Store: the journal of the leading daemon as keys of etcd, under one prefix:
//
//   <prefix>/leader               who leads (election.h); it came into being at the epoch of the leader
//   <prefix>/head                 number of the journal's last key and epoch that wrote it, 16 hexadecimal digits each
//   <prefix>/journal/<number>     a record, or part of one: "=" and its (last) bytes, or "+" and bytes that go on in
//                                 the next
//   <prefix>/current              "<through> <name> <chunks> <bytes>": the snapshot that replaces all keys up to
//                                 <through>
//   <prefix>/snapshot/<name>/<i>  its chunks: records, each behind its length (4 bytes, little-endian)
//
// Fencing at the store: every transaction is guarded by the creation of the leader's key at our epoch. Once another
// one leads, etcd refuses whatever we sent and still send.
// A transaction whose outcome is not known is read back, and sent again only when it was not done. It may still be done
// later, twice then; so each one is guarded by what it changes as well: an append by the head that it moves, the change
// of snapshots by the snapshot that it replaces. Neither ever comes back to an earlier value (what is cut from the end
// at a start moves the head to another epoch).
// Recovery reads all of it at one revision, the first read being linearizable. Under a fence it then cuts a record that
// was begun and never ended, which nobody was told of.
// One thread. Calls block, until the deadline that the owner's function gives them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/kv.h"
#include "journal/record_store.h"

namespace photonrail::etcd {

std::string leader_key(std::string_view prefix);

struct StoreSpec {
  std::string prefix = "/photonrail";
  std::function<Instant()> now;
  std::function<Instant()> until;  // our leadership, as far as it is known now; nothing is sent after it
  Duration attempt = std::chrono::milliseconds(500);  // for one answer; then the outcome is read
};

class Store final : public journal::RecordStore {
 public:
  struct Recovered;
  // `epoch`: ours; nothing is changed in the store but by appending, compacting and mending here.
  static Result<Recovered> recover(Kv& kv, StoreSpec spec, Revision epoch);
  // For readers: everything as of now, without a lead. The store itself is never written.
  static Result<std::vector<std::string>> read(Kv& kv, const StoreSpec& spec);

  Status append(const std::vector<std::string>& payloads) override;
  Status compact(const std::vector<std::string>& records) override;
  std::size_t bytes_since_snapshot() const override { return bytes_; }

 private:
  struct Snapshot {
    std::uint64_t through = 0;
    std::string name;  // "": none
    std::uint64_t chunks = 0, bytes = 0;
  };
  struct Contents {
    std::optional<std::string> head, current;  // values of these keys
    Snapshot snapshot;
    std::uint64_t last = 0;   // number of the head
    std::uint64_t whole = 0;  // the last record ends here
    std::size_t bytes = 0;    // of the journal
    std::vector<std::string> records;
  };
  Store(Kv& kv, StoreSpec spec, Revision epoch) : kv_(&kv), spec_(std::move(spec)), epoch_(epoch) {}

  Result<Contents> contents() const;
  Status read_journal(Contents& into, Revision at) const;
  Status read_snapshot(Contents& into, Revision at) const;
  Result<std::vector<KeyValue>> read_all(std::string first, std::string end, Revision at) const;
  Status mend(const Contents& contents);
  Status move_head(std::uint64_t to, std::vector<Put> puts, std::vector<Erase> erases);
  // Sends it until it is known to be done. `done`: of the keys in `otherwise`, as read back.
  Status settle(Transaction transaction, const std::function<bool(const std::vector<KeyValue>&)>& done) const;
  Result<std::vector<KeyValue>> read_back(const Transaction& transaction) const;
  Guard fence() const;
  Guard unchanged(const std::string& key, const std::optional<std::string>& value) const;
  std::string key(std::string_view rest) const;
  std::string journal_key(std::uint64_t number) const;
  Instant deadline() const;
  bool over() const { return spec_.now() >= spec_.until(); }

  Kv* kv_;
  StoreSpec spec_;
  Revision epoch_;
  std::optional<std::string> head_, current_;  // as they are in the store
  Snapshot snapshot_;
  std::uint64_t last_ = 0;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

struct Store::Recovered {
  std::unique_ptr<Store> store;
  std::vector<std::string> records;
};

}  // namespace photonrail::etcd
