// Small programs for the explorer: which operations there are, and in which order each rank issues and awaits them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "control/coordinator.h"

namespace photonrail::explore {

inline constexpr std::uint32_t kRanks = 4;

struct Group {
  std::vector<control::Rank> members;
  std::vector<control::Circuit> circuits;  // none: management path
};

// The last group is a barrier of all over the management path; only learning uses it.
struct Fabric {
  std::uint32_t ports_per_rank = 1;
  std::vector<Group> groups;
};

// 2 x 2 grid, one port a rank: rows {0,1} {2,3}, columns {0,2} {1,3}.
Fabric grid();
// One ring of all four over two ports each, and the pairs {0,2} {1,3} that cross it on the first port.
Fabric ring();

struct Step {
  bool wait = false;       // else: issue
  std::uint8_t operation = 0;
  friend auto operator<=>(const Step&, const Step&) = default;
};

struct Program {
  std::vector<std::uint8_t> groups;                // of each operation; those of one group are issued in this order
  std::array<std::vector<Step>, kRanks> ranks;

  control::Sequence sequence(std::uint8_t operation) const;  // in its group, from 1
  std::string text() const;                        // "1@row0 ... | rank 0: s0 i1 w1 | ..."
  friend auto operator<=>(const Program&, const Program&) = default;
};

// Whether it ends where every operation may always run: else no rule can help.
bool ends_without_switching(const Program& program, const Fabric& fabric);

// From "0 2 0" (groups) and "s0 i1 s2 w1" for each rank.
Program parse(const std::string& groups, const std::array<std::string, kRanks>& ranks);

// All programs of exactly `operations` operations in all orders, each awaited at once or at any later point (what is
// left is awaited at the end, the last operation first), without those that only rename ranks, groups and operations,
// and without those that no rule can end.
std::vector<Program> all_programs(const Fabric& fabric, std::uint32_t operations);

// The same kind of program, drawn.
Program random_program(const Fabric& fabric, std::uint32_t operations, std::uint64_t seed);

// Smallest programs on which rules fail.
Program smallest_for_cached_grants();
Program smallest_for_naive_lock();

}  // namespace photonrail::explore
