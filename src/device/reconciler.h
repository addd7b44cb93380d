// Reconciler: brings one switch from what it holds to what is intended, through its Driver, and says so only when light
// is there. Sans-IO.
//
//   intent (remove, add) -> read -> delta = intent - read-back -> remove -> read -> add -> read -> settled? -> done
//
// Rules
//   1. Nothing is written before the identity was checked and the matrix was read on this connection.
//   2. Removes are confirmed by a read before adds are sent; pairs that are right already are never mentioned.
//   3. A write whose outcome is `unknown` or `failed` is followed by a read, then by the *difference*: never two writes
//      without a read between them.
//   4. Settled: status tuned for every output of the intent, where the switch says so; else power within the expected
//      window in two readings; else the switch's stated settling time has passed. A pair that does not settle by
//      `settle_max`, and a pair that vanished, is `failed`.
//   5. Only ports that an intent names are ever changed. A busy port held by a cross-connect outside of `owned` is a
//      conflict: the intent fails, the alarm names it.
//   6. `fence(epoch)`: an intent with a smaller epoch is refused, also one in progress: it stops before its next write.
//   7. Every write is announced in `take_records()` before its frames may be sent (write-ahead, audit).
//   8. Drift: the matrix is read every `poll`; a change by somebody else is an alarm, mended only by intent.
#pragma once

#include <memory>
#include <vector>

#include "device/driver.h"

namespace photonrail::device {

using IntentId = std::uint64_t;
using Epoch = std::uint64_t;

struct Intent {
  IntentId id = 0;
  Epoch epoch = 0;
  std::vector<CrossConnect> remove;
  std::vector<CrossConnect> add;
  Instant deadline{};              // from then on what is not settled has failed
};

struct IntentResult {
  IntentId id = 0;
  bool done = false;               // every removed pair is gone, every added one settled
  std::vector<Outcome> add;        // one per pair of Intent::add: applied means settled light
  std::vector<Outcome> remove;
  bool fenced = false;
  std::string reason;              // for people, where not done
  unsigned writes = 0;
};

struct Alarm {
  enum class Kind : std::uint8_t { wrong_identity, drift, conflict, port_failed, unreachable, reachable, rejected };
  Kind kind = Kind::drift;
  std::vector<CrossConnect> pairs;
  std::string text;
};

// A write that is about to be sent, for journal and audit. Where a dialect needs several messages, each after the
// answer to the one before, every further one is a record of its own with frames alone.
struct WriteRecord {
  IntentId id = 0;
  Epoch epoch = 0;
  std::vector<CrossConnect> remove, add;
  std::vector<CrossConnect> before;     // the matrix as last read, ports of this write only
  std::string frames;                   // what goes over the wire, without secrets
};

struct ReconcilerSpec {
  std::string serial;                   // expected; empty: whatever answers first (and then always that)
  Position inputs = 0, outputs = 0;     // expected
  Duration command_timeout = std::chrono::seconds(2);
  Duration poll = std::chrono::seconds(5);
  Duration settle_max = std::chrono::seconds(2);
  Duration backoff = std::chrono::milliseconds(100), backoff_max = std::chrono::seconds(5);
  double power_floor_dbm = -25;         // rule 4: light is there above this
  std::uint64_t seed = 1;               // of back-off jitter
};

class Reconciler {
 public:
  Reconciler(ReconcilerSpec spec, std::unique_ptr<Driver> driver);
  ~Reconciler();

  // The carrier's events.
  void connected(Instant now);
  void disconnected(Instant now);
  void receive(const Frame& frame, Instant now);
  void tick(Instant now);                       // call at next_deadline() or later
  Instant next_deadline() const;

  // The controller's wishes. Intents on disjoint ports may be given while others are in progress; they run in order.
  void submit(Intent intent, Instant now);
  void fence(Epoch epoch);

  // What follows from them; drained by the caller after every call, in this order: records, frames, results, alarms.
  std::vector<WriteRecord> take_records();
  std::vector<Frame> take_frames();
  bool take_connect_request();                  // the carrier shall (re)connect
  std::vector<IntentResult> take_results();
  std::vector<Alarm> take_alarms();

  bool ready() const;                           // identified, its matrix read, its light seen or given time to come
  const Snapshot& snapshot() const;             // as last read
  bool doubtful(const CrossConnect& pair) const;  // written since then: the snapshot may no longer be true of it
  const Identity& identity() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::device
