// Jobs and leases; settle().
#include "daemon/plane.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace photonrail::daemon {

using control::GroupId;
using control::PortId;
using control::Rank;

Plane::Plane(const CoreSpec& spec, DurableState& state, Outbox& outbox, Switches& switches, Instant now)
    : spec_(spec), state_(state), outbox_(outbox), switches_(switches), started_(now) {
  // Two passes: a running job may wait for ports of an ended one.
  for (const auto& [key, durable] : state.jobs()) {
    if (durable.ended) add_job(durable, now);
  }
  std::vector<std::uint64_t> ended;
  for (const auto& [serial, job] : jobs_) ended.push_back(serial);
  for (const std::uint64_t serial : ended) remove_if_empty(*jobs_.at(serial), now);
  for (const auto& [key, durable] : state.jobs()) {
    if (!durable.ended) add_job(durable, now);
  }
}

LiveJob& Plane::add_job(const DurableJob& durable, Instant now) {
  auto owned = std::make_unique<LiveJob>();
  LiveJob& job = *owned;
  job.serial = next_serial_++;
  job.durable = &durable;
  job.ranks.resize(durable.ranks.size());
  for (const Attachment& port : durable.job.ports) job.switches.push_back(port.ocs);
  std::sort(job.switches.begin(), job.switches.end());
  job.switches.erase(std::unique(job.switches.begin(), job.switches.end()), job.switches.end());
  jobs_.emplace(job.serial, std::move(owned));
  for (Rank rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].heard = now;
    if (durable.ranks[rank].state != DurableRank::State::attached) continue;
    job.ranks[rank].lease_timer = true;
    timers_.push({Timer::Kind::lease, lease_end(job, rank), job.serial, rank});
  }
  if (durable.ended)
    job.phase = LiveJob::Phase::ended;
  else
    advance(job, now);
  return job;
}

void Plane::advance(LiveJob& job, Instant now) {
  using Phase = LiveJob::Phase;
  if (job.phase == Phase::waits_for_ports) {
    for (const Attachment& port : job.durable->job.ports) {
      if (state_.lingering(port) != nullptr) return;
    }
    job.phase = Phase::reads_switches;
    // A switch that cannot be read for so long must not keep the ranks from renewing their leases.
    const Duration patience = std::min(spec_.command_deadline, spec_.lease / 2);
    timers_.push({Timer::Kind::read, now + patience, job.serial, 0});
  }
  if (job.phase != Phase::reads_switches) return;
  const bool read =
      std::all_of(job.switches.begin(), job.switches.end(), [this](SwitchId ocs) { return switches_.ready(ocs); });
  if (read) run(job, now);
}

void Plane::run(LiveJob& job, Instant now) {
  const SubmitJob& submitted = job.durable->job;
  job.phase = LiveJob::Phase::running;
  control::CoordinatorSpec spec;
  spec.ranks = rank_count(submitted);
  spec.ports = static_cast<std::uint32_t>(submitted.ports.size());
  spec.ports_per_rank = submitted.ports_per_rank;
  spec.batches = spec_.batches;
  spec.switch_ahead = spec_.switch_ahead;
  job.coordinator.emplace(spec);
  job.usable.assign(submitted.ports.size(), 1);
  job.lost_partner.assign(submitted.ports.size(), control::kNoPort);
  for (PortId port = 0; port < submitted.ports.size(); ++port) {
    const Attachment at = submitted.ports[port];
    ports_[at] = {&job, port};
    if (!switches_.ready(at.ocs)) switches_.suspend(at);
  }
  for (Rank rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].number = rank;
    job.rank_of.push_back(rank);
  }
  for (GroupId group = 0; group < job.durable->groups.size(); ++group) enter_group(job, group);
  job.recovering = job.durable->attached > 0;
  if (job.recovering) job.coordinator->begin_recovery();
  preset_standing(job);
  for (PortId port = 0; port < submitted.ports.size(); ++port) refresh(job, port);
  // Ranks that are not attached hold nothing: they are back at once. The others are waited for.
  for (Rank rank = 0; job.recovering && rank < job.ranks.size(); ++rank) {
    if (job.durable->ranks[rank].state != DurableRank::State::attached) job.coordinator->resume(rank, {});
  }
  mark(job);
  for (const ConnectionId id : std::exchange(job.waiting, {})) {
    const auto stream = streams_.find(id);
    if (stream == streams_.end() || !stream->second.hello) continue;
    const control::Hello hello = std::move(*stream->second.hello);
    stream->second.hello.reset();
    attach(stream->second, id, job, hello, now);
  }
}

