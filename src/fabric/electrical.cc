#include "fabric/electrical.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units_text.h"
#include "fabric/clos.h"
#include "fabric/loads.h"

namespace photonrail::fabric {
namespace {

constexpr std::size_t kMostAllToAllMembers = 8192;  // routed pair by pair

const char* fabric_name(model::Fabric kind) {
  switch (kind) {
    case model::Fabric::rail_optimised: return "rail_optimised";
    case model::Fabric::fat_tree: return "fat_tree";
    case model::Fabric::rail_only: return "rail_only";
  }
  return "";
}

// Where each NIC is plugged in: one network, or one per rail.
struct Plan {
  std::vector<ClosPlan> planes;
  std::vector<std::uint32_t> plane_of;  // per rank
  std::vector<std::uint32_t> leaf_of;   // per rank, within its plane
};

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

Status check_options(const ElectricalOptions& o) {
  if (o.radix < 2 || o.radix > 65536) {
    return fail(ErrorCode::invalid_input, fmt::format("a switch of {} ports: between 2 and 65536", o.radix));
  }
  if (o.port_rate.bits_per_second <= 0 || o.nic_rate.bits_per_second <= 0 || o.scale_up.rate.bits_per_second <= 0) {
    return fail(ErrorCode::invalid_input,
                "electrical.nic_rate, scale_up.rate and the switch's port rate must be above 0");
  }
  if (!(o.oversubscription > 0) || !std::isfinite(o.oversubscription)) {
    return fail(ErrorCode::invalid_input,
                fmt::format("electrical.oversubscription = {}: must be above 0", o.oversubscription));
  }
  if (o.flows < 1 || o.flows > 1024) {
    return fail(ErrorCode::invalid_input, fmt::format("{} flows per pair: between 1 and 1024", o.flows));
  }
  return {};
}

// Domains spread evenly over the fewest leaves of one rail that take them.
struct Pods {
  std::uint32_t count = 1;
  std::uint32_t domains = 0;  // in a full one
};

Pods spread(std::uint32_t domains, std::uint32_t most) {
  const std::uint32_t count = ceil_div(domains, most);
  return {count, ceil_div(domains, count)};
}

Status plan_rail_optimised(const Layout& layout, const LeafRule& rule, Plan& plan) {
  const Pods pods = spread(layout.domains, rule.most_nics());
  PR_ASSIGN(const ClosPlan plane, rule.plan(layout.rails * pods.count, pods.domains));
  plan.planes.push_back(plane);
  // Leaves of one rail are numbered side by side, so that pods of three tiers hold whole rails as far as they can.
  for (Rank rank = 0; rank < layout.gpus(); ++rank) {
    plan.leaf_of[rank] = layout.local_of(rank) * pods.count + layout.domain_of(rank) / pods.domains;
  }
  return {};
}

Status plan_rail_only(const Layout& layout, const LeafRule& rule, Plan& plan) {
  const bool one_switch = layout.domains <= rule.nics_without_uplinks();
  const Pods pods = spread(layout.domains, one_switch ? layout.domains : rule.most_nics());
  PR_ASSIGN(const ClosPlan plane, rule.plan(pods.count, pods.domains));
  plan.planes.assign(layout.rails, plane);
  for (Rank rank = 0; rank < layout.gpus(); ++rank) {
    plan.plane_of[rank] = layout.local_of(rank);
    plan.leaf_of[rank] = layout.domain_of(rank) / pods.domains;
  }
  return {};
}

Status plan_fat_tree(const Layout& layout, const LeafRule& rule, Plan& plan) {
  const auto seats = static_cast<std::uint32_t>(layout.ranks_by_place.size());
  const bool one_switch = seats <= rule.nics_without_uplinks();
  const std::uint32_t most_seats = one_switch ? seats : rule.most_nics();
  // Whole servers to a leaf; a server that is larger than a leaf spans leaves.
  const std::uint32_t grain = layout.rails <= most_seats ? layout.rails : 1;
  const Pods leaves = spread(seats / grain, most_seats / grain);
  const std::uint32_t leaf_seats = leaves.domains * grain;
  PR_ASSIGN(const ClosPlan plane, rule.plan(leaves.count, leaf_seats));
  plan.planes.push_back(plane);
  for (Rank rank = 0; rank < layout.gpus(); ++rank) {
    plan.leaf_of[rank] = (layout.domain_of(rank) * layout.rails + layout.local_of(rank)) / leaf_seats;
  }
  return {};
}

Result<Plan> make_plan(model::Fabric kind, const Layout& layout, const ElectricalOptions& options) {
  PR_TRY(check_options(options));
  const LeafRule rule(options.radix, options.port_rate, options.nic_rate, options.oversubscription);
  if (rule.most_nics() < 1) {
    return fail(
        ErrorCode::infeasible,
        fmt::format("a {}-port switch has no room for one NIC of {} and its uplinks: use a faster or larger switch",
                    options.radix, to_text(options.nic_rate)));
  }
  Plan plan;
  plan.plane_of.assign(layout.gpus(), 0);
  plan.leaf_of.assign(layout.gpus(), 0);
  switch (kind) {
    case model::Fabric::rail_optimised: PR_TRY(plan_rail_optimised(layout, rule, plan)); break;
    case model::Fabric::rail_only: PR_TRY(plan_rail_only(layout, rule, plan)); break;
    case model::Fabric::fat_tree: PR_TRY(plan_fat_tree(layout, rule, plan)); break;
  }
  return plan;
}

class Electrical final : public Fabric {
 public:
  Electrical(model::Fabric kind, const Layout& layout, const ElectricalOptions& options, const Plan& plan)
      : Fabric(fabric_name(kind), layout, options.scale_up),
        options_(options),
        plane_of_(plan.plane_of),
        leaf_of_(plan.leaf_of) {
    const auto nic = static_cast<double>(options.nic_rate.bits_per_second);
    first_nic_ = static_cast<LinkId>(links().size());
    for (Rank rank = 0; rank < layout.gpus(); ++rank) add_link(LinkKind::nic_tx, rank, 0, nic);
    for (Rank rank = 0; rank < layout.gpus(); ++rank) add_link(LinkKind::nic_rx, rank, 0, nic);
    const auto add = [this](LinkKind k, std::uint32_t owner, std::uint32_t index, double capacity) {
      return add_link(k, owner, index, capacity);
    };
    std::uint32_t leaf_number = 0;
    std::uint32_t aggregation_number = 0;
    for (const ClosPlan& plane : plan.planes) {
      planes_.emplace_back(plane, options.port_rate, options.load_balance, leaf_number, aggregation_number, add);
      leaf_number += plane.leaves;
      aggregation_number += plane.spines;
    }
  }

