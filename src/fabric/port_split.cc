// Planning of a static split: what a graph asks of rails, and whole ports for each dimension.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "fabric/photonic.h"

namespace photonrail::fabric {
namespace {

using model::Group;
using model::GroupId;
using model::Program;
using model::Task;
using model::TaskGraph;
using model::TaskKind;

constexpr std::size_t kCollectives = 7;  // of model::Collective

// What the tasks of one program send through one slot.
struct SlotTraffic {
  bool collective = false;
  bool message = false;
  Dimension dimension = Dimension::none;
  double collective_bytes[kCollectives] = {};  // payload, by kind
  double sent_bytes = 0;
};

std::vector<SlotTraffic> slot_traffic(const Program& program) {
  std::vector<SlotTraffic> slots;
  for (const Task& task : program.tasks) {
    if (task.kind == TaskKind::compute) continue;
    if (task.slot >= slots.size()) slots.resize(std::size_t{task.slot} + 1);
    SlotTraffic& slot = slots[task.slot];
    slot.dimension = task.dimension;
    if (task.kind == TaskKind::collective) {
      slot.collective = true;
      slot.collective_bytes[static_cast<std::size_t>(task.collective)] += static_cast<double>(task.bytes.count);
    } else {
      slot.message = true;
      if (task.kind == TaskKind::send) slot.sent_bytes += static_cast<double>(task.bytes.count);
    }
  }
  return slots;
}

// Members on one rail, and rails, of a group; one member: it stays in its domain.
struct RailGroup {
  std::size_t domains = 1;
  std::size_t rails = 1;
};

RailGroup rail_group(const Group& group, const Layout& layout) {
  std::set<std::uint32_t> domains, rails;
  for (const Rank rank : group.members) {
    domains.insert(layout.domain_of(rank));
    rails.insert(layout.local_of(rank));
  }
  return {domains.size(), rails.size()};
}

struct Claim {
  std::size_t ring_members = 1;
  std::size_t peers = 0;
  double bytes = 0;
};

class Claims {
 public:
  Claims(const TaskGraph& graph, const Layout& layout) : graph_(graph), layout_(layout) {
    for (const Group& group : graph.groups) groups_.push_back(rail_group(group, layout));
    for (const Program& program : graph.programs) programs_.push_back(slot_traffic(program));
  }

  Status add_rank(Rank rank) {
    std::map<Dimension, GroupId> group_of;
    std::map<Dimension, std::set<Rank>> peers_of;
    const std::vector<SlotTraffic>& slots = programs_[graph_.program_of[rank]];
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::uint32_t bound = graph_.slot(rank, static_cast<model::Slot>(i));
      if (slots[i].collective && groups_[bound].domains > 1) PR_TRY(add_group(rank, slots[i], bound, group_of));
      if (slots[i].message && layout_.domain_of(bound) != layout_.domain_of(rank)) {
        peers_of[slots[i].dimension].insert(bound);
        claims_[slots[i].dimension].bytes += slots[i].sent_bytes;
      }
    }
    for (const auto& [dimension, peers] : peers_of) {
      Claim& claim = claims_[dimension];
      claim.peers = std::max(claim.peers, peers.size());
      const std::size_t most = dimension == Dimension::pipeline ? 2 : 1;
      if (peers.size() > most) return too_many_peers(rank, dimension, peers.size(), most);
    }
    return {};
  }

  Result<std::vector<RailShape>> shapes() const {
    std::vector<RailShape> result;
    for (const auto& [dimension, claim] : claims_) {
      if (claim.peers > 0 && claim.ring_members > 1) {
        return fail(ErrorCode::infeasible,
                    fmt::format("the {} dimension has both collectives and messages on rails: a static plan gives "
                                "a dimension circuits of one kind; use a policy that switches",
                                model::to_text(dimension)));
      }
      RailShape::Kind kind = RailShape::Kind::pair;
      if (claim.ring_members > 2) kind = RailShape::Kind::ring;
      if (claim.peers > 1) kind = RailShape::Kind::chain;
      result.push_back({kind, dimension, claim.bytes});
    }
    return result;
  }

 private:
  Status add_group(Rank rank, const SlotTraffic& slot, GroupId id, std::map<Dimension, GroupId>& group_of) {
    const auto [other, first] = group_of.try_emplace(slot.dimension, id);
    if (!first && graph_.groups[other->second].members != graph_.groups[id].members) {
      return fail(ErrorCode::infeasible,
                  fmt::format("rank {} is in two groups of the {} dimension on its rail ({} and {}): a static plan "
                              "holds one; use a policy that switches",
                              rank, model::to_text(slot.dimension), other->second, id));
    }
    const RailGroup& shape = groups_[id];
    Claim& claim = claims_[slot.dimension];
    claim.ring_members = std::max(claim.ring_members, shape.domains);
    for (std::size_t kind = 0; kind < kCollectives; ++kind) {
      const auto collective = static_cast<Collective>(kind);
      const double part = collective == Collective::all_to_all ? 1 : 1 / static_cast<double>(shape.rails);
      claim.bytes += slot.collective_bytes[kind] * part * ring_bytes(collective, shape.domains);
    }
    return {};
  }

