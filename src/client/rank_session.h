// RankSession: one rank's side of the control plane, sans-IO. Above it a program (a shim) that issues operations; below
// it a stream to the daemon that may break at any time and is opened again by the carrier.
//
//   group = session.add_group(key, members, shape)        -> registered; `ready(group)` when the daemon has answered
//   n = session.issue(group, alone)                       -> announced, or covered by a batch
//   take_starts()                                         -> operations that may run now, each once, with their path
//   session.finished(group, n)                            -> reported, in order of the group
//   session.waiting(group, n)                             -> tells the daemon what the program waits for
//
// Safety: an operation starts only after a grant that covers it, and never once the lease is over. The lease counts
// from the moment at which the message that renewed it was *sent*, less the margin, so that clocks need not agree (only
// their rates, to margin / lease). What was started is finished by the caller whatever happens; the daemon keeps its
// circuits. A rank that was given up by the daemon (lease over, newer life of the job) has failed for good: `failed()`.
// A program that issues an operation of another group before it has issued all of a batch has left the batch: the
// session says so (Stopped) before it announces, and starts no more of the batch until the daemon has limited it.
// Nothing is sent twice on one stream; on a new stream Hello says where the rank stands, and what the daemon may not
// have heard is said again. Whatever comes twice or late is ignored. One thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "control/messages.h"

namespace photonrail::client {

using GroupHandle = std::uint32_t;  // of this session, dense in order of add_group
inline constexpr GroupHandle kNoHandle = 0xffffffff;

struct RankSessionSpec {
  std::string job;
  std::uint64_t job_epoch = 0;
  control::Rank rank = 0;
  std::uint64_t incarnation = 0;  // a fresh random number for each start of the process
  std::string version;
};

struct Start {
  GroupHandle group = 0;
  control::Sequence sequence = 0;
  control::Path path = control::Path::rail;
};
// The operation will never start.
struct FailedOperation {
  GroupHandle group = 0;
  control::Sequence sequence = 0;
  std::string reason;
};

class RankSession {
 public:
  explicit RankSession(RankSessionSpec spec);

  // ---- the program
  GroupHandle add_group(std::string key, std::vector<control::Rank> members, control::RegisterGroup::Shape shape);
  bool ready(GroupHandle group) const { return groups_[group].ready; }
  bool rail(GroupHandle group) const { return groups_[group].rail; }  // else: no operation of it asks the daemon
  // Needs ready() and rail(). `alone`: of no other group an operation has been issued and not yet waited for.
  control::Sequence issue(GroupHandle group, bool alone);
  // An operation of a group that does not ask the daemon (not rail()): the program's order counts all of them.
  void issued_elsewhere();
  void finished(GroupHandle group, control::Sequence sequence);  // of one that was started
  void waiting(GroupHandle group, control::Sequence sequence);   // of one that was issued and not started
  std::vector<Start> take_starts(Instant now);
  std::vector<FailedOperation> take_failures();
  bool started(GroupHandle group, control::Sequence sequence) const { return sequence <= groups_[group].started; }

  // ---- the carrier
  void opened(Instant now);
  void closed();
  void receive(const control::DaemonMessage& message, Instant now);
  void tick(Instant now);
  Instant next_deadline() const { return next_renewal_; }
  std::vector<control::RankMessage> take_messages();
  Duration retry_after() const { return retry_after_; }  // before the stream is opened again
  bool attached() const { return attached_; }
  bool lease_valid(Instant now) const { return attached_once_ && now < lease_until_; }
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  control::Epoch epoch() const { return epoch_; }

 private:
  struct Range {
    control::Sequence first = 0, last = 0;
    control::Path path = control::Path::rail;
  };
  // started <= granted, started <= issued; announced: through this one, on this stream.
  struct Group {
    control::RegisterGroup registration;
    bool ready = false, rail = false;
    control::GroupId id = 0;
    control::Sequence issued = 0, started = 0, finished = 0, announced = 0;
    control::Sequence reported = 0;       // of finished, on this stream
    std::vector<bool> alone;              // of the operations from started + 1 on
    std::deque<Range> grants;             // those not yet finished
    Range last_grant;                     // also when it is finished; its first is the highest seen
    control::Sequence left_at = 0;        // `issued` when something of another group was last issued
    bool limited = false;                 // last_grant was cut to what some member has started: all of it will be
    std::deque<control::Sequence> early;  // finished beyond `finished`, ascending
    bool stopped = false;                 // start nothing beyond stop_at until the limit comes
    control::Sequence stop_at = 0;
    control::Sequence failed_from = 0;  // this one and later ones never start; 0: none
  };

  void announce_pending(Group& group);
  void stop(Group& group);
  void leave_batches(const Group* entered);
  void stop_if_left(Group& group);
  void say_waiting();
  void say_finished(Group& group);
  Group* group_with(control::GroupId id);
  void on(const control::Welcome& message, Instant now);
  void on(const control::GroupReady& message, Instant now);
  void on(const control::Granted& message, Instant now);
  void on(const control::Stop& message, Instant now);
  void on(const control::Limit& message, Instant now);
  void on(const control::Failed& message, Instant now);
  void on(const control::Renewed& message, Instant now);
  void on(const control::Refused& message, Instant now);
  void send(control::RankMessage message) { messages_.push_back(std::move(message)); }

  RankSessionSpec spec_;
  std::vector<Group> groups_;
  std::vector<control::RankMessage> messages_;
  std::vector<FailedOperation> failures_;
  std::string failure_;
  bool open_ = false, attached_ = false, attached_once_ = false;
  control::Epoch epoch_ = 0;
  Duration lease_{}, margin_{}, retry_after_{};
  Instant lease_until_{}, next_renewal_ = kNever;
  std::optional<std::pair<GroupHandle, control::Sequence>> waiting_;  // what the program waits for, as far as it said
  GroupHandle last_issued_ = kNoHandle;                               // group of the last operation
  std::deque<Instant> asked_;  // when Hello and each Renew without an answer were sent
};

}  // namespace photonrail::client
