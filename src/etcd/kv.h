// What the store and the election ask of etcd, as plain data; client.h does it over gRPC, tests over memory.
//
// Every call either answers or fails with ErrorCode::io. After a failure it is not known whether a transaction was
// done, or will still be done: etcd may apply it late. Whoever sends transactions must bear a late second one; see
// store.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"

namespace photonrail::etcd {

using Revision = std::int64_t;  // of the store; grows with every change
using Lease = std::int64_t;     // 0: none

struct KeyValue {
  std::string key, value;
  Revision created = 0;  // when the key came into being this time
  Lease lease = 0;
};

// Holds where the key came into being at `created` (0: it is not there), or has exactly this value.
struct Guard {
  std::string key;
  enum class What : std::uint8_t { created, value } what = What::created;
  Revision created = 0;
  std::string value;
};
struct Put {
  std::string key, value;
  Lease lease = 0;
};
// [first, end) at once.
struct Erase {
  std::string first, end;
};
// All of puts and erases where every guard holds, else none of them and `otherwise` is read; all at one revision.
struct Transaction {
  std::vector<Guard> guards;
  std::vector<Put> puts;
  std::vector<Erase> erases;
  std::vector<std::string> otherwise;
};
struct TransactionResult {
  bool done = false;
  Revision revision = 0;
  std::vector<KeyValue> read;  // of `otherwise`, those that are there
};

struct Range {
  std::string first, end;  // [first, end); `end` empty: `first` alone
  std::int64_t limit = 0;  // 0: none
  Revision at = 0;         // 0: now
};
struct RangeResult {
  std::vector<KeyValue> values;  // by key
  bool more = false;
  Revision revision = 0;  // now, also where an earlier one was read
};

// Thread rule: of the implementation.
class Kv {
 public:
  virtual ~Kv() = default;
  virtual Result<TransactionResult> transact(const Transaction& transaction, Instant deadline) = 0;
  virtual Result<RangeResult> range(const Range& range, Instant deadline) = 0;  // linearizable
};

// etcd's own limits, with room to spare: 128 operations and 1.5 MiB a request.
inline constexpr std::size_t kOperationsMost = 100;
inline constexpr std::size_t kBytesMost = std::size_t{768} << 10;

}  // namespace photonrail::etcd
