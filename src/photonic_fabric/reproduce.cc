#include "photonic_fabric/reproduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "photonic_fabric/rows.h"

namespace photonrail::photonic_fabric {
namespace {

constexpr const char* kSweepFile = "celestisim_bandwidth_sensitivity.csv";

void append(Rows& rows, Rows more) {
  rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Result<Rows> reproduce_photonic_fabric(const catalog::Catalog& catalog, const ReproduceOptions& options) {
  Rows rows;
  if (wanted(options.only, "T2") || wanted(options.only, "T3") || wanted(options.only, "T4")) {
    PR_ASSIGN(Rows inference, inference_rows(catalog, options.only));
    append(rows, std::move(inference));
  }
  append(rows, energy_rows());
  if (wanted(options.only, "T5")) append(rows, training_energy_rows(catalog));
  if (wanted(options.only, "T6")) append(rows, pooling_rows(catalog));
  PR_ASSIGN(Rows memory, memory_rows(catalog));
  append(rows, std::move(memory));
  if (!options.data.empty()) {
    PR_ASSIGN(Rows sweep, sweep_rows(catalog, options.data + "/" + kSweepFile));
    append(rows, std::move(sweep));
  }
  std::erase_if(rows, [&](const model::ReproduceRow& row) {
    return !options.only.empty() &&
           std::none_of(options.only.begin(), options.only.end(),
                        [&](const std::string& text) { return row.id.find(text) != row.id.npos; });
  });
  // Rows of one claim stand together, in the order of the claims.
  std::stable_sort(rows.begin(), rows.end(), [](const model::ReproduceRow& a, const model::ReproduceRow& b) {
    return a.id.substr(0, 2) < b.id.substr(0, 2);
  });
  if (rows.empty()) {
    return fail(ErrorCode::invalid_input,
                "no row has an id that contains what --only wants\n  hint: ids begin with T2 to T9");
  }
  return rows;
}

}  // namespace photonrail::photonic_fabric
