// Switches: wishes for circuits become intents of the Reconciler of one optical switch, and their ends come back.
//
//   - A wish names the circuits to make and to drop. What else stands in the way at its ports is dropped with it, if it
//     was made here or joins two ports that are ours; anything else is a conflict, which the Reconciler reports.
//   - Never two intents over one position at a time; wishes that wait keep their order.
//   - Every write is a durable record before its frames leave (Outbox).
//   - Circuit breaker: after kSickFailures intents that failed in a row, and while a switch has not answered for
//     kPatience, wishes for it fail at once and their ports are suspended (demands take the management path) until
//     the back-off is over, or the switch is back. Then one intent probes it.
// One thread. After every call the owner drains take_endings() and take_reports().
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "daemon/outbox.h"

namespace photonrail::daemon {

inline constexpr unsigned kSickFailures = 5;
inline constexpr Duration kPatience = std::chrono::seconds(2);
inline constexpr Duration kSickBackoff = std::chrono::seconds(5), kSickBackoffMax = std::chrono::minutes(1);

// A change of circuits on one switch; positions are those of the duplex ports.
struct Wish {
  std::uint64_t job = 0;  // serial of a live job; the owner's affair
  std::string job_name;
  std::optional<control::CommandId> command;  // absent: repair of circuits that were lost
  std::vector<std::pair<device::Position, device::Position>> connect, disconnect;
};

struct Ending {
  SwitchId ocs = 0;
  Wish wish;
  bool done = false;
  std::set<device::Position> at_fault;  // ports whose light did not come, by the switch's own word or our reading
  std::string reason;
};

// `read`: the switch is (again) ready, and its matrix is what it is. `changed`: somebody else changed `positions`.
// `port_failed`: light was lost there. `restored`: ports that were suspended are not any more.
struct Report {
  enum class Kind : std::uint8_t { read, changed, port_failed, restored } kind = Kind::read;
  SwitchId ocs = 0;
  std::set<device::Position> positions;
};

class Switches {
 public:
  Switches(const CoreSpec& spec, DurableState& state, Outbox& outbox, Instant now);

  void connected(SwitchId ocs, Instant now);
  void frame(SwitchId ocs, const device::Frame& frame, Instant now);
  void disconnected(SwitchId ocs, Instant now);
  void tick(Instant now);
  Instant next_deadline() const;

  void submit(SwitchId ocs, Wish wish, Instant now);
  std::vector<Ending> take_endings() { return std::exchange(endings_, {}); }
  std::vector<Report> take_reports() { return std::exchange(reports_, {}); }

  bool ready(SwitchId ocs) const { return at(ocs).ready; }
  bool busy(Attachment port) const { return at(port.ocs).busy.contains(port.position); }  // waits or is in progress
  bool suspended(Attachment port) const { return at(port.ocs).suspended.contains(port.position); }
  void suspend(Attachment port) { at(port.ocs).suspended.insert(port.position); }  // until the switch was read
  // Both directions are there, and light is: the switch says so, or has told neither and had the time to settle.
  bool up(SwitchId ocs, device::Position a, device::Position b) const;
  bool joined(SwitchId ocs, device::Position a, device::Position b) const;  // both directions, whatever the light
  const device::Reconciler& reconciler(SwitchId ocs) const { return *at(ocs).reconciler; }
  // Fills in what this knows of the switch.
  void describe(SwitchId ocs, SwitchStatus& status) const;

 private:
  struct Waiting {
    Wish wish;
    std::set<device::Position> positions;
  };
  struct InFlight {
    Wish wish;
    device::Intent intent;
    std::set<device::Position> positions;
    Instant started{}, written{};
  };
  struct Switch {
    std::unique_ptr<device::Reconciler> reconciler;
    bool ready = false;
    Instant unready_since{};
    std::deque<Waiting> waiting;
    std::map<device::IntentId, InFlight> in_flight;
    std::multiset<device::Position> busy;
    std::set<device::Position> suspended;
    std::set<device::Position> unsettled;   // of intents that a former life left unfinished: light need not be there
    unsigned failures_in_a_row = 0;
    Duration backoff = kSickBackoff;
    Instant sick_until{};
    bool sick = false, probing = false;  // probing: the next intent says whether it is well again
    std::uint64_t intents = 0, failed = 0, alarms = 0;
  };

  Switch& at(SwitchId ocs) { return switches_[ocs]; }
  const Switch& at(SwitchId ocs) const { return switches_[ocs]; }
  void settle(SwitchId ocs, Instant now);
  void drain(SwitchId ocs, Instant now);
  void note_write(SwitchId ocs, const device::WriteRecord& write, RecordNumber& after, Instant now);
  void note_result(SwitchId ocs, const device::IntentResult& result, Instant now);
  void note_alarm(SwitchId ocs, const device::Alarm& alarm);
  void note_ready(SwitchId ocs, bool ready, Instant now);
  void close_unfinished(SwitchId ocs);
  void measure(SwitchId ocs, const InFlight& in_flight, const device::IntentResult& result, Instant now);
  void judge(Switch& entry, bool done, Instant now);
  void restore(SwitchId ocs);
  bool refuses(const Switch& entry, Instant now) const;
  void refuse_waiting(SwitchId ocs, Instant now);
  void start_waiting(SwitchId ocs, Instant now);
  bool start(SwitchId ocs, Waiting& waiting, Instant now);
  std::vector<device::CrossConnect> in_the_way(SwitchId ocs, const Waiting& waiting) const;
  bool ours(SwitchId ocs, device::CrossConnect pair) const;
  std::vector<device::CrossConnect> standing(SwitchId ocs, const std::set<device::CrossConnect>& named) const;

  const CoreSpec& spec_;
  DurableState& state_;
  Outbox& outbox_;
  std::vector<Switch> switches_;  // by SwitchId
  device::IntentId next_intent_;
  std::vector<Ending> endings_;
  std::vector<Report> reports_;
};

std::string text(const std::vector<device::CrossConnect>& pairs);  // "3>7 7>3"

}  // namespace photonrail::daemon
