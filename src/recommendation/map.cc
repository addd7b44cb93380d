#include "recommendation/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units_text.h"

namespace photonrail::recommendation {
namespace {

constexpr std::array<double, 5> kRates = {0.9e12, 3.35e12, 7.2e12, 14.4e12, 26.8e12};
constexpr double kProbe = 1e15;  // a rate at which only the fixed part of the pool's time is left
constexpr double kNoLimit = 1e18;
constexpr std::int64_t kTables = 256;

Scenario scenario_of(const Scenario& base, const MapCell& cell) {
  Scenario s = base;
  s.embedding.preset = Preset::none;
  s.embedding.weights = cell.weights;
  const double row = static_cast<double>(cell.dim) * bytes_of(cell.weights);
  const auto rows = static_cast<std::int64_t>(kPublishedTables / row / static_cast<double>(kTables));
  s.embedding.table = {{rows, cell.dim, cell.pooling, kTables}};
  s.dense.top.clear();
  s.step.phase = Phase::inference;
  s.step.batch = cell.batch_per_gpu * cell.gpus;
  s.cluster.gpus = cell.gpus;
  s.cluster.domain = cell.links == Links::one_domain ? cell.gpus : std::min<std::int64_t>(8, cell.gpus);
  s.sharding = {};
  s.sharding.spread = cell.spread;
  s.compare = {Store::nvlink};
  return s;
}

RowPath pool_path(const Scenario& s, double rate) {
  RowPath path;
  path.memory.stream = rate * s.access.stream_efficiency;
  path.memory.transaction = static_cast<double>(s.access.transaction.count);
  path.memory.overhead = static_cast<double>(s.access.row_overhead.count);
  path.memory.duplex = true;
  return path;
}

Result<double> pool_seconds(Setup& setup, double rate, const Machine& machine) {
  setup.pool = pool_path(setup.scenario, rate);
  setup.pool_capacity = kNoLimit;
  PR_ASSIGN(const Outcome out, evaluate(setup, Store::pool, machine));
  return out.pooling;
}

const char* name_of_links(Links links) {
  return links == Links::one_domain ? "one NVLink domain" : "NVLink domains of 8 and NICs";
}

std::string case_text(const MapCell& c, const std::string& gpu) {
  return fmt::format("{} {}, {}, {}-wise, pooling factor {:g}, width {}, {}, {} samples per GPU", c.gpus, gpu,
                     name_of_links(c.links), config::enum_name(c.spread), c.pooling, c.dim,
                     config::enum_name(c.weights), c.batch_per_gpu);
}

}  // namespace

std::span<const double> map_rates() { return kRates; }

Result<MapCell> map_cell(const Scenario& base, MapCell cell, const catalog::Catalog& catalog, const Machine& machine) {
  PR_ASSIGN(Setup setup, make_setup(scenario_of(base, cell), catalog));
  const double capacity = setup.memory_bytes;
  setup.memory_bytes = kNoLimit;
  PR_ASSIGN(const Outcome baseline, evaluate(setup, Store::nvlink, machine));
  cell.baseline = baseline.pooling;
  cell.baseline_fits = baseline.memory.device() <= capacity;
  cell.gains.clear();
  for (const double rate : kRates) {
    PR_ASSIGN(const double seconds, pool_seconds(setup, rate, machine));
    cell.gains.push_back(cell.baseline / seconds);
  }
  PR_ASSIGN(const double fixed_and_little, pool_seconds(setup, kProbe, machine));
  PR_ASSIGN(const double slow, pool_seconds(setup, kRates.front(), machine));
  const double slope = (slow - fixed_and_little) / (1 / kRates.front() - 1 / kProbe);
  const double fixed = fixed_and_little - slope / kProbe;
  const double room = cell.baseline / kPublishedGain - fixed;
  cell.rate.reset();
  if (room > 0) cell.rate = slope / room;
  return cell;
}

Result<Map> make_map(const Scenario& base, const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Gpu gpu, catalog.gpu(base.cluster.gpu));
  PR_ASSIGN(const std::unique_ptr<Machine> machine, calibrated_machine(gpu, base.cluster.network_rate));
  Map map;
  map.tables = kTables;
  map.provenance = machine->provenance();
  PR_ASSIGN(map.setup, make_setup(scenario_of(base, MapCell{}), catalog));
  for (const std::int64_t gpus : {8, 32, 64, 128}) {
    for (const Links links : {Links::nvlink_and_nic, Links::one_domain}) {
      if (gpus == 8 && links == Links::nvlink_and_nic) continue;  // the same
      for (const Spread spread : {Spread::row, Spread::table, Spread::hybrid}) {
        if (spread == Spread::hybrid && links == Links::one_domain) continue;  // the same as row
        for (const std::int64_t batch : {64, 512, 4096}) {
          for (const std::int64_t dim : {64, 128, 256}) {
            for (const Format weights : {Format::fp32, Format::fp16}) {
              for (const double pooling : {1.0, 5.0, 20.0, 50.0, 100.0}) {
                PR_ASSIGN(MapCell cell,
                          map_cell(base, {gpus, links, spread, pooling, dim, weights, batch, 0, false, {}, {}}, catalog,
                                   *machine));
                map.cells.push_back(std::move(cell));
              }
            }
          }
        }
      }
    }
  }
  return map;
}

