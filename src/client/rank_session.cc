#include "client/rank_session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace photonrail::client {

using control::Sequence;

RankSession::RankSession(RankSessionSpec spec) : spec_(std::move(spec)) {}

// ---- the program

GroupHandle RankSession::add_group(std::string key, std::vector<control::Rank> members,
                                   control::RegisterGroup::Shape shape) {
  Group group;
  group.registration = {std::move(key), std::move(members), shape};
  groups_.push_back(std::move(group));
  if (attached_) send(groups_.back().registration);
  return static_cast<GroupHandle>(groups_.size() - 1);
}

Sequence RankSession::issue(GroupHandle handle, bool alone) {
  Group& group = groups_[handle];
  PR_CHECK(group.ready && group.rail, "an operation of a group that the daemon does not know, or that needs no circuits");
  ++group.issued;
  group.alone.push_back(alone);
  announce_pending(group);
  return group.issued;
}

// Says every issued operation that no grant covers, once on this stream.
void RankSession::announce_pending(Group& group) {
  if (!attached_ || !group.ready || group.stopped) return;
  for (Sequence next = std::max(granted(group), group.announced) + 1; next <= group.issued; ++next) {
    send(control::Announce{group.id, next, group.alone[static_cast<std::size_t>(next - group.started - 1)]});
    group.announced = next;
  }
}

std::vector<Start> RankSession::take_starts(Instant now) {
  std::vector<Start> starts;
  if (!lease_valid(now) || failed()) return starts;
  for (GroupHandle handle = 0; handle < groups_.size(); ++handle) {
    Group& group = groups_[handle];
    if (group.stopped) continue;
    while (group.started < std::min(group.issued, granted(group))) {
      const Sequence next = ++group.started;
      group.alone.erase(group.alone.begin());
      const auto range = std::find_if(group.grants.begin(), group.grants.end(),
                                      [&](const Range& r) { return r.first <= next && next <= r.last; });
      PR_CHECK(range != group.grants.end(), "an operation below the last grant is covered by none");
      starts.push_back({handle, next, range->path});
    }
  }
  return starts;
}

void RankSession::finished(GroupHandle handle, Sequence sequence) {
  Group& group = groups_[handle];
  PR_CHECK(sequence > group.finished && sequence <= group.started, "the end of an operation that does not run");
  group.early.insert(std::upper_bound(group.early.begin(), group.early.end(), sequence), sequence);
  const Sequence before = group.finished;
  while (!group.early.empty() && group.early.front() == group.finished + 1) {
    ++group.finished;
    group.early.pop_front();
  }
  if (group.finished == before) return;
  if (attached_) send(control::Complete{group.id, group.finished});
  while (!group.grants.empty() && group.grants.front().last <= group.finished) group.grants.pop_front();
}

void RankSession::waiting(GroupHandle handle, Sequence sequence) {
  const Group& group = groups_[handle];
  if (attached_ && sequence > group.started) send(control::Blocked{group.id, sequence});
}

std::vector<FailedOperation> RankSession::take_failures() { return std::exchange(failures_, {}); }

// ---- the carrier

void RankSession::opened(Instant now) {
  PR_CHECK(!open_, "a stream is opened twice");
  open_ = true;
  attached_ = false;
  messages_.clear();
  asked_.assign(1, now);
  next_renewal_ = kNever;
  control::Hello hello{spec_.job, spec_.job_epoch, spec_.rank, spec_.incarnation, {}, spec_.version};
  for (Group& group : groups_) {
    if (!group.ready || !group.rail) continue;
    const Sequence announced = group.stopped ? granted(group) : std::max(granted(group), group.issued);
    control::ResumedGroup resumed{group.id, group.finished, 0, 0, control::Path::rail, announced};
    group.announced = announced;
    if (group.grants.empty()) hello.groups.push_back(resumed);
    for (const Range& range : group.grants) {
      resumed.granted_first = range.first;
      resumed.granted = range.last;
      resumed.granted_path = range.path;
      hello.groups.push_back(resumed);
    }
  }
  send(std::move(hello));
}

void RankSession::closed() {
  open_ = attached_ = false;
  next_renewal_ = kNever;
  messages_.clear();
  asked_.clear();
}

