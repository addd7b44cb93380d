// How the ratios move: one assumption at a time, all together by Monte Carlo, and from the published to the real.
//
// Monte Carlo: every assumption is drawn from the triangular distribution over its low, base, high by inverse
// transform, each from its own random stream, so that a new assumption changes no other draw. Fabrics that share a
// part share the draw. Options of the design are not drawn: they are choices, not uncertainties.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>

#include "algo/quantile.h"
#include "base/random.h"
#include "fabric/cost_builders.h"
#include "fabric/cost_counts.h"
#include "fabric/cost_parts.h"

namespace photonrail::fabric {
namespace {

struct RatioPair {
  std::size_t fabric;
  std::size_t photonic;
};

std::vector<RatioPair> pairs_of(const std::vector<BillOfMaterials>& bills) {
  std::vector<RatioPair> pairs;
  for (std::size_t photonic = 0; photonic < bills.size(); ++photonic) {
    if (!bills[photonic].photonic || !bills[photonic].shortfall.empty()) continue;
    for (std::size_t fabric = 0; fabric < bills.size(); ++fabric) {
      if (!bills[fabric].photonic && bills[fabric].shortfall.empty()) pairs.push_back({fabric, photonic});
    }
  }
  return pairs;
}

std::vector<Totals> totals_of(const std::vector<BillOfMaterials>& bills, std::span<const double> values) {
  std::vector<Totals> totals;
  for (const BillOfMaterials& bill : bills) totals.push_back(total_of(bill, values));
  return totals;
}

bool uses(const BillOfMaterials& bill, AssumptionId id) {
  return std::any_of(bill.lines.begin(), bill.lines.end(),
                     [&](const BomLine& line) { return line.price == id || line.watts == id; });
}

std::string value_text(const Assumption& assumption, double value) {
  if (assumption.unit == "USD") return fmt::format("${:.{}f}", value, value < 100 ? 2 : 0);
  return fmt::format("{:.{}f} W", value, value < 100 ? 2 : 0);
}

// An option of the design, changed alone.
struct Option {
  const char* key;
  const char* title;
  const char* now;
  const char* then;
  std::function<bool(CostInput&)> apply;  // false: it already is so
};

std::vector<Option> real_options() {
  const auto flip = [](bool CostInput::* member, bool to) {
    return [member, to](CostInput& input) {
      if (input.*member == to) return false;
      input.*member = to;
      return true;
    };
  };
  const auto raise = [](double CostInput::* member, double to) {
    return [member, to](CostInput& input) {
      if (input.*member >= to) return false;
      input.*member = to;
      return true;
    };
  };
  return {{"option:oversubscription", "oversubscription at the leaves", "as asked", "2:1",
           raise(&CostInput::oversubscription, 2)},
          {"option:own_boxes", "boxes shared by rails", "shared", "own boxes for every rail",
           flip(&CostInput::share_boxes, false)},
          {"option:single_port_modules", "modules at GPUs", "twin-port allowed", "single-port only",
           flip(&CostInput::twin_modules, false)},
          {"option:parallel_fibre", "fibre of photonic modules", "duplex", "parallel, every pair through the OCS",
           flip(&CostInput::parallel_through_ocs, true)},
          {"option:circulators", "circulators (not priced)", "none", "both directions on one fibre",
           flip(&CostInput::circulators, true)},
          {"option:adapters", "network adapters", "not counted", "counted", flip(&CostInput::include_nics, true)},
          {"option:no_fibre", "fibre", "counted", "not counted", flip(&CostInput::include_fibre, false)},
          {"option:spare_ocs_ports", "spare OCS ports", "as asked", "10 %", raise(&CostInput::spare_ocs_ports, 0.10)},
          {"option:spare_modules", "spare modules", "as asked", "5 %", raise(&CostInput::spare_modules, 0.05)}};
}

std::vector<Option> published_options() {
  return {{"option:two_ports", "modules and OCS ports per GPU", "one module, two fibres",
           "two modules: a ring of more than two",
           [](CostInput& input) {
             input.published_ports = 2;
             return true;
           }},
          {"option:parallel_fibre", "fibre of the modules", "one pair through the OCS",
           "four pairs: XDR4 is parallel fibre",
           [](CostInput& input) {
             input.published_fibre_pairs = 4;
             return true;
           }},
          {"option:switch_side_optics", "modules at the switches", "as in the script", "the other way round",
           [](CostInput& input) {
             input.published_flip_optics = !input.published_flip_optics;
             return true;
           }}};
}

const CostRatio* find_ratio(const std::vector<CostRatio>& ratios, const CostRatio& like) {
  for (const CostRatio& ratio : ratios) {
    if (ratio.fabric == like.fabric && ratio.photonic == like.photonic) return &ratio;
  }
  return nullptr;
}

void add_option_rows(CostReport& report, const catalog::Catalog& catalog, const Option& option) {
  CostInput changed = report.input;
  changed.samples = 0;
  if (!option.apply(changed)) return;
  const Result<Bills> bills = make_bills(changed, catalog);
  if (!bills) return;
  const std::vector<CostRatio> ratios = ratios_of(*bills, bills->assumptions.base_values());
  for (std::size_t i = 0; i < report.ratios.size(); ++i) {
    const CostRatio& base = report.ratios[i];
    const CostRatio* moved = find_ratio(ratios, base);
    if (moved == nullptr) continue;  // cannot be built that way
    report.tornado.push_back(
        {i, option.key, option.title, option.now, option.then, base.cost, moved->cost, base.power, moved->power});
  }
}

void add_value_rows(CostReport& report, AssumptionId id, const std::vector<RatioPair>& pairs) {
  const Assumption& assumption = report.assumptions.all[id];
  std::vector<double> values = report.assumptions.base_values();
  values[id] = assumption.range.low;
  const std::vector<Totals> low = totals_of(report.bills, values);
  values[id] = assumption.range.high;
  const std::vector<Totals> high = totals_of(report.bills, values);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [fabric, photonic] = pairs[i];
    if (!uses(report.bills[fabric], id) && !uses(report.bills[photonic], id)) continue;
    report.tornado.push_back({i, assumption.key, assumption.title, value_text(assumption, assumption.range.low),
                              value_text(assumption, assumption.range.high),
                              low[fabric].dollars / low[photonic].dollars,
                              high[fabric].dollars / high[photonic].dollars, low[fabric].watts / low[photonic].watts,
                              high[fabric].watts / high[photonic].watts});
  }
}

// Largest relative change of either ratio.
double swing(const TornadoRow& row) {
  const double cost = std::abs(row.cost_high - row.cost_low) / std::max(row.cost_high, row.cost_low);
  const double power = std::abs(row.power_high - row.power_low) / std::max(row.power_high, row.power_low);
  return std::max(cost, power);
}

Quantiles quantiles_of(std::vector<double> sample) {
  static constexpr std::array<double, 3> kAt = {0.05, 0.50, 0.95};
  const std::vector<double> found = algo::quantiles(std::move(sample), kAt);
  return {found[0], found[1], found[2]};
}

void add_monte_carlo(CostReport& report, const std::vector<RatioPair>& pairs) {
  if (report.input.samples == 0 || pairs.empty()) return;
  std::vector<RandomStream> streams;
  for (const Assumption& assumption : report.assumptions.all) {
    streams.emplace_back(report.input.seed, "cost.monte_carlo." + assumption.key);
  }
  std::vector<std::vector<double>> cost(pairs.size());
  std::vector<std::vector<double>> power(pairs.size());
  std::vector<double> values(report.assumptions.all.size());
  for (std::int64_t sample = 0; sample < report.input.samples; ++sample) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = triangular(report.assumptions.all[i].range, streams[i].uniform());
    }
    const std::vector<Totals> totals = totals_of(report.bills, values);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      cost[i].push_back(totals[pairs[i].fabric].dollars / totals[pairs[i].photonic].dollars);
      power[i].push_back(totals[pairs[i].fabric].watts / totals[pairs[i].photonic].watts);
    }
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    report.ratios[i].cost_spread = quantiles_of(std::move(cost[i]));
    report.ratios[i].power_spread = quantiles_of(std::move(power[i]));
  }
}

