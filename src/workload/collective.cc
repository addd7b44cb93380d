#include "workload/collective.h"

#include "base/check.h"

namespace photonrail::workload {
namespace {

using model::Collective;

// How often the group as a whole sends its payload, in units of (ranks - 1).
std::int64_t passes(Collective kind) {
  switch (kind) {
    case Collective::all_reduce: return 2;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::broadcast: return 1;
    case Collective::none:
    case Collective::barrier: return 0;
  }
  return 0;
}

}  // namespace

std::int64_t ring_steps(Collective kind, std::int64_t ranks) {
  PR_CHECK(ranks >= 1, "a group has at least one member");
  if (kind == Collective::none) return 0;
  const bool both_halves = kind == Collective::all_reduce || kind == Collective::barrier;
  return (both_halves ? 2 : 1) * (ranks - 1);
}

Bytes ring_bytes_of_group(Collective kind, Bytes payload, std::int64_t ranks) {
  PR_CHECK(ranks >= 1, "a group has at least one member");
  return payload * (passes(kind) * (ranks - 1));
}

Bytes ring_bytes_of_rank(Collective kind, Bytes payload, std::int64_t ranks) {
  PR_CHECK(ranks >= 1, "a group has at least one member");
  if (kind == Collective::broadcast) return ranks > 1 ? payload : Bytes{0};
  const Int128 total = static_cast<Int128>(payload.count) * passes(kind) * (ranks - 1);
  return {static_cast<std::int64_t>((total + ranks - 1) / ranks)};
}

}  // namespace photonrail::workload
