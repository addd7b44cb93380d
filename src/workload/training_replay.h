// Test aid: runs a small task graph with given durations, without ports or contention. A task is issued when its
// dependencies have finished; a collective starts when its last member has issued it and the group's previous one is
// done; a send and its receive start when both are issued; computations take their Task::duration.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "model/task_graph.h"

namespace photonrail::workload::test {

class Replay {
 public:
  using CommunicationTime = std::function<Time(const model::Task&)>;

  Replay(const model::TaskGraph& graph, CommunicationTime communication)
      : graph_(graph), communication_(std::move(communication)), finish_(graph.ranks()), state_(graph.ranks()) {
    for (model::Rank r = 0; r < graph.ranks(); ++r) {
      finish_[r].resize(graph.program(r).tasks.size());
      state_[r].resize(graph.program(r).tasks.size());
      index_rank(r);
    }
  }

  Time issued(model::Rank rank, model::TaskIndex task) {
    Time at;
    for (const model::TaskIndex need : graph_.program(rank).needs(task)) at = std::max(at, finished(rank, need));
    return at;
  }

  Time finished(model::Rank rank, model::TaskIndex index) {
    if (state_[rank][index] == State::done) return finish_[rank][index];
    PR_CHECK(state_[rank][index] == State::fresh, "the replayed graph deadlocks");
    state_[rank][index] = State::busy;
    const model::Task& task = graph_.program(rank).tasks[index];
    const Time start = task.kind == model::TaskKind::compute ? issued(rank, index) : joint_start(rank, task);
    const Time length = task.kind == model::TaskKind::compute ? task.duration : communication_(task);
    state_[rank][index] = State::done;
    return finish_[rank][index] = start + length;
  }

  Time finished_all() {
    Time last;
    for (model::Rank r = 0; r < graph_.ranks(); ++r) {
      for (model::TaskIndex i = 0; i < finish_[r].size(); ++i) last = std::max(last, finished(r, i));
    }
    return last;
  }

 private:
  enum class State : std::uint8_t { fresh, busy, done };
  using Member = std::pair<model::Rank, model::TaskIndex>;

  void index_rank(model::Rank rank) {
    const model::Program& program = graph_.program(rank);
    for (model::TaskIndex i = 0; i < program.tasks.size(); ++i) {
      const model::Task& task = program.tasks[i];
      if (task.kind != model::TaskKind::compute) operations_[key(rank, task)].push_back({rank, i});
    }
  }

  // Equal for all tasks of one operation.
  std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t> key(model::Rank rank, const model::Task& task) const {
    const std::uint32_t slot = graph_.slot(rank, task.slot);
    if (task.kind == model::TaskKind::collective) return {true, slot, 0, task.ordinal};
    const bool send = task.kind == model::TaskKind::send;
    return {false, send ? rank : slot, send ? slot : rank, task.ordinal};
  }

  Time joint_start(model::Rank rank, const model::Task& task) {
    Time at;
    for (const auto& [member, index] : operations_.at(key(rank, task))) at = std::max(at, issued(member, index));
    if (task.kind != model::TaskKind::collective || task.ordinal == 0) return at;
    model::Task before = task;
    before.ordinal -= 1;
    const Member previous = operations_.at(key(rank, before)).front();
    return std::max(at, finished(previous.first, previous.second));
  }

  const model::TaskGraph& graph_;
  CommunicationTime communication_;
  std::vector<std::vector<Time>> finish_;
  std::vector<std::vector<State>> state_;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<Member>> operations_;
};

}  // namespace photonrail::workload::test
