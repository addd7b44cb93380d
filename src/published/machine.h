// Traces and configuration made ready to run: programs with dense indices, groups, ring members, links' ends.
//
// Compute time (data/opus/README.md, rule 2) = trunc(num_ops / min(peak, bandwidth x num_ops / tensor_size) x 1e9) ns.
// Chunks (reference: ASTRA-sim): chunk = size / splits; except for all-gathers at least one byte per rank of the whole
// machine; number of chunks = ceil(size / chunk), each of full size. An all-gather sends whole contributions
// (message = chunk), the others message = chunk / members.
//
// Thread rule: immutable once made.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "published/layout.h"
#include "published/published.h"
#include "published/ring_plan.h"

namespace photonrail::published {

enum class NodeKind : std::uint8_t { compute, send, receive, collective };
enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, all_to_all, reduce_scatter };

struct ProgramNode {
  std::uint64_t id = 0;
  std::int64_t size = 0;     // communication: bytes
  Nanoseconds duration = 0;  // compute
  std::uint32_t slot = 0;    // communication
  std::int32_t tag = 0;      // send, receive
  std::uint32_t child_start = 0;
  std::uint32_t child_count = 0;
  std::uint32_t needs = 0;  // distinct dependencies
  NodeKind kind = NodeKind::compute;
  CollectiveKind collective = CollectiveKind::all_reduce;
};

struct Program {
  std::vector<ProgramNode> nodes;  // ascending id, the order in which ready nodes are tried
  std::vector<std::uint32_t> children;
};

struct MachineGroup {
  std::int32_t id = 0;
  std::vector<std::uint32_t> members;  // indices into Machine::members, in ring order
  LinkClass kind = LinkClass::none;    // of all its ring links; none when they differ
  bool always_up = false;              // consecutive members are joined in every topology: no vote, no request
};

struct MachineMember {
  std::uint32_t group = 0;
  std::uint32_t rank = 0;
  std::uint32_t position = 0;
};

struct Machine {
  Layout layout;
  std::vector<Program> programs;
  std::vector<std::uint32_t> program_of;
  std::vector<MachineGroup> groups;
  std::vector<MachineMember> members;
  std::vector<std::vector<std::uint32_t>> slots;  // per rank: member of its group, or peer rank

  std::uint32_t ranks() const { return layout.ranks(); }
  const Program& program(std::uint32_t rank) const { return programs[program_of[rank]]; }
};

Result<Machine> make_machine(const workload::TraceSet& traces, const PublishedConfig& config);

RingShape ring_shape(const ProgramNode& node, std::uint32_t members, std::uint32_t ranks,
                     const PublishedConfig& config);

}  // namespace photonrail::published
