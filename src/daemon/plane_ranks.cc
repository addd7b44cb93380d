// What ranks say.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "daemon/plane.h"
#include "daemon/routes.h"

namespace photonrail::daemon {
namespace {

using control::GroupId;
using control::Rank;
using control::Refused;
using control::Sequence;
using Code = control::Refused::Code;

constexpr unsigned kMaxRefusals = 8;  // of one stream, then it is closed: a flood fills no audit log
constexpr std::size_t kMaxKey = 512;
constexpr Duration kRetry = std::chrono::milliseconds(200);

// What is wrong with a group as a rank of the job registers it; empty: nothing.
std::string malformed(const control::RegisterGroup& group, std::uint32_t ranks) {
  if (group.key.empty() || group.key.size() > kMaxKey) return fmt::format("a group's key has 1 to {} bytes", kMaxKey);
  if (group.members.empty() || group.members.size() > ranks)
    return "a group has at least one member and at most the job";
  std::vector<Rank> sorted = group.members;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() >= ranks) return fmt::format("rank {} is not of the job, which has {}", sorted.back(), ranks);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() ? std::string() : fmt::format("rank {} is a member twice", *twice);
}

bool same(const control::RegisterGroup& a, const control::RegisterGroup& b) {
  return a.members == b.members && a.shape == b.shape;
}

Membership* find(LiveRank& rank, GroupId group) {
  const auto at = std::lower_bound(rank.memberships.begin(), rank.memberships.end(), group,
                                   [](const Membership& m, GroupId g) { return m.group < g; });
  return at == rank.memberships.end() || at->group != group ? nullptr : &*at;
}

}  // namespace

void Plane::opened(ConnectionId connection, const Identity& identity) {
  Stream& stream = streams_[connection];
  stream.identity = identity;
  if (identity.role == Identity::Role::rank) return;
  refuse_and_close(stream, connection, {Code::not_yours, "only ranks attach", {}});
}

void Plane::closed(ConnectionId connection) {
  const auto found = streams_.find(connection);
  if (found == streams_.end()) return;
  detach(found->second, connection);
  streams_.erase(found);
}

void Plane::close_all(const Refused& why) {
  std::vector<ConnectionId> ids;
  for (const auto& [id, stream] : streams_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const ConnectionId id : ids) {
    outbox_.to_rank(id, why);
    outbox_.close(id, why.text);
  }
  streams_.clear();
}

void Plane::detach(Stream& stream, ConnectionId id) {
  if (stream.job != nullptr) stream.job->ranks[stream.rank].connection = 0;
  stream.job = nullptr;
  if (!stream.hello) return;
  if (LiveJob* job = running(stream.hello->job)) std::erase(job->waiting, id);
}

void Plane::message(ConnectionId connection, const control::RankMessage& message, Instant now) {
  const auto found = streams_.find(connection);
  if (found == streams_.end()) return;  // closed from here; the carrier may not know yet
  Stream& stream = found->second;
  if (stream.job == nullptr && !std::holds_alternative<control::Hello>(message)) {
    return refuse(stream, connection, {Code::bad_request, "the first message of a stream is Hello", {}});
  }
  if (stream.job != nullptr) stream.job->ranks[stream.rank].heard = now;
  std::visit([&](const auto& m) { on(stream, connection, m, now); }, message);
}

void Plane::refuse(Stream& stream, ConnectionId id, Refused refused) {
  const std::string job = stream.job != nullptr ? stream.job->durable->job.job : stream.identity.job;
  audit(stream.identity, "refused", job, refused.text);
  outbox_.to_rank(id, std::move(refused));
  if (++stream.refusals < kMaxRefusals) return;
  outbox_.close(id, "too many messages were refused");
  closed(id);
}

void Plane::refuse_and_close(Stream& stream, ConnectionId id, Refused refused) {
  stream.refusals = kMaxRefusals;
  refuse(stream, id, std::move(refused));
}

// ---- Hello

