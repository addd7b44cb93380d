#include "daemon/durable.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"

namespace photonrail::daemon {
namespace {

using device::CrossConnect;

constexpr std::size_t kFences = 4096;        // names of past jobs that are remembered
constexpr std::size_t kOpenIntents = 65536;  // of one switch

tl::unexpected<Error> refuse(std::string what) {
  return fail(ErrorCode::invalid_input, "journal: " + std::move(what) + "; the journal is damaged or not of this core");
}
tl::unexpected<Error> no_such_job(const std::string& job, std::uint64_t job_epoch) {
  return refuse(fmt::format("job {} epoch {} is not known", job, job_epoch));
}

// Both ends of all, sorted.
std::vector<device::Position> ends(const std::set<CrossConnect>& pairs) {
  std::vector<device::Position> positions;
  positions.reserve(2 * pairs.size());
  for (const CrossConnect pair : pairs) positions.insert(positions.end(), {pair.in, pair.out});
  std::sort(positions.begin(), positions.end());
  return positions;
}

void retire_groups(DurableJob& job, control::Rank rank) {
  for (DurableGroup& group : job.groups) {
    const auto& members = group.registration.members;
    const bool member = std::find(members.begin(), members.end(), rank) != members.end();
    if (member && std::find(group.lost.begin(), group.lost.end(), rank) == group.lost.end()) group.lost.push_back(rank);
  }
}

void remember(DurableRank& rank, std::uint64_t incarnation) {
  rank.past.push_back(incarnation);
  if (rank.past.size() > kPastIncarnations) rank.past.erase(rank.past.begin());
}

}  // namespace

std::uint32_t rank_count(const SubmitJob& job) { return static_cast<std::uint32_t>(job.domain.size()); }

std::string malformed(const SubmitJob& job) {
  if (job.job.empty() || job.job.size() > 255) return "the job's name has 1 to 255 bytes";
  if (job.job_epoch == 0) return "the job's epoch counts from 1";
  if (job.domain.empty()) return "the job has no rank";
  if (job.ports_per_rank == 0) return "a rank has at least one port";
  if (job.ports.size() != job.domain.size() * std::size_t{job.ports_per_rank}) {
    return fmt::format("{} ports given for {} ranks of {} ports each", job.ports.size(), job.domain.size(),
                       job.ports_per_rank);
  }
  std::vector<Attachment> sorted = job.ports;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return {};
  return fmt::format("position {} of switch {} is given twice", twice->position, twice->ocs);
}

const DurableJob* DurableState::job(const std::string& name, std::uint64_t job_epoch) const {
  const auto found = jobs_.find({name, job_epoch});
  return found == jobs_.end() ? nullptr : &found->second;
}

DurableJob* DurableState::find(const std::string& name, std::uint64_t job_epoch) {
  const auto found = jobs_.find({name, job_epoch});
  return found == jobs_.end() ? nullptr : &found->second;
}

const DurableJob* DurableState::running(const std::string& name) const {
  for (auto it = jobs_.lower_bound({name, 0}); it != jobs_.end() && it->first.first == name; ++it) {
    if (!it->second.ended) return &it->second;
  }
  return nullptr;
}

std::uint64_t DurableState::fenced_through(const std::string& name) const {
  for (const auto& [job, job_epoch] : fences_) {
    if (job == name) return job_epoch;
  }
  return 0;
}

void DurableState::fence(const std::string& name, std::uint64_t job_epoch) {
  const std::uint64_t before = fenced_through(name);
  std::erase_if(fences_, [&name](const auto& entry) { return entry.first == name; });
  fences_.emplace_back(name, std::max(before, job_epoch));
  if (fences_.size() > kFences) fences_.erase(fences_.begin());
}

const DurableJob* DurableState::owner(Attachment port) const {
  const auto found = owners_.find(port);
  return found == owners_.end() ? nullptr : found->second;
}

const DurableJob* DurableState::lingering(Attachment port) const {
  const auto found = lingering_.find(port);
  return found == lingering_.end() ? nullptr : found->second;
}

const DurableSwitch& DurableState::at(SwitchId ocs) const {
  const auto found = switches_.find(ocs);
  return found == switches_.end() ? untouched_ : found->second;
}

Status DurableState::apply(const Record& record) {
  return std::visit([this](const auto& r) { return on(r); }, record);
}

Status DurableState::on(const EpochBegun& r) {
  if (r.epoch <= epoch_) return refuse(fmt::format("epoch {} after epoch {}", r.epoch, epoch_));
  epoch_ = r.epoch;
  return {};
}

Status DurableState::on(const JobSubmitted& r) {
  const SubmitJob& job = r.job;
  if (std::string why = malformed(job); !why.empty()) return refuse(fmt::format("job {}: {}", job.job, why));
  if (job.job_epoch <= fenced_through(job.job)) return refuse(fmt::format("job {} comes back from the past", job.job));
  if (running(job.job) != nullptr || jobs_.contains({job.job, job.job_epoch})) {
    return refuse(fmt::format("job {} is submitted twice", job.job));
  }
  for (const Attachment& port : job.ports) {
    if (owners_.contains(port)) return refuse(fmt::format("job {} takes a port of another", job.job));
  }
  DurableJob& entry = jobs_[{job.job, job.job_epoch}];
  entry.job = job;
  entry.ranks.resize(job.domain.size());
  for (const Attachment& port : job.ports) owners_[port] = &entry;
  return {};
}

Status DurableState::on(const JobEnded& r) {
  DurableJob* job = find(r.job, r.job_epoch);
  if (job == nullptr || job->ended) return no_such_job(r.job, r.job_epoch);
  job->ended = true;
  fence(r.job, r.job_epoch);
  for (const Attachment& port : job->job.ports) owners_.erase(port);
  // While an earlier life lingers on a port, no rank of this one could attach: at most one job lingers on a port.
  if (job->attached == 0) return {};
  for (const Attachment& port : job->job.ports) lingering_[port] = job;
  return {};
}

Status DurableState::on(const JobRemoved& r) {
  const DurableJob* job = find(r.job, r.job_epoch);
  if (job == nullptr || !job->ended || job->attached != 0) return no_such_job(r.job, r.job_epoch);
  for (const Attachment& port : job->job.ports) {
    if (lingering(port) == job) lingering_.erase(port);
  }
  jobs_.erase({r.job, r.job_epoch});
  return {};
}

Status DurableState::on(const JobFenced& r) {
  fence(r.job, r.job_epoch);
  return {};
}

Status DurableState::on(const RankAttached& r) {
  DurableJob* job = find(r.job, r.job_epoch);
  if (job == nullptr) return no_such_job(r.job, r.job_epoch);
  if (r.rank >= job->ranks.size() || r.lease < Duration::zero()) return refuse("a rank that its job does not have");
  DurableRank& rank = job->ranks[r.rank];
  const bool attached = rank.state == DurableRank::State::attached;
  if (attached && rank.incarnation != r.incarnation) return refuse("a rank lives twice");
  if (!attached) ++job->attached;
  rank.lease = attached ? std::max(rank.lease, r.lease) : r.lease;
  rank.state = DurableRank::State::attached;
  rank.incarnation = r.incarnation;
  return {};
}

Status DurableState::on(const RankDetached& r) {
  DurableJob* job = find(r.job, r.job_epoch);
  if (job == nullptr) return no_such_job(r.job, r.job_epoch);
  if (r.rank >= job->ranks.size()) return refuse("a rank that its job does not have");
  DurableRank& rank = job->ranks[r.rank];
  remember(rank, r.incarnation);
  if (rank.state == DurableRank::State::attached && rank.incarnation != r.incarnation) return {};
  if (rank.state == DurableRank::State::attached) --job->attached;
  rank.state = DurableRank::State::gone;
  rank.incarnation = 0;
  rank.lease = {};
  retire_groups(*job, r.rank);
  return {};
}

Status DurableState::on(const GroupAdded& r) {
  DurableJob* job = find(r.job, r.job_epoch);
  if (job == nullptr) return no_such_job(r.job, r.job_epoch);
  for (const auto* ranks : {&r.group.members, &r.lost}) {
    for (const control::Rank rank : *ranks) {
      if (rank >= job->ranks.size()) return refuse("a group with a rank that its job does not have");
    }
  }
  job->groups.push_back({r.group, r.lost});
  return {};
}

Status DurableState::on(const PortSet& r) {
  if (r.state == SetPort::State::in_service)
    ports_out_.erase(r.port);
  else
    ports_out_[r.port] = {r.state, r.reason};
  return {};
}

Status DurableState::on(const SwitchSet& r) {
  if (r.state == SetSwitch::State::in_service)
    maintenance_.erase(r.ocs);
  else
    maintenance_[r.ocs] = r.reason;
  return {};
}

Status DurableState::on(const WriteIntended& r) {
  if (at(r.ocs).open.size() >= kOpenIntents) return refuse("too many open intents");
  DurableSwitch& ocs = switches_[r.ocs];
  OpenIntent& intent = ocs.open[r.write.id];
  intent.epoch = r.write.epoch;
  intent.job = r.job;
  intent.named.insert(r.write.remove.begin(), r.write.remove.end());
  intent.named.insert(r.write.add.begin(), r.write.add.end());
  ocs.made.insert(r.write.add.begin(), r.write.add.end());
  next_intent_ = std::max(next_intent_, r.write.id + 1);
  return {};
}

// What was made here at the ports of the intent is now what was read there.
Status DurableState::on(const IntentEnded& r) {
  if (!at(r.ocs).open.contains(r.id)) return refuse(fmt::format("intent {} ends and never began", r.id));
  DurableSwitch& ocs = switches_[r.ocs];
  const auto intent = ocs.open.find(r.id);
  const std::set<CrossConnect> named = std::move(intent->second.named);
  ocs.open.erase(intent);
  const std::vector<device::Position> positions = ends(named);
  const auto concerned = [&positions](device::Position p) {
    return std::binary_search(positions.begin(), positions.end(), p);
  };
  std::vector<CrossConnect> before;  // in order, as the set is
  for (auto it = ocs.made.begin(); it != ocs.made.end();) {
    const bool touched = concerned(it->in) || concerned(it->out);
    if (touched) before.push_back(*it);
    it = touched ? ocs.made.erase(it) : std::next(it);
  }
  for (const CrossConnect pair : r.up) {
    if (named.contains(pair) || std::binary_search(before.begin(), before.end(), pair)) ocs.made.insert(pair);
  }
  return {};
}

Status DurableState::on(const CircuitsMade& r) {
  switches_[r.ocs].made.insert(r.pairs.begin(), r.pairs.end());
  return {};
}

Status DurableState::on(const IntentsUsed& r) {
  next_intent_ = std::max(next_intent_, r.next);
  return {};
}

namespace {

void append_job(const DurableJob& entry, std::vector<Record>& records) {
  const std::string& name = entry.job.job;
  const std::uint64_t job_epoch = entry.job.job_epoch;
  for (control::Rank rank = 0; rank < entry.ranks.size(); ++rank) {
    const DurableRank& durable = entry.ranks[rank];
    for (const std::uint64_t past : durable.past) records.push_back(RankDetached{name, job_epoch, rank, past});
    if (durable.state != DurableRank::State::attached) continue;
    records.push_back(RankAttached{name, job_epoch, rank, durable.incarnation, durable.lease});
  }
  for (const DurableGroup& group : entry.groups) {
    records.push_back(GroupAdded{name, job_epoch, group.registration, group.lost});
  }
}

}  // namespace

// Ended jobs come before running ones: a port may be of both.
std::vector<std::string> DurableState::snapshot() const {
  std::vector<Record> records;
  if (epoch_ > 0) records.push_back(EpochBegun{epoch_});
  records.push_back(IntentsUsed{next_intent_});
  for (const bool ended : {true, false}) {
    for (const auto& [key, entry] : jobs_) {
      if (entry.ended != ended) continue;
      records.push_back(JobSubmitted{entry.job});
      append_job(entry, records);
      if (ended) records.push_back(JobEnded{key.first, key.second});
    }
  }
  for (const auto& [job, job_epoch] : fences_) records.push_back(JobFenced{job, job_epoch});
  for (const auto& [port, out] : ports_out_) records.push_back(PortSet{port, out.state, out.reason});
  for (const auto& [ocs, reason] : maintenance_) {
    records.push_back(SwitchSet{ocs, SetSwitch::State::maintenance, reason});
  }
  for (const auto& [ocs, state] : switches_) {
    for (const auto& [id, intent] : state.open) {
      device::WriteRecord write{id, intent.epoch, {intent.named.begin(), intent.named.end()}, {}, {}, {}};
      records.push_back(WriteIntended{ocs, intent.job, std::move(write)});
    }
    records.push_back(CircuitsMade{ocs, {state.made.begin(), state.made.end()}});
  }
  std::vector<std::string> encoded;
  encoded.reserve(records.size());
  for (const Record& record : records) encoded.push_back(encode(record));
  return encoded;
}

std::uint64_t DurableState::digest() const {
  Digest digest;
  for (const std::string& record : snapshot()) digest.add(record);
  return digest.value();
}

}  // namespace photonrail::daemon