// ---- from published to real ------------------------------------------------------------------------------------

struct WalkPrices {
  double module_price, module_watts, port_price, port_watts, ocs_price, ocs_watts;
};

WalkPrices walk_prices(const Bills& published) {
  const std::vector<double> values = published.assumptions.base_values();
  const BillOfMaterials& rail = published.all[1];
  const BillOfMaterials& photonic = published.all[2];
  return {values[*rail.lines[1].price], values[*rail.lines[1].watts],     values[*rail.lines[0].price],
          values[*rail.lines[0].watts], values[*photonic.lines[0].price], values[*photonic.lines[0].watts]};
}

Totals electrical_total(const WalkPrices& prices, std::int64_t ports, std::int64_t modules) {
  const auto p = static_cast<double>(ports);
  const auto m = static_cast<double>(modules);
  return {p * prices.port_price + m * prices.module_price, p * prices.port_watts + m * prices.module_watts};
}

Totals photonic_total(const WalkPrices& prices, std::int64_t ocs_ports, std::int64_t modules) {
  const auto p = static_cast<double>(ocs_ports);
  const auto m = static_cast<double>(modules);
  return {p * prices.ocs_price + m * prices.module_price, p * prices.ocs_watts + m * prices.module_watts};
}

WalkStep step_of(std::string title, const Totals& fabric, const Totals& photonic, std::string parts) {
  return {std::move(title), fabric.dollars / photonic.dollars, fabric.watts / photonic.watts, std::move(parts)};
}

