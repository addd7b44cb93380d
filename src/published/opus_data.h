// A folder of the shape of the published workloads: targets.csv, traces/, configs/<workload>/{system.json,network.yml}.
//
// targets.csv: one run per line. Columns (all of them, in any order): figure, workload, npus, model, dp, pp, tp,
// scale_out_GBps, scale_up_GBps, mode, delay_ms, published_sys0_ns, published_last_ns, published_exposed_ns, source.
// mode: static_eps | static_ideal | static_ideal(data/tensor/pipeline GB/s per link) | ondemand | provision |
// eps=ondemand (a 0 ms on-demand run that was published under the name of the electrical network).
// A published figure is nanoseconds, or seconds as printed ("62.2416 s"), or nothing, or "not published".
//
// Thread rule: pure functions of files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "published/published.h"

namespace photonrail::published {

struct PublishedFigure {
  double value = 0;
  bool in_seconds = false;
  int decimals = 0;  // printed digits after the point, when in seconds
};

struct Target {
  std::size_t line = 0;  // in targets.csv
  std::string figure;
  std::string workload;
  std::string model;
  std::string mode_text;
  PublishedConfig config;  // what the row says; the rest from configs/
  std::optional<PublishedFigure> first_rank;
  std::optional<PublishedFigure> last;
  std::optional<PublishedFigure> exposed;
  std::string source;
  std::string fault;  // why the line cannot be run, with file and line; empty: it can
};

// `file` is for messages. Refuses a file whose columns are not the known ones; a line that cannot be read becomes a
// target with a fault, and with as much of the line as could be read.
Result<std::vector<Target>> parse_targets(const std::string& text, const std::string& file);

// Puts what configs/<workload> says into `config`: latency, endpoint delay, splits, peak, memory; a switching delay
// only where the target gives none, 0 where neither does. Refuses settings that the published rules do not cover.
Status apply_system(const std::string& text, const std::string& file, PublishedConfig& config);
Status apply_network(const std::string& text, const std::string& file, PublishedConfig& config);

// The archive or folder in `traces` that holds the workload: its stem or its first entry's folder is the workload's
// name, or it is the only one whose name contains it.
Result<std::string> find_traces(const std::string& folder, const std::string& workload);

}  // namespace photonrail::published
