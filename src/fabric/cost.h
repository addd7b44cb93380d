// What a network costs and draws: electrical fabrics against photonic rails. docs/models/cost.md has the reasoning.
//
// as_published: the formulas of the cost script of Opus (arXiv 2602.12521), with N GPUs, G per server, S = N / G:
//   fat tree        k = round((4N)^(1/3)), ports = k (k^2 + floor(k^2 / 4))
//   rail-optimised  k = round(sqrt(4S)), leaves per rail = 2 floor(S / floor(k/2)), spines = floor(N / k),
//                   ports = k (G leaves + spines)
//   photonic rails  OCS ports = 2 S G: a Tx and an Rx fibre of one module per GPU
//   cost            400 Gb/s: ports * port + module * (N + ports); 800 Gb/s: modules on the GPU side only
//
// real: whole boxes of real radix in a folded Clos by the rules of electrical.h; modules on both ends of every link;
//   an OCS of N x N joins N input fibres to N output fibres, so it has N duplex ports, each one input and one output,
//   and one duplex module takes one of them. (Ports of an OCS are single fibres: SONiC OCS design, sonic-net/SONiC
//   pull request 2269, "a duplex link is two cross-connects"; N x N of Polatis, CALIENT and Palomar counts one side.)
//   A ring of more than two needs two duplex ports per GPU (one towards each neighbour): `photonic_two_full` gives each
//   the full NIC rate, `photonic_two_half` splits the rate. Tx of the port towards the next member only ever meets Rx
//   of a port towards the previous one, so the two directions of a rail may sit in different boxes, and a box must
//   hold S duplex ports of one rail, not 2S; a rail that is larger does not fit and is reported as such.
//
// Not counted on either side: GPUs, scale-up, racks, cooling, installation, management network, controllers, software.
// Dollars are those of the sources' dates. All functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "fabric/bill_of_materials.h"
#include "model/scenario.h"

namespace photonrail::fabric {

struct CostInput {
  model::CostMode mode = model::CostMode::real;
  std::int64_t gpus = 0;
  std::int64_t domain = 0;  // GPUs per server or scale-up domain; local index = rail
  std::string gpu;          // label only
  Rate nic_rate;            // per GPU and direction

  std::string network_switch;  // catalog names; "": cheapest per port that has the rate
  std::string co_packaged_switch;
  std::string ocs;                  // "": cheapest for sale that holds a rail
  std::string transceiver;          // of the photonic rails; "": cheapest that fits
  std::int64_t photonic_ports = 0;  // an extra photonic case with this many duplex ports per GPU
  Rate photonic_port_rate;          // and this rate each

  // real mode
  double oversubscription = 1.0;      // down : up at the leaves
  bool share_boxes = true;            // rails may share a leaf or an OCS that is large enough
  bool twin_modules = true;           // twin-port modules on GPUs; two GPUs of a server may share one
  bool parallel_through_ocs = false;  // parallel-fibre modules on photonic rails: every fibre pair takes an OCS port
  bool circulators = false;           // both directions on one fibre: half of the OCS ports, where the OCS allows it
  bool include_nics = false;
  bool include_fibre = true;
  double spare_ocs_ports = 0;  // share of duplex ports kept free
  double spare_modules = 0;    // share of modules bought in addition
  Dollars fibre_price;         // of a duplex cord; 0: from the catalog

  // as_published: departures from the published formulas, for sensitivity
  std::int64_t published_ports = 1;        // duplex ports, and so modules, per GPU on photonic rails
  std::int64_t published_fibre_pairs = 1;  // fibre pairs of a module
  bool published_flip_optics = false;      // count switch-side modules where the script does not, and the reverse

  std::vector<std::string> choices;  // why a part is not the default one; shown in the header