void RankSession::receive(const control::DaemonMessage& message, Instant now) {
  if (!open_ || failed()) return;
  std::visit([&](const auto& m) { on(m, now); }, message);
}

void RankSession::on(const control::Welcome& message, Instant now) {
  if (attached_ || asked_.empty()) return;
  attached_ = attached_once_ = true;
  // A stop dies with the controller that asked for it: the next one takes the batch as it was granted. The same one
  // repeats its stop or its limit.
  if (message.epoch != epoch_) {
    for (Group& group : groups_) group.stopped = false;
  }
  epoch_ = message.epoch;
  lease_ = message.lease;
  margin_ = message.margin;
  lease_until_ = asked_.front() + lease_ - margin_;
  asked_.clear();
  next_renewal_ = now + lease_ / 3;
  retry_after_ = {};
  for (Group& group : groups_) {
    if (!group.ready) send(group.registration);
    if (group.ready && group.rail) announce_pending(group);  // what was issued since Hello
  }
}

void RankSession::on(const control::GroupReady& message, Instant) {
  for (Group& group : groups_) {
    if (group.ready || group.registration.key != message.key) continue;
    group.ready = true;
    group.rail = message.rail;
    group.id = message.group;
  }
}

RankSession::Group* RankSession::group_with(control::GroupId id) {
  for (Group& group : groups_) {
    if (group.ready && group.rail && group.id == id) return &group;
  }
  return nullptr;
}

void RankSession::on(const control::Granted& message, Instant) {
  Group* group = group_with(message.group);
  if (group == nullptr) return;
  const Sequence first = std::max(message.first, granted(*group) + 1);
  if (first > message.last || message.first > granted(*group) + 1) return;  // known already, or a gap
  const bool extends = !group->grants.empty() && group->grants.back().path == message.path;
  if (extends) group->grants.back().last = message.last;
  else group->grants.push_back({first, message.last, message.path});
}

void RankSession::on(const control::Stop& message, Instant) {
  Group* group = group_with(message.group);
  if (group == nullptr) return;
  // The end of the batch as granted says which one is meant; another one has been closed already.
  if (granted(*group) == message.granted_last) group->stopped = true;
  send(control::Stopped{message.group, message.granted_last, std::min(group->started, message.granted_last)});
}

void RankSession::on(const control::Limit& message, Instant) {
  Group* group = group_with(message.group);
  if (group == nullptr || !group->stopped || granted(*group) != message.granted_last) return;
  PR_CHECK(message.last >= group->started, "a batch is cut before an operation that has started");
  group->stopped = false;
  while (!group->grants.empty() && group->grants.back().first > message.last) group->grants.pop_back();
  if (!group->grants.empty()) group->grants.back().last = std::min(group->grants.back().last, message.last);
  group->announced = std::min(group->announced, std::max(message.last, group->started));
  announce_pending(*group);
}

void RankSession::on(const control::Failed& message, Instant) {
  Group* group = group_with(message.group);
  if (group == nullptr || message.sequence <= granted(*group)) return;
  if (group->failed_from != 0 && group->failed_from <= message.sequence) return;
  group->failed_from = message.sequence;
  const auto handle = static_cast<GroupHandle>(group - groups_.data());
  failures_.push_back({handle, message.sequence, message.reason});
}

void RankSession::on(const control::Renewed& message, Instant) {
  if (!attached_ || asked_.empty()) return;
  lease_until_ = std::max(lease_until_, asked_.front() + message.lease - margin_);
  asked_.pop_front();
}

void RankSession::on(const control::Refused& message, Instant) {
  using Code = control::Refused::Code;
  const bool for_good = message.code == Code::stale_epoch || message.code == Code::not_yours ||
                        message.code == Code::unknown_job || message.code == Code::bad_request;
  if (for_good && message.retry_after == Duration::zero()) failure_ = message.text;
  else retry_after_ = message.retry_after;
}

void RankSession::tick(Instant now) {
  if (!attached_ || now < next_renewal_) return;
  send(control::Renew{});
  asked_.push_back(now);
  next_renewal_ = now + lease_ / 3;
}

std::vector<control::RankMessage> RankSession::take_messages() { return std::exchange(messages_, {}); }

}  // namespace photonrail::client
