// T6: pooling of embeddings. The paper states 10 TB of tables and a mean gain, nothing else, so the claim is a map
// (recommendation/map.h): which parameters give 22.8 and which do not. The row of the claim is the cell that comes
// nearest at a rate that is possible, one port, among those whose baseline holds the tables; where none of these comes
// near, it is the nearest of all, and says that it has no baseline. The other cells and rates stand beside it.
#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "photonic_fabric/rows.h"
#include "recommendation/map.h"

namespace photonrail::photonic_fabric {
namespace {

using recommendation::Links;
using recommendation::Map;
using recommendation::MapCell;

constexpr std::string_view kClaim = "T6/";

double distance(double gain) { return std::fabs(std::log(gain / recommendation::kPublishedGain)); }

constexpr double kNear = 0.15;  // of the published gain

// The one on `links` whose gain at one port is nearest to the published one.
const MapCell* nearest(const Map& map, Links links, bool must_fit) {
  const MapCell* best = nullptr;
  for (const MapCell& cell : map.cells) {
    if (cell.links != links || (must_fit && !cell.baseline_fits)) continue;
    if (best == nullptr || distance(cell.gains.front()) < distance(best->gains.front())) best = &cell;
  }
  return best;
}

const MapCell* claimed(const Map& map, Links links) {
  const MapCell* fits = nearest(map, links, true);
  const bool near = fits != nullptr && std::fabs(fits->gains.front() / recommendation::kPublishedGain - 1) <= kNear;
  return near ? fits : nearest(map, links, false);
}

std::string text_of(const MapCell& c, const Map& map) {
  return fmt::format(
      "10 TB in {} tables, one port of 0.9 TB/s for each GPU: the cell of {} that comes nearest: {} H100 on {}, "
      "{} sharding, {:g} lookups a table, {} elements of {}, {} samples a GPU{}",
      map.tables, map.cells.size(), c.gpus,
      c.links == Links::one_domain ? "one NVLink domain" : "NVLink domains of 8 joined by NICs",
      config::enum_name(c.spread), c.pooling, c.dim, config::enum_name(c.weights), c.batch_per_gpu,
      c.baseline_fits ? "; the GPUs of the baseline hold the tables"
                      : "; its GPUs cannot hold them: no baseline that does comes within 15 %");
}

Result<Rows> all_rows(const catalog::Catalog& catalog) {
  PR_ASSIGN(const Map map, recommendation::make_map({}, catalog));
  Rows rows;
  const auto claim = [&](const char* id, Links links) {
    const MapCell* cell = claimed(map, links);
    if (cell == nullptr) return;
    rows.push_back(row(id, text_of(*cell, map), "pooling, gain", "times", recommendation::kPublishedGain,
                       cell->gains.front(), paper("7, mean; its configuration is not given")));
  };
  claim("T6/pooling_gain/network", Links::nvlink_and_nic);
  claim("T6/pooling_gain/one_domain", Links::one_domain);
  PR_ASSIGN(const Rows beside, recommendation::pooling_rows(catalog));
  for (model::ReproduceRow other : beside) {
    other.id = "T6/own/" + other.id.substr(kClaim.size());
    other.published.reset();
    other.relative_error.reset();
    other.source = "own model; no figure is published for this configuration";
    rows.push_back(std::move(other));
  }
  return rows;
}

}  // namespace

Rows pooling_rows(const catalog::Catalog& catalog) {
  auto rows = all_rows(catalog);
  if (rows) return std::move(*rows);
  return {refused_row("T6/pooling_gain", "10 TB of tables", "pooling, gain", "times", recommendation::kPublishedGain,
                      paper("7"), rows.error())};
}

}  // namespace photonrail::photonic_fabric
