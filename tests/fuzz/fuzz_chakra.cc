// Any bytes as a Chakra trace. What is accepted is then imported as two ranks that do the same in one group and send to
// each other; what the import accepts must pass the check of task graphs.
#include <cstdlib>
#include <span>
#include <utility>

#include "model/task_graph.h"
#include "workload/chakra_trace.h"
#include "workload/import.h"
#include "workload/trace_set.h"

namespace {

using namespace photonrail;
using workload::ChakraNode;
using workload::ChakraType;

// Slot 0 is the group of all ranks, slot 1 the other rank.
workload::TraceSet two_ranks(workload::ChakraTrace trace) {
  for (ChakraNode& node : trace.nodes) {
    node.group = 0;
    node.comm_src = node.type == ChakraType::receive ? 1 : -1;
    node.comm_dst = node.type == ChakraType::send ? 1 : -1;
  }
  workload::TraceSet set;
  set.source = "fuzz";
  set.prefix = "fuzz";
  set.traces.push_back(std::move(trace));
  set.slot_is_peer = {{false, true}};
  set.program_of = {0, 0};
  set.slots = {{0, 1}, {0, 0}};
  return set;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto trace = workload::parse_chakra(bytes, "fuzz.0.et", true);
  if (!trace) {
    if (trace.error().message.empty()) std::abort();
    return 0;
  }
  const auto nameless = workload::parse_chakra(bytes, "fuzz.0.et", false);
  if (!nameless || nameless->nodes.size() != trace->nodes.size()) std::abort();
  workload::ImportOptions options;
  options.gpu.peak = {1e15};
  options.gpu.memory = gigabytes_per_second(4800);
  const auto step = workload::import_step(two_ranks(*trace), options);
  if (!step) {
    if (step.error().message.empty()) std::abort();
  } else if (const Status valid = check(step->graph); !valid) {
    std::abort();
  }
  return 0;
}
