#include "pool/capacity_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "pool/text.h"

namespace photonrail::pool {
namespace {

constexpr double kTolerance = 1e-9;

std::int64_t whole(double rate) { return static_cast<std::int64_t>(rate + 0.5); }

}  // namespace

const char* name_of(Part part) {
  switch (part) {
    case Part::local_memory: return "own memory of the accelerator";
    case Part::hbm: return "HBM tier of a module";
    case Part::ddr: return "DDR tier of a module";
    case Part::switch_memory_side: return "embedded switch of a module, memory side";
    case Part::switch_port_side: return "embedded switch of a module, port side";
    case Part::embedded_switch: return "embedded switch of a module";
    case Part::all_to_all: return "all-to-all switching of the appliance";
    case Part::uplink: return "uplinks of an appliance";
    case Part::spine: return "spine appliances";
    case Part::downlink: return "downlinks of an appliance";
    case Part::port: return "optical port";
  }
  return "?";
}

std::uint32_t CapacityGraph::link(NodeId from, NodeId to, Part part, Rate rate) {
  links_.push_back({from, to, part, rate.bits_per_second});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

CapacityGraph CapacityGraph::make(const Resolved& resolved) {
  CapacityGraph graph;
  graph.modules_per_appliance_ = resolved.system.appliance.modules;
  graph.add_appliances(resolved.system);
  graph.add_readers(resolved);
  return graph;
}

void CapacityGraph::add_appliances(const System& system) {
  const Module& m = system.module;
  const bool tiers = system.tier.appliances > 1;
  const Rate up_port = std::min(m.port_rate, m.switch_rate / m.ports);
  const NodeId spine_in = node();
  const NodeId spine_out = node();
  if (tiers) spine_ = link(spine_in, spine_out, Part::spine, system.all_to_all() * system.spines());
  for (std::int64_t a = 0; a < system.tier.appliances; ++a) {
    const NodeId in = node();
    const NodeId out = node();
    ApplianceLinks ends;
    ends.all_to_all = link(in, out, Part::all_to_all, system.all_to_all());
    if (tiers) {
      ends.up = link(out, spine_in, Part::uplink, up_port * system.tier.uplinks);
      ends.down = link(spine_out, in, Part::downlink, up_port * system.tier.uplinks);
    }
    appliances_.push_back(ends);
    for (std::int64_t i = 0; i < system.appliance.modules; ++i) {
      const NodeId hbm = node();
      const NodeId ddr = node();
      const NodeId hub = node();
      const NodeId memory_out = node();
      ModuleLinks links;
      links.hbm = link(hbm, hub, Part::hbm, m.hbm_rate());
      links.ddr = link(ddr, hub, Part::ddr, m.ddr_rate());
      if (m.switch_shared) {
        links.memory_side = links.port_side = link(hub, memory_out, Part::embedded_switch, m.switch_rate);
        joint(memory_out, in);
        joint(out, hub);
        entrances_.push_back(memory_out);
      } else {
        const NodeId port_in = node();
        const NodeId port_out = node();
        links.memory_side = link(hub, memory_out, Part::switch_memory_side, m.switch_rate);
        links.port_side = link(port_in, port_out, Part::switch_port_side, m.switch_rate);
        joint(memory_out, in);
        joint(out, port_in);
        entrances_.push_back(port_out);
      }
      modules_.push_back(links);
    }
  }
}

// Accelerators go round the appliances; in each they take the ports from the first on.
void CapacityGraph::add_readers(const Resolved& resolved) {
  const System& s = resolved.system;
  for (std::int64_t r = 0; r < s.accelerator.count; ++r) {
    const NodeId memory = node();
    const NodeId self = node();
    Reader reader;
    reader.appliance = r % s.tier.appliances;
    reader.local = link(memory, self, Part::local_memory, resolved.local_rate);
    const std::int64_t first = r / s.tier.appliances * s.accelerator.ports;
    std::map<std::int64_t, std::int64_t> ports_at;
    for (std::int64_t p = first; p < first + s.accelerator.ports; ++p) {
      ++ports_at[reader.appliance * s.appliance.modules + p / s.module.ports];
    }
    for (const auto& [module, ports] : ports_at) {
      const NodeId entrance = entrances_[static_cast<std::size_t>(module)];
      const double share = static_cast<double>(ports) / static_cast<double>(s.accelerator.ports);
      reader.entries.push_back({module, share, link(entrance, self, Part::port, s.module.port_rate * ports)});
    }
    readers_.push_back(std::move(reader));
  }
}

std::vector<Share> CapacityGraph::sources(const Reader& reader, Spread spread) const {
  std::vector<Share> out;
  if (spread == Spread::module) {
    for (const Entry& e : reader.entries) out.push_back({static_cast<std::uint32_t>(e.module), e.share});
    return out;
  }
  const std::int64_t count =
      spread == Spread::appliance ? modules_per_appliance_ : static_cast<std::int64_t>(modules_.size());
  const std::int64_t first = spread == Spread::appliance ? reader.appliance * modules_per_appliance_ : 0;
  for (std::int64_t g = first; g < first + count; ++g) {
    out.push_back({static_cast<std::uint32_t>(g), 1.0 / static_cast<double>(count)});
  }
  return out;
}

void CapacityGraph::add_way(std::int64_t module, const Entry& entry, const Reader& reader, double share,
                            std::vector<double>& by_link) const {
  const ModuleLinks& from = modules_[static_cast<std::size_t>(module)];
  const ModuleLinks& at = modules_[static_cast<std::size_t>(entry.module)];
  const std::int64_t home = module / modules_per_appliance_;
  by_link[from.memory_side] += share;
  if (module != entry.module || from.memory_side != at.port_side) by_link[at.port_side] += share;
  by_link[entry.port] += share;
  by_link[appliances_[static_cast<std::size_t>(home)].all_to_all] += share;
  if (home == reader.appliance) return;
  by_link[appliances_[static_cast<std::size_t>(home)].up] += share;
  by_link[spine_] += share;
  by_link[appliances_[static_cast<std::size_t>(reader.appliance)].down] += share;
  by_link[appliances_[static_cast<std::size_t>(reader.appliance)].all_to_all] += share;
}

std::vector<Share> CapacityGraph::usage(std::int64_t index, Store store, Spread spread) const {
  PR_CHECK(index >= 0 && index < readers(), "an accelerator of the system");
  const Reader& reader = readers_[static_cast<std::size_t>(index)];
  if (store == Store::local) return {{reader.local, 1.0}};
  std::vector<double> by_link(links_.size(), 0.0);
  for (const Share& source : sources(reader, spread)) {
    const ModuleLinks& from = modules_[source.link];
    by_link[store == Store::hbm ? from.hbm : from.ddr] += source.share;
    for (const Entry& entry : reader.entries) {
      if (spread == Spread::module && entry.module != source.link) continue;
      const double part = spread == Spread::module ? source.share : source.share * entry.share;
      add_way(source.link, entry, reader, part, by_link);
    }
  }
  std::vector<Share> out;
  for (std::uint32_t l = 0; l < by_link.size(); ++l) {
    if (by_link[l] > 0) out.push_back({l, by_link[l]});
  }
  return out;
}

std::vector<double> CapacityGraph::loads(std::span<const Stream> streams) const {
  std::vector<double> out(links_.size(), 0.0);
  for (const Stream& stream : streams) {
    for (const Share& use : usage(stream.reader, stream.store, stream.spread)) out[use.link] += use.share * stream.rate;
  }
  return out;
}

// "optical port (2 x 7.2 Tb/s), HBM tier of a module (1 x 19.2 Tb/s)"
std::string CapacityGraph::cut_name(std::span<const std::uint32_t> cut) const {
  std::map<std::pair<Part, std::int64_t>, std::int64_t> groups;
  for (const std::uint32_t l : cut) ++groups[{links_[l].part, links_[l].capacity}];
  std::string out;
  for (const auto& [kind, count] : groups) {
    if (!out.empty()) out += " and ";
    out += fmt::format("{} ({} x {})", name_of(kind.first), count, bit_rate_text(static_cast<double>(kind.second)));
  }
  return out;
}

BrokenCut CapacityGraph::cut_of(std::span<const std::uint32_t> links, const std::vector<double>& loads) const {
  const auto narrowest = *std::min_element(links.begin(), links.end(), [&](std::uint32_t a, std::uint32_t b) {
    return links_[a].capacity < links_[b].capacity;
  });
  BrokenCut cut{cut_name(links), links_[narrowest].part, 0, 0};
  for (const std::uint32_t l : links) {
    cut.carries += static_cast<double>(links_[l].capacity);
    cut.needed += loads[l];
  }
  return cut;
}

// Memories give, and accelerators take, what the demand says; the links between are the system's.
FlowNetwork CapacityGraph::demand_network(std::span<const Stream> streams, NodeId source, NodeId sink) const {
  FlowNetwork flow(nodes_ + 2);
  for (const Link& l : links_) flow.add(l.from, l.to, l.capacity);
  for (const auto& [from, to] : joints_) flow.add(from, to, kUnlimited);
  std::map<NodeId, double> given;
  std::map<NodeId, double> taken;
  for (const Stream& s : streams) {
    for (const Share& use : usage(s.reader, s.store, s.spread)) {
      const Link& l = links_[use.link];
      const bool is_store = l.part == Part::hbm || l.part == Part::ddr || l.part == Part::local_memory;
      if (is_store) given[l.from] += use.share * s.rate;
      if (l.part == Part::port || l.part == Part::local_memory) taken[l.to] += use.share * s.rate;
    }
  }
  for (const auto& [node, rate] : given) flow.add(source, node, whole(rate));
  for (const auto& [node, rate] : taken) flow.add(node, sink, whole(rate));
  return flow;
}

std::vector<BrokenCut> CapacityGraph::broken_cuts(std::span<const Stream> streams) const {
  double demand = 0;
  for (const Stream& s : streams) demand += s.rate;
  const std::vector<double> load = loads(streams);
  std::vector<bool> over(links_.size());
  for (std::size_t l = 0; l < over.size(); ++l) {
    over[l] = load[l] > static_cast<double>(links_[l].capacity) * (1 + kTolerance);
  }
  const NodeId source = nodes_;
  const NodeId sink = nodes_ + 1;
  FlowNetwork flow = demand_network(streams, source, sink);
  std::vector<BrokenCut> broken;
  while (true) {
    const FlowNetwork::Cut cut = flow.smallest_cut(source, sink);
    if (static_cast<double>(cut.flow) >= demand * (1 - kTolerance)) break;
    std::vector<std::uint32_t> overloaded;  // others are just full
    std::size_t raised = 0;
    for (const LinkIndex l : cut.links) {
      if (l >= links_.size()) break;
      flow.set_capacity(l, kUnlimited);
      ++raised;
      if (over[l]) overloaded.push_back(l);
      over[l] = false;
    }
    if (raised == 0) break;
    if (!overloaded.empty()) broken.push_back(cut_of(overloaded, load));
  }
  add_rest(over, load, broken);
  return broken;
}

// The flow may take bytes to another reader than they are meant for; what only the loads show to be overloaded.
void CapacityGraph::add_rest(const std::vector<bool>& over, const std::vector<double>& load,
                             std::vector<BrokenCut>& broken) const {
  std::map<Part, std::vector<std::uint32_t>> rest;
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    if (over[l]) rest[links_[l].part].push_back(l);
  }
  for (const auto& [part, links] : rest) broken.push_back(cut_of(links, load));
}

}  // namespace photonrail::pool