  std::uint64_t seed = 1;
  std::int64_t samples = 10'000;  // Monte Carlo; 0: none
};

// The cost question that a scenario asks.
CostInput cost_input(const model::Scenario& scenario);

// Leaves the choice to the catalog where a default part cannot serve: a switch whose ports have another rate than the
// NICs, an optical switch smaller than a rail. Parts that the user named stay.
struct NamedParts {
  bool network_switch = false;
  bool ocs = false;
};
void replace_unfit_defaults(CostInput& input, const NamedParts& named, const catalog::Catalog& catalog);

// What the bills are made of, for a header: "switch", "quantum-2-qm9700".
using PartLine = std::pair<std::string, std::string>;

struct Quantiles {
  double p5 = 0;
  double p50 = 0;
  double p95 = 0;
};

// How many times as dear, and as hungry, one fabric is as a photonic one.
struct CostRatio {
  std::string fabric;  // keys of bills
  std::string photonic;
  double cost = 0;
  double power = 0;
  Quantiles cost_spread;  // Monte Carlo; zero without samples
  Quantiles power_spread;
};

// One ratio when one assumption moves alone from one end of its range to the other.
struct TornadoRow {
  std::size_t ratio = 0;  // index into CostReport::ratios
  std::string key;        // of the assumption, or "option:..." for a change of the design
  std::string title;
  std::string low_text;  // the value at the low end; for options, what is changed
  std::string high_text;
  double cost_low = 0;  // ratio at that end; not lower than cost_high by necessity
  double cost_high = 0;
  double power_low = 0;
  double power_high = 0;
};

// From the published ratio to the real one, one change after the other.
struct WalkStep {
  std::string title;
  double cost = 0;  // rail-optimised electrical over photonic rails, or the fabrics named below
  double power = 0;
  std::string parts{};     // switch, modules; optical switch, modules
  std::string fabric{};    // the row of CostReport::ratios that this equals; empty where the step has no row
  std::string photonic{};
};

struct CostReport {
  CostInput input;
  AssumptionTable assumptions;
  std::vector<BillOfMaterials> bills;
  std::vector<CostRatio> ratios;
  std::vector<TornadoRow> tornado;  // by ratio, then by falling relative swing
  std::vector<WalkStep> walk;       // where the published formulas cover the rate (400 and 800 Gb/s)
  std::vector<std::string> warnings;  // what makes the comparison unequal; in the header
  std::vector<std::string> notes;

  const BillOfMaterials* bill(std::string_view key) const;
  std::vector<PartLine> parts() const;
};

// Errors: usage for impossible inputs (domain that does not divide gpus, rate that no part has, unknown part);
// infeasible for as_published at other rates than 400 and 800 Gb/s.
Result<CostReport> make_cost_report(const CostInput& input, const catalog::Catalog& catalog);

// Bills and their assumptions alone, without ratios and sensitivity: cheap, for reports on runs.
struct Bills {
  AssumptionTable assumptions;
  std::vector<BillOfMaterials> all;
};
Result<Bills> make_bills(const CostInput& input, const catalog::Catalog& catalog);

// Totals of a bill with every assumption at its base, and at the ends of its range.
struct TotalRange {
  Totals low;
  Totals base;
  Totals high;
};
TotalRange total_range(const BillOfMaterials& bom, const AssumptionTable& assumptions);

// One row of the published table: 256 to 2,048 GPUs, H200 (8 per server, 400 Gb/s) and GB200 (32, 800 Gb/s).
struct PublishedRow {
  std::string gpu;
  std::int64_t gpus = 0;
  std::int64_t fat_tree_ports = 0;
  std::int64_t rail_ports = 0;
  std::int64_t ocs_ports = 0;
  Totals fat_tree;
  Totals rail;
  Totals photonic;
  double cost_ratio = 0;  // rail-optimised over photonic
  double power_ratio = 0;
};
Result<std::vector<PublishedRow>> published_table(const catalog::Catalog& catalog);

std::string render_text(const CostReport& report, const catalog::Catalog& catalog);
std::string render_json(const CostReport& report, const catalog::Catalog& catalog);
std::string render_csv(const CostReport& report);
std::string published_table_text(const std::vector<PublishedRow>& rows);

}  // namespace photonrail::fabric
