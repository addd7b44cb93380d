// Electrical fabrics: every GPU has one NIC, full duplex; switches are non-blocking inside; what can congest are NIC
// links and the links between switches, which are modelled one by one (or, `ideal`, as one link per switch).
//
// A leaf of radix R at down:up ratio o gives d ports to NICs and u to spines, the largest d with
//   d * ports_per_nic + u <= R,  u = ceil(d * nic_rate / (o * port_rate)),  ports_per_nic = ceil(nic_rate / port_rate).
// Above the leaves a folded Clos (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008) of the same box:
//   one leaf          no tier above (the whole radix serves NICs)
//   up to R leaves    spines: uplink j of each leaf ends at spine j mod S, S = ceil(u / floor(R / leaves))
//   up to R/2 * R     pods of R/2 leaves with u aggregation switches (uplink j to switch j), each with R/2 uplinks to
//                     its plane of cores; oversubscription exists at the leaves only
//   more              refused
// NICs are spread evenly over the fewest leaves that take them, and u follows from the NICs on a full leaf.
// Fabrics:
//   rail_optimised    leaf (rail, pod) joins the GPUs of one local index in d domains; spines join all leaves
//   fat_tree          whole servers (domains) fill a leaf, or a server spans leaves where it is larger than one
//   rail_only         each rail is a network of its own and no network joins rails (Wang et al., "Rail-only",
//                     arXiv 2307.12169); a message to another rail first crosses the sender's domain to the GPU on the
//                     destination's rail, or is refused
// Latency of a step: rail.latency + switches crossed * hop_latency (1, 3 or 5 switches); a relay adds scale_up.latency.
// ECMP: a flow takes at each switch the uplink (and, where several are parallel, the downlink) that a hash of
// (source, destination, flow, seed, tier) picks; `flows` splits each pair's bytes evenly over that many flows.
#pragma once

#include <memory>

#include "fabric/fabric.h"

namespace photonrail::fabric {

enum class CrossRail : std::uint8_t { relay, refuse };

struct ElectricalOptions {
  model::ScaleUp scale_up;
  std::int64_t radix = 64;                    // ports of one switch
  Rate port_rate = gigabytes_per_second(50);  // per switch port and direction
  Rate nic_rate = gigabytes_per_second(50);   // per GPU and direction
  double oversubscription = 1.0;              // down : up at the leaves
  model::LoadBalance load_balance = model::LoadBalance::ideal;
  std::uint64_t ecmp_seed = 1;
  std::int64_t flows = 1;                   // per pair, for ECMP
  Time latency = nanoseconds(1000);         // NIC to NIC without switches
  Time hop_latency = nanoseconds(600);      // per switch crossed
  CrossRail cross_rail = CrossRail::relay;  // rail_only
};

// Options from a scenario; the radix and port rate of its switch come from the catalog.
ElectricalOptions electrical_options(const model::Scenario& scenario, std::int64_t radix, Rate port_rate);

// infeasible: more leaves than three tiers of this radix join; invalid_input: radix < 2, rates or ratio <= 0.
Result<std::unique_ptr<Fabric>> make_electrical(model::Fabric kind, const Layout& layout,
                                                const ElectricalOptions& options);

// What was built, for reports: switches per tier and ports of one leaf, of all planes together.
struct ElectricalShape {
  std::int64_t leaves = 0;
  std::int64_t spines = 0;  // spine or aggregation switches
  std::int64_t cores = 0;
  std::int64_t leaf_down = 0;  // NICs that one leaf can take
  std::int64_t leaf_up = 0;
  std::int64_t tiers = 0;
};
Result<ElectricalShape> electrical_shape(model::Fabric kind, const Layout& layout, const ElectricalOptions& options);

}  // namespace photonrail::fabric
