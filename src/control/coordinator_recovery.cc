// Ranks that come back: after a break of their stream, or all of them after a restart of the controller.
#include <algorithm>

#include "control/coordinator_impl.h"

namespace photonrail::control {

namespace {

// A rank may come back more than once while others are missing, and what it says may be repeated late.
void add_report(std::vector<ResumedGroup>& reports, const ResumedGroup& report) {
  const auto known = std::find_if(reports.begin(), reports.end(), [&](const ResumedGroup& r) {
    return r.group == report.group && r.granted_first == report.granted_first;
  });
  if (known == reports.end()) {
    reports.push_back(report);
    return;
  }
  known->announced = std::max(known->announced, report.announced);
  known->completed = std::max(known->completed, report.completed);
}

}  // namespace

bool Coordinator::Impl::plausible(Rank rank, const std::vector<ResumedGroup>& reports) const {
  if (rank >= ranks.size() || !ranks[rank].alive) return false;
  return std::all_of(reports.begin(), reports.end(), [&](const ResumedGroup& r) {
    const Sequence base = std::max(r.granted, r.completed);
    if (member(rank, r.group) == kNobody || r.announced > base + kMaxAhead) return false;
    if (r.granted_first > r.granted || (r.granted > 0 && r.granted_first == 0)) return false;
    if (recovering) return true;
    const GroupState& group = groups[r.group];
    return r.announced <= group.granted + kMaxAhead && r.granted_first <= group.granted &&
           (r.completed <= group.granted || group.broken);
  });
}

bool Coordinator::Impl::resume(Rank rank, const std::vector<ResumedGroup>& reports) {
  if (!plausible(rank, reports)) return false;
  RankState& back = ranks[rank];
  if (recovering) {
    for (const ResumedGroup& r : reports) add_report(back.reports, r);
    back.resumed = true;
    if (all_back()) finish_recovery();
    return true;
  }
  bool gap = false;
  for (const ResumedGroup& report : reports) {
    MemberState& state = groups[report.group].state[member(rank, report.group)];
    if (report.announced <= state.reached) continue;
    gap = true;  // in which order among groups, is not known
    state.reached = report.announced;
    state.believed = std::max(state.believed, state.reached);
  }
  if (gap) {
    back.learner.clear();
    back.inside = kNoGroup;  // and whether it has left the batch, it says next
  }
  for (const ResumedGroup& report : reports) {
    GroupState& group = groups[report.group];
    MemberState& state = group.state[member(rank, report.group)];
    const Sequence completed = std::min(report.completed, group.granted);
    carry(rank, report.group, completed, true);
    state.completed = std::max(state.completed, completed);
  }
  // First what was, then what follows: grants of a group are sent in their order.
  for (const GroupId id : back.groups) repeat(rank, id, reports);
  for (const GroupId id : back.groups) settle(id);
  return true;
}

// Sends again what the rank may have missed. It has the grants that it reports, and all that it has completed.
void Coordinator::Impl::repeat(Rank rank, GroupId id, const std::vector<ResumedGroup>& reports) {
  const GroupState& group = groups[id];
  const std::size_t index = member(rank, id);
  const auto reported = [&](const Batch& batch) {
    return std::find_if(reports.begin(), reports.end(), [&](const ResumedGroup& r) {
      return r.group == id && r.granted > 0 && r.granted_first == batch.first;
    });
  };
  for (const Batch& batch : group.batches) {
    if (group.state[index].completed >= batch.last) continue;
    const auto known = reported(batch);
    if (known == reports.end()) {
      send_grant(rank, id, batch);
    } else if (known->granted != batch.last || (batch.closed && !batch.closing)) {
      outputs.limits.push_back({rank, id, known->granted, batch.last});
    }
    if (batch.closing && batch.stopped_at[index] == 0 && group.state[index].reached < batch.last) {
      outputs.stops.push_back({rank, id, batch.last});
    }
  }
  // The batch that it knows ended early, and is over.
  for (const ResumedGroup& r : reports) {
    if (r.group == id && r.granted > group.granted) outputs.limits.push_back({rank, id, r.granted, group.granted});
  }
  if (group.broken) fail_waiting(id, index, 0);
}

// While recovering: what a rank that is back says of an operation is added to its report.
bool Coordinator::Impl::note(Rank rank, GroupId id, Sequence announced, Sequence completed) {
  if (!heard(rank, id)) return false;
  auto& reports = ranks[rank].reports;
  Sequence known = 0;
  for (const ResumedGroup& r : reports) {
    if (r.group == id) known = std::max({known, r.granted, r.completed, r.announced});
  }
  if (announced > known + kMaxAhead || completed > known) return false;
  ResumedGroup more;
  more.group = id;
  more.announced = announced;
  more.completed = completed;
  add_report(reports, more);
  return true;
}

bool Coordinator::Impl::all_back() const {
  return std::all_of(ranks.begin(), ranks.end(), [](const RankState& rank) { return !rank.alive || rank.resumed; });
}

void Coordinator::Impl::finish_recovery() {
  for (GroupId id = 0; id < groups.size(); ++id) restore(id);
  recovering = false;
  for (RankState& rank : ranks) {
    rank.reports.clear();
    std::erase_if(rank.blocked, [&](const auto& b) { return b.second <= groups[b.first].granted; });
  }
  for (GroupId id = 0; id < groups.size(); ++id) {
    for (std::size_t i = 0; groups[id].broken && i < groups[id].members.size(); ++i) fail_waiting(id, i, 0);
    settle(id);
  }
}

namespace {

// Of grants that some have completed and nobody holds, the path is forgotten: the rails, and their holds, are the guess
// that disturbs nobody.
void fill_gaps(std::vector<Batch>& standing, Sequence from, Sequence through) {
  std::vector<Batch> filled;
  const auto fill = [&](Sequence before) {
    if (from < before) filled.push_back({from, before - 1, Path::rail, kNoOperation, false, false, {}});
  };
  for (Batch& batch : standing) {
    if (batch.last < from) continue;
    fill(batch.first);
    batch.first = filled.empty() ? batch.first : std::max(batch.first, filled.back().last + 1);
    from = std::max(from, batch.last + 1);
    if (batch.first <= batch.last) filled.push_back(batch);
  }
  fill(through + 1);
  standing = std::move(filled);
}

}  // namespace

// Grants that any living member holds stand. Those with one beginning and several ends were limited: the lowest end
// holds.
void Coordinator::Impl::restore(GroupId id) {
  GroupState& group = groups[id];
  std::vector<Batch> standing;
  Sequence done = ~Sequence{0};  // by all
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (!ranks[group.members[i]].alive) continue;
    MemberState& state = group.state[i];
    for (const ResumedGroup& r : ranks[group.members[i]].reports) {
      if (r.group != id) continue;
      state.completed = std::max(state.completed, r.completed);
      state.reached = state.believed = std::max({state.reached, r.announced, r.completed});
      if (r.granted == 0) continue;
      const auto same = std::find_if(standing.begin(), standing.end(),
                                     [&](const Batch& b) { return b.first == r.granted_first; });
      if (same == standing.end()) {
        standing.push_back({r.granted_first, r.granted, r.granted_path, kNoOperation, false, false, {}});
      } else {
        same->last = std::min(same->last, r.granted);
      }
    }
    group.granted = std::max(group.granted, state.completed);
    done = std::min(done, state.completed);
  }
  std::sort(standing.begin(), standing.end(), [](const Batch& a, const Batch& b) { return a.first < b.first; });
  for (const Batch& batch : standing) group.granted = std::max(group.granted, batch.last);
  fill_gaps(standing, done + 1, group.granted);
  for (Batch& batch : standing) {
    if (batch.last <= done) continue;
    if (batch.path == Path::rail && group.demand != kNoDemand) {
      batch.hold = controller.adopt(group.demand);
      if (batch.hold >= group_of_operation.size()) group_of_operation.resize(batch.hold + 1, kNoGroup);
      group_of_operation[batch.hold] = id;
    }
    group.batches.push_back(batch);
  }
  // How far members have got in a batch, nobody knows: ask, unless somebody has got to its end.
  for (Batch& batch : group.batches) {
    batch.closing = ends_early(group, batch);
    batch.closed = !batch.closing;
    if (batch.closing) batch.stopped_at.assign(group.members.size(), 0);
  }
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Rank rank = group.members[i];
    if (!ranks[rank].alive) continue;
    repeat(rank, id, ranks[rank].reports);
  }
}

}  // namespace photonrail::control
