// A fabric: links and ports, and what an operation uses of them.
//
// An operation becomes a Footprint: which links it loads in which proportion, which circuits it needs, its fixed
// latency. A fluid simulator (algo/max_min.h) turns footprints into rates; nothing here knows time or order.
//
//   duration = latency + 8 * payload * bytes_per_payload / rate         [s; bytes; rate of the activity in bit/s]
//
// Algorithms (ring: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69 (2009)). n members, payload P
// as defined by model::Task::bytes; bytes that one member sends, and steps one after the other:
//   all_reduce      2 (n-1)/n P     2 (n-1)          all_to_all  (n-1)/n P   n-1    (direct; on a photonic ring the
//   all_gather        (n-1)/n P        n-1                                           members forward, see photonic.h)
//   reduce_scatter    (n-1)/n P        n-1           broadcast   P           n-1    (pipelined round the ring)
//   barrier                   0     2 (n-1)          send        P           1
//
// Where a collective runs:
//   all members in one domain                  -> scale-up links (one up, one down per GPU, non-blocking switch)
//   one member per domain, all of one local    -> that rail
//   the same k locals in each of d domains     -> hierarchical: a ring inside each domain and k rail rings of P/k each,
//                                                 pipelined, so that the tighter of the two governs: one footprint.
//                                                 Scale-up bytes (k-1)/k P per pass, rail bytes of a d-ring for P/k
//                                                 (all_to_all: to the destination's local first, then P on the rail)
//   anything else                              -> electrical: ring in member order over the real paths;
//                                                 photonic: refused, no circuit leaves its rail
//
// Thread rule: a Fabric is immutable once made; const functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algo/max_min.h"
#include "base/result.h"
#include "base/units.h"
#include "fabric/layout.h"
#include "model/run_result.h"
#include "model/scenario.h"
#include "model/task_graph.h"

namespace photonrail::fabric {

using algo::LinkId;
using algo::LinkUsage;
using model::Collective;
using model::Dimension;
using model::Path;

// GPU optical port: rank * ports_per_gpu + index. Duplex: one Tx and one Rx fibre.
using PortId = std::uint32_t;

// The port pair that must be connected, both directions (Tx of a to Rx of b, and Tx of b to Rx of a). a < b.
struct CircuitDemand {
  PortId a = 0;
  PortId b = 0;
  friend constexpr auto operator<=>(const CircuitDemand&, const CircuitDemand&) = default;
};

struct Footprint {
  std::vector<LinkUsage> usage;         // by link, ascending; empty: moves no bytes (a group of one)
  std::vector<CircuitDemand> circuits;  // ascending; no port twice; empty on electrical fabrics and in a domain
  Path path = Path::rail;               // rail as soon as any part leaves the domain
  double bytes_per_payload = 0;         // bytes through a link of share 1, per payload byte
  double wire_per_payload = 0;          // bytes put on links by all GPUs together, per payload byte; forwarding and
                                        // hierarchy counted each time, switches not
  Time latency;                         // whole fixed term: the sum over steps
  std::int64_t steps = 0;               // one after the other, scale-up and rail steps together
  Time step_latency;                    // of the slowest step
};

enum class LinkKind : std::uint8_t {
  scale_up_tx,  // GPU to its domain's switch
  scale_up_rx,
  nic_tx,  // GPU to its leaf
  nic_rx,
  leaf_up,  // leaf to spine (or aggregation) switch
  leaf_down,
  core_up,  // aggregation to core switch
  core_down,
  port_tx,  // photonic: Tx direction of a GPU port; the circuit is exclusive, so the partner's Rx is the same link
};

struct Link {
  double capacity = 0;  // bit/s
  LinkKind kind = LinkKind::scale_up_tx;
  std::uint32_t owner = 0;  // rank, or number of the switch at the lower end
  std::uint32_t index = 0;  // among the owner's links of this kind; the local index of an optical port
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  const std::string& name() const { return name_; }  // "rail_optimised", "fat_tree", "rail_only", "photonic"
  const Layout& layout() const { return layout_; }
  const std::vector<Link>& links() const { return links_; }
  std::vector<double> capacities() const;  // bit/s, for algo::FairShare
  std::string link_name(LinkId link) const;
  std::uint32_t ports_per_gpu() const { return ports_per_gpu_; }  // optical; 0 on electrical fabrics
  PortId ports() const { return ports_per_gpu_ * layout_.gpus(); }
  Rank gpu_of(PortId port) const { return port / ports_per_gpu_; }
  std::uint32_t rail_of(PortId port) const { return layout_.local_of(gpu_of(port)); }

  // `members` in ring order. invalid_input: no member, unknown or repeated rank. infeasible: no way through the fabric
  // or too few ports; the text says which and what would help.
  Result<Footprint> footprint(Collective kind, std::span<const Rank> members, Dimension dimension) const;
  Result<Footprint> footprint_p2p(Rank source, Rank destination, Dimension dimension) const;

 protected:
  // Sums the load of each link, in bytes per payload byte.
  class Loads;

  Fabric(std::string name, Layout layout, const model::ScaleUp& scale_up);
  LinkId add_link(LinkKind kind, std::uint32_t owner, std::uint32_t index, double capacity);
  LinkId scale_up_tx(Rank rank) const { return rank; }
  LinkId scale_up_rx(Rank rank) const { return layout_.gpus() + rank; }

  // A collective on one rail (one member per domain, one local index, n >= 2), for `part` of the payload.
  virtual Status add_rail(Collective kind, std::span<const Rank> members, Dimension dimension, double part,
                          Loads& loads) const = 0;
  // A collective of any shape.
  virtual Status add_irregular(Collective kind, std::span<const Rank> members, Dimension dimension,
                               Loads& loads) const = 0;
  // One message between two domains.
  virtual Status add_message(Rank source, Rank destination, Dimension dimension, Loads& loads) const = 0;

  std::uint32_t ports_per_gpu_ = 0;

 private:
  struct Shape;
  Status check_members(std::span<const Rank> members) const;
  Shape shape_of(std::span<const Rank> members) const;
  void add_scale_up(Collective kind, std::span<const Rank> members, Loads& loads) const;
  Status add_hierarchical(Collective kind, const Shape& shape, Dimension dimension, Loads& loads) const;

  std::string name_;
  Layout layout_;
  model::ScaleUp scale_up_;
  std::vector<Link> links_;
};

// Bytes that one of n ring members sends per payload byte, and steps; the table above.
double ring_bytes(Collective kind, std::size_t n);
std::int64_t ring_steps(Collective kind, std::size_t n);

}  // namespace photonrail::fabric
