// Plane: jobs, their ranks and groups, while this core leads. It stands between the streams of ranks and the
// Coordinator of each job, and between the Coordinators and Switches.
//
//   job: waits for ports that ranks of an ended job may still use -> waits until its switches are read -> running
//
// Isolation: a Coordinator knows the dense ports of one job and nothing else; a message is taken only from the
// stream that its rank attached, and only for groups that the rank is a member of. Every refusal is audited. Per
// message: one look-up of the stream, one of the membership. Leases are checked by one timer for each rank, which
// looks at when the rank was last heard; no message touches it. One thread. The owner calls settle() after
// everything.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/switches.h"

namespace photonrail::daemon {

// One operation stream of one rank. Announced and not granted: max(0, announced - granted).
struct Membership {
  control::GroupId group = 0;
  control::Sequence announced = 0, granted = 0;
  std::uint64_t outstanding() const { return announced > granted ? announced - granted : 0; }
};

struct LiveRank {
  control::Rank number = 0;     // of this life of the rank, to the coordinator
  ConnectionId connection = 0;  // 0: not attached now
  Instant heard{};
  std::uint64_t outstanding = 0;        // over all memberships
  std::vector<Membership> memberships;  // by group
  control::GroupId blocked_group = 0;
  control::Sequence blocked = 0;  // 0: not known to wait
  Instant blocked_since{};
  bool guard_timer = false, lease_timer = false;
};

struct LiveJob {
  enum class Phase : std::uint8_t { waits_for_ports, reads_switches, running, ended };
  std::uint64_t serial = 0;
  const DurableJob* durable = nullptr;
  Phase phase = Phase::waits_for_ports;
  std::optional<control::Coordinator> coordinator;  // running
  std::vector<LiveRank> ranks;
  std::vector<control::Rank> rank_of;  // by number
  std::optional<control::Rank> ghost;  // number that stands for lost members of earlier groups
  std::unordered_map<std::string, control::GroupId> keys;
  std::vector<RecordNumber> group_records;    // by group: what GroupReady waits for
  std::vector<std::uint8_t> usable;           // by port, as told to the coordinator
  std::vector<control::PortId> lost_partner;  // by port: its circuit is down and shall come back
  std::vector<SwitchId> switches;             // that it has ports on
  std::vector<ConnectionId> waiting;          // streams that said Hello before the job runs
  bool dirty = false;
  bool recovering = false;
  std::vector<control::Circuit> claimed;  // by grants that ranks came back with
};

class Plane {
 public:
  Plane(const CoreSpec& spec, DurableState& state, Outbox& outbox, Switches& switches, Instant now);

  void opened(ConnectionId connection, const Identity& identity);
  void message(ConnectionId connection, const control::RankMessage& message, Instant now);
  void closed(ConnectionId connection);
  void close_all(const control::Refused& why);

  // From operators; the records are appended already.
  void submitted(const DurableJob& job, Instant now);
  void ended(const DurableJob& job, const std::string& why, Instant now);
  void refresh(Attachment port);
  void refresh(SwitchId ocs);
  void look_for_lost_circuits(SwitchId ocs, Instant now);
  void forget_failures(Attachment port) { failures_.erase(port); }

  // Carries everything that has come up to its end: grants to ranks, commands to switches and back.
  void settle(Instant now);
  void tick(Instant now);
  Instant next_deadline() const { return timers_.empty() ? kNever : timers_.top().at; }
  // The process did not run for a while: what ranks have sent meanwhile is read before any is given up.
  void grace(Instant until) { grace_until_ = std::max(grace_until_, until); }

  const std::map<std::uint64_t, std::unique_ptr<LiveJob>>& jobs() const { return jobs_; }
  Duration longest_wait(const DurableJob& job, Instant now) const;  // until no rank of an ended job can be alive

 private:
  struct Stream {
    Identity identity;
    LiveJob* job = nullptr;  // attached to
    control::Rank rank = 0;
    std::optional<control::Hello> hello;  // waits for its job
    unsigned refusals = 0;
  };
  struct Timer {
    enum class Kind : std::uint8_t { lease, guard, repair, read } kind = Kind::lease;
    Instant at{};
    std::uint64_t job = 0;
    std::uint32_t index = 0;  // rank or port
    bool operator>(const Timer& other) const {
      return std::tie(at, job, kind, index) > std::tie(other.at, other.job, other.kind, other.index);
    }
  };
  using PortOf = std::pair<LiveJob*, control::PortId>;

