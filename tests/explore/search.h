// Depth-first search over all reachable states of a World. A state is known by 128 bits of digest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "world.h"

namespace photonrail::explore {

struct Limits {
  std::uint64_t states = 0;           // 0: none
  bool guard_must_rest = false;       // a use of the guard that no timer asked for is a violation
};

struct Found {
  std::uint64_t states = 0, transitions = 0, ends = 0, guard_uses = 0;
  std::size_t depth = 0;
  bool complete = true;               // false: the limit came first
  std::string violation;              // empty: none
  std::vector<std::string> trace;     // to the violation
};

Found search(const World& start, const Limits& limits);

// One run along random transitions; the same checks.
Found walk(const World& start, std::uint64_t seed, const Limits& limits);

// Runs the program and a barrier of all `steps` times, one after the other, so that its coordinator learns it; and
// returns the world in which `setting` begins.
World learnt(const std::shared_ptr<const Setting>& setting, const Program& taught, int steps);

}  // namespace photonrail::explore
