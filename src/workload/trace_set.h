// A set of per-rank trace files with its communicator-group file, from a directory or from an archive
// (.tar, .tar.xz, .tar.gz, .tar.zst), read as it is without unpacking to disk.
//
// Expected names: <prefix>.<rank>.et (also .et.gz) for ranks 0..N-1 without gaps, and one <prefix>.json that maps a
// group id (integer > 0, as text) to its list of ranks. Other files are left alone. The path may also be
// <directory>/<prefix>, as ASTRA-sim's command line has it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/chakra_trace.h"

namespace photonrail::workload {

struct CommunicatorGroups {
  std::map<std::int32_t, std::vector<std::uint32_t>> members;  // in the order of the file, which is the ring order
};

// Ranks whose files are the same but for group and peer share one trace: program_of[rank] indexes traces.
// A canonical trace holds slot numbers instead of group ids and peers: ChakraNode::group of a collective, comm_dst of a
// send, comm_src of a receive (the rank's own end is -1). slots[rank][s] is what slot s is for that rank: a group id
// (0: all ranks) or a peer rank, as slot_is_peer[program][s] tells. Slots are numbered by first use in file order.
// Tags are part of the trace.
struct TraceSet {
  std::string source;  // path, for messages
  std::string prefix;  // name of the files before ".<rank>.et"
  CommunicatorGroups groups;
  std::vector<ChakraTrace> traces;
  std::vector<std::vector<bool>> slot_is_peer;
  std::vector<std::uint32_t> program_of;
  std::vector<std::vector<std::int32_t>> slots;
  std::uint64_t bytes_read = 0;  // of trace files, after decompression
  std::size_t ranks() const { return program_of.size(); }
};

struct ReadOptions {
  bool keep_names = false;
  std::string group_file;                                // name of the group file in there; "" means <prefix>.json
  std::function<void(std::size_t files_read)> progress;  // may be empty; called from the calling thread
};

// Refuses: nothing readable at `path`, a directory or archive without ranks or with two sets, a missing rank, a trace
// that parse_chakra refuses, a send or receive with the rank's own end named wrongly, a peer that does not exist, a
// group that is not in the group file or that the rank is not a member of, no group file where a trace names groups,
// a group with a rank that does not exist or is named twice. Limits: 1,048,576 ranks, 2 GiB a file.
Result<TraceSet> read_traces(const std::string& path, const ReadOptions& options);

// Parses the text of a group file. `file` is for messages, which give line and column where the text is not JSON.
Result<CommunicatorGroups> parse_groups(std::string_view text, std::string_view file);

}  // namespace photonrail::workload
