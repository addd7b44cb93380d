#include "analysis/window_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace photonrail::analysis {
namespace {

constexpr std::array<std::int64_t, 7> kTrafficEdges = {
    0, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000, 10'000'000'000, std::numeric_limits<std::int64_t>::max()};

// Exact for |W| < 2^53 ps (2.5 hours), as every sample then is a whole double.
std::vector<double> lengths_of(std::span<const Window> windows) {
  std::vector<double> lengths;
  lengths.reserve(windows.size());
  for (const Window& w : windows) lengths.push_back(static_cast<double>(w.length.ps));
  return lengths;
}

}  // namespace

Time WindowSummary::quantile(double q) const {
  const auto* at = std::find(std::begin(kQuantiles), std::end(kQuantiles), q);
  PR_CHECK(at != std::end(kQuantiles), "only the quantiles of kQuantiles are kept");
  return quantiles.empty() ? Time{} : quantiles[static_cast<std::size_t>(at - std::begin(kQuantiles))];
}

WindowSummary summarise(std::span<const Window> windows, Time switching_time) {
  WindowSummary out;
  out.count = windows.size();
  for (const Window& w : windows) {
    if (w.length.ps < 0) ++out.negative;
    if (w.length < switching_time) ++out.shorter;
    out.bytes_after += w.bytes_after;
  }
  for (const double q : algo::quantiles(lengths_of(windows), kQuantiles)) out.quantiles.push_back({std::llround(q)});
  return out;
}

HidingSummary hiding_of(std::span<const Window> windows, Time switching_time) {
  HidingSummary out;
  out.switching_time = switching_time;
  for (const Window& w : windows) {
    if (w.length >= switching_time) {
      ++out.hidden;
    } else {
      out.exposed += std::min(switching_time, switching_time - w.length);
    }
    if (w.length.ps < 0) out.serialised -= w.length;
  }
  return out;
}

WindowStatistics statistics_of(std::span<const Window> windows, std::span<const Time> switching_times) {
  const Time first = switching_times.empty() ? Time{} : switching_times.front();
  WindowStatistics out;
  out.all = summarise(windows, first);
  std::map<std::pair<Dimension, Dimension>, std::vector<Window>> by_kind;
  std::map<std::size_t, std::vector<Window>> by_traffic;
  for (const Window& w : windows) {
    by_kind[{w.from, w.to}].push_back(w);
    const auto edge = std::upper_bound(kTrafficEdges.begin(), kTrafficEdges.end() - 1, w.bytes_after.count);
    by_traffic[static_cast<std::size_t>(edge - kTrafficEdges.begin()) - 1].push_back(w);
  }
  for (const auto& [kind, list] : by_kind) out.kinds.push_back({kind.first, kind.second, summarise(list, first)});
  for (const auto& [i, list] : by_traffic) {
    out.traffic.push_back({{kTrafficEdges[i]}, {kTrafficEdges[i + 1]}, summarise(list, first)});
  }
  for (const Time t : switching_times) out.hiding.push_back(hiding_of(windows, t));
  out.cdf = algo::empirical_cdf(lengths_of(windows));
  return out;
}

}  // namespace photonrail::analysis
