#include "published/ring_plan.h"

#include <algorithm>

namespace photonrail::published {

RingPlan make_ring_plan(const RingShape& shape, const MessageTiming& timing, Nanoseconds endpoint) {
  const std::uint32_t sends = shape.chunks * shape.steps;
  RingPlan plan{timing, endpoint, {}, {}, {}};
  plan.sent.reserve(sends);
  plan.ready.reserve(sends);
  plan.turns.reserve(sends);
  Nanoseconds sent = 0;
  std::uint32_t turns = 0;
  for (std::uint32_t i = 0; i < sends; ++i) {
    plan.sent.push_back(sent);
    plan.turns.push_back(turns);
    const std::uint32_t receipt = i % shape.steps + 1;
    Nanoseconds ready = sent + timing.travel + endpoint;
    if (receipt <= shape.reductions) ready += shape.reduction;
    if (receipt == shape.steps) ready += endpoint;
    plan.ready.push_back(ready);
    const Nanoseconds free = sent + timing.hold;
    if (ready >= free) ++turns;
    sent = std::max(ready, free);
  }
  return plan;
}

}  // namespace photonrail::published
