#include "cli/window_stats.h"

#include "analysis/window_statistics.h"
#include "analysis/windows.h"

namespace photonrail::cli {

report::WindowStats window_stats(const model::RunResult& run, std::optional<Time> switching_time) {
  const analysis::WindowAnalysis analysed = analysis::analyse_windows(run);
  const analysis::WindowSummary all = analysis::summarise(analysed.windows, switching_time.value_or(Time{}));
  report::WindowStats stats;
  stats.count = static_cast<std::int64_t>(all.count);
  stats.negative = static_cast<std::int64_t>(all.negative);
  if (switching_time) stats.shorter = static_cast<std::int64_t>(all.shorter);
  stats.p5 = all.quantile(0.05);
  stats.p25 = all.quantile(0.25);
  stats.p50 = all.quantile(0.5);
  stats.p75 = all.quantile(0.75);
  stats.p95 = all.quantile(0.95);
  return stats;
}

}  // namespace photonrail::cli
