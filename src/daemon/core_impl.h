// State of the core, shared by the files that implement it: leadership and the carrier's events (core.cc), operators'
// calls (operator_calls.cc), status (status.cc).
#pragma once

#include <optional>
#include <set>

#include "daemon/plane.h"

namespace photonrail::daemon {

struct Core::Impl {
  Impl(CoreSpec wanted, DurableState recovered) : spec(std::move(wanted)), state(std::move(recovered)) {}

  struct Leading {
    Leading(Impl& core, Instant now)
        : switches(core.spec, core.state, core.outbox, now), plane(core.spec, core.state, core.outbox, switches, now) {}
    Switches switches;
    Plane plane;
  };

  // ---- core.cc
  bool leads(Instant now);  // steps down when the time has come
  void lead(control::Epoch epoch, Instant until, Instant now);
  void step_down(Instant now, const std::string& why);
  void refuse_rank(ConnectionId connection);
  void tick(Instant now);
  Instant next_deadline() const;
  bool knows(SwitchId ocs) const { return ocs < spec.switches.size(); }

  // ---- operator_calls.cc
  void call(RequestId request, const Identity& who, const OperatorCall& call, Instant now);
  void on(RequestId request, const Identity& who, const SubmitJob& call, Instant now);
  void on(RequestId request, const Identity& who, const EndJob& call, Instant now);
  void on(RequestId request, const Identity& who, const SetPort& call, Instant now);
  void on(RequestId request, const Identity& who, const SetSwitch& call, Instant now);
  void on(RequestId request, const Identity& who, const PlanJob& call, Instant now);
  void on(RequestId request, const Identity& who, const GetStatus& call, Instant now);
  std::vector<std::string> objections(const SubmitJob& job) const;
  std::vector<std::string> consequences(const SubmitJob& job, Instant now) const;
  void end(const DurableJob& job, const std::string& why, Instant now);
  void audit(const Identity& who, RequestId request, std::string action, const std::string& job, std::string before,
             std::string after, std::string detail);

  // ---- status.cc
  StatusReport status(const GetStatus& wanted) const;
  std::vector<CircuitStatus> circuits(SwitchId ocs) const;
  JobStatus job_status(const DurableJob& durable) const;
  SwitchStatus switch_status(SwitchId ocs) const;

  CoreSpec spec;
  DurableState state;
  Outbox outbox;
  bool led = false;  // once in the life of this object
  Instant until = kNever;
  std::optional<Leading> leading;
  std::set<ConnectionId> streams;  // open ones, and who speaks on them while nobody leads
  std::unordered_map<ConnectionId, Identity> identities;
};

}  // namespace photonrail::daemon
