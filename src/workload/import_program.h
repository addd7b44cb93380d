// One Chakra trace as a Program whose collectives are not numbered yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/task_graph.h"
#include "workload/import.h"

namespace photonrail::workload {

// Tasks are in the order of node ids. Collectives have ordinal 0, no dimension, and comm_size as their bytes (an
// all-gather is multiplied by its members later). Sends and receives carry their tags, made unique.
struct TraceProgram {
  model::Program program;
  std::vector<std::uint32_t> node_of;  // per task: index into ChakraTrace::nodes
};

// Numbers sends and receives by (tag, how often the tag came before in that slot and direction): the tag itself where
// no tag repeats and none is negative in the whole set, else the index of the pair among all pairs of the set.
class TagTable {
 public:
  explicit TagTable(const TraceSet& traces);
  std::uint32_t ordinal(std::int32_t tag, std::uint32_t occurrence) const;

 private:
  std::vector<std::pair<std::int32_t, std::uint32_t>> pairs_;  // sorted; empty where the tag will do
};

// Refuses a dangling dependency, a cycle, and nodes that the options do not allow. `rank` is for messages.
Result<TraceProgram> make_program(const TraceSet& traces, std::uint32_t trace, std::uint32_t rank, const TagTable& tags,
                                  const ImportOptions& options);

// "rank 3, node 17 'name'".
std::string describe_node(const TraceSet& traces, std::uint32_t rank, const ChakraNode& node);

}  // namespace photonrail::workload
