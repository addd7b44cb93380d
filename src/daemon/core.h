// Core: the whole controller daemon without IO. Events in, actions out; photonraild and the deterministic
// simulation are two carriers around it.
//
//   rank messages ─▶ Plane (jobs, leases, ports) ─▶ Coordinator per job ─▶ switch commands ─▶ Reconciler per OCS
//                      └─▶ journal records (durable before what they promise leaves) ─▶ audit records
//
// What is durable: jobs and the ports that they own, ranks' leases, groups, epochs, drained and quarantined ports,
// intents to switches and their results. What is not: announcements and grants. After a start, and after a
// hand-over, the core reads every switch, then waits until each rank that may still be alive has come back and said
// what it holds, or its lease plus margin has passed; until then nothing is granted and no circuit is changed (fail
// static).
//
// Order of promises: a record is durable before the message or the frame that depends on it is let out: welcome
// (lease), group-ready, operator replies, device writes. Grants depend on nothing but the settled circuits.
//
// Thread rule: one thread. After each call the carrier drains `take_actions()`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "control/messages.h"
#include "device/reconciler.h"

namespace photonrail::daemon {

using ConnectionId = std::uint64_t;  // of a rank's stream; never used twice
using RequestId = std::uint64_t;     // of an operator's call
using SwitchId = std::uint32_t;
using RecordNumber = std::uint64_t;  // 1, 2, ... of those that this object appends

// Where a rank's optical ports end: switch and position (its transmit fibre at that input, its receive fibre at that
// output).
struct Attachment {
  SwitchId ocs = 0;
  device::Position position = 0;
  friend auto operator<=>(const Attachment&, const Attachment&) = default;
};

struct SwitchSpec {
  std::string name;
  device::Dialect dialect = device::Dialect::polatis_scpi;
  device::Credentials credentials;
  device::ReconcilerSpec reconciler;
};

struct CoreSpec {
  std::vector<SwitchSpec> switches;
  Duration lease = std::chrono::seconds(10);
  Duration margin = std::chrono::seconds(1);
  Duration guard_timeout = std::chrono::seconds(5);
  Duration command_deadline = std::chrono::seconds(10);
  std::uint32_t max_jobs = 256, max_ranks_per_job = 65536, max_groups_per_job = 65536;
  std::uint32_t max_outstanding_per_rank = 4096;  // announced and not granted; beyond: Refused{overloaded}
  std::uint32_t quarantine_failures = 3;          // of a port within quarantine_window
  Duration quarantine_window = std::chrono::minutes(10);
  bool batches = true, switch_ahead = true;
  std::uint64_t seed = 1;
  // Other drivers than device::make_driver's, for tests and benchmarks.
  std::function<std::unique_ptr<device::Driver>(const SwitchSpec&)> make_driver;
};

// Who speaks, as authenticated by the carrier. A rank's identity names its job and rank; the core checks that Hello
// says the same.
struct Identity {
  enum class Role : std::uint8_t { rank, viewer, operator_, scheduler };
  Role role = Role::rank;
  std::string name;                   // for audit
  std::string job;                    // of a rank
  std::optional<control::Rank> rank;  // absent: any rank of the job (node agents)
};

// ---- operators' and schedulers' calls. Each is answered once, by Reply.
struct SubmitJob {
  std::string job;
  std::uint64_t job_epoch = 0;
  std::uint32_t ports_per_rank = 1;
  std::vector<Attachment> ports;      // rank-major: rank * ports_per_rank + port
  std::vector<std::uint32_t> domain;  // scale-up domain of each rank: groups inside one bypass the rails
};
struct EndJob {
  std::string job;
  std::uint64_t job_epoch = 0;
};
struct SetPort {
  Attachment port;
  enum class State : std::uint8_t { in_service, drained, quarantined } state = State::in_service;
  std::string reason;
};
struct SetSwitch {
  SwitchId ocs = 0;
  enum class State : std::uint8_t { in_service, maintenance } state = State::in_service;
  std::string reason;
};
struct PlanJob {
  SubmitJob job;
};  // dry run: what would be refused, which circuits would change
struct GetStatus {
  bool circuits = true, jobs = true, switches = true;
};
using OperatorCall = std::variant<SubmitJob, EndJob, SetPort, SetSwitch, PlanJob, GetStatus>;

// ---- status, as plain data
struct CircuitStatus {
  SwitchId ocs = 0;
  device::CrossConnect pair;
  bool intended = false, applied = false;
  device::PortStatus light = device::PortStatus::unknown;
  std::optional<double> power_dbm;
  std::string job;
  std::uint32_t holds = 0;
};
struct JobStatus {
  std::string job;
  std::uint64_t job_epoch = 0;
  std::uint32_t ranks = 0, attached = 0, lost = 0;
  std::uint32_t groups = 0, waiting = 0, granted = 0;
  bool recovering = false;
  control::CoordinatorCounts counts;
};
struct SwitchStatus {
  SwitchId ocs = 0;
  std::string name, dialect, state, serial;
  bool ready = false, maintenance = false;
  std::uint64_t intents = 0, failed = 0, alarms = 0;
  std::vector<std::pair<device::Position, std::string>> out_of_service;  // and why
};
struct StatusReport {
  control::Epoch epoch = 0;
  bool leading = false;
  std::vector<CircuitStatus> circuits;
  std::vector<JobStatus> jobs;
  std::vector<SwitchStatus> switches;
};
struct Reply {
  Status outcome;                 // refused: why, and a hint
  StatusReport status;            // of GetStatus
  std::vector<std::string> plan;  // of PlanJob, a line each
};

// Kept for ever, off-box too: who did what to which circuits.
struct AuditRecord {
  std::string who, action, job;
  control::Epoch epoch = 0;
  std::uint64_t request = 0;
  std::string before, after, detail;
};

// ---- actions
struct ToRank {
  ConnectionId connection = 0;
  control::DaemonMessage message;
};
struct CloseRank {
  ConnectionId connection = 0;
  std::string reason;
};
struct ToOperator {
  RequestId request = 0;
  Reply reply;
};
struct ToSwitch {
  SwitchId ocs = 0;
  device::Frame frame;
};
struct ConnectSwitch {
  SwitchId ocs = 0;
};  // (re)connect; drop the old connection first
struct AppendRecord {
  RecordNumber number = 0;
  std::string payload;
};
struct Audit {
  AuditRecord record;
};
struct Notice {
  std::string level, text;
};  // for the log: alarms, refusals
// One for each intent that ended, for metrics: not durable, in no order with other actions.
struct IntentMeasured {
  SwitchId ocs = 0;
  bool done = false;
  unsigned writes = 0;              // more than two: something was tried again
  std::uint32_t unknown_pairs = 0;  // whose outcome was never known
  Duration total{};                 // from the intent to its result
  Duration settle{};                // from the last frame of a write to the result
};
using Action =
    std::variant<ToRank, CloseRank, ToOperator, ToSwitch, ConnectSwitch, AppendRecord, Audit, Notice, IntentMeasured>;

class Core {
 public:
  // `records`: everything durable, in order (see journal). Refused where it makes no sense.
  static Result<Core> recover(CoreSpec spec, const std::vector<std::string>& records, Instant now);
  Core(Core&&) noexcept;
  Core& operator=(Core&&) noexcept;
  ~Core();

