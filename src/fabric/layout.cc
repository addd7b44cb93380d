#include "fabric/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::fabric {
namespace {

constexpr std::size_t kMostGpus = std::size_t{1} << 22;

}  // namespace

Result<Layout> make_layout(std::int64_t gpus, std::int64_t domain_size) {
  if (gpus < 1 || gpus > static_cast<std::int64_t>(kMostGpus)) {
    return fail(ErrorCode::invalid_input, fmt::format("{} GPUs: between 1 and {} can be laid out", gpus, kMostGpus));
  }
  if (domain_size < 1) {
    return fail(ErrorCode::invalid_input, fmt::format("a scale-up domain of {} GPUs: needs at least 1", domain_size));
  }
  if (gpus > domain_size && gpus % domain_size != 0) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{} GPUs do not fill scale-up domains of {}: {} are left over; use a multiple of {}", gpus,
                            domain_size, gpus % domain_size, domain_size));
  }
  std::vector<Place> places(static_cast<std::size_t>(gpus));
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto size = static_cast<std::size_t>(domain_size);
    places[rank] = {static_cast<std::uint32_t>(rank / size), static_cast<std::uint32_t>(rank % size)};
  }
  return make_layout(std::move(places));
}

Result<Layout> make_layout(std::vector<Place> places) {
  if (places.empty() || places.size() > kMostGpus) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{} ranks: between 1 and {} can be laid out", places.size(), kMostGpus));
  }
  Layout layout;
  layout.places = std::move(places);
  for (std::size_t rank = 0; rank < layout.places.size(); ++rank) {
    const Place& place = layout.places[rank];
    if (place.domain >= layout.places.size() || place.local >= layout.places.size()) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("rank {} sits in domain {} at local index {}: with {} ranks both must be below {}", rank,
                              place.domain, place.local, layout.places.size(), layout.places.size()));
    }
    layout.domains = std::max(layout.domains, place.domain + 1);
    layout.rails = std::max(layout.rails, place.local + 1);
  }
  const std::size_t grid = std::size_t{layout.domains} * layout.rails;
  if (grid > 4 * kMostGpus) {
    return fail(ErrorCode::invalid_input, fmt::format("{} domains with local indices up to {}: too sparse to lay out",
                                                      layout.domains, layout.rails - 1));
  }
  layout.ranks_by_place.assign(grid, kNoRank);
  std::vector<bool> domain_used(layout.domains, false);
  for (Rank rank = 0; rank < layout.places.size(); ++rank) {
    const Place& place = layout.places[rank];
    Rank& slot = layout.ranks_by_place[std::size_t{place.domain} * layout.rails + place.local];
    if (slot != kNoRank) {
      return fail(ErrorCode::invalid_input, fmt::format("ranks {} and {} both sit in domain {} at local index {}", slot,
                                                        rank, place.domain, place.local));
    }
    slot = rank;
    domain_used[place.domain] = true;
  }
  const auto gap = std::find(domain_used.begin(), domain_used.end(), false);
  if (gap != domain_used.end()) {
    return fail(ErrorCode::invalid_input,
                fmt::format("no rank sits in domain {}, but one in domain {}: number domains without gaps",
                            gap - domain_used.begin(), layout.domains - 1));
  }
  return layout;
}

}  // namespace photonrail::fabric
