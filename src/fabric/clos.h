// A folded Clos network of one switch type above leaves that are given; electrical.h has the rules and their source.
// Internal to this folder.
//
// A link is one cable between two switches and one direction. `ideal` load balancing makes all cables from a leaf (or
// from a pod of leaves to the cores) one link of their summed capacity: as if every byte took the emptiest way.
#pragma once

#include <cstdint>
#include <functional>

#include "fabric/fabric.h"

namespace photonrail::fabric {

struct ClosPlan {
  std::uint32_t tiers = 1;
  std::uint32_t leaves = 1;
  std::uint32_t leaf_nics = 0;   // NICs on a full leaf
  std::uint32_t leaf_up = 0;     // uplinks of each leaf
  std::uint32_t spines = 0;      // tier 2, all pods together
  std::uint32_t pods = 1;        // of leaves; 1 below three tiers
  std::uint32_t pod_leaves = 0;  // leaves of a pod
  std::uint32_t spine_up = 0;    // uplinks of each aggregation switch, three tiers
  std::uint32_t cores = 0;       // all planes together
  std::uint32_t cores_per_plane = 0;
  std::uint32_t spines_per_pod = 0;
};

// How many NICs and uplinks a leaf has.
class LeafRule {
 public:
  LeafRule(std::int64_t radix, Rate port_rate, Rate nic_rate, double oversubscription);
  std::uint32_t most_nics() const { return most_nics_; }  // with uplinks; 0: none fits
  std::uint32_t nics_without_uplinks() const { return radix_ / ports_per_nic_; }
  // infeasible: more leaves than three tiers join.
  Result<ClosPlan> plan(std::uint32_t leaves, std::uint32_t leaf_nics) const;

 private:
  std::uint32_t uplinks(std::uint32_t nics) const;

  std::uint32_t radix_;
  std::uint32_t ports_per_nic_;
  double uplinks_per_nic_;
  std::uint32_t most_nics_ = 0;
};

struct FlowKey {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t flow = 0;
  std::uint64_t seed = 0;
};

// Links between two leaves, in order.
struct Route {
  LinkId links[4] = {};
  std::uint32_t count = 0;
};

class Clos {
 public:
  using AddLink = std::function<LinkId(LinkKind kind, std::uint32_t owner, std::uint32_t index, double capacity)>;

  // Adds the links of the network; `first_leaf` and `first_spine` number its switches in names.
  Clos(const ClosPlan& plan, Rate port_rate, model::LoadBalance balance, std::uint32_t first_leaf,
       std::uint32_t first_spine, const AddLink& add);

  Route route(std::uint32_t from_leaf, std::uint32_t to_leaf, const FlowKey& key) const;
  std::int64_t switches_crossed(std::uint32_t from_leaf, std::uint32_t to_leaf) const;

 private:
  bool same_pod(std::uint32_t a, std::uint32_t b) const { return a / plan_.pod_leaves == b / plan_.pod_leaves; }
  Route ideal_route(std::uint32_t from_leaf, std::uint32_t to_leaf) const;

  ClosPlan plan_;
  bool ideal_;
  LinkId first_up_ = 0;
  LinkId first_down_ = 0;
  LinkId first_core_up_ = 0;
  LinkId first_core_down_ = 0;
};

}  // namespace photonrail::fabric
