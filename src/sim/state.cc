#include "sim/state.h"

#include <algorithm>

namespace photonrail::sim {
namespace {

ProgramSuccessors successors_of(const model::Program& program) {
  ProgramSuccessors result;
  result.start.assign(program.tasks.size() + 1, 0);
  for (const model::TaskIndex dependency : program.dependencies) ++result.start[dependency + 1];
  for (std::size_t i = 1; i < result.start.size(); ++i) result.start[i] += result.start[i - 1];
  result.tasks.resize(program.dependencies.size());
  std::vector<std::uint32_t> fill(result.start.begin(), result.start.end() - 1);
  for (model::TaskIndex task = 0; task < program.tasks.size(); ++task) {
    for (const model::TaskIndex dependency : program.needs(task)) result.tasks[fill[dependency]++] = task;
  }
  return result;
}

}  // namespace

State::State(const model::TaskGraph& task_graph, std::size_t channel_count)
    : graph(task_graph), ranks(task_graph.ranks()), channels(channel_count) {
  for (const model::Program& program : graph.programs) {
    successors.push_back(successors_of(program));
    std::vector<std::uint32_t> count;
    double flops = 0;
    for (model::TaskIndex task = 0; task < program.tasks.size(); ++task) {
      count.push_back(static_cast<std::uint32_t>(program.needs(task).size()));
      flops += program.tasks[task].flops;
    }
    needs.push_back(std::move(count));
    program_flops.push_back(flops);
  }
  lockstep.resize(graph.programs.size());
  for (const model::ProgramId program : graph.program_of) {
    place_in_program.push_back(static_cast<std::uint32_t>(lockstep[program].ranks++));
  }
  for (std::size_t program = 0; program < lockstep.size(); ++program) {
    lockstep[program].first = tasks;
    tasks += lockstep[program].ranks * graph.programs[program].tasks.size();
  }
}

void State::reset() {
  needs_left.clear();
  needs_left.reserve(tasks);
  for (std::size_t program = 0; program < lockstep.size(); ++program) {
    for (const std::uint32_t count : needs[program])
      needs_left.insert(needs_left.end(), lockstep[program].ranks, count);
  }
  issued.assign(tasks, false);
  tasks_left = tasks;
  for (RankState& rank : ranks) rank = {};
  for (ChannelState& channel : channels) channel = {};
}

std::uint32_t State::find_or_open(ChannelId channel, std::uint32_t ordinal) {
  for (const std::uint32_t id : channels[channel].open) {
    if (operations[id].ordinal == ordinal) return id;
  }
  std::uint32_t id = static_cast<std::uint32_t>(operations.size());
  if (free_operations.empty()) {
    operations.emplace_back();
  } else {
    id = free_operations.back();
    free_operations.pop_back();
  }
  OperationState& op = operations[id];
  op.channel = channel;
  op.ordinal = ordinal;
  op.granted = op.running = op.flowing = false;
  op.members.clear();
  channels[channel].open.push_back(id);
  return id;
}

void State::close(std::uint32_t operation) {
  OperationState& op = operations[operation];
  ++op.version;
  auto& open = channels[op.channel].open;
  open.erase(std::find(open.begin(), open.end(), operation));
  free_operations.push_back(operation);
}

}  // namespace photonrail::sim
