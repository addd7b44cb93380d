// Classes of ranks that stand in the same relations, so that one of each stands for all.
//
// Two ranks are in one class when they have equal traces, and slot by slot their groups hold equal numbers of each
// class at equal slots, and their peers are of one class and name them back in equal slots. Computed by colour
// refinement (the coarsest equitable partition), starting from the programs: split until nothing changes.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "workload/trace_set.h"

namespace photonrail::workload {

inline constexpr std::uint32_t kNoIndex = 0xffffffffU;

struct SlotRef {
  std::uint32_t cls = 0;
  std::uint32_t slot = kNoIndex;  // kNoIndex: does not use it
  friend auto operator<=>(const SlotRef&, const SlotRef&) = default;
};

// What a class sees in one of its slots.
struct SlotView {
  bool is_peer = false;
  SlotRef peer;                   // peer: its class and the slot in which it names us back
  std::uint32_t group_class = 0;  // group: index into RankClasses::groups
  std::uint32_t members = 0;      // group: number of members
};

struct RankClasses {
  std::vector<std::uint32_t> class_of;       // per rank
  std::vector<std::uint32_t> leader;         // per class: its lowest rank
  std::vector<std::vector<SlotView>> slots;  // per class
  std::vector<std::vector<SlotRef>> groups;  // per class of groups: classes and slots of its members, each once
};

RankClasses classify_ranks(const TraceSet& traces);

// Members of a group by its id; 0 is all ranks.
std::vector<std::uint32_t> members_of(const TraceSet& traces, std::int32_t group);

}  // namespace photonrail::workload
