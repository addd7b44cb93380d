#include "model/task_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace photonrail::model {
namespace {

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_input, std::move(message)); }

// What a program does with one slot, in the order in which it must agree with the other side.
struct SlotUse {
  std::vector<TaskIndex> collectives;  // by ordinal
  std::vector<TaskIndex> sends;        // by tag
  std::vector<TaskIndex> receives;     // by tag

  bool is_group() const { return !collectives.empty(); }
  bool is_peer() const { return !sends.empty() || !receives.empty(); }
};

using ProgramUse = std::vector<SlotUse>;  // by slot

std::string describe(const TaskGraph& graph, const Program& program, TaskIndex index) {
  const Task& task = program.tasks[index];
  const std::string& name = graph.names[task.name];
  return fmt::format("task {}{}{}", index, name.empty() ? "" : " ", name.empty() ? "" : "'" + name + "'");
}

std::string describe_call(const TaskGraph& graph, const Program& program, TaskIndex index) {
  const Task& task = program.tasks[index];
  return fmt::format("{} of {} bytes ({})", to_text(task.collective), task.bytes.count,
                     describe(graph, program, index));
}

bool is_row_table(const std::vector<std::uint32_t>& starts, std::size_t rows, std::size_t entries) {
  return starts.size() == rows + 1 && starts.front() == 0 && starts.back() == entries &&
         std::is_sorted(starts.begin(), starts.end());
}

Status check_tables(const TaskGraph& graph) {
  const std::size_t ranks = graph.ranks();
  if (ranks == 0) return refuse("the task graph has no ranks");
  if (!is_row_table(graph.slot_start, ranks, graph.slots.size())) {
    return refuse(fmt::format("the slot table does not fit its {} ranks", ranks));
  }
  if (graph.stage_of.size() != ranks) {
    return refuse(fmt::format("{} ranks but {} pipeline stages are given", ranks, graph.stage_of.size()));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (graph.program_of[rank] < graph.programs.size()) continue;
    return refuse(fmt::format("rank {} runs program {}, but there are only {}", rank, graph.program_of[rank],
                              graph.programs.size()));
  }
  return {};
}

Status check_task(const TaskGraph& graph, ProgramId id, TaskIndex index) {
  const Program& program = graph.programs[id];
  const Task& task = program.tasks[index];
  if (task.name >= graph.names.size()) {
    return refuse(fmt::format("program {}, task {}: name {} of {}", id, index, task.name, graph.names.size()));
  }
  const auto bad = [&](const char* what) {
    return refuse(fmt::format("program {}, {}: {}", id, describe(graph, program, index), what));
  };
  if (task.bytes.count < 0 || task.memory.count < 0 || task.duration.ps < 0 || !(task.flops >= 0)) {
    return bad("a size or duration is negative");
  }
  if ((task.kind == TaskKind::collective) != (task.collective != Collective::none)) {
    return bad("its kind and its collective contradict each other");
  }
  for (const TaskIndex need : program.needs(index)) {
    if (need >= program.tasks.size()) {
      return bad(fmt::format("depends on task {}, but there are only {}", need, program.tasks.size()).c_str());
    }
  }
  return {};
}

Status check_program_tables(const TaskGraph& graph, ProgramId id) {
  const Program& program = graph.programs[id];
  if (!is_row_table(program.dependency_start, program.tasks.size(), program.dependencies.size())) {
    return refuse(fmt::format("program {}: the dependency table does not fit its {} tasks", id, program.tasks.size()));
  }
  for (TaskIndex i = 0; i < program.tasks.size(); ++i) PR_TRY(check_task(graph, id, i));
  return {};
}

ProgramUse slot_uses(const Program& program) {
  ProgramUse uses;
  for (TaskIndex i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    if (task.kind == TaskKind::compute) continue;
    if (task.slot >= uses.size()) uses.resize(static_cast<std::size_t>(task.slot) + 1);
    SlotUse& use = uses[task.slot];
    if (task.kind == TaskKind::collective) use.collectives.push_back(i);
    if (task.kind == TaskKind::send) use.sends.push_back(i);
    if (task.kind == TaskKind::receive) use.receives.push_back(i);
  }
  const auto by_ordinal = [&](TaskIndex a, TaskIndex b) { return program.tasks[a].ordinal < program.tasks[b].ordinal; };
  for (SlotUse& use : uses) {
    for (auto* list : {&use.collectives, &use.sends, &use.receives}) std::sort(list->begin(), list->end(), by_ordinal);
  }
  return uses;
}

