#include "sim/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace photonrail::sim {
namespace {

using OperationIndex = std::uint32_t;

struct Edge {
  OperationIndex to = 0;
  std::string reason;
};

class WaitGraph {
 public:
  WaitGraph(const model::TaskGraph& graph, const ChannelTable& table, const State& state,
            const control::Controller* controller)
      : graph_(graph), table_(table), state_(state) {
    collect_open();
    if (controller != nullptr) add_port_edges(*controller);
    for (const OperationIndex id : open_) {
      add_order_edge(id);
      add_member_edges(id);
    }
  }

  std::string describe() const {
    const std::vector<OperationIndex> cycle = find_cycle();
    std::string text = fmt::format("deadlock: {} of {} tasks can never finish", state_.tasks_left, state_.tasks);
    if (cycle.empty()) return text + "; no operation waits for another, so some task waits for nobody";
    text += fmt::format("; {} operations wait for each other in a cycle:", cycle.size());
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const OperationIndex next = cycle[(i + 1) % cycle.size()];
      text += fmt::format("\n  {} waits for {}: {}", name(cycle[i]), name(next), reason(cycle[i], next));
    }
    return text;
  }

 private:
  void collect_open() {
    for (const ChannelState& channel : state_.channels) {
      open_.insert(open_.end(), channel.open.begin(), channel.open.end());
    }
    std::sort(open_.begin(), open_.end());
  }

  void add_port_edges(const control::Controller& controller) {
    for (const control::Waiting& waiting : controller.waiting()) {
      const OperationIndex id = state_.by_control_id[waiting.operation];
      for (const control::OperationId blocker : waiting.blockers) {
        edges_[id].push_back({state_.by_control_id[blocker], "it has a port that is needed"});
      }
    }
  }

  // The operation before in the group; where nobody has issued that yet, what its members must finish first.
  void add_order_edge(OperationIndex id) {
    const OperationState& op = state_.operations[id];
    const ChannelState& line = state_.channels[op.channel];
    if (table_.channels[op.channel].point_to_point || op.ordinal == line.next) return;
    for (const OperationIndex other : line.open) {
      if (state_.operations[other].ordinal + 1 == op.ordinal) {
        edges_[id].push_back({other, "it comes first in the group"});
        return;
      }
    }
    for (const model::Rank rank : members_of(op)) add_needs(id, rank, op.channel, op.ordinal - 1);
  }

  // Members that have not issued the operation, and what each of them must finish first.
  void add_member_edges(OperationIndex id) {
    const OperationState& op = state_.operations[id];
    for (const model::Rank rank : members_of(op)) {
      const bool here =
          std::any_of(op.members.begin(), op.members.end(), [&](const Member& member) { return member.rank == rank; });
      if (here) continue;
      add_needs(id, rank, op.channel, op.ordinal);
    }
  }

  void add_needs(OperationIndex id, model::Rank rank, ChannelId channel, std::uint32_t ordinal) {
    const auto task = task_of(rank, channel, ordinal);
    if (!task) return;
    std::set<model::TaskIndex> seen;
    add_unfinished(id, rank, *task, seen);
  }

  std::vector<model::Rank> members_of(const OperationState& op) const {
    const Channel& channel = table_.channels[op.channel];
    if (channel.point_to_point) return {channel.leader, channel.peer};
    return graph_.groups[channel.group].members;
  }

  std::optional<model::TaskIndex> task_of(model::Rank rank, ChannelId channel, std::uint32_t ordinal) const {
    const model::Program& program = graph_.program(rank);
    for (model::TaskIndex index = 0; index < program.tasks.size(); ++index) {
      const model::Task& task = program.tasks[index];
      if (task.kind == model::TaskKind::compute || task.ordinal != ordinal) continue;
      const std::size_t slot = graph_.slot_start[rank] + task.slot;
      const auto& side = task.kind == model::TaskKind::receive ? table_.incoming : table_.outgoing;
      if (side[slot] == channel) return index;
    }
    return std::nullopt;
  }

  void add_unfinished(OperationIndex id, model::Rank rank, model::TaskIndex task, std::set<model::TaskIndex>& seen) {
    for (const model::TaskIndex need : graph_.program(rank).needs(task)) {
      if (!seen.insert(need).second) continue;
      const auto pending = open_operation(rank, need);
      if (pending) {
        edges_[id].push_back({*pending, fmt::format("rank {} must finish it first", rank)});
      } else if (!state_.issued[state_.at(rank, need)]) {
        add_unfinished(id, rank, need, seen);
      }
    }
  }

  // The open operation that this task has issued, if any.
  std::optional<OperationIndex> open_operation(model::Rank rank, model::TaskIndex task) const {
    for (const OperationIndex id : open_) {
      for (const Member& member : state_.operations[id].members) {
        if (member.rank == rank && member.task == task) return id;
      }
    }
    return std::nullopt;
  }

  // Depth-first search for a cycle; the first found in order of ids.
  std::vector<OperationIndex> find_cycle() const {
    std::map<OperationIndex, int> colour;
    std::vector<OperationIndex> path;
    for (const OperationIndex id : open_) {
      if (visit(id, colour, path)) return path;
    }
    return {};
  }

  bool visit(OperationIndex id, std::map<OperationIndex, int>& colour, std::vector<OperationIndex>& path) const {
    if (colour[id] == 2) return false;
    if (colour[id] == 1) {
      path.erase(path.begin(), std::find(path.begin(), path.end(), id));
      return true;
    }
    colour[id] = 1;
    path.push_back(id);
    const auto found = edges_.find(id);
    if (found != edges_.end()) {
      for (const Edge& edge : found->second) {
        if (visit(edge.to, colour, path)) return true;
      }
    }
    path.pop_back();
    colour[id] = 2;
    return false;
  }

  std::string reason(OperationIndex from, OperationIndex to) const {
    for (const Edge& edge : edges_.at(from)) {
      if (edge.to == to) return edge.reason;
    }
    return "";
  }

  std::string name(OperationIndex id) const {
    const OperationState& op = state_.operations[id];
    const Channel& channel = table_.channels[op.channel];
    const Member& first = op.members.front();
    const std::string& task = graph_.names[graph_.program(first.rank).tasks[first.task].name];
    if (channel.point_to_point) return fmt::format("send {} -> {} ({})", channel.leader, channel.peer, task);
    return fmt::format("{} #{} of {} group {} ({})", model::to_text(op.collective), op.ordinal,
                       model::to_text(channel.dimension), channel.group, task);
  }

  const model::TaskGraph& graph_;
  const ChannelTable& table_;
  const State& state_;
  std::vector<OperationIndex> open_;
  std::map<OperationIndex, std::vector<Edge>> edges_;
};

}  // namespace

std::string describe_deadlock(const model::TaskGraph& graph, const ChannelTable& table, const State& state,
                              const control::Controller* controller) {
  return WaitGraph(graph, table, state, controller).describe();
}

}  // namespace photonrail::sim
