// Measured figures beside ours. A table of measurements is scored row by row; nothing of the model is fitted to any.
//
// A point belongs to a *gate* (a target with a largest mean absolute percentage error) only where the rule of the gate,
// which looks at the set-up of a row and never at its error, admits it: GPU and operators inside the calibration hull,
// precision given. A row whose set-up leaves something unknown that decides the figure (cache format, speculative
// decoding, queueing) is scored *apart*, with the reason.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "model/reproduce.h"
#include "operators/kernel_time.h"
#include "validation/csv.h"

namespace photonrail::validation {

struct Point {
  model::ReproduceRow row;  // id "<table without .csv>/<row of the table, from 1>"; with its quantity ("tpot") unique
  std::string model;        // as the table calls it
  std::string gpu;          // catalog name
  std::string regime;       // "decode", "prefill", "static batch", "training 3D", ...: rows that are alike
  std::string gate;         // "tpot-dense", ...; "": reported only
  std::string apart;        // why it is scored apart; "": it is not
  operators::Basis basis = operators::Basis::assumed;  // of the kernels that made our figure
};

// "<table>/<row>" for the id of a point; `row` counts from 0 here.
std::string point_id(const Csv& table, std::size_t row);

struct Scoring {
  const catalog::Catalog& catalog;
};

// The points of one table. A row that cannot be modelled is a point with `row.refused`; an Error is for a table that
// is not of its form.
using Scorer = Result<std::vector<Point>> (*)(const Csv& table, const Scoring& scoring);

// One table may have several: each scores the rows that it knows and passes over the others.
struct TableKind {
  std::string_view file;  // "vtrain_a100_iteration_times.csv"
  Scorer score;
  std::string_view what;
};
std::span<const TableKind> table_kinds();  // tables.cc lists all, explicitly; scorers are declared in scorers.h

struct Gate {
  std::string_view name;
  std::string_view what;    // which rows, by which rule
  double largest_mape = 0;  // 0.075
};
std::span<const Gate> gates();

// |ours - measured| / measured over a set of points.
struct Summary {
  std::string group;        // "gate tpot-dense", "table ...", "model ...", "gpu ...", "regime ..."
  std::size_t points = 0;   // scored
  std::size_t refused = 0;  // rows that could not be modelled
  double mape = 0;
  double median = 0;
  double bias = 0;  // mean of the signed relative errors
  double p90 = 0;
  double worst = 0;
  std::string worst_id;
};
// Points with an error of theirs and without `apart` are scored.
Summary summarise(std::string group, std::span<const Point* const> points);

// All points of the tables of a folder that this program knows, in order of table_kinds() and row. Errors: io, and
// invalid_input for a table that is not of its form, or a folder with none. `progress` is told before each table.
struct PeerScore {  // a line of baseline_peer_scores.csv, as it stands there
  std::string tool;
  std::string dataset;
  std::string metric;
  std::string value;
  std::string unit;
  std::string note;
};
struct Validation {
  std::vector<Point> points;
  std::vector<PeerScore> peers;
  std::vector<std::string> passed_over;  // files of the folder that no scorer knows
  std::set<std::string> gpus, models;    // of all rows, also those that `only` leaves out
};
// `only`: parts of ids, of GPUs or of models, or whole names of gates; empty: all.
Result<Validation> validate(const std::string& directory, const Scoring& scoring, const std::vector<std::string>& only,
                            const std::function<void(std::size_t done, std::size_t all, const std::string&)>& progress);

// Summaries: every gate, then the rest by table, model, GPU and regime (rows apart left out), then those apart, then
// aggregated serving as peers were scored on it: all rows that ours answers, whatever is unknown of them.
std::vector<Summary> summaries(std::span<const Point> points);

}  // namespace photonrail::validation