void Plane::preset_standing(LiveJob& job) {
  std::vector<control::Circuit> standing;
  for (const SwitchId ocs : job.switches) {
    if (!switches_.ready(ocs)) continue;
    for (const device::CrossConnect pair : switches_.reconciler(ocs).snapshot().connections) {
      const auto a = ports_.find({ocs, pair.in}), b = ports_.find({ocs, pair.out});
      const bool ours = a != ports_.end() && b != ports_.end() && a->second.first == &job && b->second.first == &job;
      // What an intent of a job that is gone may still change is not counted on.
      const bool busy = switches_.busy({ocs, pair.in}) || switches_.busy({ocs, pair.out});
      if (!ours || busy || pair.in >= pair.out || !switches_.up(ocs, pair.in, pair.out)) continue;
      standing.push_back({a->second.second, b->second.second});
    }
  }
  if (!standing.empty()) job.coordinator->preset(standing);
}

void Plane::submitted(const DurableJob& job, Instant now) { add_job(job, now); }

void Plane::ended(const DurableJob& durable, const std::string& why, Instant now) {
  LiveJob* job = nullptr;
  for (const auto& [serial, candidate] : jobs_) {
    if (candidate->durable == &durable) job = candidate.get();
  }
  PR_CHECK(job != nullptr, "a job ends that does not live");
  job->phase = LiveJob::Phase::ended;
  job->coordinator.reset();
  for (const Attachment& port : durable.job.ports) {
    const auto entry = ports_.find(port);
    if (entry != ports_.end() && entry->second.first == job) ports_.erase(entry);
  }
  const control::Refused refused{control::Refused::Code::unknown_job, why, {}};
  for (const ConnectionId id : std::exchange(job->waiting, {})) {
    const auto stream = streams_.find(id);
    if (stream != streams_.end()) refuse_and_close(stream->second, id, refused);
  }
  for (LiveRank& rank : job->ranks) {
    if (rank.connection == 0) continue;
    const ConnectionId id = rank.connection;
    outbox_.to_rank(id, refused);
    outbox_.close(id, why);
    closed(id);
  }
  remove_if_empty(*job, now);
}

// The last rank of an ended job is gone: its ports may go to those who wait for them.
void Plane::remove_if_empty(LiveJob& job, Instant now) {
  if (job.phase != LiveJob::Phase::ended || job.durable->attached > 0) return;
  const std::string name = job.durable->job.job;
  const std::uint64_t job_epoch = job.durable->job.job_epoch;
  jobs_.erase(job.serial);
  outbox_.append(state_, JobRemoved{name, job_epoch});
  outbox_.audit({"controller", "job removed", name, state_.epoch(), 0, {}, {}, fmt::format("epoch {}", job_epoch)});
  std::vector<std::uint64_t> serials;
  for (const auto& [serial, other] : jobs_) {
    if (other->phase == LiveJob::Phase::waits_for_ports) serials.push_back(serial);
  }
  for (const std::uint64_t serial : serials) advance(*jobs_.at(serial), now);
}

LiveJob* Plane::job_with(std::uint64_t serial) {
  const auto found = jobs_.find(serial);
  return found == jobs_.end() ? nullptr : found->second.get();
}

LiveJob* Plane::running(const std::string& name) {
  for (const auto& [serial, job] : jobs_) {
    if (job->phase != LiveJob::Phase::ended && job->durable->job.job == name) return job.get();
  }
  return nullptr;
}

// ---- leases and other timers

Instant Plane::lease_end(const LiveJob& job, Rank rank) const {
  const Duration lease = job.durable->ranks[rank].lease;
  return std::max(job.ranks[rank].heard + lease + spec_.margin, grace_until_);
}

Duration Plane::longest_wait(const DurableJob& durable, Instant now) const {
  Duration wait{};
  for (const auto& [serial, job] : jobs_) {
    if (job->durable != &durable) continue;
    for (Rank rank = 0; rank < job->ranks.size(); ++rank) {
      if (durable.ranks[rank].state == DurableRank::State::attached) wait = std::max(wait, lease_end(*job, rank) - now);
    }
  }
  return wait;
}

