#include "fabric/cost_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace photonrail::fabric {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The margin keeps 32 / 2.0 from becoming 17 by rounding.
std::int64_t uplinks(std::int64_t hosts, const ClosRules& rules) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(hosts) / rules.oversubscription - 1e-9));
}

// Most NICs on a leaf that also has its uplinks.
std::int64_t most_hosts(const ClosRules& rules) {
  std::int64_t hosts = rules.radix;
  while (hosts > 0 && hosts + uplinks(hosts, rules) > rules.radix) --hosts;
  return hosts;
}

// Switches above `below` switches with `up` cables each, cables of one switch spread evenly.
std::int64_t switches_above(std::int64_t below, std::int64_t up, std::int64_t radix) {
  return ceil_div(up, radix / below);
}

Status add_upper_tiers(ClosCount& count, std::int64_t up, const ClosRules& rules) {
  const std::int64_t leaves = count.leaves;
  count.switch_links = leaves * up;
  if (leaves <= rules.radix) {
    count.tiers = 2;
    count.spines = switches_above(leaves, up, rules.radix);
    return {};
  }
  const std::int64_t half = rules.radix / 2;
  const std::int64_t pods = ceil_div(leaves, half);
  if (pods > rules.radix) {
    return fail(ErrorCode::infeasible,
                fmt::format("{} leaves: three tiers of {}-port switches join {} at most; use a larger switch", leaves,
                            rules.radix, half * rules.radix));
  }
  count.tiers = 3;
  count.spines = pods * up;
  count.cores = up * switches_above(pods, half, rules.radix);
  count.switch_links += count.spines * half;
  return {};
}

}  // namespace

Result<ClosCount> count_clos(std::int64_t groups, std::int64_t hosts, const ClosRules& rules) {
  ClosCount count;
  count.host_links = groups * hosts;
  if (count.host_links <= rules.radix && (rules.share_boxes || groups == 1)) {
    count.leaves = 1;
    return count;
  }
  const std::int64_t most = most_hosts(rules);
  if (most == 0) {
    return fail(ErrorCode::infeasible, fmt::format("a {}-port switch cannot hold a NIC and its uplinks at {}:1",
                                                   rules.radix, rules.oversubscription));
  }
  std::int64_t leaf_hosts = 0;
  if (hosts <= most && rules.share_boxes) {
    const std::int64_t groups_per_leaf = std::min(groups, most / hosts);
    count.leaves = ceil_div(groups, groups_per_leaf);
    leaf_hosts = groups_per_leaf * hosts;
  } else {
    const std::int64_t leaves_per_group = ceil_div(hosts, most);
    count.leaves = groups * leaves_per_group;
    leaf_hosts = ceil_div(hosts, leaves_per_group);
  }
  PR_TRY(add_upper_tiers(count, uplinks(leaf_hosts, rules), rules));
  return count;
}

Result<ClosCount> count_planes(std::int64_t planes, std::int64_t hosts, const ClosRules& rules) {
  ClosCount total;
  if (hosts <= rules.radix) {
    const std::int64_t planes_per_box = rules.share_boxes ? rules.radix / hosts : 1;
    total.leaves = ceil_div(planes, planes_per_box);
    total.host_links = planes * hosts;
    return total;
  }
  PR_ASSIGN(const ClosCount one, count_clos(1, hosts, rules));
  total = {one.leaves * planes, one.spines * planes,     one.cores * planes,
           one.tiers,           one.host_links * planes, one.switch_links * planes};
  return total;
}

Result<OcsCount> count_ocs(std::int64_t rails, std::int64_t servers, std::int64_t ports, const OcsRules& rules) {
  const auto row = static_cast<std::int64_t>(std::ceil(static_cast<double>(servers) * (1 + rules.spare) - 1e-9));
  if (row > rules.box_ports) {
    return fail(ErrorCode::infeasible,
                fmt::format("a rail of {} servers{} needs {} duplex ports in one optical switch, which has {}", servers,
                            rules.spare > 0 ? " and its spare ports" : "", row, rules.box_ports));
  }
  // With circulators one fibre carries both directions: ports towards the next and towards the previous member take
  // the two sides of one row. A single port meets both roles and saves nothing.
  const std::int64_t rows_per_lane = rules.circulators && ports > 1 ? ceil_div(ports, 2) : ports;
  const std::int64_t rows_per_rail = rows_per_lane * rules.fibre_pairs;
  const std::int64_t rows_per_box = rules.box_ports / row;
  OcsCount count;
  count.rows = rails * rows_per_rail;
  count.boxes = rules.share_boxes ? ceil_div(count.rows, rows_per_box) : rails * ceil_div(rows_per_rail, rows_per_box);
  count.duplex_ports = count.boxes * rules.box_ports;
  count.duplex_ports_used = count.rows * servers;
  return count;
}

}  // namespace photonrail::fabric
