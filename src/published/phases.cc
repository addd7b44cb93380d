#include "published/phases.h"

namespace photonrail::published {

std::vector<std::vector<Phase>> rail_phases(const std::vector<LogEntry>& log, std::uint32_t ranks) {
  std::vector<std::vector<Phase>> phases(ranks);
  for (const LogEntry& entry : log) {
    if (entry.kind != LogEntry::Kind::communication || entry.what == -2) continue;
    std::vector<Phase>& of_rank = phases[entry.rank];
    const bool is_pipeline = entry.what >= 0;
    if (of_rank.empty() || of_rank.back().is_pipeline != is_pipeline) of_rank.push_back({is_pipeline, 0});
    ++of_rank.back().operations;
  }
  return phases;
}

}  // namespace photonrail::published
