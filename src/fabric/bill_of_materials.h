// Bills of materials: what a fabric is made of, priced by named assumptions.
//
// A line holds a count and points at the assumption that prices one unit and at the one that gives its watts. All
// fabrics of a report share one table of assumptions, so that a changed price changes every fabric that uses the part;
// one set of values gives one total per fabric, which is what sensitivity and Monte Carlo vary.
// Plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.h"

namespace photonrail::fabric {

using AssumptionId = std::uint32_t;

struct Assumption {
  std::string key;    // "price:400g-dr4"
  std::string title;  // "400G DR4, 500 m: price"
  std::string unit;   // "USD" or "W"
  catalog::Range range;
  std::string source;  // id in the catalog's sources
  std::string note;    // why the range is what it is
  std::string borrowed_from{};  // part whose figure this is, where the own one is not published
};

struct AssumptionTable {
  std::vector<Assumption> all;

  // The id of the assumption of that key, which is added when it is new.
  AssumptionId add(Assumption assumption);
  std::vector<double> base_values() const;
};

struct BomLine {
  std::string item;  // "leaf switches"
  std::string part;  // catalog name; empty for parts of the published formulas
  double count = 0;
  std::string rule;  // how the count comes about, in numbers
  std::optional<AssumptionId> price;
  std::optional<AssumptionId> watts;
};

struct BillOfMaterials {
  std::string key;    // "rail_optimised"
  std::string title;  // "electrical, rail-optimised"
  bool photonic = false;
  std::string shortfall;  // why it cannot be built; empty when it can. Then there are no lines.
  std::vector<BomLine> lines;
  std::vector<std::string> notes;
};

struct Totals {
  double dollars = 0;
  double watts = 0;
};

// `values` has one value per assumption.
Totals total_of(const BillOfMaterials& bom, std::span<const double> values);
Totals total_of(const BomLine& line, std::span<const double> values);

}  // namespace photonrail::fabric