 private:
  LinkId nic_tx(Rank rank) const { return first_nic_ + rank; }
  LinkId nic_rx(Rank rank) const { return first_nic_ + layout().gpus() + rank; }

  Status add_rail(Collective kind, std::span<const Rank> members, Dimension, double part, Loads& loads) const override {
    return add_pairs(kind, members, part, loads);
  }
  Status add_irregular(Collective kind, std::span<const Rank> members, Dimension, Loads& loads) const override {
    return add_pairs(kind, members, 1, loads);
  }
  Status add_message(Rank source, Rank destination, Dimension, Loads& loads) const override {
    PR_ASSIGN(const Time latency, add_flow(source, destination, 1, loads));
    loads.rail_steps(1, latency);
    return {};
  }

  Status add_pairs(Collective kind, std::span<const Rank> members, double part, Loads& loads) const {
    const std::size_t n = members.size();
    Time slowest;
    if (kind == Collective::all_to_all) {
      if (n > kMostAllToAllMembers) {
        return fail(ErrorCode::infeasible,
                    fmt::format("an all_to_all of {} members: {} at most", n, kMostAllToAllMembers));
      }
      for (const Rank source : members) {
        for (const Rank destination : members) {
          if (source == destination) continue;
          PR_ASSIGN(const Time latency, add_flow(source, destination, part / static_cast<double>(n), loads));
          slowest = std::max(slowest, latency);
        }
      }
    } else {
      const std::size_t edges = kind == Collective::broadcast ? n - 1 : n;
      for (std::size_t i = 0; i < edges; ++i) {
        PR_ASSIGN(const Time latency, add_flow(members[i], members[(i + 1) % n], part * ring_bytes(kind, n), loads));
        slowest = std::max(slowest, latency);
      }
    }
    loads.rail_steps(ring_steps(kind, n), slowest);
    return {};
  }