  static Status too_many_peers(Rank rank, Dimension dimension, std::size_t peers, std::size_t most) {
    return fail(ErrorCode::infeasible, fmt::format("rank {} exchanges {} messages with {} ranks on its rail: a static "
                                                   "plan holds {}; use a policy that switches",
                                                   rank, model::to_text(dimension), peers, most));
  }

  const TaskGraph& graph_;
  const Layout& layout_;
  std::vector<RailGroup> groups_;
  std::vector<std::vector<SlotTraffic>> programs_;
  std::map<Dimension, Claim> claims_;
};

const char* to_text(RailShape::Kind kind) {
  switch (kind) {
    case RailShape::Kind::pair: return "pair";
    case RailShape::Kind::ring: return "ring";
    case RailShape::Kind::chain: return "chain";
  }
  return "";
}

// A ring or chain serves two neighbours alike, so it grows by two.
std::int64_t unit(RailShape::Kind kind) { return kind == RailShape::Kind::pair ? 1 : 2; }

// The shape furthest below its proportional part, of those whose next unit fits.
std::optional<std::size_t> neediest(std::span<const RailShape> shapes, std::span<const std::int64_t> given,
                                    std::int64_t ports, std::int64_t left) {
  double total = 0;
  for (const RailShape& shape : shapes) total += shape.weight;
  std::optional<std::size_t> best;
  double best_lack = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (unit(shapes[i].kind) > left) continue;
    const double part = total > 0 ? shapes[i].weight / total : 1 / static_cast<double>(shapes.size());
    const double lack = part * static_cast<double>(ports) - static_cast<double>(given[i]);
    if (best && lack <= best_lack) continue;
    best = i;
    best_lack = lack;
  }
  return best;
}

}  // namespace

Result<std::vector<RailShape>> rail_shapes(const TaskGraph& graph, const Layout& layout) {
  if (graph.ranks() != layout.gpus()) {
    return fail(ErrorCode::invalid_input,
                fmt::format("a workload of {} ranks on {} GPUs: they must be equal", graph.ranks(), layout.gpus()));
  }
  Claims claims(graph, layout);
  for (Rank rank = 0; rank < graph.ranks(); ++rank) PR_TRY(claims.add_rank(rank));
  return claims.shapes();
}

std::int64_t least_ports(RailShape::Kind kind) { return kind == RailShape::Kind::pair ? 1 : 2; }

Result<PortSplit> split_ports(std::span<const RailShape> shapes, std::int64_t ports) {
  std::int64_t needed = 0;
  std::string terms;
  std::vector<std::int64_t> given;
  for (const RailShape& shape : shapes) {
    given.push_back(least_ports(shape.kind));
    needed += given.back();
    terms += fmt::format("{}{} {} {}", terms.empty() ? "" : " + ", model::to_text(shape.dimension), to_text(shape.kind),
                         given.back());
  }
  if (needed > ports) {
    return fail(ErrorCode::infeasible,
                fmt::format("static needs {} ports per GPU ({}), there are {}", needed, terms, ports));
  }
  std::int64_t left = ports - needed;
  while (const auto shape = neediest(shapes, given, ports, left)) {
    given[*shape] += unit(shapes[*shape].kind);
    left -= unit(shapes[*shape].kind);
  }
  PortSplit split;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<std::uint32_t>& own = split.ports[static_cast<std::size_t>(shapes[i].dimension)];
    for (std::int64_t j = 0; j < given[i]; ++j) own.push_back(next++);
  }
  return split;
}

bool circuits_conflict(std::span<const CircuitDemand> a, std::span<const CircuitDemand> b) {
  std::map<PortId, PortId> partner;
  for (const CircuitDemand& circuit : a) {
    partner[circuit.a] = circuit.b;
    partner[circuit.b] = circuit.a;
  }
  const auto differs = [&](PortId port, PortId other) {
    const auto found = partner.find(port);
    return found != partner.end() && found->second != other;
  };
  return std::any_of(b.begin(), b.end(), [&](const CircuitDemand& circuit) {
    return differs(circuit.a, circuit.b) || differs(circuit.b, circuit.a);
  });
}

}  // namespace photonrail::fabric
