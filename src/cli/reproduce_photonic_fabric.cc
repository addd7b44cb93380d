#include <algorithm>

#include "catalog/catalog.h"
#include "cli/reproduce_papers.h"
#include "cli/reproduce_rows.h"
#include "photonic_fabric/reproduce.h"

namespace photonrail::cli {

// --physics published leaves the figures out that stand beside the paper's.
Result<Rows> photonic_fabric_rows(const ReproduceOptions& options) {
  PR_ASSIGN(const catalog::Catalog catalog, catalog::Catalog::builtin());
  PR_ASSIGN(Rows rows, photonic_fabric::reproduce_photonic_fabric(catalog, {options.data, options.only}));
  if (options.physics == Physics::published) {
    std::erase_if(rows, [](const model::ReproduceRow& row) { return row.id.find(kOwnRow) != row.id.npos; });
  }
  return rows;
}

}  // namespace photonrail::cli