  // ---- jobs (plane_jobs.cc)
  LiveJob& add_job(const DurableJob& durable, Instant now);
  void advance(LiveJob& job, Instant now);
  void run(LiveJob& job, Instant now);
  void preset_standing(LiveJob& job);
  void remove_if_empty(LiveJob& job, Instant now);
  LiveJob* job_with(std::uint64_t serial);
  LiveJob* running(const std::string& name);
  void on_timer(const Timer& timer, Instant now);
  void check_lease(LiveJob& job, control::Rank rank, Instant now);
  void check_guard(LiveJob& job, control::Rank rank, Instant now);
  void give_up(LiveJob& job, control::Rank rank, const std::string& why, Instant now);
  Instant lease_end(const LiveJob& job, control::Rank rank) const;

  // ---- ranks (plane_ranks.cc)
  void on(Stream& stream, ConnectionId id, const control::Hello& hello, Instant now);
  void on(Stream& stream, ConnectionId id, const control::RegisterGroup& group, Instant now);
  void on(Stream& stream, ConnectionId id, const control::Announce& m, Instant now);
  void on(Stream& stream, ConnectionId id, const control::Complete& m, Instant now);
  void on(Stream& stream, ConnectionId id, const control::Blocked& m, Instant now);
  void on(Stream& stream, ConnectionId id, const control::Stopped& m, Instant now);
  void on(Stream& stream, ConnectionId id, const control::Renew& m, Instant now);
  void on(Stream& stream, ConnectionId id, const control::Goodbye& m, Instant now);
  void attach(Stream& stream, ConnectionId id, LiveJob& job, const control::Hello& hello, Instant now);
  bool resume(Stream& stream, ConnectionId id, LiveJob& job, const control::Hello& hello);
  void refuse(Stream& stream, ConnectionId id, control::Refused refused);
  void refuse_and_close(Stream& stream, ConnectionId id, control::Refused refused);
  Membership* membership(Stream& stream, ConnectionId id, control::GroupId group);
  control::GroupId add_group(LiveJob& job, const control::RegisterGroup& group);
  void enter_group(LiveJob& job, control::GroupId group);
  control::Rank ghost(LiveJob& job);
  void note_claims(LiveJob& job, const control::Hello& hello);
  void detach(Stream& stream, ConnectionId id);

  // ---- circuits (plane_circuits.cc)
  void drain(LiveJob& job, Instant now);
  LiveRank* live(LiveJob& job, control::Rank number);
  void deliver(LiveJob& job, const control::GrantMessage& grant);
  void deliver(LiveJob& job, const control::StopMessage& stop);
  void deliver(LiveJob& job, const control::LimitMessage& limit);
  void deliver(LiveJob& job, const control::FailMessage& failure);
  void command(LiveJob& job, const control::SwitchCommand& command, Instant now);
  void on(const Ending& ending, Instant now);
  void on(const Report& report, Instant now);
  void command_failed(LiveJob& job, const Ending& ending);
  void repaired(LiveJob& job, const Ending& ending, Instant now);
  void preset_read_back(LiveJob& job, SwitchId ocs, const std::vector<control::PortId>& ports);
  void circuit_lost(LiveJob& job, control::PortId port, control::PortId partner, Instant now);
  void look_for_claimed(LiveJob& job, Instant now);
  void look_at(LiveJob& job, control::PortId port, Instant now);
  void note_failure(Attachment port, const std::string& why, Instant now);
  bool in_service(const LiveJob& job, control::PortId port) const;
  void refresh(LiveJob& job, control::PortId port);
  const Attachment& attachment(const LiveJob& job, control::PortId port) const { return job.durable->job.ports[port]; }

  void mark(LiveJob& job);
  void audit(const Identity& who, std::string action, const std::string& job, std::string detail);

  const CoreSpec& spec_;
  DurableState& state_;
  Outbox& outbox_;
  Switches& switches_;
  Instant started_;
  Instant grace_until_{};
  std::uint64_t next_serial_ = 1;
  std::map<std::uint64_t, std::unique_ptr<LiveJob>> jobs_;  // by serial
  std::map<Attachment, PortOf> ports_;                      // of running jobs
  std::unordered_map<ConnectionId, Stream> streams_;        // looked up, never walked for output
  std::map<Attachment, std::deque<Instant>> failures_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<std::uint64_t> dirty_;
};

}  // namespace photonrail::daemon