// Tags of one slot must differ, or nobody knows which message is which.
Status check_tags(const TaskGraph& graph, ProgramId id, const std::vector<TaskIndex>& list) {
  const Program& program = graph.programs[id];
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (program.tasks[list[i]].ordinal != program.tasks[list[i - 1]].ordinal) continue;
    return refuse(fmt::format("program {}: {} and {} are both a {} with tag {} of slot {}", id,
                              describe(graph, program, list[i - 1]), describe(graph, program, list[i]),
                              to_text(program.tasks[list[i]].kind), program.tasks[list[i]].ordinal,
                              program.tasks[list[i]].slot));
  }
  return {};
}

Status check_slots(const TaskGraph& graph, ProgramId id, const ProgramUse& uses) {
  const Program& program = graph.programs[id];
  for (std::size_t slot = 0; slot < uses.size(); ++slot) {
    const SlotUse& use = uses[slot];
    if (use.is_group() && use.is_peer()) {
      const TaskIndex message = use.sends.empty() ? use.receives.front() : use.sends.front();
      return refuse(fmt::format("program {}: slot {} names a group in {} and a peer in {}", id, slot,
                                describe(graph, program, use.collectives.front()), describe(graph, program, message)));
    }
    for (std::size_t i = 0; i < use.collectives.size(); ++i) {
      if (program.tasks[use.collectives[i]].ordinal == i) continue;
      return refuse(fmt::format(
          "program {}: the collectives of slot {} are not numbered 0, 1, 2, ...: {} has "
          "ordinal {} where {} was due",
          id, slot, describe(graph, program, use.collectives[i]), program.tasks[use.collectives[i]].ordinal, i));
    }
    PR_TRY(check_tags(graph, id, use.sends));
    PR_TRY(check_tags(graph, id, use.receives));
  }
  return {};
}

// Everything that must have finished before a task: its dependencies, and for a collective the one before it.
class Predecessors {
 public:
  Predecessors(const Program& program, const ProgramUse& uses) : program_(program), before_(program.tasks.size()) {
    for (const SlotUse& use : uses) {
      for (std::size_t i = 1; i < use.collectives.size(); ++i) before_[use.collectives[i]] = use.collectives[i - 1];
    }
  }
  template <class Visit>
  void each(TaskIndex task, Visit&& visit) const {
    for (const TaskIndex need : program_.needs(task)) visit(need);
    if (before_[task]) visit(*before_[task]);
  }

 private:
  const Program& program_;
  std::vector<std::optional<TaskIndex>> before_;
};

