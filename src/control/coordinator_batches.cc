// Learnt programmes, batches and their early ends.
#include <algorithm>

#include "control/coordinator_impl.h"

namespace photonrail::control {
namespace {

Learner::Entry entry(GroupId group, bool alone) { return group * 2 + (alone ? 1 : 0); }

}  // namespace

void Coordinator::Impl::learn(Rank rank, GroupId group, bool alone) {
  if (!spec.batches && !spec.switch_ahead) return;
  const Learner::Change change = ranks[rank].learner.append(entry(group, alone));
  if (change == Learner::Change::learnt) ++counts.learnt;
  if (change == Learner::Change::forgotten) ++counts.forgotten;
}

// The rank has issued the operations of the group through this one; those that it did not announce, a batch covered.
void Coordinator::Impl::carry(Rank rank, GroupId id, Sequence through, bool certain) {
  GroupState& group = groups[id];
  MemberState& state = group.state[member(rank, id)];
  for (; state.believed < through; ++state.believed) learn(rank, id, true);
  if (certain) state.reached = std::max(state.reached, through);
  if (ranks[rank].inside == id && state.believed >= group.granted) ranks[rank].inside = kNoGroup;
}

// It announces this one, for the first time.
void Coordinator::Impl::issue(Rank rank, GroupId id, Sequence sequence, bool alone) {
  MemberState& state = groups[id].state[member(rank, id)];
  state.reached = sequence;
  if (state.believed >= sequence) {
    // Believed to be issued, under a batch, before something else: it was issued after that, before the grant came.
    ranks[rank].learner.clear();
    ++counts.forgotten;
  } else {
    learn(rank, id, alone);
  }
  state.believed = sequence;
  if (ranks[rank].inside == id && sequence >= groups[id].granted) ranks[rank].inside = kNoGroup;
}

// It issues something of `group`: so it has started all of the batch of another group that it was in, or it would have
// said `stopped` before; unless the grant of that batch has not come to it yet.
void Coordinator::Impl::leave_batch(Rank rank, GroupId group) {
  const GroupId inside = ranks[rank].inside;
  if (inside == kNoGroup || inside == group) return;
  const GroupState& left = groups[inside];
  const bool seen = !left.batches.empty() && left.state[member(rank, inside)].completed >= left.batches.back().first;
  carry(rank, inside, left.granted, seen);
  ranks[rank].inside = kNoGroup;
  settle(inside);
}

// Nobody is known to have started all of it.
bool Coordinator::Impl::ends_early(const GroupState& group, const Batch& batch) const {
  return std::none_of(group.state.begin(), group.state.end(),
                      [&](const MemberState& state) { return state.reached >= batch.last; });
}

// How many operations after `first` every member issues one after the other with nothing else in between.
Sequence Coordinator::Impl::extent(GroupId id, Sequence first) const {
  const GroupState& group = groups[id];
  if (group.pending.size() > 1) return 0;
  if (spec.cached_grants) return spec.max_batch - 1;
  if (!spec.batches) return 0;
  Sequence least = spec.max_batch - 1;
  for (std::size_t i = 0; i < group.members.size() && least > 0; ++i) {
    const Learner& learner = ranks[group.members[i]].learner;
    const Sequence announced = group.state[i].reached - first;  // after `first`
    if (announced >= spec.max_batch || !learner.trusted()) return 0;
    if (!learner.ends_with(entry(id, true), static_cast<std::size_t>(announced) + 1)) return 0;
    Sequence more = 0;
    while (announced + more < least && learner.foreseen(static_cast<std::size_t>(more)) == entry(id, true)) ++more;
    least = std::min(least, announced + more);
  }
  return least;
}

std::optional<GroupId> Coordinator::Impl::next_group(Rank rank) const {
  const RankState& state = ranks[rank];
  if (!state.alive || state.inside != kNoGroup) return std::nullopt;
  const std::optional<Learner::Entry> next = state.learner.foreseen(0);
  if (!next) return std::nullopt;
  return *next / 2;
}

bool Coordinator::Impl::stopped(Rank rank, GroupId id, Sequence granted_last, Sequence highest_started) {
  if (!heard(rank, id) || highest_started > granted_last) return false;
  if (recovering) return true;  // every batch is asked again when it is over
  GroupState& group = groups[id];
  const auto batch = std::find_if(group.batches.begin(), group.batches.end(),
                                  [&](const Batch& b) { return b.last == granted_last; });
  if (batch == group.batches.end() || highest_started < batch->first) return true;  // of a batch that is over
  const std::size_t index = member(rank, id);
  MemberState& state = group.state[index];
  carry(rank, id, highest_started, true);
  if (ranks[rank].inside == id) ranks[rank].inside = kNoGroup;
  if (state.believed > std::max(highest_started, state.reached)) {
    // It had issued something else before the grant came to it.
    state.believed = std::max(highest_started, state.reached);
    ranks[rank].learner.clear();
    ++counts.forgotten;
  }
  if (batch->closing) {
    batch->stopped_at[index] = std::max(batch->stopped_at[index], highest_started);
  } else if (batch->closed && highest_started < batch->last) {
    outputs.limits.push_back({rank, id, batch->last, batch->last});
  } else if (highest_started < batch->last) {
    ++counts.mispredictions;
    leave(id, *batch, index, highest_started);
  }
  watch_ports(id);
  settle(id);
  return true;
}

// A misprediction. Where somebody has started all of the batch already, it cannot end earlier.
void Coordinator::Impl::leave(GroupId id, Batch& batch, std::size_t index, Sequence highest_started) {
  GroupState& group = groups[id];
  if (ends_early(group, batch)) {
    close(id, batch, index, highest_started);
    return;
  }
  batch.closed = true;
  outputs.limits.push_back({group.members[index], id, batch.last, batch.last});
  watched.insert(watched.end(), group.members.begin(), group.members.end());
}

void Coordinator::Impl::close(GroupId id, Batch& batch, std::size_t leaver, Sequence highest_started) {
  GroupState& group = groups[id];
  batch.closing = true;
  batch.stopped_at.assign(group.members.size(), 0);
  if (leaver != kNobody) batch.stopped_at[leaver] = highest_started;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (i == leaver || !ranks[group.members[i]].alive || group.state[i].reached >= batch.last) continue;
    outputs.stops.push_back({group.members[i], id, batch.last});
  }
}

// When all have answered, the batch ends at the highest operation that any has started. Somebody who has started the
// last one settles it at once.
void Coordinator::Impl::limit_if_answered(GroupId id, Batch& batch) {
  GroupState& group = groups[id];
  Sequence highest = batch.first;
  bool answered = true;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (group.state[i].reached >= batch.last) highest = batch.last;
    highest = std::max(highest, batch.stopped_at[i]);
    answered = answered && (!ranks[group.members[i]].alive || batch.stopped_at[i] > 0);
  }
  if (!answered && highest < batch.last) return;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Rank rank = group.members[i];
    if (!ranks[rank].alive) continue;
    outputs.limits.push_back({rank, id, batch.last, highest});
    // From here on it may start what is left, or issue something else first: which, its announcements do not tell.
    if (ranks[rank].inside == id) ranks[rank].inside = kNoGroup;
  }
  if (group.granted == batch.last) group.granted = highest;
  batch.last = highest;
  batch.closing = false;
  batch.closed = true;
  batch.stopped_at.clear();
  for (std::size_t i = 0; group.broken && i < group.members.size(); ++i) fail_waiting(id, i, 0);
  watch_ports(id);
  watched.insert(watched.end(), group.members.begin(), group.members.end());
}

}  // namespace photonrail::control