void Plane::on(Stream& stream, ConnectionId id, const control::Hello& hello, Instant now) {
  const Identity& who = stream.identity;
  if (who.job != hello.job || (who.rank && *who.rank != hello.rank)) {
    return refuse_and_close(
        stream, id, {Code::not_yours, fmt::format("{} is not rank {} of job {}", who.name, hello.rank, hello.job), {}});
  }
  if (stream.job != nullptr) {  // said twice on one stream
    if (hello.rank != stream.rank) return refuse(stream, id, {Code::bad_request, "a stream carries one rank", {}});
    return outbox_.to_rank(id, control::Welcome{state_.epoch(), spec_.lease, spec_.margin});
  }
  LiveJob* job = running(hello.job);
  const std::uint64_t life = job == nullptr ? state_.fenced_through(hello.job) + 1 : job->durable->job.job_epoch;
  if (hello.job_epoch < life) {
    return refuse_and_close(stream, id,
                            {Code::stale_epoch, fmt::format("job {} lives in epoch {} now", hello.job, life), {}});
  }
  if (job == nullptr || hello.job_epoch > life) {
    return refuse_and_close(
        stream, id,
        {Code::unknown_job, fmt::format("job {} epoch {} has not been submitted", hello.job, hello.job_epoch), {}});
  }
  if (hello.rank >= job->ranks.size()) {
    return refuse_and_close(stream, id,
                            {Code::not_yours, fmt::format("job {} has {} ranks", hello.job, job->ranks.size()), {}});
  }
  if (job->phase == LiveJob::Phase::running) return attach(stream, id, *job, hello, now);
  if (!stream.hello) job->waiting.push_back(id);
  stream.hello = hello;
}

void Plane::attach(Stream& stream, ConnectionId id, LiveJob& job, const control::Hello& hello, Instant now) {
  const DurableRank& durable = job.durable->ranks[hello.rank];
  const auto& past = durable.past;
  if (std::find(past.begin(), past.end(), hello.incarnation) != past.end()) {
    return refuse_and_close(stream, id, {Code::stale_epoch, "this life of the rank has been given up", {}});
  }
  const bool attached = durable.state == DurableRank::State::attached;
  const bool back = attached && durable.incarnation == hello.incarnation;
  if (!back && !hello.groups.empty()) {
    return refuse_and_close(stream, id, {Code::bad_request, "a rank that never attached stands in no group", {}});
  }
  if (attached && !back) {
    give_up(job, hello.rank, fmt::format("a new life of it has come, incarnation {}", hello.incarnation), now);
  }
  LiveRank& live = job.ranks[hello.rank];
  if (live.connection != 0) {  // a stream that broke and was not heard of
    const ConnectionId old = live.connection;
    outbox_.close(old, "the rank has come back on another stream");
    closed(old);
  }
  RecordNumber record = 0;
  if (!back || durable.lease < spec_.lease) {
    record =
        outbox_.append(state_, RankAttached{hello.job, hello.job_epoch, hello.rank, hello.incarnation, spec_.lease});
  }
  stream.job = &job;
  stream.rank = hello.rank;
  live.connection = id;
  live.heard = now;
  if (!live.lease_timer) {
    live.lease_timer = true;
    timers_.push({Timer::Kind::lease, lease_end(job, hello.rank), job.serial, hello.rank});
  }
  outbox_.to_rank(id, control::Welcome{state_.epoch(), spec_.lease, spec_.margin}, record);
  if (back) resume(stream, id, job, hello);
}