  // Puts `bytes` on the way from source to destination; returns the latency of that way.
  Result<Time> add_flow(Rank source, Rank destination, double bytes, Loads& loads) const {
    if (layout().domain_of(source) == layout().domain_of(destination)) {
      loads.add(scale_up_tx(source), bytes);
      loads.add(scale_up_rx(destination), bytes);
      return options_.scale_up.latency;
    }
    if (plane_of_[source] == plane_of_[destination]) return add_network(source, destination, bytes, loads);
    const Rank relay = layout().rank_at(layout().domain_of(source), layout().local_of(destination));
    if (options_.cross_rail == CrossRail::refuse || relay == kNoRank) {
      return fail(ErrorCode::infeasible,
                  fmt::format("rank {} (rail {}) to rank {} (rail {}) on a rail-only fabric: no network joins rails{}",
                              source, layout().local_of(source), destination, layout().local_of(destination),
                              relay == kNoRank ? ", and the sender's domain has no GPU on that rail"
                                               : "; allow the relay through the domain"));
    }
    loads.add(scale_up_tx(source), bytes);
    loads.add(scale_up_rx(relay), bytes);
    return options_.scale_up.latency + add_network(relay, destination, bytes, loads);
  }

  Time add_network(Rank source, Rank destination, double bytes, Loads& loads) const {
    const Clos& plane = planes_[plane_of_[source]];
    const std::uint32_t from = leaf_of_[source];
    const std::uint32_t to = leaf_of_[destination];
    loads.add(nic_tx(source), bytes);
    loads.add(nic_rx(destination), bytes);
    if (from != to) {
      const std::int64_t flows = options_.load_balance == model::LoadBalance::ecmp ? options_.flows : 1;
      for (std::int64_t flow = 0; flow < flows; ++flow) {
        const FlowKey key{source, destination, static_cast<std::uint64_t>(flow), options_.ecmp_seed};
        const Route route = plane.route(from, to, key);
        for (std::uint32_t i = 0; i < route.count; ++i) loads.add(route.links[i], bytes / static_cast<double>(flows));
      }
    }
    return options_.latency + options_.hop_latency * plane.switches_crossed(from, to);
  }

  ElectricalOptions options_;
  std::vector<std::uint32_t> plane_of_;
  std::vector<std::uint32_t> leaf_of_;
  std::vector<Clos> planes_;
  LinkId first_nic_ = 0;
};

}  // namespace

ElectricalOptions electrical_options(const model::Scenario& scenario, std::int64_t radix, Rate port_rate) {
  ElectricalOptions options;
  options.scale_up = scenario.scale_up;
  options.radix = radix;
  options.port_rate = port_rate;
  options.nic_rate = scenario.electrical.nic_rate;
  options.oversubscription = scenario.electrical.oversubscription;
  options.load_balance = scenario.electrical.load_balance;
  options.ecmp_seed = scenario.seed;
  options.latency = scenario.rail.latency;
  options.hop_latency = scenario.electrical.hop_latency;
  return options;
}

Result<std::unique_ptr<Fabric>> make_electrical(model::Fabric kind, const Layout& layout,
                                                const ElectricalOptions& options) {
  PR_ASSIGN(const Plan plan, make_plan(kind, layout, options));
  return std::unique_ptr<Fabric>(std::make_unique<Electrical>(kind, layout, options, plan));
}

Result<ElectricalShape> electrical_shape(model::Fabric kind, const Layout& layout, const ElectricalOptions& options) {
  PR_ASSIGN(const Plan plan, make_plan(kind, layout, options));
  ElectricalShape shape;
  for (const ClosPlan& plane : plan.planes) {
    shape.leaves += plane.leaves;
    shape.spines += plane.spines;
    shape.cores += plane.cores;
    shape.leaf_down = plane.leaf_nics;
    shape.leaf_up = plane.leaf_up;
    shape.tiers = plane.tiers;
  }
  return shape;
}

}  // namespace photonrail::fabric
