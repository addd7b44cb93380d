// Time of collectives from calibrated tables: inside a scale-up domain measured, across domains by a stated rule.
//
// Within a domain: measured time by ranks and bytes; `custom` are the one-shot and two-shot all-reduces of inference
// engines, where they are quicker than NCCL. Across domains (Span.ranks > Span.per_domain): hierarchical, all NICs of a
// domain used at once: reduce-scatter inside, ring or tree across on 1/per_domain of the bytes, all-gather inside; the
// rail rate is network * measured efficiency, the latency per step measured.
#pragma once

#include <cstdint>

#include "operators/kernel_time.h"

namespace photonrail::operators {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send };
enum class CollectiveLibrary : std::uint8_t { nccl, custom };  // custom: falls back to NCCL where that is quicker

struct RankSpan {
  std::int64_t ranks = 1;
  std::int64_t per_domain = 1;  // of these ranks, how many share a scale-up domain; == ranks: all do
};

class CollectiveCurve {
 public:
  // `bytes`: all_reduce the vector of each rank; all_gather the gathered result; reduce_scatter the vector before;
  // all_to_all what one rank sends in all; send the message. 0 for one rank.
  KernelTime at(double bytes) const;
  double sent(double bytes) const;  // bytes that one rank sends
};

}  // namespace photonrail::operators