// Where the rank says that it stands, checked like every message: its own groups, and not more than it may have ahead.
bool Plane::resume(Stream& stream, ConnectionId id, LiveJob& job, const control::Hello& hello) {
  LiveRank& live = job.ranks[hello.rank];
  std::vector<Membership> stands = live.memberships;
  std::uint64_t outstanding = 0;
  for (Membership& membership : stands) membership.announced = membership.granted = 0;
  for (const control::ResumedGroup& group : hello.groups) {
    const auto at = std::lower_bound(stands.begin(), stands.end(), group.group,
                                     [](const Membership& m, GroupId g) { return m.group < g; });
    if (at == stands.end() || at->group != group.group) {
      refuse_and_close(stream, id,
                       {Code::not_yours, fmt::format("rank {} is not in group {}", hello.rank, group.group), {}});
      return false;
    }
    at->announced = std::max(at->announced, group.announced);
    at->granted = std::max({at->granted, group.granted, group.completed});
  }
  for (const Membership& membership : stands) outstanding += membership.outstanding();
  if (outstanding > spec_.max_outstanding_per_rank) {
    refuse_and_close(stream, id, {Code::overloaded, "too many operations are announced", kRetry});
    return false;
  }
  if (!job.coordinator->resume(live.number, hello.groups)) {
    refuse_and_close(stream, id, {Code::bad_request, "where the rank says that it stands makes no sense", {}});
    return false;
  }
  live.memberships = std::move(stands);
  live.outstanding = outstanding;
  if (job.recovering) note_claims(job, hello);
  mark(job);
  return true;
}

// Circuits that running operations use. Those that are not up when all ranks are back have been lost.
void Plane::note_claims(LiveJob& job, const control::Hello& hello) {
  for (const control::ResumedGroup& group : hello.groups) {
    if (group.granted <= group.completed || group.granted_path != control::Path::rail) continue;
    const Route way = route(job.durable->job, job.durable->groups[group.group].registration);
    if (way.demand) job.claimed.insert(job.claimed.end(), way.demand->circuits.begin(), way.demand->circuits.end());
  }
}

// ---- groups

void Plane::on(Stream& stream, ConnectionId id, const control::RegisterGroup& group, Instant) {
  LiveJob& job = *stream.job;
  const std::string wrong = malformed(group, static_cast<std::uint32_t>(job.ranks.size()));
  if (!wrong.empty()) return refuse(stream, id, {Code::bad_request, wrong, {}});
  if (std::find(group.members.begin(), group.members.end(), stream.rank) == group.members.end()) {
    return refuse(stream, id, {Code::not_yours, fmt::format("rank {} is not in group {}", stream.rank, group.key), {}});
  }
  const auto known = job.keys.find(group.key);
  if (known != job.keys.end() && !same(job.durable->groups[known->second].registration, group)) {
    return refuse(stream, id,
                  {Code::bad_request,
                   fmt::format("group {} was registered with other members or another "
                               "shape",
                               group.key),
                   {}});
  }
  if (known == job.keys.end() && job.durable->groups.size() >= spec_.max_groups_per_job) {
    return refuse(
        stream, id,
        {Code::bad_request, fmt::format("the job has {} groups, which is the limit", spec_.max_groups_per_job), {}});
  }
  const GroupId number = known == job.keys.end() ? add_group(job, group) : known->second;
  Route way = route(job.durable->job, group);
  control::GroupReady ready{group.key, number, way.demand.has_value(), std::move(way.why)};
  outbox_.to_rank(id, std::move(ready), job.group_records[number]);
}

GroupId Plane::add_group(LiveJob& job, const control::RegisterGroup& group) {
  const auto number = static_cast<GroupId>(job.durable->groups.size());
  const SubmitJob& submitted = job.durable->job;
  const RecordNumber record = outbox_.append(state_, GroupAdded{submitted.job, submitted.job_epoch, group, {}});
  enter_group(job, number);
  job.group_records[number] = record;
  return number;
}

// Makes a durable group known to the coordinator, under the same number.
void Plane::enter_group(LiveJob& job, GroupId number) {
  const DurableGroup& group = job.durable->groups[number];
  control::GroupSpec spec;
  for (const Rank rank : group.registration.members) {
    const bool lost = std::find(group.lost.begin(), group.lost.end(), rank) != group.lost.end();
    if (lost) continue;
    spec.members.push_back(job.ranks[rank].number);
    job.ranks[rank].memberships.push_back({number, 0, 0});
  }
  if (group.retired()) spec.members.push_back(ghost(job));
  std::sort(spec.members.begin(), spec.members.end());
  spec.demand = route(job.durable->job, group.registration).demand;
  const GroupId given = job.coordinator->add_group(std::move(spec));
  PR_CHECK(given == number, "the coordinator numbers groups otherwise");
  job.group_records.push_back(0);
  if (!group.retired()) job.keys[group.registration.key] = number;
}