Result<std::vector<model::ReproduceRow>> pooling_rows(const catalog::Catalog& catalog) {
  const Scenario base;
  PR_ASSIGN(const Map map, make_map(base, catalog));
  const std::string source = "arXiv 2507.14000, section 7 (mean; configuration not given)";
  std::vector<model::ReproduceRow> rows;
  const auto gain_row = [&](std::string id, std::string text, double gain) {
    model::ReproduceRow row;
    row.id = "T6/" + std::move(id);
    row.case_name = std::move(text);
    row.quantity = "pooling_gain";
    row.unit = "times";
    row.published = kPublishedGain;
    row.ours = gain;
    row.source = source;
    model::set_relative_error(row);
    rows.push_back(std::move(row));
  };
  const auto is_suspected = [](const MapCell& c) {
    return c.gpus == 128 && c.spread == Spread::row && c.dim == 128 && c.weights == Format::fp32 &&
           c.batch_per_gpu == 512 && c.pooling == 20;
  };
  for (const MapCell& c : map.cells) {
    if (!is_suspected(c)) continue;
    const std::string part = c.links == Links::one_domain ? "one-domain" : "nvlink-and-nic";
    for (std::size_t i = 0; i < kRates.size(); ++i) {
      gain_row(fmt::format("suspected/{}/{:g}TBps", part, kRates[i] / 1e12),
               fmt::format("{}; pool {:g} TB/s per GPU{}", case_text(c, base.cluster.gpu), kRates[i] / 1e12,
                           kRates[i] > kPortRate ? " (beyond a port)" : ""),
               c.gains[i]);
    }
    model::ReproduceRow row;
    row.id = fmt::format("T6/suspected/{}/rate", part);
    row.case_name = case_text(c, base.cluster.gpu) + "; rate of the pool per GPU at which the gain is 22.8";
    row.quantity = "pool_rate";
    row.unit = "B/s";
    row.source = "no figure is published";
    if (c.rate)
      row.ours = *c.rate;
    else
      row.refused =
          Error{ErrorCode::infeasible, "no rate of the pool gives 22.8: what does not depend on it takes longer"};
    rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < kRates.size(); ++i) {
    std::vector<double> gains;
    for (const MapCell& c : map.cells) {
      if (c.baseline_fits) gains.push_back(c.gains[i]);
    }
    if (gains.empty()) break;
    std::sort(gains.begin(), gains.end());
    gain_row(
        fmt::format("map/median/{:g}TBps", kRates[i] / 1e12),
        fmt::format("median of the {} cells of the map whose baseline holds the tables, from {:.2g} to {:.3g}; pool "
                    "{:g} TB/s per GPU{}",
                    gains.size(),
                    gains.front(), gains.back(), kRates[i] / 1e12, kRates[i] > kPortRate ? " (beyond a port)" : ""),
        gains[gains.size() / 2]);
  }
  const auto fit =
      std::count_if(map.cells.begin(), map.cells.end(), [](const MapCell& c) { return c.baseline_fits; });
  const auto share = [&](double limit) {
    const auto within = std::count_if(map.cells.begin(), map.cells.end(), [&](const MapCell& c) {
      return c.baseline_fits && c.rate && *c.rate <= limit;
    });
    return static_cast<double>(within) / static_cast<double>(fit);
  };
  const auto share_row = [&](const char* id, const char* text, double value) {
    model::ReproduceRow row;
    row.id = std::string("T6/map/") + id;
    row.case_name = text;
    row.quantity = "share_of_cells";
    row.unit = "ratio";
    row.source = "no figure is published";
    row.ours = value;
    rows.push_back(std::move(row));
  };
  share_row("baseline-fits", "cells of the map whose GPUs hold the tables, so that there is a baseline",
            static_cast<double>(fit) / static_cast<double>(map.cells.size()));
  if (fit == 0) return rows;
  share_row("through-a-port", "of the cells whose baseline fits, those where 0.9 TB/s per GPU (one port) gives 22.8",
            share(kPortRate));
  share_row("through-an-appliance", "of the cells whose baseline fits, those where 14.4 TB/s (an appliance each) does",
            share(kApplianceRate));
  return rows;
}

}  // namespace photonrail::recommendation
