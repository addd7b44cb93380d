// Coordinator: the operations of one job. Between the shims of its ranks, which announce and complete operations, and
// the Controller, which owns circuits and holds. Sans-IO: typed messages in, typed messages out; the daemon, the
// deterministic simulation and the explorer of all interleavings drive the same object.
//
// Words: a group is a set of ranks with one demand for circuits (or none: its operations take the management path).
// Its operations are numbered 1, 2, ... in the order in which every member issues them. A send and its receive are one
// operation of a group of two.
//
// Rules (reference: exhaustive search over small programs; which rules deadlock)
//   1. Gang: an operation is granted to all members at once when all have announced it. An announcement alone holds
//      nothing and switches nothing. Tickets in the order of full announcement; nothing starves.
//   2. A grant may cover a batch [first, last]: as far as every member, by its learnt program, issues operations of
//      this group one after the other with no operation of another group issued in between or outstanding (`alone`).
//      Members start covered operations unannounced; the hold lasts until all members have completed `last`.
//   3. A member that issues an operation of another group before it has started all of a batch says so first
//      (`stopped`, unasked): a misprediction. What its programme foretold is forgotten, every member of the batch is
//      asked to stop, and the batch ends at the highest operation that any member has started.
//   4. Guard: when the waits that ranks report and ungranted operations close a cycle, a fully announced operation is
//      granted over the management path, decided once for all its members. A timer (`guard_timeout`) is the fallback.
//      Firing early costs time, never correctness. Uses are counted.
//   5. A grant, once decided, is the same for ever: repeated or late announcements get the same path again.
//   6. A member that is lost (its lease is over): operations that it has not announced fail for the others; what was
//      granted with it keeps its hold until every other member has completed it or failed.
//   7. After a restart nothing is granted and nothing switched until every rank has resumed or is lost; a grant that
//      any member holds stands, and is given to the others again.
// Every input may be repeated and may come late; the same input twice changes nothing.
//
// What a shim does (tests/explore has the model that was explored)
//   - Announces each operation when the program issues it, in order within a group, unless a grant that it holds covers
//     it. Starts an operation only under a grant, in order within a group, on the path of that grant; never beyond a
//     stop.
//   - `alone`: of no other group, announced or not, an operation has been issued since the last one of this group, nor
//     is one issued and not yet waited for by the program (waited for, not completed: so it is the same in every step).
//   - When the program issues an operation of another group, announced or not, or one of another group is announced
//     again, while a batch is not issued through: stopped() first, once per grant, and start nothing more of that batch
//     until its limit comes. The same when a grant comes late: something else has been issued or announced since its
//     first operation was, and not yet all that it covers has been issued.
//   - Answers each stop with stopped(), also a repeated one; announces nothing more of the group while it is stopped
//     (a stop of a grant that is started through is answered, and stops nothing). A limit ends the grant at `last`,
//     lifts the stop, and what is issued beyond is announced again. Stop and limit name the grant by its last
//     operation; those for a grant that is not held (any more), limits below its first operation, and grants whose
//     first operation is not beyond all first operations seen before, are repetitions: ignored.
//   - complete() counts granted operations that ended, well or not; blocked() once per wait, when it begins or when the
//     operation that it waits for is announced again.
//   - After a break: resume() with an entry for the last grant of each group and for each other one that is not
//     completed (one entry without grant for a group that has none), then blocked() again if it waits, and stopped()
//     again if it has had no answer.
//
// Copyable (the explorer copies it at every branch); `digest()` is equal for equal states. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "control/controller.h"

