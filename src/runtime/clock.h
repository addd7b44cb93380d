// The daemon's clocks.
#pragma once

#include <string>

#include "base/instant.h"

namespace photonrail::runtime {

// CLOCK_BOOTTIME: it never jumps, and unlike CLOCK_MONOTONIC goes on while the machine sleeps. A daemon that slept must
// find its own lease over when it wakes, and leases of ranks too: whoever slept has renewed nothing.
Instant now();

// Wall clock as RFC 3339 text in UTC, with microseconds: for people and logs, never for decisions.
std::string wall_time();

}  // namespace photonrail::runtime
