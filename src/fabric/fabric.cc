#include "fabric/fabric.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "fabric/loads.h"

namespace photonrail::fabric {
namespace {

bool sent_by_gpu(LinkKind kind) {
  return kind == LinkKind::scale_up_tx || kind == LinkKind::nic_tx || kind == LinkKind::port_tx;
}

bool inside_domain(LinkKind kind) { return kind == LinkKind::scale_up_tx || kind == LinkKind::scale_up_rx; }

bool belongs_to_gpu(LinkKind kind) { return sent_by_gpu(kind) || inside_domain(kind) || kind == LinkKind::nic_rx; }

// The heaviest load of one GPU's network link; of its scale-up link where the operation stays in the domain.
double reference_load(const std::vector<LinkUsage>& loads, const std::vector<Link>& links) {
  double network = 0;
  double scale_up = 0;
  for (const LinkUsage& load : loads) {
    const LinkKind kind = links[load.link].kind;
    if (!belongs_to_gpu(kind)) continue;
    double& reference = inside_domain(kind) ? scale_up : network;
    reference = std::max(reference, load.share);
  }
  return network > 0 ? network : scale_up;
}

}  // namespace

double ring_bytes(Collective kind, std::size_t n) {
  if (n < 2) return 0;
  const double members = static_cast<double>(n);
  switch (kind) {
    case Collective::all_reduce: return 2 * (members - 1) / members;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (members - 1) / members;
    case Collective::broadcast: return 1;
    case Collective::barrier:
    case Collective::none: return 0;
  }
  return 0;
}

std::int64_t ring_steps(Collective kind, std::size_t n) {
  if (n < 2) return 0;
  const auto once = static_cast<std::int64_t>(n) - 1;
  return kind == Collective::all_reduce || kind == Collective::barrier ? 2 * once : once;
}

void Fabric::Loads::merge() {
  // Equal links by share too: the sum does not depend on the order in which flows were added.
  std::sort(loads_.begin(), loads_.end(), [](const LinkUsage& a, const LinkUsage& b) {
    return a.link != b.link ? a.link < b.link : a.share < b.share;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    if (kept > 0 && loads_[kept - 1].link == loads_[i].link) {
      loads_[kept - 1].share += loads_[i].share;
    } else {
      loads_[kept++] = loads_[i];
    }
  }
  loads_.resize(kept);
  merge_at_ = std::max<std::size_t>(2 * kept, 1 << 14);
}

Footprint Fabric::Loads::finish(const std::vector<Link>& links) {
  merge();
  Footprint result;
  result.path = left_domain_ ? Path::rail : Path::scale_up;
  result.latency = rail_latency_ + scale_up_latency_;
  result.steps = rail_steps_ + scale_up_steps_;
  result.step_latency = slowest_;
  result.bytes_per_payload = reference_load(loads_, links);
  for (LinkUsage& load : loads_) {
    if (sent_by_gpu(links[load.link].kind)) result.wire_per_payload += load.share;
    load.share /= result.bytes_per_payload;
  }
  result.usage = std::move(loads_);
  std::sort(circuits_.begin(), circuits_.end());
  result.circuits = std::move(circuits_);
  return result;
}

// How a group's members are spread over domains and rails.
struct Fabric::Shape {
  std::vector<std::vector<Rank>> domains;  // members by domain, in order of first appearance
  std::vector<std::vector<Rank>> rails;    // members by local index, likewise
  bool grid = false;                       // the same local indices in every domain
};

Fabric::Fabric(std::string name, Layout layout, const model::ScaleUp& scale_up)
    : name_(std::move(name)), layout_(std::move(layout)), scale_up_(scale_up) {
  const auto rate = static_cast<double>(scale_up.rate.bits_per_second);
  for (Rank rank = 0; rank < layout_.gpus(); ++rank) add_link(LinkKind::scale_up_tx, rank, 0, rate);
  for (Rank rank = 0; rank < layout_.gpus(); ++rank) add_link(LinkKind::scale_up_rx, rank, 0, rate);
}

LinkId Fabric::add_link(LinkKind kind, std::uint32_t owner, std::uint32_t index, double capacity) {
  links_.push_back({capacity, kind, owner, index});
  return static_cast<LinkId>(links_.size() - 1);
}

std::vector<double> Fabric::capacities() const {
  std::vector<double> result;
  result.reserve(links_.size());
  for (const Link& link : links_) result.push_back(link.capacity);
  return result;
}

std::string Fabric::link_name(LinkId id) const {
  PR_CHECK(id < links_.size(), "no link of this number");
  const Link& link = links_[id];
  switch (link.kind) {
    case LinkKind::scale_up_tx: return fmt::format("GPU {} to its scale-up switch", link.owner);
    case LinkKind::scale_up_rx: return fmt::format("scale-up switch to GPU {}", link.owner);
    case LinkKind::nic_tx: return fmt::format("GPU {} NIC to leaf", link.owner);
    case LinkKind::nic_rx: return fmt::format("leaf to GPU {} NIC", link.owner);
    case LinkKind::leaf_up: return fmt::format("leaf {} uplink {}", link.owner, link.index);
    case LinkKind::leaf_down: return fmt::format("leaf {} downlink {}", link.owner, link.index);
    case LinkKind::core_up: return fmt::format("aggregation {} uplink {}", link.owner, link.index);
    case LinkKind::core_down: return fmt::format("aggregation {} downlink {}", link.owner, link.index);
    case LinkKind::port_tx: return fmt::format("GPU {} optical port {}", link.owner, link.index);
  }
  return {};
}

Status Fabric::check_members(std::span<const Rank> members) const {
  if (members.empty())
    return fail(ErrorCode::invalid_input, "a group without members: a collective needs at least one rank");
  std::vector<Rank> sorted(members.begin(), members.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() >= layout_.gpus()) {
    return fail(ErrorCode::invalid_input,
                fmt::format("rank {} does not exist: the cluster has {} GPUs", sorted.back(), layout_.gpus()));
  }
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    return fail(ErrorCode::invalid_input, fmt::format("rank {} is in its group twice", *repeated));
  }
  return {};
}

Fabric::Shape Fabric::shape_of(std::span<const Rank> members) const {
  constexpr std::uint32_t kUnseen = 0xffffffffU;
  Shape shape;
  std::vector<std::uint32_t> domain_index(layout_.domains, kUnseen);
  std::vector<std::uint32_t> rail_index(layout_.rails, kUnseen);
  const auto file = [](std::vector<std::vector<Rank>>& bins, std::uint32_t& index, Rank rank) {
    if (index == kUnseen) {
      index = static_cast<std::uint32_t>(bins.size());
      bins.emplace_back();
    }
    bins[index].push_back(rank);
  };
  for (const Rank rank : members) {
    file(shape.domains, domain_index[layout_.domain_of(rank)], rank);
    file(shape.rails, rail_index[layout_.local_of(rank)], rank);
  }
  // Places are distinct, so as many members as the product has are the whole product.
  shape.grid = shape.domains.size() * shape.rails.size() == members.size();
  return shape;
}

Result<Footprint> Fabric::footprint(Collective kind, std::span<const Rank> members, Dimension dimension) const {
  PR_TRY(check_members(members));
  Loads loads;
  if (members.size() == 1) {
    Footprint nothing = loads.finish(links_);
    return nothing;
  }
  const Shape shape = shape_of(members);
  if (shape.domains.size() == 1) {
    add_scale_up(kind, members, loads);
    loads.scale_up_steps(ring_steps(kind, members.size()), scale_up_.latency);
  } else if (shape.rails.size() == 1) {
    PR_TRY(add_rail(kind, members, dimension, 1, loads));
  } else if (shape.grid) {
    PR_TRY(add_hierarchical(kind, shape, dimension, loads));
  } else {
    PR_TRY(add_irregular(kind, members, dimension, loads));
  }
  return loads.finish(links_);
}

Result<Footprint> Fabric::footprint_p2p(Rank source, Rank destination, Dimension dimension) const {
  const Rank ends[] = {source, destination};
  PR_TRY(check_members(ends));
  Loads loads;
  if (layout_.domain_of(source) == layout_.domain_of(destination)) {
    loads.add(scale_up_tx(source), 1);
    loads.add(scale_up_rx(destination), 1);
    loads.scale_up_steps(1, scale_up_.latency);
  } else {
    PR_TRY(add_message(source, destination, dimension, loads));
  }
  return loads.finish(links_);
}

void Fabric::add_scale_up(Collective kind, std::span<const Rank> members, Loads& loads) const {
  const double bytes = ring_bytes(kind, members.size());
  const bool open_ended = kind == Collective::broadcast;  // the last member passes nothing on to the root
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!open_ended || i + 1 < members.size()) loads.add(scale_up_tx(members[i]), bytes);
    if (!open_ended || i > 0) loads.add(scale_up_rx(members[i]), bytes);
  }
}

Status Fabric::add_hierarchical(Collective kind, const Shape& shape, Dimension dimension, Loads& loads) const {
  const std::size_t k = shape.rails.size();
  const double locals = static_cast<double>(k);
  // all_reduce: reduce-scatter before and all-gather after the rails; broadcast: scatter and all-gather.
  const bool twice = kind == Collective::all_reduce || kind == Collective::broadcast || kind == Collective::barrier;
  const std::int64_t passes = twice ? 2 : 1;
  const double once = kind == Collective::barrier ? 0 : (locals - 1) / locals;
  for (const std::vector<Rank>& domain : shape.domains) {
    for (const Rank rank : domain) {
      loads.add(scale_up_tx(rank), static_cast<double>(passes) * once);
      loads.add(scale_up_rx(rank), static_cast<double>(passes) * once);
    }
  }
  loads.scale_up_steps(passes * (static_cast<std::int64_t>(k) - 1), scale_up_.latency);
  const double part = kind == Collective::all_to_all ? 1 : 1 / locals;
  for (const std::vector<Rank>& rail : shape.rails) PR_TRY(add_rail(kind, rail, dimension, part, loads));
  return {};
}

}  // namespace photonrail::fabric