// Takes away whatever can run until nothing more can; returns for each task whether it stays stuck.
std::vector<bool> stuck_tasks(const Program& program, const Predecessors& predecessors) {
  const std::size_t count = program.tasks.size();
  std::vector<std::uint32_t> waiting(count, 0);
  std::vector<std::uint32_t> start(count + 1, 0);
  for (TaskIndex i = 0; i < count; ++i) {
    predecessors.each(i, [&](TaskIndex need) { ++waiting[i], ++start[need + 1]; });
  }
  for (std::size_t i = 0; i < count; ++i) start[i + 1] += start[i];
  std::vector<TaskIndex> successors(start.back());
  std::vector<std::uint32_t> fill(start.begin(), start.end() - 1);
  for (TaskIndex i = 0; i < count; ++i) {
    predecessors.each(i, [&](TaskIndex need) { successors[fill[need]++] = i; });
  }
  std::vector<TaskIndex> ready;
  for (TaskIndex i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  std::vector<bool> stuck(count, true);
  while (!ready.empty()) {
    const TaskIndex task = ready.back();
    ready.pop_back();
    stuck[task] = false;
    for (std::uint32_t k = start[task]; k < start[task + 1]; ++k) {
      if (--waiting[successors[k]] == 0) ready.push_back(successors[k]);
    }
  }
  return stuck;
}

std::string describe_cycle(const TaskGraph& graph, const Program& program, const Predecessors& predecessors,
                           const std::vector<bool>& stuck) {
  auto task = static_cast<TaskIndex>(std::find(stuck.begin(), stuck.end(), true) - stuck.begin());
  std::vector<std::size_t> position(stuck.size(), 0);  // 1 + place in `path`, 0: not yet met
  std::vector<TaskIndex> path;
  while (position[task] == 0) {  // every stuck task waits for a stuck task, so this walk must meet itself
    path.push_back(task);
    position[task] = path.size();
    std::optional<TaskIndex> next;
    predecessors.each(task, [&](TaskIndex need) {
      if (stuck[need] && !next) next = need;
    });
    task = *next;
  }
  constexpr std::size_t kShown = 8;
  const std::size_t first = position[task] - 1;
  std::string text;
  for (std::size_t i = first; i < path.size() && i < first + kShown; ++i) {
    text += (i == first ? "" : " waits for ") + describe(graph, program, path[i]);
  }
  const std::size_t hidden = path.size() - first > kShown ? path.size() - first - kShown : 0;
  if (hidden > 0) text += fmt::format(" waits for {} more", hidden);
  return text + " waits for the first";
}

Status check_cycles(const TaskGraph& graph, ProgramId id, const ProgramUse& uses) {
  const Program& program = graph.programs[id];
  const Predecessors predecessors(program, uses);
  const std::vector<bool> stuck = stuck_tasks(program, predecessors);
  if (std::find(stuck.begin(), stuck.end(), true) == stuck.end()) return {};
  return refuse(
      fmt::format("program {} can never finish: {} (a task waits for its dependencies, a collective also for "
                  "the one before it in its group)",
                  id, describe_cycle(graph, program, predecessors, stuck)));
}

TaskIndex first_task(const SlotUse& use) {
  if (use.is_group()) return use.collectives.front();
  return use.sends.empty() ? use.receives.front() : use.sends.front();
}

Status check_bindings(const TaskGraph& graph, const std::vector<ProgramUse>& uses) {
  for (Rank rank = 0; rank < graph.ranks(); ++rank) {
    const ProgramUse& program_use = uses[graph.program_of[rank]];
    const std::size_t bound = graph.slot_start[rank + 1] - graph.slot_start[rank];
    for (std::size_t slot = 0; slot < program_use.size(); ++slot) {
      const SlotUse& use = program_use[slot];
      if (!use.is_group() && !use.is_peer()) continue;
      const auto bad = [&](const std::string& what) {
        const std::string task = describe(graph, graph.program(rank), first_task(use));
        return refuse(fmt::format("rank {}, {}: {}", rank, task, what));
      };
      if (slot >= bound) return bad(fmt::format("slot {} is not bound; the rank binds {} slots", slot, bound));
      const std::uint32_t value = graph.slot(rank, static_cast<Slot>(slot));
      if (use.is_group() && value >= graph.groups.size()) {
        return bad(fmt::format("group {} does not exist; there are {}", value, graph.groups.size()));
      }
      if (use.is_peer() && value >= graph.ranks()) {
        return bad(fmt::format("peer {} does not exist; there are {} ranks", value, graph.ranks()));
      }
      if (use.is_peer() && value == rank) return bad("the peer is the rank itself");
    }
  }
  return {};
}

struct Caller {
  Rank rank = 0;
  std::uint32_t slot = 0;
};

// Members of every group in ascending order; refuses unknown and repeated ones.
Result<std::vector<Rank>> sorted_members(const TaskGraph& graph, GroupId id) {
  std::vector<Rank> members = graph.groups[id].members;
  std::sort(members.begin(), members.end());
  if (members.empty()) return refuse(fmt::format("group {} has no members", id));
  if (members.back() >= graph.ranks()) {
    return refuse(
        fmt::format("group {} names rank {}, but there are only {} ranks", id, members.back(), graph.ranks()));
  }
  const auto twice = std::adjacent_find(members.begin(), members.end());
  if (twice != members.end()) return refuse(fmt::format("group {} names rank {} twice", id, *twice));
  return members;
}

// Both lists ascend by rank; they must name the same ranks.
Status check_callers(const TaskGraph& graph, GroupId id, const std::vector<Rank>& members,
                     std::span<const Caller> callers, const std::vector<ProgramUse>& uses) {
  const auto call_of = [&](const Caller& caller) {
    const SlotUse& use = uses[graph.program_of[caller.rank]][caller.slot];
    return describe(graph, graph.program(caller.rank), use.collectives.front());
  };
  for (std::size_t i = 0; i < callers.size(); ++i) {
    if (!std::binary_search(members.begin(), members.end(), callers[i].rank)) {
      return refuse(fmt::format("rank {}, {}: calls group {} of which it is not a member", callers[i].rank,
                                call_of(callers[i]), id));
    }
    if (i > 0 && callers[i].rank == callers[i - 1].rank) {
      return refuse(fmt::format("rank {} binds group {} to slots {} and {}; the order of its collectives is open",
                                callers[i].rank, id, callers[i - 1].slot, callers[i].slot));
    }
  }
  if (callers.size() == members.size()) return {};
  for (const Rank member : members) {
    const auto same = [&](const Caller& c) { return c.rank == member; };
    if (std::any_of(callers.begin(), callers.end(), same)) continue;
    return refuse(fmt::format("group {}: rank {} calls {}, but member {} issues no collective of this group", id,
                              callers.front().rank, call_of(callers.front()), member));
  }
  return {};
}

Status check_same_calls(const TaskGraph& graph, GroupId id, const Caller& a, const Caller& b,
                        const std::vector<ProgramUse>& uses) {
  const Program& program_a = graph.program(a.rank);
  const Program& program_b = graph.program(b.rank);
  const auto& calls_a = uses[graph.program_of[a.rank]][a.slot].collectives;
  const auto& calls_b = uses[graph.program_of[b.rank]][b.slot].collectives;
  const std::size_t common = std::min(calls_a.size(), calls_b.size());
  for (std::size_t i = 0; i < common; ++i) {
    const Task& task_a = program_a.tasks[calls_a[i]];
    const Task& task_b = program_b.tasks[calls_b[i]];
    if (task_a.collective == task_b.collective && task_a.bytes == task_b.bytes) continue;
    return refuse(fmt::format("group {}, collective {}: rank {} issues {}, rank {} issues {}", id, i, a.rank,
                              describe_call(graph, program_a, calls_a[i]), b.rank,
                              describe_call(graph, program_b, calls_b[i])));
  }
  if (calls_a.size() == calls_b.size()) return {};
  const bool more_in_a = calls_a.size() > calls_b.size();
  const Program& program = more_in_a ? program_a : program_b;
  return refuse(fmt::format("group {}: rank {} issues {} collectives, rank {} issues {}; the first alone is {}", id,
                            a.rank, calls_a.size(), b.rank, calls_b.size(),
                            describe_call(graph, program, (more_in_a ? calls_a : calls_b)[common])));
}

// Who calls each group, in compressed rows by group; callers ascend by rank.
struct CallTable {
  std::vector<std::uint32_t> start;
  std::vector<Caller> callers;
};

CallTable call_table(const TaskGraph& graph, const std::vector<ProgramUse>& uses) {
  CallTable table;
  table.start.assign(graph.groups.size() + 1, 0);
  const auto each_call = [&](auto&& visit) {
    for (Rank rank = 0; rank < graph.ranks(); ++rank) {
      const ProgramUse& use = uses[graph.program_of[rank]];
      for (std::uint32_t slot = 0; slot < use.size(); ++slot) {
        if (use[slot].is_group()) visit(graph.slot(rank, static_cast<Slot>(slot)), Caller{rank, slot});
      }
    }
  };
  each_call([&](GroupId group, Caller) { ++table.start[group + 1]; });
  for (std::size_t i = 0; i < graph.groups.size(); ++i) table.start[i + 1] += table.start[i];
  table.callers.resize(table.start.back());
  std::vector<std::uint32_t> fill(table.start.begin(), table.start.end() - 1);
  each_call([&](GroupId group, Caller caller) { table.callers[fill[group]++] = caller; });
  return table;
}

Status check_groups(const TaskGraph& graph, const std::vector<ProgramUse>& uses) {
  const CallTable table = call_table(graph, uses);
  std::set<std::array<std::uint32_t, 4>> equal;  // (program, slot) pairs already found equal
  for (GroupId id = 0; id < graph.groups.size(); ++id) {
    PR_ASSIGN(const std::vector<Rank> members, sorted_members(graph, id));
    const std::span callers(table.callers.data() + table.start[id], table.start[id + 1] - table.start[id]);
    if (callers.empty()) continue;
    PR_TRY(check_callers(graph, id, members, callers, uses));
    const Caller& leader = callers.front();
    for (const Caller& caller : callers.subspan(1)) {
      const std::array key{graph.program_of[leader.rank], leader.slot, graph.program_of[caller.rank], caller.slot};
      if ((key[0] == key[2] && key[1] == key[3]) || equal.count(key) > 0) continue;
      PR_TRY(check_same_calls(graph, id, leader, caller, uses));
      equal.insert(key);
    }
  }
  return {};
}

// The slots by which one rank knows one peer.
struct PeerSlots {
  Rank peer = 0;
  std::vector<std::uint32_t> slots;
};

std::vector<PeerSlots> peers_of(const TaskGraph& graph, Rank rank, const ProgramUse& uses) {
  std::vector<PeerSlots> peers;
  for (std::uint32_t slot = 0; slot < uses.size(); ++slot) {
    if (!uses[slot].is_peer()) continue;
    const Rank peer = graph.slot(rank, static_cast<Slot>(slot));
    auto found = std::lower_bound(peers.begin(), peers.end(), peer,
                                  [](const PeerSlots& entry, Rank value) { return entry.peer < value; });
    if (found == peers.end() || found->peer != peer) found = peers.insert(found, PeerSlots{peer, {}});
    found->slots.push_back(slot);
  }
  return peers;
}

std::vector<TaskIndex> messages(const Program& program, const ProgramUse& uses, const PeerSlots* peer, TaskKind kind) {
  std::vector<TaskIndex> all;
  if (peer == nullptr) return all;
  for (const std::uint32_t slot : peer->slots) {
    const auto& list = kind == TaskKind::send ? uses[slot].sends : uses[slot].receives;
    all.insert(all.end(), list.begin(), list.end());
  }
  std::sort(all.begin(), all.end(),
            [&](TaskIndex a, TaskIndex b) { return program.tasks[a].ordinal < program.tasks[b].ordinal; });
  return all;
}

// Every send of `from` to `to` has its receive and the reverse, of one size.
Status check_messages(const TaskGraph& graph, Rank from, Rank to, const std::vector<TaskIndex>& sends,
                      const std::vector<TaskIndex>& receives) {
  const Program& sender = graph.program(from);
  const Program& receiver = graph.program(to);
  const auto alone = [&](Rank rank, Rank other, const Program& program, TaskIndex index) {
    const Task& task = program.tasks[index];
    const bool is_send = task.kind == TaskKind::send;
    return refuse(fmt::format("rank {}, {}: a {} {} rank {} with tag {} and {} bytes has no matching {} there", rank,
                              describe(graph, program, index), is_send ? "send" : "receive", is_send ? "to" : "from",
                              other, task.ordinal, task.bytes.count, is_send ? "receive" : "send"));
  };
  std::size_t s = 0;
  std::size_t r = 0;
  while (s < sends.size() || r < receives.size()) {
    const bool none_left = r == receives.size();
    if (none_left || (s < sends.size() && sender.tasks[sends[s]].ordinal < receiver.tasks[receives[r]].ordinal)) {
      return alone(from, to, sender, sends[s]);
    }
    if (s == sends.size() || receiver.tasks[receives[r]].ordinal < sender.tasks[sends[s]].ordinal) {
      return alone(to, from, receiver, receives[r]);
    }
    const Task& send = sender.tasks[sends[s]];
    const Task& receive = receiver.tasks[receives[r]];
    if (send.bytes != receive.bytes) {
      return refuse(fmt::format("sizes differ: rank {} sends {} bytes to rank {} ({}), which expects {} bytes ({})",
                                from, send.bytes.count, to, describe(graph, sender, sends[s]), receive.bytes.count,
                                describe(graph, receiver, receives[r])));
    }
    ++s, ++r;
  }
  return {};
}

using PairKey = std::vector<std::uint32_t>;  // program, slots, program, slots: what a pair of ranks exchanges

void append(PairKey& key, ProgramId program, const PeerSlots* peer) {
  key.push_back(program);
  key.push_back(peer == nullptr ? 0 : static_cast<std::uint32_t>(peer->slots.size()));
  if (peer != nullptr) key.insert(key.end(), peer->slots.begin(), peer->slots.end());
}

Status check_point_to_point(const TaskGraph& graph, const std::vector<ProgramUse>& uses) {
  std::vector<std::vector<PeerSlots>> peers(graph.ranks());
  for (Rank rank = 0; rank < graph.ranks(); ++rank) peers[rank] = peers_of(graph, rank, uses[graph.program_of[rank]]);
  std::set<PairKey> matched;
  for (Rank rank = 0; rank < graph.ranks(); ++rank) {
    for (const PeerSlots& mine : peers[rank]) {
      const std::vector<PeerSlots>& others = peers[mine.peer];
      const auto found = std::lower_bound(others.begin(), others.end(), rank,
                                          [](const PeerSlots& entry, Rank value) { return entry.peer < value; });
      const PeerSlots* theirs = found != others.end() && found->peer == rank ? &*found : nullptr;
      PairKey key;
      append(key, graph.program_of[rank], &mine);
      append(key, graph.program_of[mine.peer], theirs);
      if (!matched.insert(std::move(key)).second) continue;
      const Program& program = graph.program(rank);
      const Program& other = graph.program(mine.peer);
      const ProgramUse& use = uses[graph.program_of[rank]];
      const ProgramUse& other_use = uses[graph.program_of[mine.peer]];
      PR_TRY(check_messages(graph, rank, mine.peer, messages(program, use, &mine, TaskKind::send),
                            messages(other, other_use, theirs, TaskKind::receive)));
      PR_TRY(check_messages(graph, mine.peer, rank, messages(other, other_use, theirs, TaskKind::send),
                            messages(program, use, &mine, TaskKind::receive)));
    }
  }
  return {};
}

}  // namespace

