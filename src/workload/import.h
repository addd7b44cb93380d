// Chakra traces ─▶ TaskGraph.
//
// What a trace means is a matter of convention, because Chakra states no units; every convention is an option here.
//  - Compute: by the roofline from num_ops and tensor_size where a node has both, else by duration_micros.
//  - comm_size is what a rank holds before the operation; of an all-gather that is its own piece, so Task::bytes is
//    comm_size times the number of members.
//  - METADATA and INVALID nodes cost no time; those that nothing depends on are left out. A collective in a group of
//    one costs no time. Loads from and stores to remote memory are refused, and so are processor operations
//    (is_cpu_op) unless `cpu_ops` says otherwise; REDUCE, GATHER and SCATTER are refused.
//
// Order of collectives. A TaskGraph runs the collectives of a group in a fixed order, a trace fixes only dependencies.
// The order is taken from a nominal execution of all ranks together: one computation at a time and rank, ready ones
// lowest id first; a collective starts when all members have issued it and the one before it has finished; every byte
// takes nominal_rate. Since that execution ends, no order of collectives can deadlock; if it does not end, the traces
// wait for each other, and the import is refused with the operations that wait.
//
// Dimension of a group, the first rule that fits:
//   1. `dimension_of` names it;
//   2. most of its calls are all-to-all: expert;
//   3. it fits into a scale-up domain, and most of its calls stand in the flow of computation: a computation is right
//      before them, and behind them lies a chain of computations at least 1/16 as long as the rank's longest:
//      tensor. Of the groups of one rank only the one with the most such calls. (Behind a reduction of gradients there
//      is at most the optimizer; before a gathering of weights, nothing.)
//   4. else data.
// Sends and receives are pipeline, or `other` between ranks that do the same and have the same place in the whole.
//
// Stage. In the nominal execution a rank whose first message goes out is stage 0; a rank whose first message comes in
// is one stage after its sender. A rank without messages has the stage of its group mates, or 0.
//
// Places. Ranks sorted by (lowest rank of their tensor group, position in it) fill the scale-up domains in turn. With
// tensor innermost that is the order of ranks; with data innermost, as in symbolic_tensor_graph, it still puts every
// tensor group into one domain and every data group on one rail.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/task_graph.h"
#include "operators/roofline.h"
#include "workload/trace_set.h"

namespace photonrail::workload {

enum class OpsUnit : std::uint8_t { multiply_accumulates, operations };
enum class CpuOps : std::uint8_t { refuse, serialise };  // serialise: they take turns with the rank's GPU computations
enum class ComputeTime : std::uint8_t { roofline_else_replay, replay };

struct ImportOptions {
  operators::GpuRates gpu;  // rates > 0 wherever the roofline is used
  ComputeTime compute_time = ComputeTime::roofline_else_replay;
  OpsUnit num_ops_unit = OpsUnit::multiply_accumulates;
  double tensor_bytes_per_unit = 1.0;  // tensor_size x this = bytes; 2.0 where it counts bf16 elements
  double comm_bytes_per_unit = 1.0;    // comm_size x this = bytes
  std::int64_t domain = 8;             // GPUs in one scale-up domain
  CpuOps cpu_ops = CpuOps::refuse;
  std::map<std::int32_t, model::Dimension> dimension_of;  // group id -> dimension, where inference is not wanted
  Rate nominal_rate = gigabytes_per_second(100);          // for the order of collectives only
};

struct ImportedStep {
  model::TaskGraph graph;
  std::vector<std::uint32_t> domain_of;  // per rank
  std::vector<std::uint32_t> local_of;   // per rank: index in its domain, the number of its rail
  std::vector<std::string> notes;        // what was inferred, one sentence each
};

// Ranks with equal traces that stand in equal relations to others share a program. Refuses what the header of
// model::check names, with rank, node id and node name (where the names were kept).
Result<ImportedStep> import_step(const TraceSet& traces, const ImportOptions& options);

// The graph alone.
Result<model::TaskGraph> import_traces(const TraceSet& traces, const ImportOptions& options);

}  // namespace photonrail::workload
