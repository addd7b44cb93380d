// Which parameters give the published 22.8x of pooling with tables in a photonic appliance over tables in the memory of
// GPUs joined by NVLink (arXiv 2507.14000, section 7: 10 TB of tables; everything else is left open there).
//
// Both sides pool the same global batch with the same number of GPUs, so the gain is per GPU; per system it is the
// same. Pooling time is Outcome::pooling. On the side of the pool it is a + c / r in the rate r of one GPU, so the
// rate at which the gain is 22.8 follows from two evaluations: r = c / (t_baseline / 22.8 - a); where the fixed part
// alone is longer there is none. A rate is possible through one port (0.9 TB/s), only through all 16 ports of an
// appliance (14.4 TB/s), or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "model/reproduce.h"
#include "recommendation/step.h"

namespace photonrail::recommendation {

inline constexpr double kPublishedGain = 22.8;
inline constexpr double kPublishedTables = 10e12;  // bytes

enum class Links : std::uint8_t { nvlink_and_nic, one_domain };

struct MapCell {
  std::int64_t gpus = 128;
  Links links = Links::nvlink_and_nic;
  Spread spread = Spread::row;
  double pooling = 20;
  std::int64_t dim = 128;
  Format weights = Format::fp32;
  std::int64_t batch_per_gpu = 512;

  double baseline = 0;         // seconds of pooling
  bool baseline_fits = false;  // whether the GPUs hold the tables at all
  std::vector<double> gains;   // at map_rates()
  std::optional<double> rate;  // bytes/s per GPU at which the gain is 22.8
};

struct Map {
  std::vector<MapCell> cells;
  double table_bytes = kPublishedTables;
  std::int64_t tables = 256;
  Setup setup;  // of the first cell: what the catalog knows of the GPU
  std::string provenance;
};

// Rates of one GPU, bytes/s: a port, local HBM3 of an H100, the paper's next steps, and its Table 5.
std::span<const double> map_rates();
inline constexpr double kPortRate = 0.9e12;
inline constexpr double kApplianceRate = 14.4e12;

// GPU, skew, access and overheads are those of `base`; tables, sharding and batch are swept. Capacity is not enforced:
// cells say whether the baseline fits.
Result<Map> make_map(const Scenario& base, const catalog::Catalog& catalog);
Result<MapCell> map_cell(const Scenario& base, MapCell cell, const catalog::Catalog& catalog, const Machine& machine);

// Rows "T6/...": the published mean beside cells of the map, and the rates that it would take.
Result<std::vector<model::ReproduceRow>> pooling_rows(const catalog::Catalog& catalog);

}  // namespace photonrail::recommendation