void Plane::tick(Instant now) {
  while (!timers_.empty() && timers_.top().at <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    on_timer(timer, now);
  }
}

void Plane::on_timer(const Timer& timer, Instant now) {
  LiveJob* job = job_with(timer.job);
  if (job == nullptr) return;
  const bool runs = job->phase == LiveJob::Phase::running;
  switch (timer.kind) {
    case Timer::Kind::lease: return check_lease(*job, timer.index, now);
    case Timer::Kind::guard: return check_guard(*job, timer.index, now);
    case Timer::Kind::repair:
      if (runs) look_at(*job, timer.index, now);
      return;
    case Timer::Kind::read:
      if (job->phase == LiveJob::Phase::reads_switches) run(*job, now);
      return;
  }
}

void Plane::check_lease(LiveJob& job, Rank rank, Instant now) {
  LiveRank& live = job.ranks[rank];
  live.lease_timer = false;
  if (job.durable->ranks[rank].state != DurableRank::State::attached) return;
  const Instant end = lease_end(job, rank);
  if (end <= now) return give_up(job, rank, "its lease is over", now);
  live.lease_timer = true;
  timers_.push({Timer::Kind::lease, end, job.serial, rank});
}

void Plane::check_guard(LiveJob& job, Rank rank, Instant now) {
  LiveRank& live = job.ranks[rank];
  live.guard_timer = false;
  if (job.phase != LiveJob::Phase::running || live.blocked == 0) return;
  if (job.coordinator->granted(live.blocked_group, live.blocked)) {
    live.blocked = 0;
    return;
  }
  if (live.blocked_since + spec_.guard_timeout <= now) {
    live.blocked_since = now;
    job.coordinator->guard_timer();
    mark(job);
  }
  live.guard_timer = true;
  timers_.push({Timer::Kind::guard, live.blocked_since + spec_.guard_timeout, job.serial, rank});
}

// Nothing of this life of the rank counts any more, and no message of it is taken. Its circuits stay until the others
// have finished with them and somebody else needs the ports.
void Plane::give_up(LiveJob& job, Rank rank, const std::string& why, Instant now) {
  LiveRank& live = job.ranks[rank];
  const std::string& name = job.durable->job.job;
  const std::uint64_t incarnation = job.durable->ranks[rank].incarnation;
  for (const Membership& membership : live.memberships) {
    const auto key = job.keys.find(job.durable->groups[membership.group].registration.key);
    if (key != job.keys.end() && key->second == membership.group) job.keys.erase(key);
  }
  outbox_.append(state_, RankDetached{name, job.durable->job.job_epoch, rank, incarnation});
  outbox_.audit({"controller",
                 "rank given up",
                 name,
                 state_.epoch(),
                 0,
                 {},
                 {},
                 fmt::format("rank {} incarnation {}: {}", rank, incarnation, why)});
  if (const ConnectionId id = live.connection; id != 0) {
    outbox_.to_rank(id, control::Refused{control::Refused::Code::stale_epoch, why, {}});
    outbox_.close(id, why);
    closed(id);
  }
  live.memberships.clear();
  live.outstanding = 0;
  live.blocked = 0;
  if (job.phase == LiveJob::Phase::running) {
    job.coordinator->lost(live.number);
    live.number = job.coordinator->add_rank();
    job.rank_of.push_back(rank);
    mark(job);
  }
  remove_if_empty(job, now);
}

// ---- everything that has come up

void Plane::mark(LiveJob& job) {
  if (std::exchange(job.dirty, true)) return;
  dirty_.push_back(job.serial);
}

void Plane::settle(Instant now) {
  while (true) {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
      LiveJob* job = job_with(dirty_[i]);
      if (job == nullptr) continue;
      job->dirty = false;
      if (job->coordinator) drain(*job, now);
    }
    dirty_.clear();
    const std::vector<Ending> endings = switches_.take_endings();
    const std::vector<Report> reports = switches_.take_reports();
    if (endings.empty() && reports.empty()) return;
    for (const Ending& ending : endings) on(ending, now);
    for (const Report& report : reports) on(report, now);
  }
}

void Plane::audit(const Identity& who, std::string action, const std::string& job, std::string detail) {
  outbox_.audit({who.name, std::move(action), job, state_.epoch(), 0, {}, {}, std::move(detail)});
}

}  // namespace photonrail::daemon
