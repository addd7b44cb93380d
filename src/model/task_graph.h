// TaskGraph: what every rank does in one training step, and what must come before what.
//
// Ranks with the same program share it: a Program is a list of tasks with dependencies, in which groups and peers are
// named by slot; a rank binds each slot to a group (collectives) or to a rank (sends and receives). A step of 2,048
// ranks in four pipeline stages is four programs and 2,048 short bindings.
//
// A task is *issued* when all its dependencies have finished. Compute tasks of a rank run one at a time, the ready one
// with the lowest index first. Communication tasks overlap with compute and with each other, but the collectives of
// one group run one after the other in the order of `ordinal`, as in a communicator of any collective library.
// A send and the receive with the same (source, destination, tag) are one operation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace photonrail::model {

using Rank = std::uint32_t;
using GroupId = std::uint32_t;
using ProgramId = std::uint32_t;
using TaskIndex = std::uint32_t;
using Slot = std::uint16_t;

enum class TaskKind : std::uint8_t { compute, collective, send, receive };
enum class Collective : std::uint8_t { none, all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, barrier };

// The parallelism that a communication serves. `other` is for imported groups that fit none.
enum class Dimension : std::uint8_t { none, tensor, data, pipeline, context, expert, other };

struct Task {
  TaskKind kind = TaskKind::compute;
  Collective collective = Collective::none;
  Dimension dimension = Dimension::none;
  Slot slot = 0;                // communication: index into the rank's slots
  std::uint32_t ordinal = 0;    // collective: n-th collective of this slot in the program; send, receive: tag
  std::uint32_t name = 0;       // index into TaskGraph::names
  // Communication payload. all_reduce, all_gather, reduce_scatter, broadcast: the whole (unsharded) tensor, so that a
  // ring moves 2(n-1)/n, (n-1)/n, (n-1)/n of it per rank; all_to_all: what one rank holds before; p2p: the message.
  Bytes bytes;
  double flops = 0;             // compute: floating-point operations, a multiply-add is two
  Bytes memory;                 // compute: bytes moved to and from local memory
  Time duration;                // compute: time on the scenario's GPU
};

// Tasks of one kind of rank. `dependencies` is in compressed rows: task i needs those in
// [dependency_start[i], dependency_start[i+1]). A dependency may have a higher index than its task (imported traces).
struct Program {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> dependency_start;  // tasks.size() + 1 entries
  std::vector<TaskIndex> dependencies;

  std::span<const TaskIndex> needs(TaskIndex task) const {
    return std::span(dependencies).subspan(dependency_start[task], dependency_start[task + 1] - dependency_start[task]);
  }
};

struct Group {
  Dimension dimension = Dimension::none;
  std::vector<Rank> members;  // in ring order
};

struct TaskGraph {
  std::vector<std::string> names;
  std::vector<Program> programs;
  std::vector<Group> groups;
  std::vector<ProgramId> program_of;        // per rank
  std::vector<std::uint32_t> slot_start;    // per rank, ranks + 1 entries
  std::vector<std::uint32_t> slots;         // GroupId for collectives, Rank for sends and receives
  std::vector<std::uint32_t> stage_of;      // per rank: pipeline stage, 0 where unknown

  std::size_t ranks() const { return program_of.size(); }
  const Program& program(Rank rank) const { return programs[program_of[rank]]; }
  std::uint32_t slot(Rank rank, Slot s) const { return slots[slot_start[rank] + s]; }
};

// Refuses what can never run: a dependency cycle or an index out of range, a slot that is not bound, a group with a
// repeated or unknown rank or without its caller, members of a group that issue different collectives, a send without
// its receive or the reverse, sizes that differ. The message names rank, task and both sides.
Status check(const TaskGraph& graph);

const char* to_text(Collective kind);
const char* to_text(Dimension dimension);
const char* to_text(TaskKind kind);

}  // namespace photonrail::model