// Which lives of ranks an earlier group lost does not matter any more: one number that is dead stands for all.
Rank Plane::ghost(LiveJob& job) {
  if (job.ghost) return *job.ghost;
  job.ghost = job.coordinator->add_rank();
  job.rank_of.push_back(control::kNoPort);
  job.coordinator->lost(*job.ghost);
  return *job.ghost;
}

// ---- operations

Membership* Plane::membership(Stream& stream, ConnectionId id, GroupId group) {
  Membership* found = find(stream.job->ranks[stream.rank], group);
  if (found == nullptr) {
    refuse(stream, id, {Code::not_yours, fmt::format("rank {} is not in group {}", stream.rank, group), {}});
  }
  return found;
}

void Plane::on(Stream& stream, ConnectionId id, const control::Announce& m, Instant) {
  Membership* member = membership(stream, id, m.group);
  if (member == nullptr) return;
  LiveJob& job = *stream.job;
  LiveRank& live = job.ranks[stream.rank];
  // What is refused here would be missing for ever; the rank comes back and says where it stands.
  if (m.sequence > member->announced && live.outstanding >= spec_.max_outstanding_per_rank) {
    return refuse_and_close(stream, id, {Code::overloaded, "too many operations are announced", kRetry});
  }
  if (!job.coordinator->announce(live.number, m.group, m.sequence, m.alone)) {
    return refuse(stream, id,
                  {Code::bad_request,
                   fmt::format("announcement of operation {} of group {} does not follow", m.sequence, m.group),
                   {}});
  }
  const std::uint64_t before = member->outstanding();
  member->announced = std::max(member->announced, m.sequence);
  live.outstanding += member->outstanding() - before;
  mark(job);
}

void Plane::on(Stream& stream, ConnectionId id, const control::Complete& m, Instant) {
  if (membership(stream, id, m.group) == nullptr) return;
  const LiveRank& live = stream.job->ranks[stream.rank];
  if (!stream.job->coordinator->complete(live.number, m.group, m.through)) {
    return refuse(stream, id,
                  {Code::bad_request, fmt::format("operation {} of group {} was not granted", m.through, m.group), {}});
  }
  mark(*stream.job);
}

void Plane::on(Stream& stream, ConnectionId id, const control::Blocked& m, Instant now) {
  if (membership(stream, id, m.group) == nullptr) return;
  LiveJob& job = *stream.job;
  LiveRank& live = job.ranks[stream.rank];
  if (!job.coordinator->blocked(live.number, m.group, m.sequence)) {
    return refuse(
        stream, id,
        {Code::bad_request, fmt::format("operation {} of group {} was not announced", m.sequence, m.group), {}});
  }
  mark(job);
  live.blocked_group = m.group;
  live.blocked = m.sequence;
  live.blocked_since = now;
  if (std::exchange(live.guard_timer, true)) return;
  timers_.push({Timer::Kind::guard, now + spec_.guard_timeout, job.serial, stream.rank});
}

void Plane::on(Stream& stream, ConnectionId id, const control::Stopped& m, Instant) {
  if (membership(stream, id, m.group) == nullptr) return;
  const LiveRank& live = stream.job->ranks[stream.rank];
  if (!stream.job->coordinator->stopped(live.number, m.group, m.granted_last, m.highest_started)) {
    return refuse(
        stream, id,
        {Code::bad_request, fmt::format("group {} has no batch that ends at {}", m.group, m.granted_last), {}});
  }
  mark(*stream.job);
}

void Plane::on(Stream&, ConnectionId id, const control::Renew&, Instant) {
  outbox_.to_rank(id, control::Renewed{spec_.lease});
}

void Plane::on(Stream& stream, ConnectionId id, const control::Goodbye&, Instant now) {
  LiveJob& job = *stream.job;
  const Rank rank = stream.rank;
  outbox_.close(id, "goodbye");
  closed(id);
  give_up(job, rank, "goodbye", now);
}

}  // namespace photonrail::daemon
