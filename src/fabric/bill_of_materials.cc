#include "fabric/bill_of_materials.h"

namespace photonrail::fabric {

AssumptionId AssumptionTable::add(Assumption assumption) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].key == assumption.key) return static_cast<AssumptionId>(i);
  }
  all.push_back(std::move(assumption));
  return static_cast<AssumptionId>(all.size() - 1);
}

std::vector<double> AssumptionTable::base_values() const {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Assumption& assumption : all) values.push_back(assumption.range.base);
  return values;
}

Totals total_of(const BomLine& line, std::span<const double> values) {
  return {line.price ? line.count * values[*line.price] : 0, line.watts ? line.count * values[*line.watts] : 0};
}

Totals total_of(const BillOfMaterials& bom, std::span<const double> values) {
  Totals sum;
  for (const BomLine& line : bom.lines) {
    const Totals part = total_of(line, values);
    sum.dollars += part.dollars;
    sum.watts += part.watts;
  }
  return sum;
}

}  // namespace photonrail::fabric
