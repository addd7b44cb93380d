// State of the Coordinator, shared by the files that implement it: announcements and grants (coordinator.cc), batches,
// guard, and coming back after a break or a restart (coordinator_recovery.cc).
#pragma once

#include <utility>

#include "control/coordinator.h"
#include "control/learner.h"

namespace photonrail::control {

inline constexpr std::size_t kNobody = ~std::size_t{0};
inline constexpr OperationId kNoOperation = 0xffffffff;
inline constexpr GroupId kNoGroup = 0xffffffff;
inline constexpr std::size_t kMaxBlocked = 64;  // reported by one rank at one time
inline constexpr Sequence kMaxAhead = 65536;  // announced and not granted, of one group

// Where one member stands: through which operation. `reached`: known to be issued, by announcement or completion.
// `believed`: it has issued something else and has not said that it left the batch before; but it may not have seen the
// grant yet, until it completes the first operation of the batch. The learner has been told through `believed`.
struct MemberState {
  Sequence reached = 0;
  Sequence believed = 0;
  Sequence completed = 0;
};

// A grant that not every living member has completed.
struct Batch {
  Sequence first = 0, last = 0;
  Path path = Path::rail;
  OperationId hold = kNoOperation;      // in the Controller; none: management path
  bool closing = false;                 // members have been asked to stop
  bool closed = false;                  // it ended early
  std::vector<Sequence> stopped_at;     // per member while closing; 0: no answer yet
};

// Fully announced, not granted.
struct Pending {
  OperationId operation = kNoOperation;
  std::uint64_t ticket = 0;
  bool unserved = false;                // the Controller has closed it: management path when it is its turn
};

struct CommandState {
  CommandId told = 0;                   // outside: never used twice
  CommandId inner = 0;                  // the Controller's
  std::vector<PortId> ports;
};

struct GroupState {
  std::vector<Rank> members;
  std::vector<MemberState> state;       // as `members`
  DemandId demand = kNoDemand;
  bool broken = false;                  // a member is lost
  Sequence granted = 0;                 // through this one
  std::vector<Batch> batches;
  std::vector<Pending> pending;          // from granted + 1 on
};

struct RankState {
  explicit RankState(std::uint32_t confidence) : learner(confidence) {}
  bool alive = true;
  bool resumed = false;                 // while recovering
  GroupId inside = kNoGroup;            // may be starting operations of a batch that it has not been seen to start
  std::vector<GroupId> groups;
  std::vector<std::pair<GroupId, Sequence>> blocked;
  std::vector<ResumedGroup> reports;    // while recovering
  Learner learner;
};

struct Coordinator::Impl {
  explicit Impl(const CoordinatorSpec& wanted);

  // ---- coordinator.cc
  std::size_t member(Rank rank, GroupId group) const;
  bool heard(Rank rank, GroupId group) const;
  bool announce(Rank rank, GroupId group, Sequence sequence, bool alone);
  void issue(Rank rank, GroupId group, Sequence sequence, bool alone);
  bool complete(Rank rank, GroupId group, Sequence through);
  void settle(GroupId group);
  Sequence full(const GroupState& group) const;
  void queue_full(GroupId group);
  OperationId open(GroupId group);
  void announce_naive(GroupId group, Rank rank, Sequence sequence);
  void pump();
  void take_decisions();
  void serve_unserved(GroupId group);
  void decide(GroupId group, Path path, OperationId hold, Sequence more);
  void send_grant(Rank rank, GroupId group, const Batch& batch);
  void fail_waiting(GroupId group, std::size_t index, Sequence from);
  void release(GroupId group);
  void switch_ahead(const std::vector<Rank>& freed);
  void lost(Rank rank);
  void finish_command(CommandId command, bool done);
  void add_to(Digest& digest) const;

  // ---- coordinator_batches.cc
  void learn(Rank rank, GroupId group, bool alone);
  void carry(Rank rank, GroupId group, Sequence through, bool certain);
  bool ends_early(const GroupState& group, const Batch& batch) const;
  void leave_batch(Rank rank, GroupId group);
  Sequence extent(GroupId group, Sequence first) const;
  std::optional<GroupId> next_group(Rank rank) const;
  bool stopped(Rank rank, GroupId group, Sequence granted_last, Sequence highest_started);
  void leave(GroupId group, Batch& batch, std::size_t index, Sequence highest_started);
  void close(GroupId group, Batch& batch, std::size_t leaver, Sequence highest_started);
  void limit_if_answered(GroupId group, Batch& batch);

  // ---- coordinator_guard.cc
  bool blocked(Rank rank, GroupId group, Sequence sequence);
  void watch_ports(GroupId group);
  void watch(std::size_t node);
  std::vector<std::size_t> waits_for(std::size_t node) const;
  void rank_waits_for(Rank rank, std::vector<std::size_t>& nodes) const;
  void operation_waits_for(GroupId group, std::vector<std::size_t>& nodes) const;
  std::optional<GroupId> cycle_from(std::size_t node) const;
  bool divert(GroupId group);
  void guard_timer();

  // ---- coordinator_recovery.cc
  bool plausible(Rank rank, const std::vector<ResumedGroup>& reports) const;
  bool resume(Rank rank, const std::vector<ResumedGroup>& reports);
  bool note(Rank rank, GroupId group, Sequence announced, Sequence completed);
  void repeat(Rank rank, GroupId group, const std::vector<ResumedGroup>& reports);
  bool all_back() const;
  void finish_recovery();
  void restore(GroupId group);

  CoordinatorSpec spec;
  Controller controller;
  bool recovering = false;
  std::vector<RankState> ranks;
  std::vector<GroupState> groups;
  std::vector<std::vector<GroupId>> groups_of_port;
  std::vector<GroupId> group_of_operation;              // of the Controller's operations
  std::vector<CommandState> commands;                   // on their way
  CommandId last_command = 0;
  bool pumping = false;
  std::vector<std::size_t> watched;                     // nodes whose waits have changed: ranks, then groups
  std::uint64_t last_ticket = 0;
  CoordinatorCounts counts;
  CoordinatorOutputs outputs;
};

}  // namespace photonrail::control