struct WholeOcs {
  std::int64_t duplex_ports = 0;
  std::string name;
};

// Fewest duplex ports in whole boxes among the optical switches for sale.
Result<WholeOcs> whole_ocs(const CostInput& input, const catalog::Catalog& catalog, std::int64_t ports) {
  WholeOcs best;
  for (const catalog::Ocs& ocs : catalog.ocses) {
    const bool slow = ocs.dark.known() && range_of(ocs.dark).low >= 1.0;
    if (!ocs.for_sale || slow || !ocs.duplex_ports.known()) continue;
    const Result<OcsCount> count =
        count_ocs(input.domain, input.gpus / input.domain, ports, {*ocs.duplex_ports.value, 1, 0, true, false});
    if (count && (best.name.empty() || count->duplex_ports < best.duplex_ports)) best = {count->duplex_ports, ocs.name};
  }
  if (!best.name.empty()) return best;
  return fail(ErrorCode::infeasible,
              fmt::format("a rail of {} servers fits no optical switch for sale", input.gpus / input.domain));
}

std::string real_parts(const Bills& bills, std::string_view fabric, std::string_view photonic) {
  std::vector<BillOfMaterials> two;
  for (const BillOfMaterials& bill : bills.all) {
    if (bill.key == fabric || bill.key == photonic) two.push_back(bill);
  }
  return fmt::format("{}, {} / {}, {}", parts_of(two, false, "leaf switches"), parts_of(two, false, "modules"),
                     parts_of(two, true, "optical switches"), parts_of(two, true, "modules"));
}

struct StepPair {
  const char* fabric;
  const char* photonic;
};
constexpr StepPair kFullRate = {"rail_optimised", "photonic_two_full"};

Result<WalkStep> real_step(std::string title, const CostInput& input, const catalog::Catalog& catalog,
                           const StepPair& pair) {
  PR_ASSIGN(const Bills bills, make_bills(input, catalog));
  for (const CostRatio& ratio : ratios_of(bills, bills.assumptions.base_values())) {
    if (ratio.fabric == pair.fabric && ratio.photonic == pair.photonic)
      return WalkStep{std::move(title), ratio.cost, ratio.power, real_parts(bills, pair.fabric, pair.photonic)};
  }
  for (const BillOfMaterials& bill : bills.all) {
    if (bill.shortfall.empty() || (bill.key != pair.fabric && bill.key != pair.photonic)) continue;
    return fail(ErrorCode::infeasible, fmt::format("{} cannot be built: {}", bill.key, bill.shortfall));
  }
  return fail(ErrorCode::infeasible, fmt::format("{} or {} cannot be built", pair.fabric, pair.photonic));
}

Result<std::string> published_switch(const CostInput& input, const catalog::Catalog& catalog) {
  const bool fast = input.nic_rate == gigabits_per_second(800);
  PR_ASSIGN(const catalog::ElectricalSwitch box, catalog.network_switch(fast ? "quantum-x800-q3400" : "fs-n9510-64d"));
  return box.name;
}

