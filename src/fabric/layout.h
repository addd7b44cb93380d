// Where each rank sits: in which scale-up domain, and at which local index, which is the number of its rail.
//
// With the tensor dimension innermost in the order of ranks, domain = rank / size and local = rank % size. Imported
// traces may give places of their own. A rail joins the GPUs of one local index across domains. Plain immutable data.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/task_graph.h"

namespace photonrail::fabric {

using model::Rank;

inline constexpr Rank kNoRank = 0xffffffffU;

struct Place {
  std::uint32_t domain = 0;
  std::uint32_t local = 0;
};

struct Layout {
  std::vector<Place> places;  // per rank
  std::uint32_t domains = 0;
  std::uint32_t rails = 0;           // GPUs in the largest domain
  std::vector<Rank> ranks_by_place;  // domain * rails + local -> rank, kNoRank where no GPU sits

  std::uint32_t gpus() const { return static_cast<std::uint32_t>(places.size()); }
  std::uint32_t domain_of(Rank rank) const { return places[rank].domain; }
  std::uint32_t local_of(Rank rank) const { return places[rank].local; }
  Rank rank_at(std::uint32_t domain, std::uint32_t local) const { return ranks_by_place[domain * rails + local]; }
};

// Ranks fill domains of `domain_size` one after the other. Refuses 0 GPUs, more than 2^22 GPUs, a domain of 0, and a
// last domain that is not full (fewer GPUs than one domain are one smaller domain).
Result<Layout> make_layout(std::int64_t gpus, std::int64_t domain_size);

// places[rank] as given. Refuses two ranks at one place and gaps in the numbering of domains.
Result<Layout> make_layout(std::vector<Place> places);

}  // namespace photonrail::fabric
