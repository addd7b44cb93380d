// Bytes that a step puts on the wire, by what they serve and by whether they leave the scale-up domain.
//
// Ring collectives (workload/collective.h) in the order of their members: every member passes the same bytes to its
// neighbour, so the share that leaves the domain is the share of neighbours in another domain. An all-to-all sends
// straight, so its share is that of the pairs. Messages count by sender and receiver. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/task_graph.h"
#include "operators/dtype.h"

namespace photonrail::energy {

struct Flow {
  model::Dimension dimension = model::Dimension::none;
  model::Collective collective = model::Collective::none;  // none: messages
  std::int64_t calls = 0;                                  // a collective counts once per member
  double payload = 0;                                      // B, sum over the same calls
  double inside = 0;                                       // B on the wire inside a scale-up domain, all ranks
  double outside = 0;                                      // B on the wire between domains, all ranks
};

// What a step asks of the hardware, all GPUs together.
struct StepWork {
  std::string gpu;  // catalog name
  std::int64_t gpus = 0;
  double seconds = 0;
  std::string seconds_source;
  bool time_is_given = false;  // by the user, so that the work may not fit into it
  operators::Dtype dtype = operators::Dtype::bf16;  // of the matrix products
  double flops = 0;
  double memory_bytes = 0;
  double tokens = 0;  // 0: not known
  std::vector<Flow> flows;

  double inside() const;
  double outside() const;
};

// Operations, memory traffic and flows (by dimension, then collective) of a graph; `domain_of` by rank. gpu, seconds,
// dtype and tokens are left to the caller.
StepWork work_of(const model::TaskGraph& graph, std::span<const std::uint32_t> domain_of);

}  // namespace photonrail::energy