Status add_published_steps(std::vector<WalkStep>& steps, const CostInput& input, const catalog::Catalog& catalog) {
  CostInput published = input;
  published.mode = model::CostMode::as_published;
  published.published_ports = 1;
  published.published_fibre_pairs = 1;
  published.published_flip_optics = false;
  PR_ASSIGN(const Bills bills, make_bills(published, catalog));
  const std::vector<double> values = bills.assumptions.base_values();
  const WalkPrices prices = walk_prices(bills);
  const bool fast = input.nic_rate == gigabits_per_second(800);
  PR_ASSIGN(const std::string box_name, published_switch(input, catalog));
  PR_ASSIGN(const catalog::ElectricalSwitch box, catalog.network_switch(box_name));
  PR_ASSIGN(const ClosCount count, count_clos(input.domain, input.gpus / input.domain, {*box.ports.value, 1.0, true}));
  const std::int64_t modules = input.gpus + (fast ? 0 : count.ports_used());
  const Totals electrical = electrical_total(prices, count.boxes() * *box.ports.value, modules);
  PR_ASSIGN(const WholeOcs one, whole_ocs(input, catalog, 1));
  PR_ASSIGN(const WholeOcs two, whole_ocs(input, catalog, 2));
  const std::string module = bills.all[1].lines[1].part;
  const std::string priced = bills.all[2].lines[0].part;
  const auto parts = [&](const WholeOcs& ocs) {
    const std::string size = ocs.name == priced ? "" : fmt::format(" at the price and power of {}", priced);
    return fmt::format("{0}, {1} / {2}{3}, {1}", box.name, module, ocs.name, size);
  };
  const std::string by_port = fmt::format("{0}, {1} / {2}, {1}", box.name, module, priced);
  steps.push_back(step_of("as published", total_of(bills.all[1], values), total_of(bills.all[2], values), by_port));
  steps.back().fabric = "rail_optimised";
  steps.back().photonic = "photonic";
  steps.push_back(step_of(fmt::format("whole {}-port boxes instead of a radix that is solved for", *box.ports.value),
                          electrical, total_of(bills.all[2], values), by_port));
  steps.push_back(step_of("whole optical switches, an input and an output as one duplex port", electrical,
                          photonic_total(prices, one.duplex_ports, input.gpus), parts(one)));
  steps.push_back(step_of("two full-rate duplex ports per GPU, as a ring needs", electrical,
                          photonic_total(prices, two.duplex_ports, 2 * input.gpus), parts(two)));
  return {};
}

// The question of the report without what it leaves to choice: the published switch, no fibre, no options.
CostInput without_options(const CostInput& asked, const std::string& switch_name) {
  CostInput plain;
  plain.gpus = asked.gpus;
  plain.domain = asked.domain;
  plain.nic_rate = asked.nic_rate;
  plain.network_switch = switch_name;
  plain.ocs = asked.ocs;
  plain.include_fibre = false;
  plain.fibre_price = asked.fibre_price;
  plain.samples = 0;
  return plain;
}

bool same_ratio(const WalkStep& a, const WalkStep& b) {
  return std::abs(a.cost - b.cost) < 1e-12 && std::abs(a.power - b.power) < 1e-12;
}

// From the published counts with real modules to the question as it was asked, whose ratio is a row of the table.
Status add_steps_to_asked(std::vector<WalkStep>& steps, const CostInput& asked, const catalog::Catalog& catalog) {
  PR_ASSIGN(const std::string box, published_switch(asked, catalog));
  CostInput input = without_options(asked, box);
  PR_ASSIGN(WalkStep modules, real_step("modules that fit: single mode, duplex through the OCS; street prices", input,
                                        catalog, kFullRate));
  steps.push_back(std::move(modules));
  input.network_switch = asked.network_switch;
  PR_ASSIGN(WalkStep boxes, real_step("the electrical switch of this report", input, catalog, kFullRate));
  if (!same_ratio(boxes, steps.back()) || boxes.parts != steps.back().parts) steps.push_back(std::move(boxes));
  if (asked.include_fibre) {
    input.include_fibre = true;
    PR_ASSIGN(WalkStep fibre, real_step("fibre", input, catalog, kFullRate));
    steps.push_back(std::move(fibre));
  }
  PR_ASSIGN(WalkStep all, real_step("options of this report: oversubscription, modules, adapters, spares", asked,
                                    catalog, kFullRate));
  if (!same_ratio(all, steps.back()) || all.parts != steps.back().parts) steps.push_back(std::move(all));
  steps.back().fabric = kFullRate.fabric;
  steps.back().photonic = kFullRate.photonic;
  return {};
}

