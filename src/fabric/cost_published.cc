// The formulas of the cost script of Opus; cost.h states them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabric/cost_builders.h"
#include "fabric/cost_counts.h"
#include "fabric/cost_parts.h"

namespace photonrail::fabric {
namespace {

struct PublishedParts {
  catalog::Optic module;
  catalog::ElectricalSwitch box;
  catalog::Ocs ocs;
  catalog::Optic street;  // a module of the same rate with a price range
  bool switch_side_optics = true;
};

Result<PublishedParts> published_parts(const CostInput& input, const catalog::Catalog& catalog) {
  const bool fast = input.nic_rate == gigabits_per_second(800);
  PublishedParts parts;
  PR_ASSIGN(parts.module, catalog.optic(fast ? "opus-800g" : "opus-400g"));
  PR_ASSIGN(parts.box, catalog.network_switch(fast ? "quantum-x800-q3400" : "fs-n9510-64d"));
  PR_ASSIGN(parts.ocs, catalog.ocs("polatis-6000n"));
  PR_ASSIGN(parts.street, catalog.optic(fast ? "800g-dr4" : "400g-dr4"));
  parts.switch_side_optics = fast == input.published_flip_optics;
  return parts;
}

// The script's module with the street prices of its rate as the ends of the range.
AssumptionId add_module_price(AssumptionTable& table, const PublishedParts& parts) {
  const catalog::Range own = range_of(parts.module.price);
  const catalog::Range street = range_of(parts.street.price);
  return table.add({"price:" + parts.module.name,
                    parts.module.title + ": price",
                    "USD",
                    {std::min(own.base, street.low), own.base, std::max(own.base, street.high)},
                    parts.module.price.source,
                    fmt::format("ends: prices of {}", parts.street.name)});
}

struct PublishedTable {
  AssumptionId module_price, module_watts, port_price, port_watts, ocs_price, ocs_watts;
};

PublishedTable add_assumptions(AssumptionTable& table, const PublishedParts& parts, const catalog::Catalog& catalog) {
  PublishedTable ids{};
  ids.module_price = add_module_price(table, parts);
  ids.module_watts = add_watts(table, parts.module.name, parts.module.title, parts.module.power);
  ids.port_price = add_price_per_port(table, parts.box);
  ids.port_watts = add_watts_per_port(table, parts.box);
  ids.ocs_price = add_ocs_price(table, parts.ocs, catalog);
  ids.ocs_watts = add_ocs_watts(table, parts.ocs, catalog);
  return ids;
}

BillOfMaterials electrical_bill(const char* key, const char* title, std::int64_t gpus, std::int64_t ports,
                                const std::string& rule, const PublishedParts& parts, const PublishedTable& ids) {
  BillOfMaterials bill{key, title, false, {}, {}, {}};
  bill.lines.push_back(
      {"switch ports", parts.box.name, static_cast<double>(ports), rule, ids.port_price, ids.port_watts});
  const std::int64_t modules = gpus + (parts.switch_side_optics ? ports : 0);
  bill.lines.push_back({"modules", parts.module.name, static_cast<double>(modules),
                        parts.switch_side_optics ? fmt::format("{} GPUs + {} switch ports", gpus, ports)
                                                 : fmt::format("{} GPUs; the switch's own power has the rest", gpus),
                        ids.module_price, ids.module_watts});
  return bill;
}

}  // namespace

bool published_covers(Rate nic_rate) {
  return nic_rate == gigabits_per_second(400) || nic_rate == gigabits_per_second(800);
}

PublishedPorts published_ports(std::int64_t gpus, std::int64_t domain) {
  const std::int64_t servers = gpus / domain;
  const std::int64_t tree_k = std::llround(std::cbrt(4.0 * static_cast<double>(gpus)));
  const std::int64_t rail_k = std::max<std::int64_t>(2, std::llround(std::sqrt(4.0 * static_cast<double>(servers))));
  const std::int64_t leaves = 2 * (servers / (rail_k / 2));
  return {tree_k * (tree_k * tree_k + tree_k * tree_k / 4), rail_k * (domain * leaves + gpus / rail_k), 2 * gpus};
}

Status add_published_bills(const CostInput& input, const catalog::Catalog& catalog, Bills& bills) {
  if (!published_covers(input.nic_rate)) {
    return fail(
        ErrorCode::infeasible,
        fmt::format("as_published knows 400 Gb/s (H200) and 800 Gb/s (GB200) per GPU, not {:g} Gb/s; use mode real",
                    static_cast<double>(input.nic_rate.bits_per_second) / 1e9));
  }
  PR_ASSIGN(const PublishedParts parts, published_parts(input, catalog));
  const PublishedTable ids = add_assumptions(bills.assumptions, parts, catalog);
  const PublishedPorts ports = published_ports(input.gpus, input.domain);
  bills.all.push_back(electrical_bill("fat_tree", "electrical, fat tree", input.gpus, ports.fat_tree,
                                      "k (k^2 + floor(k^2 / 4)), k = round((4 N)^(1/3))", parts, ids));
  bills.all.push_back(electrical_bill("rail_optimised", "electrical, rail-optimised", input.gpus, ports.rail_optimised,
                                      "k (G leaves + spines), k = round(sqrt(4 S))", parts, ids));
  BillOfMaterials photonic{"photonic", "photonic rails, as the paper counts them", true, {}, {}, {}};
  const std::int64_t lanes = input.published_ports;
  photonic.lines.push_back({"OCS ports", parts.ocs.name,
                            static_cast<double>(ports.ocs * lanes * input.published_fibre_pairs),
                            "2 per GPU: one Tx and one Rx fibre", ids.ocs_price, ids.ocs_watts});
  photonic.lines.push_back({"modules", parts.module.name, static_cast<double>(input.gpus * lanes), "one per GPU",
                            ids.module_price, ids.module_watts});
  photonic.notes.push_back(
      "one module per GPU holds one pair at a time; a ring of more than two needs two (mode real)");
  bills.all.push_back(std::move(photonic));
  return {};
}

Result<std::vector<PublishedRow>> published_table(const catalog::Catalog& catalog) {
  struct Cluster {
    const char* gpu;
    std::int64_t domain;
    Rate rate;
  };
  static constexpr Cluster kClusters[] = {{"H200", 8, gigabits_per_second(400)},
                                          {"GB200", 32, gigabits_per_second(800)}};
  std::vector<PublishedRow> rows;
  for (const Cluster& cluster : kClusters) {
    for (const std::int64_t gpus : {256, 512, 1024, 2048}) {
      CostInput input;
      input.mode = model::CostMode::as_published;
      input.gpus = gpus;
      input.domain = cluster.domain;
      input.nic_rate = cluster.rate;
      PR_ASSIGN(const Bills bills, make_bills(input, catalog));
      const std::vector<double> values = bills.assumptions.base_values();
      const PublishedPorts ports = published_ports(gpus, cluster.domain);
      PublishedRow row{cluster.gpu, gpus, ports.fat_tree, ports.rail_optimised, ports.ocs, {}, {}, {}, 0, 0};
      row.fat_tree = total_of(bills.all[0], values);
      row.rail = total_of(bills.all[1], values);
      row.photonic = total_of(bills.all[2], values);
      row.cost_ratio = row.rail.dollars / row.photonic.dollars;
      row.power_ratio = row.rail.watts / row.photonic.watts;
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace photonrail::fabric
