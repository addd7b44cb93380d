// One run of the deterministic simulation: daemon core, switches, ranks, network, disk and clocks under one seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checker.h"
#include "control/messages.h"

namespace photonrail::dst {

struct WorldSpec {
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  control::Rank ranks = 8;       // of each job: 4, 8 or 16
  unsigned steps = 4;
  bool faults = true;
  bool verbose = false;          // the history, on standard error
};

struct Outcome {
  std::uint64_t grants = 0;      // told to ranks
  std::uint64_t writes = 0;      // that changed a switch
  std::uint64_t events = 0;
  std::uint64_t operations = 0;  // finished
  std::uint64_t restarts = 0;    // of the daemon
  std::uint64_t jobs_finished = 0, jobs_ended_by_faults = 0;
  Duration virtual_time{};
  std::map<std::string, std::uint64_t> faults;   // that struck, by name
  std::vector<Violation> violations;
  std::uint64_t digest = 0;      // of the whole history
};

Outcome run(const WorldSpec& spec);

}  // namespace photonrail::dst
