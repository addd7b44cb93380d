// Phases on the rails: maximal runs of one rank's rail operations of one kind, in completion order.
#pragma once

#include <cstdint>
#include <vector>

#include "published/published.h"

namespace photonrail::published {

struct Phase {
  bool is_pipeline = false;  // else data parallel
  std::uint32_t operations = 0;
  friend bool operator==(const Phase&, const Phase&) = default;
};

// Per rank. `log` of a run with keep_log.
std::vector<std::vector<Phase>> rail_phases(const std::vector<LogEntry>& log, std::uint32_t ranks);

}  // namespace photonrail::published