  // Leadership, once in the life of an object: who has stepped down is recovered anew, since others may have written.
  // Embedded: lead() with kNever. Highly available: with the epoch of the election and the instant at which the
  // carrier's own lease ends; from then on, and after step_down(), nothing is written or granted. An epoch that is not
  // beyond that of the records does not lead.
  void lead(control::Epoch epoch, Instant until, Instant now);
  void extend(Instant until, Instant now);
  void step_down(Instant now);

  void rank_opened(ConnectionId connection, const Identity& identity, Instant now);
  void rank_message(ConnectionId connection, const control::RankMessage& message, Instant now);
  void rank_closed(ConnectionId connection, Instant now);
  void operator_call(RequestId request, const Identity& identity, const OperatorCall& call, Instant now);

  void switch_connected(SwitchId ocs, Instant now);
  void switch_frame(SwitchId ocs, const device::Frame& frame, Instant now);
  void switch_disconnected(SwitchId ocs, Instant now);

  void durable(RecordNumber through, Instant now);
  void tick(Instant now);
  Instant next_deadline() const;

  std::vector<Action> take_actions();

  // All durable state as records that replace those up to the one returned: compaction.
  std::vector<std::string> snapshot() const;
  std::uint64_t digest() const;  // of the durable state

 private:
  struct Impl;
  explicit Core(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::daemon
