#include "fabric/cost_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/units_text.h"

namespace photonrail::fabric {
namespace {

using catalog::Figure;
using catalog::Range;

constexpr const char* kClassOcs = "polatis-6000n";   // the one that the published comparison prices
constexpr const char* kSparingOcs = "calient-s320";  // least and most watts per duplex port among known boxes
constexpr const char* kHungryOcs = "palomar";

std::string gigabits(Rate rate) { return fmt::format("{:g} Gb/s", static_cast<double>(rate.bits_per_second) / 1e9); }

Range divided(Range range, double shares) { return {range.low / shares, range.base / shares, range.high / shares}; }

Range price_range(const Figure<Dollars>& figure) {
  const Range range = range_of(figure);
  if (range.low < range.high) return range;
  return {range.base * (1 - kQuoteSpread), range.base, range.base * (1 + kQuoteSpread)};
}

Range watts_range(const Figure<Power>& figure) {
  const Range range = range_of(figure);
  if (range.low < range.high) return range;
  return {range.base * (1 - kDrawBelowNominal), range.base, range.base};
}

template <class T>
std::string range_note(const Figure<T>& figure, const char* single) {
  return figure.low ? figure.note : fmt::format("{}{}{}", figure.note, figure.note.empty() ? "" : "; ", single);
}

constexpr const char* kOneQuote = "one quote; a quarter either way assumed";
constexpr const char* kOneWattage = "nominal or maximum; down to a quarter less assumed";

double watts_per_port(const catalog::Catalog& catalog, const char* name, double otherwise) {
  const Result<catalog::Ocs> ocs = catalog.ocs(name);
  if (!ocs || !ocs->power.known() || !ocs->duplex_ports.known()) return otherwise;
  return range_of(ocs->power).base / range_of(ocs->duplex_ports).base;
}

}  // namespace

AssumptionId add_price(AssumptionTable& table, const std::string& part, const std::string& title,
                       const Figure<Dollars>& figure) {
  return table.add(
      {"price:" + part, title + ": price", "USD", price_range(figure), figure.source, range_note(figure, kOneQuote)});
}

AssumptionId add_watts(AssumptionTable& table, const std::string& part, const std::string& title,
                       const Figure<Power>& figure) {
  return table.add(
      {"watts:" + part, title + ": power", "W", watts_range(figure), figure.source, range_note(figure, kOneWattage)});
}

AssumptionId add_price_per_port(AssumptionTable& table, const catalog::ElectricalSwitch& box) {
  return table.add({"price_per_port:" + box.name, box.title + ": price per port", "USD",
                    divided(price_range(box.price), range_of(box.ports).base), box.price.source,
                    range_note(box.price, kOneQuote)});
}

AssumptionId add_watts_per_port(AssumptionTable& table, const catalog::ElectricalSwitch& box) {
  return table.add({"watts_per_port:" + box.name, box.title + ": power per port", "W",
                    divided(watts_range(box.power), range_of(box.ports).base), box.power.source,
                    range_note(box.power, kOneWattage)});
}

AssumptionId add_ocs_price(AssumptionTable& table, const catalog::Ocs& ocs, const catalog::Catalog& catalog) {
  const std::string title = ocs.title + ": price per duplex port";
  if (ocs.price_per_port.known()) {
    return table.add({"price_per_port:" + ocs.name, title, "USD", price_range(ocs.price_per_port),
                      ocs.price_per_port.source, range_note(ocs.price_per_port, kOneQuote)});
  }
  const Result<catalog::Ocs> other = catalog.ocs(kClassOcs);
  PR_CHECK(other && other->price_per_port.known(), "the catalog prices no optical switch");
  return table.add({"price_per_port:" + ocs.name, title, "USD", price_range(other->price_per_port),
                    other->price_per_port.source,
                    fmt::format("no price published; range of {}: {}", kClassOcs, other->price_per_port.note),
                    kClassOcs});
}

AssumptionId add_ocs_watts(AssumptionTable& table, const catalog::Ocs& ocs, const catalog::Catalog& catalog) {
  const Result<catalog::Ocs> other = catalog.ocs(kClassOcs);
  PR_CHECK(other && other->power.known() && other->duplex_ports.known(),
           "the catalog has no watts of an optical switch");
  const double class_base = range_of(other->power).base / range_of(other->duplex_ports).base;
  const bool known = ocs.power.known() && ocs.duplex_ports.known();
  const double base = known ? range_of(ocs.power).base / range_of(ocs.duplex_ports).base : class_base;
  const double low = std::min(base, watts_per_port(catalog, kSparingOcs, base));
  const double high = std::max(base, watts_per_port(catalog, kHungryOcs, base));
  const Figure<Power>& figure = known ? ocs.power : other->power;
  return table.add({"watts_per_port:" + ocs.name,
                    ocs.title + ": power per duplex port",
                    "W",
                    {low, base, high},
                    figure.source,
                    fmt::format("{}; ends: {} and {} per duplex port", known ? "own figure" : "figure not published",
                                kSparingOcs, kHungryOcs),
                    known ? "" : kClassOcs});
}

Lanes lanes_of(const catalog::Optic& optic, Rate rate) {
  const std::int64_t pairs = *optic.fibre_pairs.value;
  if (optic.medium == "single-mode" && *optic.rate.value / pairs >= rate) return {pairs, 1};
  if (*optic.rate.value >= rate) return {1, pairs};
  return {};
}

std::int64_t ports_per_gpu(const Lanes& lanes, std::int64_t lanes_wanted) {
  return (lanes_wanted + lanes.per_port - 1) / lanes.per_port;
}

std::int64_t radix_at(const catalog::ElectricalSwitch& box, Rate nic_rate) {
  const std::int64_t port = box.port_rate.value->bits_per_second;
  const std::int64_t nic = nic_rate.bits_per_second;
  const std::int64_t ports = *box.ports.value;
  if (port >= nic) return port % nic == 0 ? ports * (port / nic) : 0;
  return nic % port == 0 ? ports / (nic / port) : 0;
}

namespace {

std::optional<catalog::ElectricalSwitch> cheapest_switch(const catalog::Catalog& catalog, bool co_packaged,
                                                         Rate nic_rate, bool exact) {
  std::optional<catalog::ElectricalSwitch> best;
  double best_price = std::numeric_limits<double>::infinity();
  for (const catalog::ElectricalSwitch& box : catalog.switches) {
    const std::int64_t radix = radix_at(box, nic_rate);
    if (box.co_packaged != co_packaged || radix == 0 || !box.price.known() || !box.power.known()) continue;
    if (exact && *box.port_rate.value != nic_rate) continue;
    const double price = range_of(box.price).base / static_cast<double>(radix);
    if (price >= best_price) continue;
    best_price = price;
    best = box;
  }
  return best;
}

}  // namespace

Result<catalog::ElectricalSwitch> pick_switch(const catalog::Catalog& catalog, const std::string& name,
                                              bool co_packaged, Rate nic_rate) {
  if (!name.empty()) {
    PR_ASSIGN(const catalog::ElectricalSwitch box, catalog.network_switch(name));
    if (radix_at(box, nic_rate) > 0) return box;
    return fail(ErrorCode::infeasible, fmt::format("ports of {} ({}) neither split into nor add up to {}", name,
                                                   gigabits(*box.port_rate.value), gigabits(nic_rate)));
  }
  if (const auto exact = cheapest_switch(catalog, co_packaged, nic_rate, true)) return *exact;
  if (const auto other = cheapest_switch(catalog, co_packaged, nic_rate, false)) return *other;
  return fail(ErrorCode::infeasible, fmt::format("no {}switch of the catalog has ports for {}; name one",
                                                 co_packaged ? "co-packaged " : "", gigabits(nic_rate)));
}

namespace {

bool can_choose(const catalog::Optic& optic) {
  return optic.for_sale && optic.medium == "single-mode" && optic.price.known() && optic.power.known();
}

// The module of the lowest price per lane among those that `price_of` gives a price.
template <class PriceOf>
std::optional<catalog::Optic> cheapest(const catalog::Catalog& catalog, PriceOf&& price_of) {
  std::optional<catalog::Optic> best;
  double best_price = std::numeric_limits<double>::infinity();
  for (const catalog::Optic& optic : catalog.optics) {
    if (!can_choose(optic)) continue;
    const std::optional<double> price = price_of(optic);
    if (!price || *price >= best_price) continue;
    best_price = *price;
    best = optic;
  }
  return best;
}

double price_per_gpu(const catalog::Optic& optic, const Lanes& lanes, std::int64_t wanted) {
  return range_of(optic.price).base * static_cast<double>(ports_per_gpu(lanes, wanted)) /
         static_cast<double>(*optic.ports.value);
}

bool fits_gpu(const catalog::Optic& optic, bool twin_modules) { return twin_modules || *optic.ports.value == 1; }

}  // namespace

Result<catalog::Optic> pick_gpu_module(const catalog::Catalog& catalog, Rate rate, bool twin_modules) {
  const auto price_of = [&](const catalog::Optic& optic) -> std::optional<double> {
    const Lanes lanes = lanes_of(optic, rate);
    if (lanes.per_port == 0 || !fits_gpu(optic, twin_modules)) return std::nullopt;
    return price_per_gpu(optic, lanes, 1);
  };
  if (const auto best = cheapest(catalog, price_of)) return *best;
  return fail(ErrorCode::infeasible, fmt::format("no module of the catalog reaches {}", gigabits(rate)));
}

Result<catalog::Optic> pick_switch_module(const catalog::Catalog& catalog, const catalog::ElectricalSwitch& box) {
  const auto price_of = [&](const catalog::Optic& optic) -> std::optional<double> {
    if (*optic.ports.value != box.ports_per_cage || *optic.rate.value != *box.port_rate.value) return std::nullopt;
    return range_of(optic.price).base;
  };
  if (const auto best = cheapest(catalog, price_of)) return *best;
  return fail(ErrorCode::infeasible, fmt::format("no module of the catalog fits the cages of {}", box.name));
}

Result<std::vector<catalog::Optic>> rail_modules(const catalog::Catalog& catalog, const CostInput& input,
                                                 std::int64_t ports, Rate rate) {
  if (!input.transceiver.empty()) {
    PR_ASSIGN(const catalog::Optic optic, catalog.optic(input.transceiver));
    if (lanes_of(optic, rate).per_port == 0) {
      return fail(ErrorCode::infeasible, fmt::format("{} does not reach {}", optic.name, gigabits(rate)));
    }
    if (optic.medium == "single-mode") return std::vector{optic};
    return fail(ErrorCode::infeasible, fmt::format("{} is {}: no optical switch passes it", optic.name, optic.medium));
  }
  std::vector<catalog::Optic> fitting;
  for (const catalog::Optic& optic : catalog.optics) {
    const Lanes lanes = lanes_of(optic, rate);
    const bool parallel = lanes.pairs_per_lane > 1;
    if (!can_choose(optic) || lanes.per_port == 0) continue;
    if (parallel == input.parallel_through_ocs && fits_gpu(optic, input.twin_modules)) fitting.push_back(optic);
  }
  if (fitting.empty()) {
    return fail(ErrorCode::infeasible,
                fmt::format("no {}single-mode module of the catalog reaches {}",
                            input.parallel_through_ocs ? "parallel " : "duplex ", gigabits(rate)));
  }
  std::sort(fitting.begin(), fitting.end(), [&](const catalog::Optic& a, const catalog::Optic& b) {
    return std::pair(price_per_gpu(a, lanes_of(a, rate), ports), a.name) <
           std::pair(price_per_gpu(b, lanes_of(b, rate), ports), b.name);
  });
  return fitting;
}

// Connectors: two pairs of 0.25 dB on each side of the switch (assumed).
LossCheck check_loss(const catalog::Ocs& ocs, const catalog::Optic& optic) {
  constexpr double kConnectors = 1.0;
  if (!ocs.loss.known() || !optic.loss_budget.known()) return {};
  return {true, range_of(ocs.loss).high + kConnectors, range_of(optic.loss_budget).base};
}

Result<NicChoice> pick_nic(const catalog::Catalog& catalog, std::int64_t ports, Rate port_rate, bool breakout) {
  std::optional<NicChoice> best;
  double best_price = std::numeric_limits<double>::infinity();
  const std::int64_t wanted = ports * port_rate.bits_per_second;
  for (const catalog::Nic& nic : catalog.nics) {
    if (!nic.price.known() || !nic.power.known()) continue;
    const std::int64_t card_ports = *nic.ports.value;
    const std::int64_t card_rate = nic.rate.value->bits_per_second * card_ports;
    if (*nic.rate.value < port_rate) continue;
    const std::int64_t by_rate = (wanted + card_rate - 1) / card_rate;
    const std::int64_t by_ports = breakout ? 1 : (ports + card_ports - 1) / card_ports;
    const std::int64_t count = std::max(by_rate, by_ports);
    const double price = range_of(nic.price).base * static_cast<double>(count);
    if (price >= best_price) continue;
    best_price = price;
    best = NicChoice{nic, count};
  }
  if (best) return *best;
  return fail(ErrorCode::infeasible,
              fmt::format("no network adapter of the catalog has ports of {}", gigabits(port_rate)));
}

}  // namespace photonrail::fabric
