// The running state of one simulation: what each rank, operation and channel is doing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/run_result.h"
#include "model/task_graph.h"
#include "sim/channels.h"

namespace photonrail::sim {

struct Member {
  model::Rank rank = 0;
  model::TaskIndex task = 0;
};

// Tasks that wait for a task of the same program, in compressed rows.
struct ProgramSuccessors {
  std::vector<std::uint32_t> start;
  std::vector<model::TaskIndex> tasks;
  std::span<const model::TaskIndex> of(model::TaskIndex task) const {
    return std::span(tasks).subspan(start[task], start[task + 1] - start[task]);
  }
};

struct RankState {
  std::vector<model::TaskIndex> ready_computes;  // min-heap
  model::TaskIndex running = 0xffffffff;         // compute task, or none
  Time finished;
  Time compute;
};

struct OperationState {
  ChannelId channel = 0;
  std::uint32_t ordinal = 0;
  std::uint32_t lane = 0;
  std::uint32_t control_id = 0;
  model::Collective collective = model::Collective::none;
  bool granted = false;
  bool running = false;
  bool flowing = false;
  std::uint32_t version = 0;  // of its pending end; never reset, so that stale ends of a reused id are ignored
  Bytes payload;
  double flow_bytes = 0;
  double remaining = 0;
  double rate = 0;
  Time updated;
  Time issued_first;
  Time issued_last;
  Time started;
  std::vector<Member> members;  // those that have issued it
};

struct ChannelState {
  std::vector<std::uint32_t> open;  // operations that somebody has issued and that are not finished
  std::uint32_t next = 0;           // ordinal of the collective that starts next
  bool busy = false;
  std::uint32_t next_ticket = 0;    // ordinal of the collective that is announced to the controller next
};

class State {
 public:
  State(const model::TaskGraph& graph, std::size_t channel_count);

  // Back to the start of a step; buffers and operation ids are kept.
  void reset();

  // Index of a rank's task. Ranks that share a program run it nearly in step, so their entries for one task lie side by
  // side: with thousands of ranks, order by rank would miss the cache at every event.
  std::size_t at(model::Rank rank, model::TaskIndex task) const {
    const Lockstep& l = lockstep[graph.program_of[rank]];
    return l.first + static_cast<std::size_t>(task) * l.ranks + place_in_program[rank];
  }
  std::uint32_t find_or_open(ChannelId channel, std::uint32_t ordinal);
  void close(std::uint32_t operation);

  const model::TaskGraph& graph;
  struct Lockstep {
    std::size_t first = 0;  // entry of its first task
    std::size_t ranks = 0;  // that share the program
  };
  std::vector<Lockstep> lockstep;                 // per program
  std::vector<std::uint32_t> place_in_program;    // per rank
  std::vector<ProgramSuccessors> successors;      // per program
  std::vector<std::vector<std::uint32_t>> needs;  // per program: number of dependencies of each task
  std::vector<double> program_flops;
  std::vector<std::uint32_t> needs_left;  // per rank and task
  std::vector<bool> issued;               // per rank and task
  std::vector<RankState> ranks;
  std::vector<ChannelState> channels;
  std::vector<OperationState> operations;
  std::vector<std::uint32_t> free_operations;
  std::vector<std::uint32_t> by_control_id;
  std::vector<model::SwitchRecord> switches;  // by command id
  std::vector<Member> ready;                  // tasks to issue now
  std::vector<model::Rank> idle_with_work;
  std::size_t tasks = 0;
  std::size_t tasks_left = 0;
};

}  // namespace photonrail::sim
