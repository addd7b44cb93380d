// RecordStore: where a daemon's records become durable. Two kinds: files (FileStore, over journal.h) and etcd
// (etcd/store.h). What `append` has answered with success is there after any crash; after an error it is not known what
// is, and the store takes nothing more: recover a new one.
// Thread rule: one thread at a time. Calls block.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "journal/journal.h"

namespace photonrail::journal {

class RecordStore {
 public:
  virtual ~RecordStore() = default;
  virtual Status append(const std::vector<std::string>& payloads) = 0;  // all durable on success
  // Replaces all that was appended before; at once, or not at all.
  virtual Status compact(const std::vector<std::string>& records) = 0;
  virtual std::size_t bytes_since_snapshot() const = 0;
};

class FileStore final : public RecordStore {
 public:
  explicit FileStore(Journal journal) : journal_(std::move(journal)) {}
  Status append(const std::vector<std::string>& payloads) override {
    for (const std::string& payload : payloads) journal_.append(payload);
    return journal_.sync();
  }
  Status compact(const std::vector<std::string>& records) override { return journal_.compact(records); }
  std::size_t bytes_since_snapshot() const override { return journal_.bytes_since_snapshot(); }

 private:
  Journal journal_;
};

}  // namespace photonrail::journal
