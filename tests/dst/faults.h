// Which faults a run has, and when. Every fault has a name, and is counted when it has struck.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/random.h"
#include "device/switch_model.h"

namespace photonrail::dst {

// Points of the daemon's life at which it can be killed: between any two things that it does to the outside.
inline const std::vector<std::string> kFailPoints = {
    "before-append", "after-append",   "before-sync",      "after-sync",     "before-rank-message",
    "before-frame",  "after-frame",    "before-connect",   "before-reply",   "before-compact",
    "after-compact", "during-recovery"};

struct TimedFault {
  Instant at{};
  std::string name;
  Duration length{};
  std::uint64_t pick = 0;    // which rank, switch, ...
};

struct FaultPlan {
  std::vector<TimedFault> timed;
  std::map<std::string, std::uint64_t> kill_at;       // fail-point -> in how many passages
  std::vector<device::Faults> switches;
  double repeat_message = 0, late_message = 0;
  std::int64_t clock_ppm = 0;                         // largest error of any clock
  bool disk_fails = false;
};

// Faults strike before `quiet`; after it the world only has to recover.
FaultPlan plan_faults(std::size_t switches, Instant quiet, RandomStream& random);

}  // namespace photonrail::dst