namespace photonrail::control {

using Rank = std::uint32_t;
using GroupId = std::uint32_t;
using Sequence = std::uint64_t;   // of an operation in its group; the first is 1, 0 is none

enum class Path : std::uint8_t { rail, management };

struct GroupSpec {
  std::vector<Rank> members;            // sorted, distinct
  std::optional<Demand> demand;         // absent: management path always; `members` and `rail` of it are filled in here
};

// What a rank says of one group when it comes back after a break or a restart of the controller.
struct ResumedGroup {
  GroupId group = 0;
  Sequence completed = 0;               // through this one
  Sequence granted = 0;                 // through this one; `granted_path` from `granted_first` on
  Sequence granted_first = 0;
  Path granted_path = Path::rail;
  Sequence announced = 0;               // through this one, without grant beyond `granted`
};

struct GrantMessage {
  Rank rank = 0;
  GroupId group = 0;
  Sequence first = 0, last = 0;
  Path path = Path::rail;
};
// Start nothing of this group beyond what has been started; answer with `stopped`.
struct StopMessage {
  Rank rank = 0;
  GroupId group = 0;
  Sequence granted_last = 0;            // names the batch
};
// The batch ends here: what lies beyond must be announced again.
struct LimitMessage {
  Rank rank = 0;
  GroupId group = 0;
  Sequence granted_last = 0;            // as in the StopMessage
  Sequence last = 0;
};
// The operation can never be granted; the shim ends it with this error.
struct FailMessage {
  Rank rank = 0;
  GroupId group = 0;
  Sequence sequence = 0;
  std::string reason;
};

// Drained after each input, and sent in the order of the members below: a limit may come before a stop that names it.
struct CoordinatorOutputs {
  std::vector<GrantMessage> grants;
  std::vector<LimitMessage> limits;
  std::vector<StopMessage> stops;
  std::vector<FailMessage> failures;
  std::vector<SwitchCommand> commands;
  bool empty() const {
    return grants.empty() && stops.empty() && limits.empty() && failures.empty() && commands.empty();
  }
};

struct CoordinatorSpec {
  Rank ranks = 0;
  std::uint32_t ports = 0;              // of this job, dense: rank * ports_per_rank + port
  std::uint32_t ports_per_rank = 1;
  bool batches = true;
  bool switch_ahead = false;
  Sequence max_batch = 1024;
  std::uint32_t learn_after = 8;        // operations that must have repeated before a programme is trusted

  // For tests: rules that fail (see admission rules in the README), and the guard left out.
  AdmissionRule rule = AdmissionRule::gang;
  bool cached_grants = false;           // a grant covers what its members issue next, whatever their programme
  bool guard = true;
};

// Counted since the beginning.
struct CoordinatorCounts {
  std::uint64_t operations = 0, grants = 0, batched = 0, switches = 0, switches_ahead = 0;
  std::uint64_t mispredictions = 0, guard_fired = 0, management = 0, failed = 0, learnt = 0, forgotten = 0;
};

class Coordinator {
 public:
  explicit Coordinator(const CoordinatorSpec& spec);
  Coordinator(const Coordinator& other);
  Coordinator(Coordinator&&) noexcept;
  Coordinator& operator=(const Coordinator& other);
  Coordinator& operator=(Coordinator&&) noexcept;
  ~Coordinator();

  // Groups are registered once, by anybody; ids are dense. Ports of a demand must be of this job.
  GroupId add_group(GroupSpec spec);

  // ---- from ranks; a message that makes no sense (not a member, a gap in the sequence) is refused by `false`
  bool announce(Rank rank, GroupId group, Sequence sequence, bool alone);
  bool complete(Rank rank, GroupId group, Sequence through);
  bool blocked(Rank rank, GroupId group, Sequence sequence);
  bool stopped(Rank rank, GroupId group, Sequence granted_last, Sequence highest_started);
  void lost(Rank rank);
  // A rank that was lost and lives again is a new rank, with the next number; groups of its old number stay dead.
  Rank add_rank();

  // ---- after a restart of the controller: begin_recovery() first, resume() for each rank that comes back, lost() for
  // the others; recovery ends with the last of them. Circuits that are up are preset before.
  // Without begin_recovery(), resume() is a rank whose stream broke in the life of the same controller: what it may
  // have missed is said again (grants, a stop without an answer, a limit that it does not know yet, failures). A rank
  // that was stopped stays so until it hears the limit; a new controller asks the members of an open batch again. A
  // group may be named several times, once for each outstanding granted range of another path.
  void begin_recovery();
  bool resume(Rank rank, const std::vector<ResumedGroup>& groups);
  bool recovering() const;
  void preset(std::span<const Circuit> circuits);

  // ---- from the switches
  void command_done(CommandId command);
  // Nothing of the command can be relied on: its ports are out of service until set_usable, and the operation that
  // waits for it takes the management path. What the switch holds on them then is told by preset(), before
  // set_usable().
  void command_failed(CommandId command);
  void set_usable(PortId port, bool usable);    // quarantine, drain: demands over it take the management path
  void guard_timer();                           // something has been blocked for guard_timeout

  CoordinatorOutputs& outputs();            // drained by the caller
  const CoordinatorCounts& counts() const;
  bool idle() const;                            // nothing is announced or granted
  std::uint32_t holds(PortId port) const;
  PortId partner(PortId port) const;
  bool granted(GroupId group, Sequence sequence) const;
  // Groups and operations that wait, for status: announced by somebody and not granted; granted and not completed.
  std::uint64_t waiting() const;
  std::uint64_t running() const;
  std::uint64_t digest(std::uint64_t salt = 0) const;  // without outputs and counts

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::control
