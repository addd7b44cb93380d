// Ring collectives: bytes on the wire and steps, by the payload convention of model::Task::bytes.
//
// Theory (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). n ranks
// stand in a ring; in every step each rank passes one of n pieces of the tensor V to its neighbour.
//   reduce_scatter  n-1 steps   (n-1)/n V per rank     all_gather  n-1 steps   (n-1)/n V per rank
//   all_reduce      both, so 2(n-1) steps and 2(n-1)/n V per rank
//   broadcast       pieces run down the ring; all ranks but the last pass on V: n-1 steps, (n-1) V in the whole ring
//   all_to_all      every rank holds V and keeps 1/n of it; each other piece is sent once and straight to its owner
//                   (no forwarding): n-1 steps, (n-1)/n V per rank
//   barrier         an all_reduce of nothing: 2(n-1) steps, no bytes
// A bidirectional ring sends half of every piece each way: twice the links, the same bytes and steps.
// Per-rank values need not be whole numbers (V need not divide by n), the sum over a group always is: V times a count.
// All functions are pure; ranks >= 1; a group of one moves nothing in no step.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "model/task_graph.h"

namespace photonrail::workload {

// Steps that follow one another, each one latency long.
std::int64_t ring_steps(model::Collective kind, std::int64_t ranks);

// Bytes that all members of the group together put on the wire; exact. `payload` by the convention of Task::bytes.
Bytes ring_bytes_of_group(model::Collective kind, Bytes payload, std::int64_t ranks);

// Bytes that the busiest member puts on the wire: its share of the above rounded up; of a broadcast the whole payload.
Bytes ring_bytes_of_rank(model::Collective kind, Bytes payload, std::int64_t ranks);

}  // namespace photonrail::workload
