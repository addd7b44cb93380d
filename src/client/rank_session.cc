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
  PR_CHECK(group.ready && group.rail,
           "an operation of a group that the daemon does not know, or that needs no circuits");
  leave_batches(&group);
  ++group.issued;
  group.alone.push_back(alone && last_issued_ == handle);
  last_issued_ = handle;
  announce_pending(group);
  return group.issued;
}

// Says every issued operation that no grant covers, once on this stream.
void RankSession::announce_pending(Group& group) {
  if (!attached_ || !group.ready || group.stopped) return;
  for (Sequence next = std::max(group.last_grant.last, group.announced) + 1; next <= group.issued; ++next) {
    send(control::Announce{group.id, next, group.alone[static_cast<std::size_t>(next - group.started - 1)]});
    group.announced = next;
  }
}

void RankSession::issued_elsewhere() {
  leave_batches(nullptr);
  last_issued_ = kNoHandle;
}

// What has been issued counts as started: nothing will keep it.
void RankSession::stop(Group& group) {
  group.stopped = true;
  group.stop_at = std::min(group.issued, group.last_grant.last);
  if (attached_) send(control::Stopped{group.id, group.last_grant.last, group.stop_at});
}

void RankSession::leave_batches(const Group* entered) {
  for (Group& group : groups_) {
    if (&group == entered) continue;
    group.left_at = group.issued;
    stop_if_left(group);
  }
}

// Something else was issued after the first operation of the batch and before its last one.
void RankSession::stop_if_left(Group& group) {
  const bool inside = group.left_at >= group.last_grant.first && group.issued < group.last_grant.last;
  if (inside && !group.stopped && !group.limited) stop(group);
}

std::vector<Start> RankSession::take_starts(Instant now) {
  std::vector<Start> starts;
  if (!lease_valid(now) || failed()) return starts;
  for (GroupHandle handle = 0; handle < groups_.size(); ++handle) {
    Group& group = groups_[handle];
    Sequence through = std::min(group.issued, group.last_grant.last);
    if (group.stopped) through = std::min(through, group.stop_at);
    while (group.started < through) {
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
  say_finished(group);
  while (!group.grants.empty() && group.grants.front().last <= group.finished) group.grants.pop_front();
}

void RankSession::waiting(GroupHandle handle, Sequence sequence) {
  const std::pair<GroupHandle, Sequence> wait{handle, sequence};
  if (waiting_ == wait) return;
  waiting_ = wait;
  say_waiting();
}

void RankSession::say_waiting() {
  if (!attached_ || !waiting_) return;
  const Group& group = groups_[waiting_->first];
  if (waiting_->second > group.last_grant.last) send(control::Blocked{group.id, waiting_->second});
}

void RankSession::say_finished(Group& group) {
  if (!attached_ || group.finished == group.reported) return;
  send(control::Complete{group.id, group.finished});
  group.reported = group.finished;
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
    const Sequence announced = group.stopped ? group.last_grant.last : std::max(group.last_grant.last, group.issued);
    control::ResumedGroup resumed{group.id, group.finished, 0, 0, control::Path::rail, announced};
    group.announced = announced;
    group.reported = group.finished;
    const auto add = [&](const Range& range) {
      resumed.granted_first = range.first;
      resumed.granted = range.last;
      resumed.granted_path = range.path;
      hello.groups.push_back(resumed);
    };
    for (const Range& range : group.grants) add(range);
    if (group.grants.empty()) add(group.last_grant);
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
    if (!group.ready || !group.rail) continue;
    say_finished(group);
    if (group.stopped) send(control::Stopped{group.id, group.last_grant.last, group.stop_at});
    announce_pending(group);  // what was issued since Hello
  }
  say_waiting();
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
  // Repeated grants begin where an earlier one did; a gap means that one is on its way again.
  if (message.first != group->last_grant.last + 1 || message.last < message.first) return;
  group->last_grant = {message.first, message.last, message.path};
  group->grants.push_back(group->last_grant);
  group->limited = false;
  stop_if_left(*group);  // it may have come too late
}

void RankSession::on(const control::Stop& message, Instant) {
  Group* group = group_with(message.group);
  if (group == nullptr) return;
  // The end of the batch as granted says which one is meant; another one has been closed already.
  if (group->last_grant.last == message.granted_last && !group->stopped) return stop(*group);
  const Sequence through = group->stopped ? group->stop_at : group->issued;
  send(control::Stopped{message.group, message.granted_last, std::min(through, message.granted_last)});
}

void RankSession::on(const control::Limit& message, Instant) {
  Group* group = group_with(message.group);
  const bool meant = group != nullptr && group->last_grant.last == message.granted_last &&
                     message.last >= group->last_grant.first && message.last <= message.granted_last;
  if (!meant) return;
  const Sequence kept = group->stopped ? group->stop_at : group->started;
  if (message.last < kept) {
    failure_ = "the daemon cuts a batch before an operation that has started";
    return;
  }
  group->stopped = false;
  group->limited = true;
  group->last_grant.last = message.last;
  if (!group->grants.empty()) group->grants.back().last = message.last;
  while (!group->grants.empty() && group->grants.front().last <= group->finished) group->grants.pop_front();
  group->announced = std::min(group->announced, message.last);
  if (group->issued > group->announced) leave_batches(group);  // announcing again counts as issuing
  announce_pending(*group);
  say_waiting();
}

void RankSession::on(const control::Failed& message, Instant) {
  Group* group = group_with(message.group);
  if (group == nullptr || message.sequence <= group->last_grant.last || message.sequence > group->issued) return;
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
  if (for_good && message.retry_after == Duration::zero())
    failure_ = message.text;
  else
    retry_after_ = message.retry_after;
}

void RankSession::tick(Instant now) {
  if (!attached_ || now < next_renewal_) return;
  send(control::Renew{});
  asked_.push_back(now);
  next_renewal_ = now + lease_ / 3;
}

std::vector<control::RankMessage> RankSession::take_messages() { return std::exchange(messages_, {}); }

}  // namespace photonrail::client
