// What the ranks of a simulated job do: a step of operations, repeated, with seeded differences. Any program made here
// finishes when nothing is ever switched, so a run that does not finish is the controller's fault (or a fault's).
#pragma once

#include <vector>

#include "base/random.h"
#include "control/messages.h"

namespace photonrail::dst {

struct GroupPlan {
  std::string key;
  std::vector<control::Rank> members;
  control::RegisterGroup::Shape shape = control::RegisterGroup::Shape::pair;
};

struct Instruction {
  enum class Kind : std::uint8_t { compute, issue, wait } kind = Kind::compute;
  Duration compute{};
  std::uint32_t group = 0;   // of JobPlan::groups
  std::uint64_t number = 0;  // of the operation in its group, from 1
};

struct JobPlan {
  std::string name;
  std::uint64_t epoch = 1;
  control::Rank ranks = 0;
  std::uint32_t ports_per_rank = 1;
  std::vector<GroupPlan> groups;
  std::vector<std::vector<Instruction>> programs;  // by rank
  std::vector<std::vector<Duration>> durations;    // by group, by operation
};

// `ranks` is 4, 8 or 16: a grid with pairs along rows and columns, or, with two ports a rank, rings along rows.
JobPlan make_job(const std::string& name, std::uint64_t epoch, control::Rank ranks, bool rings, unsigned steps,
                 RandomStream& random);

}  // namespace photonrail::dst