Status check(const TaskGraph& graph) {
  PR_TRY(check_tables(graph));
  std::vector<ProgramUse> uses;
  uses.reserve(graph.programs.size());
  for (ProgramId id = 0; id < graph.programs.size(); ++id) {
    PR_TRY(check_program_tables(graph, id));
    uses.push_back(slot_uses(graph.programs[id]));
    PR_TRY(check_slots(graph, id, uses.back()));
    PR_TRY(check_cycles(graph, id, uses.back()));
  }
  PR_TRY(check_bindings(graph, uses));
  PR_TRY(check_groups(graph, uses));
  return check_point_to_point(graph, uses);
}

const char* to_text(Collective kind) {
  switch (kind) {
    case Collective::none: return "none";
    case Collective::all_reduce: return "all_reduce";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_to_all: return "all_to_all";
    case Collective::broadcast: return "broadcast";
    case Collective::barrier: return "barrier";
  }
  return "unknown";
}

const char* to_text(Dimension dimension) {
  switch (dimension) {
    case Dimension::none: return "none";
    case Dimension::tensor: return "tensor";
    case Dimension::data: return "data";
    case Dimension::pipeline: return "pipeline";
    case Dimension::context: return "context";
    case Dimension::expert: return "expert";
    case Dimension::other: return "other";
  }
  return "unknown";
}

const char* to_text(TaskKind kind) {
  switch (kind) {
    case TaskKind::compute: return "compute";
    case TaskKind::collective: return "collective";
    case TaskKind::send: return "send";
    case TaskKind::receive: return "receive";
  }
  return "unknown";
}

}  // namespace photonrail::model
