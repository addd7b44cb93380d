// The guard: a graph of who waits for whom, over ranks and the first waiting operation of each group.
//
//   rank r blocked on an operation that is not granted:  r -> members that have not announced it,
//                                                        r -> its group's first waiting operation, if fully announced
//   a fully announced operation X:                       X -> members of batches on its ports that have not started all
//                                                        X -> operations before it in the queues of its ports
//   rank r in a batch that ended early:                  r -> members that have not come as far as r
// What is granted, fully announced and running waits for nobody; a switch on its way and a batch that is closing end by
// themselves. A cycle with an operation in it is broken there: that operation, fully announced, takes the management
// path. A cycle without one is the program's own.
#include <algorithm>

#include "control/coordinator_impl.h"

namespace photonrail::control {

bool Coordinator::Impl::blocked(Rank rank, GroupId id, Sequence sequence) {
  if (!heard(rank, id) || sequence == 0 || sequence > groups[id].granted + kMaxAhead) return false;
  if (groups[id].broken || (!recovering && sequence <= groups[id].granted)) return true;
  auto& waits = ranks[rank].blocked;
  const std::pair<GroupId, Sequence> wait{id, sequence};
  if (std::find(waits.begin(), waits.end(), wait) != waits.end()) return true;
  if (waits.size() >= kMaxBlocked) return false;
  waits.push_back(wait);
  watched.push_back(rank);
  if (!recovering) pump();
  return true;
}

// Operations that wait for ports of this group: what holds them has changed.
void Coordinator::Impl::watch_ports(GroupId id) {
  if (groups[id].demand == kNoDemand) return;
  for (const Circuit& circuit : controller.demand(groups[id].demand).circuits) {
    for (const PortId port : {circuit.a, circuit.b}) {
      for (const OperationId waiting : controller.queue(port)) {
        watched.push_back(ranks.size() + group_of_operation[waiting]);
      }
    }
  }
}

void Coordinator::Impl::rank_waits_for(Rank rank, std::vector<std::size_t>& nodes) const {
  for (const auto& [id, sequence] : ranks[rank].blocked) {
    const GroupState& group = groups[id];
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (group.state[i].reached < sequence && group.members[i] != rank) nodes.push_back(group.members[i]);
    }
    if (!group.pending.empty()) nodes.push_back(ranks.size() + id);
  }
  for (const GroupId id : ranks[rank].groups) {
    const GroupState& group = groups[id];
    const Sequence own = group.state[member(rank, id)].believed;
    const bool early = std::any_of(group.batches.begin(), group.batches.end(),
                                   [&](const Batch& b) { return b.closed && own > b.first && own <= b.last; });
    if (!early) continue;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (group.state[i].believed < own) nodes.push_back(group.members[i]);
    }
  }
}

void Coordinator::Impl::operation_waits_for(GroupId id, std::vector<std::size_t>& nodes) const {
  const OperationId operation = groups[id].pending.front().operation;
  if (groups[id].pending.front().unserved || controller.waits_for_switch(operation)) return;
  for (const Circuit& circuit : controller.demand(groups[id].demand).circuits) {
    for (const PortId port : {circuit.a, circuit.b}) {
      for (const OperationId before : controller.queue(port)) {
        if (before == operation) break;
        nodes.push_back(ranks.size() + group_of_operation[before]);
      }
      if (controller.partner(circuit.a) == circuit.b) continue;
      for (const GroupId holder : groups_of_port[port]) {
        const GroupState& group = groups[holder];
        for (const Batch& batch : group.batches) {
          if (batch.hold == kNoOperation || batch.closing) continue;
          for (std::size_t i = 0; i < group.members.size(); ++i) {
            if (group.state[i].believed < batch.last) nodes.push_back(group.members[i]);
          }
        }
      }
    }
  }
}

std::vector<std::size_t> Coordinator::Impl::waits_for(std::size_t node) const {
  std::vector<std::size_t> nodes;
  if (node < ranks.size()) {
    if (ranks[node].alive) rank_waits_for(static_cast<Rank>(node), nodes);
  } else if (!groups[node - ranks.size()].pending.empty()) {
    operation_waits_for(static_cast<GroupId>(node - ranks.size()), nodes);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// Of a cycle that can be reached from the node, the group whose waiting operation has the oldest ticket.
std::optional<GroupId> Coordinator::Impl::cycle_from(std::size_t start) const {
  struct Frame {
    std::size_t node;
    std::vector<std::size_t> next;
    std::size_t taken = 0;
  };
  std::vector<Frame> path{{start, waits_for(start)}};
  if (path[0].next.empty()) return std::nullopt;
  std::vector<std::uint8_t> seen(ranks.size() + groups.size(), 0);  // 1: on the path, 2: done
  seen[start] = 1;
  while (!path.empty()) {
    Frame& top = path.back();
    if (top.taken == top.next.size()) {
      seen[top.node] = 2;
      path.pop_back();
      continue;
    }
    const std::size_t next = top.next[top.taken++];
    if (seen[next] == 0) {
      seen[next] = 1;
      path.push_back({next, waits_for(next)});
      continue;
    }
    if (seen[next] == 2) continue;
    std::optional<GroupId> oldest;
    for (auto frame = path.rbegin();; ++frame) {
      if (frame->node >= ranks.size()) {
        const auto id = static_cast<GroupId>(frame->node - ranks.size());
        if (!oldest || groups[id].pending.front().ticket < groups[*oldest].pending.front().ticket) oldest = id;
      }
      if (frame->node == next) break;
    }
    if (oldest) return oldest;
  }
  return std::nullopt;
}

void Coordinator::Impl::watch(std::size_t node) {
  if (!spec.guard || recovering) return;
  const std::optional<GroupId> group = cycle_from(node);
  if (group && divert(*group)) watched.push_back(node);  // there may be another cycle
}

// The first waiting operation of the group takes the management path. False: it cannot be taken back now.
bool Coordinator::Impl::divert(GroupId id) {
  const Pending first = groups[id].pending.front();
  if (first.unserved || controller.waits_for_switch(first.operation)) return false;
  controller.cancel(first.operation);
  ++counts.guard_fired;
  decide(id, Path::management, kNoOperation, 0);
  serve_unserved(id);
  pump();
  return true;
}

// Something waits and has waited for long, whatever the reason: the oldest ticket that can be diverted is.
void Coordinator::Impl::guard_timer() {
  if (!spec.guard || recovering) return;
  if (std::all_of(ranks.begin(), ranks.end(), [](const RankState& rank) { return rank.blocked.empty(); })) return;
  std::optional<GroupId> oldest;
  for (GroupId id = 0; id < groups.size(); ++id) {
    const auto& pending = groups[id].pending;
    if (pending.empty() || pending.front().unserved || controller.waits_for_switch(pending.front().operation)) continue;
    if (!oldest || pending.front().ticket < groups[*oldest].pending.front().ticket) oldest = id;
  }
  if (oldest) divert(*oldest);
}

}  // namespace photonrail::control
