#include "workload/import_classes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/digest.h"

namespace photonrail::workload {
namespace {

struct Group {
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> slot;  // of each member, kNoIndex where it never communicates in it
};

// The relations between ranks: which slot of which rank leads where.
struct Relations {
  std::vector<Group> groups;
  std::vector<std::vector<std::uint32_t>> target;  // per rank and slot: index into groups, or the peer's slot for us
};

bool is_peer_slot(const TraceSet& traces, std::size_t rank, std::size_t slot) {
  return traces.slot_is_peer[traces.program_of[rank]][slot];
}

Relations relate(const TraceSet& traces) {
  Relations out;
  out.target.resize(traces.ranks());
  std::map<std::int32_t, std::uint32_t> index_of;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> peer_slot;  // (rank, peer) -> slot
  for (std::uint32_t rank = 0; rank < traces.ranks(); ++rank) {
    for (std::uint32_t s = 0; s < traces.slots[rank].size(); ++s) {
      const std::int32_t value = traces.slots[rank][s];
      if (is_peer_slot(traces, rank, s)) {
        peer_slot.emplace(std::pair(rank, static_cast<std::uint32_t>(value)), s);
      } else if (index_of.emplace(value, out.groups.size()).second) {
        out.groups.push_back({members_of(traces, value), {}});
        out.groups.back().slot.assign(out.groups.back().members.size(), kNoIndex);
      }
    }
  }
  std::vector<std::map<std::uint32_t, std::uint32_t>> position(out.groups.size());
  for (std::size_t g = 0; g < out.groups.size(); ++g) {
    for (std::uint32_t i = 0; i < out.groups[g].members.size(); ++i) position[g].emplace(out.groups[g].members[i], i);
  }
  for (std::uint32_t rank = 0; rank < traces.ranks(); ++rank) {
    for (std::uint32_t s = 0; s < traces.slots[rank].size(); ++s) {
      const std::int32_t value = traces.slots[rank][s];
      if (is_peer_slot(traces, rank, s)) {
        const auto back = peer_slot.find(std::pair(static_cast<std::uint32_t>(value), rank));
        out.target[rank].push_back(back == peer_slot.end() ? kNoIndex : back->second);
      } else {
        const std::uint32_t g = index_of.at(value);
        out.target[rank].push_back(g);
        out.groups[g].slot[position[g].at(rank)] = s;
      }
    }
  }
  return out;
}

// Numbers signatures by first appearance, so that classes are in the order of their lowest ranks.
std::uint32_t renumber(const std::vector<std::uint64_t>& signatures, std::vector<std::uint32_t>& colours) {
  std::map<std::uint64_t, std::uint32_t> seen;
  colours.resize(signatures.size());
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    colours[i] = seen.emplace(signatures[i], static_cast<std::uint32_t>(seen.size())).first->second;
  }
  return static_cast<std::uint32_t>(seen.size());
}

std::uint32_t colour_groups(const Relations& relations, const std::vector<std::uint32_t>& rank_colour,
                            std::vector<std::uint32_t>& group_colour) {
  std::vector<std::uint64_t> signatures;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;
  for (const Group& group : relations.groups) {
    members.clear();
    for (std::size_t i = 0; i < group.members.size(); ++i)
      members.emplace_back(rank_colour[group.members[i]], group.slot[i]);
    std::sort(members.begin(), members.end());
    Digest digest;
    for (const auto& [colour, slot] : members) digest.add(std::uint64_t{colour} << 32 | slot);
    signatures.push_back(digest.value());
  }
  return renumber(signatures, group_colour);
}

std::uint32_t colour_ranks(const TraceSet& traces, const Relations& relations,
                           const std::vector<std::uint32_t>& group_colour, std::vector<std::uint32_t>& rank_colour) {
  std::vector<std::uint64_t> signatures;
  for (std::size_t rank = 0; rank < traces.ranks(); ++rank) {
    Digest digest;
    digest.add(rank_colour[rank]);
    for (std::size_t s = 0; s < traces.slots[rank].size(); ++s) {
      const std::uint32_t target = relations.target[rank][s];
      if (is_peer_slot(traces, rank, s)) {
        digest.add(std::uint64_t{rank_colour[static_cast<std::size_t>(traces.slots[rank][s])]} << 32 | target);
      } else {
        digest.add(group_colour[target]);
      }
    }
    signatures.push_back(digest.value());
  }
  return renumber(signatures, rank_colour);
}

std::vector<std::vector<SlotRef>> group_views(const Relations& relations, const RankClasses& classes,
                                              const std::vector<std::uint32_t>& group_colour, std::uint32_t colours) {
  std::vector<std::vector<SlotRef>> views(colours);
  for (std::size_t g = 0; g < relations.groups.size(); ++g) {
    std::vector<SlotRef>& view = views[group_colour[g]];
    if (!view.empty()) continue;
    const Group& group = relations.groups[g];
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      view.push_back({classes.class_of[group.members[i]], group.slot[i]});
    }
    std::sort(view.begin(), view.end());
    view.erase(std::unique(view.begin(), view.end()), view.end());
  }
  return views;
}

}  // namespace

std::vector<std::uint32_t> members_of(const TraceSet& traces, std::int32_t group) {
  if (group != 0) return traces.groups.members.at(group);
  std::vector<std::uint32_t> all(traces.ranks());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

RankClasses classify_ranks(const TraceSet& traces) {
  const Relations relations = relate(traces);
  RankClasses out;
  out.class_of = traces.program_of;
  std::vector<std::uint32_t> group_colour;
  std::uint32_t group_colours = 0;
  for (std::uint32_t classes = 0;;) {
    group_colours = colour_groups(relations, out.class_of, group_colour);
    const std::uint32_t refined = colour_ranks(traces, relations, group_colour, out.class_of);
    if (refined == classes) break;
    classes = refined;
  }
  for (std::uint32_t rank = 0; rank < traces.ranks(); ++rank) {
    if (out.class_of[rank] != out.leader.size()) continue;
    out.leader.push_back(rank);
    std::vector<SlotView>& views = out.slots.emplace_back();
    for (std::size_t s = 0; s < traces.slots[rank].size(); ++s) {
      const std::uint32_t target = relations.target[rank][s];
      SlotView view;
      view.is_peer = is_peer_slot(traces, rank, s);
      if (view.is_peer) {
        view.peer = {out.class_of[static_cast<std::size_t>(traces.slots[rank][s])], target};
      } else {
        view.group_class = group_colour[target];
        view.members = static_cast<std::uint32_t>(relations.groups[target].members.size());
      }
      views.push_back(view);
    }
  }
  out.groups = group_views(relations, out, group_colour, group_colours);
  return out;
}

}  // namespace photonrail::workload
