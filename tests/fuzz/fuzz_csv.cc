// Any table given to `photonrail validate`: it is read and scored, or refused with its line; never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalog/catalog.h"
#include "validation/csv.h"
#include "validation/score.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace photonrail;
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  const auto csv = validation::Csv::parse(std::string_view(reinterpret_cast<const char*>(data), size), "table.csv");
  if (!csv) return 0;
  for (const validation::TableKind& kind : validation::table_kinds()) {
    const auto points = kind.score(*csv, {catalog});
    if (points) (void)validation::summaries(*points);
  }
  return 0;
}
