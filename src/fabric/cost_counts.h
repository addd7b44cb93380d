// How many boxes and cables a network needs: whole switches by the rules of electrical.h, whole optical switches by
// those of cost.h. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace photonrail::fabric {

struct ClosCount {
  std::int64_t leaves = 0;
  std::int64_t spines = 0;  // spine or aggregation switches
  std::int64_t cores = 0;
  std::int64_t tiers = 1;
  std::int64_t host_links = 0;
  std::int64_t switch_links = 0;  // cables between switches

  std::int64_t boxes() const { return leaves + spines + cores; }
  std::int64_t ports_used() const { return host_links + 2 * switch_links; }
};

struct ClosRules {
  std::int64_t radix = 64;  // ports of one box at the NIC rate
  double oversubscription = 1.0;
  bool share_boxes = true;  // groups may share a leaf, or a plane's only box
};

// `groups` sets of `hosts` NICs; each leaf serves one set, or several where they fit.
Result<ClosCount> count_clos(std::int64_t groups, std::int64_t hosts, const ClosRules& rules);
// `planes` separate networks of `hosts` NICs each.
Result<ClosCount> count_planes(std::int64_t planes, std::int64_t hosts, const ClosRules& rules);

struct OcsCount {
  std::int64_t boxes = 0;
  std::int64_t duplex_ports = 0;  // of all boxes
  std::int64_t duplex_ports_used = 0;
  std::int64_t rows = 0;  // sets of S duplex ports that must lie in one box
};

struct OcsRules {
  std::int64_t box_ports = 0;    // duplex ports of one box
  std::int64_t fibre_pairs = 1;  // OCS ports per module port
  double spare = 0;
  bool share_boxes = true;
  bool circulators = false;
};

// infeasible, with the shortfall, where a box cannot hold one row of a rail.
Result<OcsCount> count_ocs(std::int64_t rails, std::int64_t servers, std::int64_t ports, const OcsRules& rules);

}  // namespace photonrail::fabric
