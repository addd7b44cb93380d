#include "fabric/clos.h"

#include <fmt/format.h>

#include <cmath>

#include "base/digest.h"

namespace photonrail::fabric {
namespace {

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// Smallest number of switches on which `below` switches of `uplinks` uplinks each end, uplink j on switch j mod n,
// when each has `radix` ports.
std::uint32_t switches_above(std::uint32_t below, std::uint32_t uplinks, std::uint32_t radix) {
  return ceil_div(uplinks, radix / below);
}

std::uint64_t pick(const FlowKey& key, std::uint64_t tier, std::uint64_t choices) {
  Digest hash;
  hash.add(key.source);
  hash.add(key.destination);
  hash.add(key.flow);
  hash.add(key.seed);
  hash.add(tier);
  return hash.value() % choices;
}

// Of `cables` cables, dealt round robin to `switches`, one that ends at switch `which`.
std::uint32_t parallel_cable(const FlowKey& key, std::uint64_t tier, std::uint32_t cables, std::uint32_t switches,
                             std::uint32_t which) {
  const std::uint32_t parallel = ceil_div(cables - which, switches);
  return which + switches * static_cast<std::uint32_t>(pick(key, tier, parallel));
}

}  // namespace

LeafRule::LeafRule(std::int64_t radix, Rate port_rate, Rate nic_rate, double oversubscription)
    : radix_(static_cast<std::uint32_t>(radix)) {
  const std::int64_t ports = (nic_rate.bits_per_second + port_rate.bits_per_second - 1) / port_rate.bits_per_second;
  ports_per_nic_ = static_cast<std::uint32_t>(std::min<std::int64_t>(ports, radix + 1));
  uplinks_per_nic_ = static_cast<double>(nic_rate.bits_per_second) /
                     (oversubscription * static_cast<double>(port_rate.bits_per_second));
  for (std::uint32_t nics = radix_ / ports_per_nic_; nics > 0 && most_nics_ == 0; --nics) {
    if (nics * ports_per_nic_ + uplinks(nics) <= radix_) most_nics_ = nics;
  }
}

std::uint32_t LeafRule::uplinks(std::uint32_t nics) const {
  // The slack keeps 42 / 2.1 from becoming 21 by rounding.
  const double exact = static_cast<double>(nics) * uplinks_per_nic_;
  if (exact > radix_) return radix_ + 1;
  return std::max(1U, static_cast<std::uint32_t>(std::ceil(exact - 1e-9)));
}

Result<ClosPlan> LeafRule::plan(std::uint32_t leaves, std::uint32_t leaf_nics) const {
  ClosPlan plan;
  plan.leaves = leaves;
  plan.leaf_nics = leaf_nics;
  plan.pod_leaves = leaves;
  if (leaves == 1) return plan;
  plan.leaf_up = uplinks(leaf_nics);
  plan.tiers = 2;
  if (leaves <= radix_) {
    plan.spines = switches_above(leaves, plan.leaf_up, radix_);
    plan.spines_per_pod = plan.spines;
    return plan;
  }
  plan.tiers = 3;
  const std::uint32_t half = radix_ / 2;
  plan.pods = ceil_div(leaves, half);
  if (plan.pods > radix_) {
    return fail(ErrorCode::infeasible,
                fmt::format("{} leaves: three tiers of {}-port switches join {} at most; use a larger switch", leaves,
                            radix_, std::uint64_t{half} * radix_));
  }
  plan.pod_leaves = half;
  plan.spines_per_pod = plan.leaf_up;
  plan.spines = plan.pods * plan.leaf_up;
  plan.spine_up = half;
  plan.cores_per_plane = switches_above(plan.pods, half, radix_);
  plan.cores = plan.leaf_up * plan.cores_per_plane;
  return plan;
}

Clos::Clos(const ClosPlan& plan, Rate port_rate, model::LoadBalance balance, std::uint32_t first_leaf,
           std::uint32_t first_spine, const AddLink& add)
    : plan_(plan), ideal_(balance == model::LoadBalance::ideal) {
  const auto rate = static_cast<double>(port_rate.bits_per_second);
  // `count` switches with `cables` cables up: one link per cable, or one per switch.
  const auto add_tier = [&](LinkKind kind, std::uint32_t first, std::uint32_t count, std::uint32_t cables) {
    LinkId first_link = 0;
    const std::uint32_t links_each = ideal_ ? 1 : cables;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < links_each; ++j) {
        const LinkId link = add(kind, first + i, j, ideal_ ? rate * cables : rate);
        if (i == 0 && j == 0) first_link = link;
      }
    }
    return first_link;
  };
  if (plan.tiers < 2) return;
  first_up_ = add_tier(LinkKind::leaf_up, first_leaf, plan.leaves, plan.leaf_up);
  first_down_ = add_tier(LinkKind::leaf_down, first_leaf, plan.leaves, plan.leaf_up);
  if (plan.tiers < 3) return;
  const std::uint32_t count = ideal_ ? plan.pods : plan.spines;
  const std::uint32_t cables = ideal_ ? plan.spines_per_pod * plan.spine_up : plan.spine_up;
  first_core_up_ = add_tier(LinkKind::core_up, first_spine, count, cables);
  first_core_down_ = add_tier(LinkKind::core_down, first_spine, count, cables);
}

std::int64_t Clos::switches_crossed(std::uint32_t from_leaf, std::uint32_t to_leaf) const {
  if (from_leaf == to_leaf) return 1;
  return same_pod(from_leaf, to_leaf) ? 3 : 5;
}

Route Clos::ideal_route(std::uint32_t from_leaf, std::uint32_t to_leaf) const {
  if (same_pod(from_leaf, to_leaf)) return {{first_up_ + from_leaf, first_down_ + to_leaf}, 2};
  return {{first_up_ + from_leaf, first_core_up_ + from_leaf / plan_.pod_leaves,
           first_core_down_ + to_leaf / plan_.pod_leaves, first_down_ + to_leaf},
          4};
}

Route Clos::route(std::uint32_t from_leaf, std::uint32_t to_leaf, const FlowKey& key) const {
  if (from_leaf == to_leaf) return {};
  if (ideal_) return ideal_route(from_leaf, to_leaf);
  const std::uint32_t up = plan_.leaf_up;
  const auto cable = static_cast<std::uint32_t>(pick(key, 0, up));
  const std::uint32_t spine = cable % plan_.spines_per_pod;
  const std::uint32_t down = parallel_cable(key, 1, up, plan_.spines_per_pod, spine);
  const LinkId first = first_up_ + from_leaf * up + cable;
  const LinkId last = first_down_ + to_leaf * up + down;
  if (same_pod(from_leaf, to_leaf)) return {{first, last}, 2};
  // Aggregation switch j of every pod reaches the cores of plane j alone, so the way down ends at switch j again.
  const auto core_cable = static_cast<std::uint32_t>(pick(key, 2, plan_.spine_up));
  const std::uint32_t core = core_cable % plan_.cores_per_plane;
  const std::uint32_t core_down = parallel_cable(key, 3, plan_.spine_up, plan_.cores_per_plane, core);
  const std::uint32_t spine_from = from_leaf / plan_.pod_leaves * plan_.spines_per_pod + spine;
  const std::uint32_t spine_to = to_leaf / plan_.pod_leaves * plan_.spines_per_pod + spine;
  return {{first, first_core_up_ + spine_from * plan_.spine_up + core_cable,
           first_core_down_ + spine_to * plan_.spine_up + core_down, last},
          4};
}

}  // namespace photonrail::fabric
