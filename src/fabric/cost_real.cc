// Bills with real boxes and real optics; cost.h states the rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/units_text.h"
#include "fabric/cost_builders.h"
#include "fabric/cost_counts.h"
#include "fabric/cost_parts.h"

namespace photonrail::fabric {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double with_spares(std::int64_t count, double share) {
  return std::ceil(static_cast<double>(count) * (1 + share) - 1e-9);
}

struct PhotonicCase {
  std::string key;
  std::string title;
  std::int64_t ports = 1;
  Rate port_rate;
};

struct PhotonicParts {
  catalog::Optic module;
  catalog::Ocs ocs;
  OcsCount count;
};

// Everything that the bills of one report share.
struct RealBuilder {
  const CostInput& input;
  const catalog::Catalog& catalog;
  Bills& bills;

  std::int64_t servers() const { return input.gpus / input.domain; }
  Status add_electrical(const std::string& key, const std::string& title, bool co_packaged);
  Status add_photonic(const PhotonicCase& wanted);

 private:
  Result<ClosCount> count(const std::string& key, std::int64_t radix) const;
  void add_boxes(BillOfMaterials& bill, const ClosCount& count, const catalog::ElectricalSwitch& box,
                 std::int64_t radix);
  void add_switch_modules(BillOfMaterials& bill, const ClosCount& count, const catalog::ElectricalSwitch& box,
                          const catalog::Optic& module);
  void add_gpu_modules(BillOfMaterials& bill, const catalog::Optic& module, std::int64_t lanes_wanted, Rate rate);
  Status add_fibre(BillOfMaterials& bill, std::int64_t cords, bool parallel, const std::string& rule);
  Status add_nics(BillOfMaterials& bill, std::int64_t ports, Rate rate, bool breakout);
  Result<PhotonicParts> pick_parts(const PhotonicCase& wanted) const;
  Result<std::vector<catalog::Ocs>> ocs_choices() const;
  OcsRules ocs_rules(const catalog::Ocs& ocs, const Lanes& lanes) const;
  void add_ocs(BillOfMaterials& bill, const catalog::Ocs& ocs, const OcsCount& count);
  void add_loss_note(BillOfMaterials& bill, const catalog::Ocs& ocs, const catalog::Optic& module) const;
};

Result<ClosCount> RealBuilder::count(const std::string& key, std::int64_t radix) const {
  const ClosRules rules{radix, input.oversubscription, input.share_boxes};
  if (key == "fat_tree") return count_clos(1, input.gpus, rules);
  if (key == "rail_only") return count_planes(input.domain, servers(), rules);
  return count_clos(input.domain, servers(), rules);
}

void RealBuilder::add_boxes(BillOfMaterials& bill, const ClosCount& count, const catalog::ElectricalSwitch& box,
                            std::int64_t radix) {
  const AssumptionId price = add_price(bills.assumptions, box.name, box.title, box.price);
  const AssumptionId watts = add_watts(bills.assumptions, box.name, box.title, box.power);
  const auto add = [&](const char* item, std::int64_t boxes) {
    if (boxes == 0) return;
    bill.lines.push_back(
        {item, box.name, static_cast<double>(boxes), fmt::format("boxes of {} ports", radix), price, watts});
  };
  add("leaf switches", count.leaves);
  add("spine switches", count.spines);
  add("core switches", count.cores);
  bill.notes.push_back(fmt::format("{} tier{}, {} NIC links, {} links between switches", count.tiers,
                                   count.tiers == 1 ? "" : "s", count.host_links, count.switch_links));
}

// One module per cage whose ports are used; the power of a box may hold that of its modules.
void RealBuilder::add_switch_modules(BillOfMaterials& bill, const ClosCount& count,
                                     const catalog::ElectricalSwitch& box, const catalog::Optic& module) {
  const std::int64_t rates = box.port_rate.value->bits_per_second;
  const std::int64_t box_ports = ceil_div(count.ports_used() * input.nic_rate.bits_per_second, rates);
  const std::int64_t modules = ceil_div(box_ports, box.ports_per_cage);
  BomLine line{"modules at switches",
               module.name,
               with_spares(modules, input.spare_modules),
               fmt::format("{} used ports, {} per module", box_ports, box.ports_per_cage),
               add_price(bills.assumptions, module.name, module.title, module.price),
               std::nullopt};
  if (!box.power_includes_optics) line.watts = add_watts(bills.assumptions, module.name, module.title, module.power);
  bill.lines.push_back(std::move(line));
}

void RealBuilder::add_gpu_modules(BillOfMaterials& bill, const catalog::Optic& module, std::int64_t lanes_wanted,
                                  Rate rate) {
  const std::int64_t ports = ports_per_gpu(lanes_of(module, rate), lanes_wanted);
  const std::int64_t modules = ceil_div(input.gpus * ports, *module.ports.value);
  bill.lines.push_back({"modules at GPUs", module.name, with_spares(modules, input.spare_modules),
                        fmt::format("{} GPUs x {} module port{}, {} per module", input.gpus, ports,
                                    ports == 1 ? "" : "s", *module.ports.value),
                        add_price(bills.assumptions, module.name, module.title, module.price),
                        add_watts(bills.assumptions, module.name, module.title, module.power)});
}

Status RealBuilder::add_fibre(BillOfMaterials& bill, std::int64_t cords, bool parallel, const std::string& rule) {
  if (!input.include_fibre) return {};
  PR_ASSIGN(catalog::Fibre fibre, catalog.fibre(parallel ? "mpo-os2" : "duplex-os2"));
  if (!parallel && input.fibre_price.amount > 0) {
    const catalog::Range old = range_of(fibre.price);
    fibre.price.value = input.fibre_price;
    fibre.price.low = Dollars{std::min(old.low, input.fibre_price.amount)};
    fibre.price.high = Dollars{std::max(old.high, input.fibre_price.amount)};
    fibre.price.note = "price given in the scenario; ends from the catalog";
  }
  bill.lines.push_back({"fibre", fibre.name, static_cast<double>(cords), rule,
                        add_price(bills.assumptions, fibre.name, fibre.title, fibre.price), std::nullopt});
  return {};
}

Status RealBuilder::add_nics(BillOfMaterials& bill, std::int64_t ports, Rate rate, bool breakout) {
  if (!input.include_nics) return {};
  PR_ASSIGN(const NicChoice choice, pick_nic(catalog, ports, rate, breakout));
  bill.lines.push_back({"network adapters", choice.nic.name, static_cast<double>(input.gpus * choice.per_gpu),
                        fmt::format("{} per GPU", choice.per_gpu),
                        add_price(bills.assumptions, choice.nic.name, choice.nic.title, choice.nic.price),
                        add_watts(bills.assumptions, choice.nic.name, choice.nic.title, choice.nic.power)});
  return {};
}

Status RealBuilder::add_electrical(const std::string& key, const std::string& title, bool co_packaged) {
  BillOfMaterials bill{key, title, false, {}, {}, {}};
  const std::string& name = co_packaged ? input.co_packaged_switch : input.network_switch;
  PR_ASSIGN(const catalog::ElectricalSwitch box, pick_switch(catalog, name, co_packaged, input.nic_rate));
  PR_ASSIGN(const catalog::Optic gpu_module, pick_gpu_module(catalog, input.nic_rate, input.twin_modules));
  const std::int64_t radix = radix_at(box, input.nic_rate);
  PR_ASSIGN(const ClosCount counted, count(key, radix));
  add_boxes(bill, counted, box, radix);
  if (key == "rail_only" && counted.tiers > 1) {
    bill.notes.push_back(fmt::format(
        "a rail of {} NICs is larger than one box of {} ports: the spines lie within rails and join no two of them, so "
        "this takes about as many boxes as rail-optimised",
        servers(), radix));
  }
  if (!box.co_packaged) {
    PR_ASSIGN(const catalog::Optic module, pick_switch_module(catalog, box));
    add_switch_modules(bill, counted, box, module);
    if (box.power_includes_optics) bill.notes.push_back("the power of the switch holds that of its modules");
  }
  add_gpu_modules(bill, gpu_module, 1, input.nic_rate);
  if (*box.port_rate.value != input.nic_rate) {
    bill.notes.push_back(
        fmt::format("ports of {} are split or joined to the NIC rate (assumed to be possible)", box.name));
  }
  PR_TRY(add_nics(bill, 1, input.nic_rate, false));
  PR_TRY(add_fibre(bill, counted.host_links + counted.switch_links, *gpu_module.fibre_pairs.value > 1, "one per link"));
  bills.all.push_back(std::move(bill));
  return {};
}

OcsRules RealBuilder::ocs_rules(const catalog::Ocs& ocs, const Lanes& lanes) const {
  return {*ocs.duplex_ports.value, lanes.pairs_per_lane, input.spare_ocs_ports, input.share_boxes,
          input.circulators && ocs.bidirectional};
}

// Robots are left out of the automatic choice: a move takes longer than a training step.
Result<std::vector<catalog::Ocs>> RealBuilder::ocs_choices() const {
  std::vector<catalog::Ocs> choices;
  if (!input.ocs.empty()) {
    PR_ASSIGN(catalog::Ocs ocs, catalog.ocs(input.ocs));
    if (!ocs.duplex_ports.known()) {
      return fail(ErrorCode::infeasible, fmt::format("{}: its number of ports is unknown", ocs.name));
    }
    choices.push_back(std::move(ocs));
    return choices;
  }
  for (const catalog::Ocs& ocs : catalog.ocses) {
    const bool slow = ocs.dark.known() && range_of(ocs.dark).low >= 1.0;
    if (ocs.for_sale && ocs.duplex_ports.known() && !slow) choices.push_back(ocs);
  }
  return choices;
}

// The cheapest pair of module and switch whose light gets through; failing that, one of which it is not known.
Result<PhotonicParts> RealBuilder::pick_parts(const PhotonicCase& wanted) const {
  PR_ASSIGN(const std::vector<catalog::Optic> modules, rail_modules(catalog, input, wanted.ports, wanted.port_rate));
  PR_ASSIGN(const std::vector<catalog::Ocs> ocses, ocs_choices());
  std::optional<PhotonicParts> best;
  int best_rank = -1;
  double best_price = std::numeric_limits<double>::infinity();
  Error error{ErrorCode::infeasible, "the catalog has no optical switch for sale"};
  for (const catalog::Optic& module : modules) {
    const Lanes lanes = lanes_of(module, wanted.port_rate);
    const std::int64_t ports = ports_per_gpu(lanes, wanted.ports);
    const double module_price = range_of(module.price).base * static_cast<double>(input.gpus * ports) /
                                static_cast<double>(*module.ports.value);
    for (const catalog::Ocs& ocs : ocses) {
      const Result<OcsCount> counted = count_ocs(input.domain, servers(), wanted.ports, ocs_rules(ocs, lanes));
      if (!counted) {
        error = counted.error();
        error.message += fmt::format(" ({})", ocs.name);
        continue;
      }
      AssumptionTable scratch;
      const AssumptionId id = add_ocs_price(scratch, ocs, catalog);
      const double price = module_price + static_cast<double>(counted->duplex_ports) * scratch.all[id].range.base;
      const int rank = check_loss(ocs, module).rank();
      if (rank < best_rank || (rank == best_rank && price >= best_price)) continue;
      best = PhotonicParts{module, ocs, *counted};
      best_rank = rank;
      best_price = price;
    }
  }
  if (best) return *best;
  if (input.ocs.empty() && !ocses.empty()) {
    const auto larger = [](const catalog::Ocs& a, const catalog::Ocs& b) {
      return *a.duplex_ports.value < *b.duplex_ports.value;
    };
    error.message = fmt::format("a rail of {} servers fits no optical switch for sale; the largest has {} duplex ports",
                                servers(), *std::max_element(ocses.begin(), ocses.end(), larger)->duplex_ports.value);
  }
  return fail(error);
}

void RealBuilder::add_ocs(BillOfMaterials& bill, const catalog::Ocs& ocs, const OcsCount& count) {
  bill.lines.push_back(
      {"optical switches, per duplex port", ocs.name, static_cast<double>(count.duplex_ports),
       fmt::format("{} box{} x {} duplex ports; {} used in {} rows of {}", count.boxes, count.boxes == 1 ? "" : "es",
                   *ocs.duplex_ports.value, count.duplex_ports_used, count.rows, servers()),
       add_ocs_price(bills.assumptions, ocs, catalog), add_ocs_watts(bills.assumptions, ocs, catalog)});
}

void RealBuilder::add_loss_note(BillOfMaterials& bill, const catalog::Ocs& ocs, const catalog::Optic& module) const {
  const LossCheck check = check_loss(ocs, module);
  if (!check.known) {
    bill.notes.push_back(fmt::format("whether the light of {} gets through {} cannot be checked: a figure is missing",
                                     module.name, ocs.name));
    return;
  }
  bill.notes.push_back(fmt::format("loss of {} at most {:g} dB with connectors, budget of {} {:g} dB: {}", ocs.name,
                                   check.loss, module.name, check.budget, check.fits() ? "fits" : "does not fit"));
}

Status RealBuilder::add_photonic(const PhotonicCase& wanted) {
  BillOfMaterials bill{wanted.key, wanted.title, true, {}, {}, {}};
  PR_ASSIGN(const PhotonicParts parts, pick_parts(wanted));
  const bool breakout = lanes_of(parts.module, wanted.port_rate).per_port > 1;
  add_ocs(bill, parts.ocs, parts.count);
  add_gpu_modules(bill, parts.module, wanted.ports, wanted.port_rate);
  PR_TRY(add_nics(bill, wanted.ports, wanted.port_rate, breakout));
  PR_TRY(add_fibre(bill, parts.count.duplex_ports_used, false, "one per used duplex port"));
  add_loss_note(bill, parts.ocs, parts.module);
  if (breakout) bill.notes.push_back(fmt::format("every fibre pair of {} is a port of its own", parts.module.name));
  if (input.circulators) bill.notes.push_back("circulators are not priced: nobody publishes one");
  bills.all.push_back(std::move(bill));
  return {};
}

std::vector<PhotonicCase> photonic_cases(const CostInput& input) {
  std::vector<PhotonicCase> cases = {
      {"photonic_one_port", "photonic rails, one duplex port per GPU: pairs only, no ring", 1, input.nic_rate},
      {"photonic_two_half", "photonic rails, two duplex ports of half the rate", 2, input.nic_rate / 2},
      {"photonic_two_full", "photonic rails, two duplex ports of the full rate", 2, input.nic_rate}};
  if (input.photonic_ports <= 0) return cases;
  for (const PhotonicCase& known : cases) {
    if (known.ports == input.photonic_ports && known.port_rate == input.photonic_port_rate) return cases;
  }
  cases.push_back({"photonic_scenario",
                   fmt::format("photonic rails, {} duplex ports of {:g} Gb/s", input.photonic_ports,
                               static_cast<double>(input.photonic_port_rate.bits_per_second) / 1e9),
                   input.photonic_ports, input.photonic_port_rate});
  return cases;
}

// What cannot be built stays in the report, without lines and with the reason.
Status or_shortfall(const Status& added, BillOfMaterials empty, Bills& bills) {
  if (added || added.error().code != ErrorCode::infeasible) return added;
  empty.shortfall = added.error().message;
  bills.all.push_back(std::move(empty));
  return {};
}

}  // namespace

Status add_real_bills(const CostInput& input, const catalog::Catalog& catalog, Bills& bills) {
  struct ElectricalCase {
    const char* key;
    const char* title;
    bool co_packaged;
  };
  static constexpr ElectricalCase kElectrical[] = {
      {"rail_optimised", "electrical, rail-optimised", false},
      {"fat_tree", "electrical, fat tree", false},
      {"rail_only", "electrical, rail-only", false},
      {"co_packaged", "electrical, rail-optimised, co-packaged optics", true}};
  RealBuilder builder{input, catalog, bills};
  for (const ElectricalCase& wanted : kElectrical) {
    const Status added = builder.add_electrical(wanted.key, wanted.title, wanted.co_packaged);
    PR_TRY(or_shortfall(added, {wanted.key, wanted.title, false, {}, {}, {}}, bills));
  }
  for (const PhotonicCase& wanted : photonic_cases(input)) {
    const Status added = builder.add_photonic(wanted);
    PR_TRY(or_shortfall(added, {wanted.key, wanted.title, true, {}, {}, {}}, bills));
  }
  return {};
}

}  // namespace photonrail::fabric
