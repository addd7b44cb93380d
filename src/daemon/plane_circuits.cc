// Between the Coordinators and Switches: commands, their ends, ports that fail, circuits that are lost.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "daemon/plane.h"

namespace photonrail::daemon {
namespace {

using control::kNoPort;
using control::PortId;
using control::Rank;

constexpr Duration kRepairRetry = std::chrono::seconds(1);

Membership* find(LiveRank& rank, control::GroupId group) {
  const auto at = std::lower_bound(rank.memberships.begin(), rank.memberships.end(), group,
                                   [](const Membership& m, control::GroupId g) { return m.group < g; });
  return at == rank.memberships.end() || at->group != group ? nullptr : &*at;
}

}  // namespace

// ---- from a coordinator

void Plane::drain(LiveJob& job, Instant now) {
  control::CoordinatorOutputs& out = job.coordinator->outputs();
  // Of one batch: its grant, its limit; then what was granted after the limit; stops name what is granted by then.
  const auto limited = [&out](const control::GrantMessage& grant) {
    return std::any_of(out.limits.begin(), out.limits.end(), [&grant](const control::LimitMessage& limit) {
      return limit.rank == grant.rank && limit.group == grant.group && limit.granted_last == grant.last;
    });
  };
  const auto rest =
      out.limits.empty() ? out.grants.begin() : std::stable_partition(out.grants.begin(), out.grants.end(), limited);
  for (auto grant = out.grants.begin(); grant != rest; ++grant) deliver(job, *grant);
  for (const control::LimitMessage& limit : out.limits) deliver(job, limit);
  for (auto grant = rest; grant != out.grants.end(); ++grant) deliver(job, *grant);
  for (const control::StopMessage& stop : out.stops) deliver(job, stop);
  for (const control::FailMessage& failure : out.failures) deliver(job, failure);
  out.grants.clear();
  out.stops.clear();
  out.limits.clear();
  out.failures.clear();
  for (const control::SwitchCommand& wanted : out.commands) command(job, wanted, now);
  out.commands.clear();
  if (job.recovering && !job.coordinator->recovering()) look_for_claimed(job, now);
}

LiveRank* Plane::live(LiveJob& job, Rank number) {
  const Rank rank = job.rank_of[number];
  if (rank >= job.ranks.size() || job.ranks[rank].number != number) return nullptr;
  return &job.ranks[rank];
}

void Plane::deliver(LiveJob& job, const control::GrantMessage& grant) {
  LiveRank* rank = live(job, grant.rank);
  Membership* member = rank == nullptr ? nullptr : find(*rank, grant.group);
  if (member == nullptr) return;
  const std::uint64_t before = member->outstanding();
  member->granted = std::max(member->granted, grant.last);
  rank->outstanding -= before - member->outstanding();
  outbox_.to_rank(rank->connection, control::Granted{grant.group, grant.first, grant.last, grant.path});
}

void Plane::deliver(LiveJob& job, const control::StopMessage& stop) {
  const LiveRank* rank = live(job, stop.rank);
  if (rank != nullptr) outbox_.to_rank(rank->connection, control::Stop{stop.group, stop.granted_last});
}

// What lies beyond is announced again.
void Plane::deliver(LiveJob& job, const control::LimitMessage& limit) {
  LiveRank* rank = live(job, limit.rank);
  Membership* member = rank == nullptr ? nullptr : find(*rank, limit.group);
  if (member == nullptr) return;
  const std::uint64_t before = member->outstanding();
  if (member->granted == limit.granted_last) member->granted = limit.last;
  member->announced = std::min(member->announced, member->granted);
  rank->outstanding -= before - member->outstanding();
  outbox_.to_rank(rank->connection, control::Limit{limit.group, limit.granted_last, limit.last});
}

void Plane::deliver(LiveJob& job, const control::FailMessage& failure) {
  LiveRank* rank = live(job, failure.rank);
  Membership* member = rank == nullptr ? nullptr : find(*rank, failure.group);
  if (member == nullptr) return;
  const std::uint64_t before = member->outstanding();
  member->granted = std::max(member->granted, failure.sequence);
  rank->outstanding -= before - member->outstanding();
  if (rank->blocked_group == failure.group && rank->blocked == failure.sequence) rank->blocked = 0;
  outbox_.to_rank(rank->connection, control::Failed{failure.group, failure.sequence, failure.reason});
}

// Ports of one demand end at one switch, and so do the circuits that they leave.
void Plane::command(LiveJob& job, const control::SwitchCommand& wanted, Instant now) {
  Wish wish;
  wish.job = job.serial;
  wish.job_name = job.durable->job.job;
  wish.command = wanted.id;
  PR_CHECK(!wanted.connect.empty(), "a command that connects nothing");
  const SwitchId ocs = attachment(job, wanted.connect.front().a).ocs;
  const auto add = [&](const std::vector<control::Circuit>& circuits, auto& to) {
    for (const control::Circuit& circuit : circuits) {
      const Attachment &a = attachment(job, circuit.a), &b = attachment(job, circuit.b);
      PR_CHECK(a.ocs == ocs && b.ocs == ocs, "a command over two switches");
      to.emplace_back(a.position, b.position);
    }
  };
  add(wanted.connect, wish.connect);
  add(wanted.disconnect, wish.disconnect);
  switches_.submit(ocs, std::move(wish), now);
}

// ---- from the switches

void Plane::on(const Ending& ending, Instant now) {
  LiveJob* job = job_with(ending.wish.job);
  const bool runs = job != nullptr && job->phase == LiveJob::Phase::running;
  if (!ending.done)
    outbox_.notice("warning", fmt::format("circuits of job {} were not made: {}", ending.wish.job_name, ending.reason));
  if (runs && ending.wish.command) {
    if (ending.done)
      job->coordinator->command_done(*ending.wish.command);
    else
      command_failed(*job, ending);
    mark(*job);
  }
  for (const device::Position position : ending.at_fault) note_failure({ending.ocs, position}, ending.reason, now);
  if (runs && !ending.wish.command) repaired(*job, ending, now);
}

// The coordinator has taken the ports out of service and forgotten their circuits: it is told what was read back, then
// that those which have nothing against them serve again.
void Plane::command_failed(LiveJob& job, const Ending& ending) {
  job.coordinator->command_failed(*ending.wish.command);
  std::vector<PortId> ports;
  for (const auto* circuits : {&ending.wish.connect, &ending.wish.disconnect}) {
    for (const auto& [a, b] : *circuits) {
      for (const device::Position position : {a, b}) ports.push_back(ports_.at({ending.ocs, position}).second);
    }
  }
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  for (const PortId port : ports) job.usable[port] = 0;
  preset_read_back(job, ending.ocs, ports);
  for (const PortId port : ports) refresh(job, port);
}

void Plane::preset_read_back(LiveJob& job, SwitchId ocs, const std::vector<PortId>& ports) {
  if (!switches_.ready(ocs)) return;
  std::vector<control::Circuit> standing;
  for (const device::CrossConnect pair : switches_.reconciler(ocs).snapshot().connections) {
    const auto a = ports_.find({ocs, pair.in}), b = ports_.find({ocs, pair.out});
    if (a == ports_.end() || b == ports_.end() || a->second.first != &job || b->second.first != &job) continue;
    const PortId p = a->second.second, q = b->second.second;
    const bool among =
        std::binary_search(ports.begin(), ports.end(), p) && std::binary_search(ports.begin(), ports.end(), q);
    const bool busy = switches_.busy({ocs, pair.in}) || switches_.busy({ocs, pair.out});
    if (!among || busy || pair.in >= pair.out || !switches_.up(ocs, pair.in, pair.out)) continue;
    if (job.coordinator->partner(p) != kNoPort || job.coordinator->partner(q) != kNoPort) continue;
    standing.push_back({p, q});
  }
  if (!standing.empty()) job.coordinator->preset(standing);
}

void Plane::repaired(LiveJob& job, const Ending& ending, Instant now) {
  for (const auto& [a, b] : ending.wish.connect) {
    const PortId p = ports_.at({ending.ocs, a}).second, q = ports_.at({ending.ocs, b}).second;
    if (!ending.done) {
      timers_.push({Timer::Kind::repair, now + kRepairRetry, job.serial, p});
      continue;
    }
    job.lost_partner[p] = job.lost_partner[q] = kNoPort;
    const bool forgotten = job.coordinator->partner(p) == kNoPort && job.coordinator->partner(q) == kNoPort;
    if (forgotten) job.coordinator->preset(std::vector<control::Circuit>{{p, q}});
    outbox_.audit({"controller",
                   "circuit restored",
                   ending.wish.job_name,
                   state_.epoch(),
                   0,
                   {},
                   {},
                   fmt::format("switch {}: ports {} and {}", spec_.switches[ending.ocs].name, a, b)});
    refresh(job, p);
    refresh(job, q);
  }
}

void Plane::on(const Report& report, Instant now) {
  using Kind = Report::Kind;
  if (report.kind == Kind::restored) {
    for (const device::Position position : report.positions) refresh(Attachment{report.ocs, position});
  }
  if (report.kind == Kind::port_failed) {
    for (const device::Position position : report.positions) {
      const Attachment port{report.ocs, position};
      note_failure(port, "light was lost", now);
      const auto entry = ports_.find(port);
      if (entry == ports_.end() || switches_.busy(port)) continue;
      LiveJob& job = *entry->second.first;
      const PortId partner = job.coordinator->partner(entry->second.second);
      if (partner != kNoPort) circuit_lost(job, entry->second.second, partner, now);
    }
  }
  if (report.kind == Kind::read) {
    std::vector<std::uint64_t> serials;
    for (const auto& [serial, job] : jobs_) serials.push_back(serial);
    for (const std::uint64_t serial : serials) {
      if (LiveJob* job = job_with(serial)) advance(*job, now);
    }
  }
  look_for_lost_circuits(report.ocs, now);
}

// ---- circuits that are gone although nobody here dropped them

void Plane::look_for_lost_circuits(SwitchId ocs, Instant now) {
  if (!switches_.ready(ocs)) return;
  std::vector<PortOf> here;
  for (auto it = ports_.lower_bound({ocs, 0}); it != ports_.end() && it->first.ocs == ocs; ++it)
    here.push_back(it->second);
  for (const auto& [job, port] : here) look_at(*job, port, now);
}

void Plane::look_at(LiveJob& job, PortId port, Instant now) {
  const bool lost_before = job.lost_partner[port] != kNoPort;
  const PortId partner = lost_before ? job.lost_partner[port] : job.coordinator->partner(port);
  if (partner == kNoPort) return;
  const Attachment &a = attachment(job, port), &b = attachment(job, partner);
  if (switches_.busy(a) || switches_.busy(b) || !switches_.ready(a.ocs)) return;
  if (!lost_before && switches_.joined(a.ocs, a.position, b.position)) return;
  circuit_lost(job, port, partner, now);
}

// Grants that ranks came back with hold circuits that may have gone while nobody looked.
void Plane::look_for_claimed(LiveJob& job, Instant now) {
  job.recovering = false;
  for (const control::Circuit& circuit : std::exchange(job.claimed, {})) {
    const bool held = job.coordinator->holds(circuit.a) > 0 && job.coordinator->holds(circuit.b) > 0;
    const bool free = job.coordinator->partner(circuit.a) == kNoPort && job.coordinator->partner(circuit.b) == kNoPort;
    const bool fine = job.lost_partner[circuit.a] != kNoPort || switches_.busy(attachment(job, circuit.a));
    if (held && free && !fine) circuit_lost(job, circuit.a, circuit.b, now);
  }
}

// Its ports serve no further demand until the circuit is back. What was never ours is left alone: the repair then
// fails.
void Plane::circuit_lost(LiveJob& job, PortId port, PortId partner, Instant now) {
  const Attachment &a = attachment(job, port), &b = attachment(job, partner);
  if (job.lost_partner[port] == kNoPort) {
    outbox_.audit({"controller",
                   "circuit lost",
                   job.durable->job.job,
                   state_.epoch(),
                   0,
                   {},
                   {},
                   fmt::format("switch {}: ports {} and {}", spec_.switches[a.ocs].name, a.position, b.position)});
  }
  job.lost_partner[port] = partner;
  job.lost_partner[partner] = port;
  refresh(job, port);
  refresh(job, partner);
  const bool out = state_.ports_out().contains(a) || state_.ports_out().contains(b) ||
                   state_.maintenance().contains(a.ocs) || switches_.suspended(a) || switches_.suspended(b);
  if (out) return;  // looked at again when they are back
  Wish wish;
  wish.job = job.serial;
  wish.job_name = job.durable->job.job;
  wish.connect.emplace_back(a.position, b.position);
  switches_.submit(a.ocs, std::move(wish), now);
}

// ---- ports in and out of service

void Plane::note_failure(Attachment port, const std::string& why, Instant now) {
  if (state_.ports_out().contains(port) || state_.owner(port) == nullptr) return;
  std::deque<Instant>& times = failures_[port];
  times.push_back(now);
  while (times.front() + spec_.quarantine_window < now) times.pop_front();
  if (times.size() < spec_.quarantine_failures) return;
  failures_.erase(port);
  const std::string reason = fmt::format("failed {} times: {}", spec_.quarantine_failures, why);
  outbox_.append(state_, PortSet{port, SetPort::State::quarantined, reason});
  const std::string where = fmt::format("switch {} position {}", spec_.switches[port.ocs].name, port.position);
  outbox_.audit({"controller", "quarantine", state_.owner(port)->job.job, state_.epoch(), 0, "in service",
                 "quarantined", where + ": " + reason});
  outbox_.notice("error", where + " is quarantined: " + reason);
  refresh(port);
}

bool Plane::in_service(const LiveJob& job, PortId port) const {
  const Attachment& at = attachment(job, port);
  return !state_.ports_out().contains(at) && !state_.maintenance().contains(at.ocs) && !switches_.suspended(at) &&
         job.lost_partner[port] == kNoPort;
}

void Plane::refresh(LiveJob& job, PortId port) {
  const std::uint8_t usable = in_service(job, port) ? 1 : 0;
  if (usable == job.usable[port]) return;
  job.usable[port] = usable;
  job.coordinator->set_usable(port, usable == 1);
  mark(job);
}

void Plane::refresh(Attachment port) {
  const auto entry = ports_.find(port);
  if (entry != ports_.end()) refresh(*entry->second.first, entry->second.second);
}

void Plane::refresh(SwitchId ocs) {
  std::vector<PortOf> here;
  for (auto it = ports_.lower_bound({ocs, 0}); it != ports_.end() && it->first.ocs == ocs; ++it)
    here.push_back(it->second);
  for (const auto& [job, port] : here) refresh(*job, port);
}

}  // namespace photonrail::daemon
