// A set of per-rank trace files with its communicator-group file, from a directory or from an archive
// (.tar, .tar.xz, .tar.gz, .tar.zst), read as it is without unpacking to disk.
//
// Expected names: <prefix>.<rank>.et (also .et.gz) for ranks 0..N-1 without gaps, and one <prefix>.json that maps a
// group id (integer > 0, as text) to its list of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/chakra_trace.h"

namespace photonrail::workload {

struct CommunicatorGroups {
  std::map<std::int32_t, std::vector<std::uint32_t>> members;
};

struct TraceSet {
  std::string source;                       // path, for messages
  CommunicatorGroups groups;
  // Ranks whose files are the same but for group and peer share one trace: program_of[rank] indexes traces.
  // A canonical trace holds slots instead of group ids and peers (ChakraNode::group, comm_src, comm_dst hold the slot
  // number); slots[rank] gives what each slot is for that rank: a group id, or a peer rank.
  std::vector<ChakraTrace> traces;
  std::vector<std::uint32_t> program_of;
  std::vector<std::vector<std::int32_t>> slots;
  std::size_t ranks() const { return program_of.size(); }
};

struct ReadOptions {
  bool keep_names = false;
  std::function<void(std::size_t files_read)> progress;  // may be empty
};

// Refuses: nothing readable at `path`, a directory or archive without ranks, a missing rank, no group file where a
// trace names groups, a group with a rank that does not exist.
Result<TraceSet> read_traces(const std::string& path, const ReadOptions& options);

}  // namespace photonrail::workload