// Each from the question as it was asked. What cannot be built is left out; its bill says why.
void add_alternatives(std::vector<WalkStep>& steps, const CostInput& asked, const catalog::Catalog& catalog) {
  const auto add = [&](const char* title, const CostInput& input, const StepPair& pair, bool in_table) {
    Result<WalkStep> step = real_step(title, input, catalog, pair);
    if (!step) return;
    if (in_table) {
      step->fabric = pair.fabric;
      step->photonic = pair.photonic;
    }
    steps.push_back(std::move(*step));
  };
  add("or: the two ports share the rate instead of having it each", asked, {"rail_optimised", "photonic_two_half"},
      true);
  add("or: so, and against rail-only electrical", asked, {"rail_only", "photonic_two_half"}, true);
  add("or: so, and against co-packaged optics", asked, {"co_packaged", "photonic_two_half"}, true);
  CostInput more = asked;
  if (!asked.include_nics) {
    more.include_nics = true;
    add("or: full rate, and network adapters counted", more, kFullRate, false);
  }
  if (asked.spare_ocs_ports < 0.10 || asked.spare_modules < 0.05) {
    more.spare_ocs_ports = std::max(0.10, asked.spare_ocs_ports);
    more.spare_modules = std::max(0.05, asked.spare_modules);
    add("or: so, and 10 % spare OCS ports, 5 % spare modules", more, kFullRate, false);
  }
}

}  // namespace

double triangular(const catalog::Range& range, double u) {
  const double width = range.high - range.low;
  if (width <= 0) return range.base;
  const double left = (range.base - range.low) / width;
  if (u < left) return range.low + std::sqrt(u * width * (range.base - range.low));
  return range.high - std::sqrt((1 - u) * width * (range.high - range.base));
}

std::vector<CostRatio> ratios_of(const Bills& bills, std::span<const double> values) {
  const std::vector<Totals> totals = totals_of(bills.all, values);
  std::vector<CostRatio> ratios;
  for (const auto [fabric, photonic] : pairs_of(bills.all)) {
    ratios.push_back({bills.all[fabric].key,
                      bills.all[photonic].key,
                      totals[fabric].dollars / totals[photonic].dollars,
                      totals[fabric].watts / totals[photonic].watts,
                      {},
                      {}});
  }
  return ratios;
}

Status add_sensitivity(CostReport& report, const catalog::Catalog& catalog) {
  const std::vector<RatioPair> pairs = pairs_of(report.bills);
  for (std::size_t id = 0; id < report.assumptions.all.size(); ++id) {
    add_value_rows(report, static_cast<AssumptionId>(id), pairs);
  }
  const bool published = report.input.mode == model::CostMode::as_published;
  for (const Option& option : published ? published_options() : real_options())
    add_option_rows(report, catalog, option);
  std::sort(report.tornado.begin(), report.tornado.end(), [](const TornadoRow& a, const TornadoRow& b) {
    return std::tuple(a.ratio, -swing(a), a.key) < std::tuple(b.ratio, -swing(b), b.key);
  });
  add_monte_carlo(report, pairs);
  return {};
}

Result<std::vector<WalkStep>> walk_to_real(const CostInput& input, const catalog::Catalog& catalog) {
  std::vector<WalkStep> steps;
  PR_TRY(add_published_steps(steps, input, catalog));
  CostInput asked = input;
  asked.mode = model::CostMode::real;
  asked.photonic_ports = 0;  // the walk has the two-port cases
  PR_TRY(add_steps_to_asked(steps, asked, catalog));
  add_alternatives(steps, asked, catalog);
  return steps;
}

}  // namespace photonrail::fabric
