// What a pool can carry: nodes and directed links with rates, the loads that readers put on them, and the cuts that
// break under a demand.
//
// Way of a byte from module g to an accelerator that enters at module e:
//   tier of g (HBM stacks or DDR channels) -> embedded switch of g, memory side -> switching of g's appliance
//   [-> uplinks -> spines -> downlinks -> switching of e's appliance] -> embedded switch of e, port side -> port.
// The appliance's 115.2 Tb/s are its 16 ports together, so what a reader has from its own module (g = e) counts there
// too; an embedded switch with one budget for both sides sees such a byte once. Links of one appliance that go to the
// spines are one link of their rate together, and so are the spines: traffic is taken to spread over them evenly.
// Reads of an object that is interleaved over n modules come from each in equal parts, and leave by the accelerator's
// ports in equal parts; with Spread::module they come from the modules of its own ports.
//
// Cuts. A demand fits if no link carries more than its rate, which routes without alternatives make the same as: the
// largest flow from the memories to the readers equals the demand. Where it does not, the smallest cut is named, its
// links are taken as unlimited, and the next smallest is looked for, until the demand fits: so every bottleneck in
// series comes out, the narrowest first (broken_cuts).
//
// Rates in bit/s. Immutable after make; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pool/min_cut.h"
#include "pool/system.h"

namespace photonrail::pool {

enum class Part : std::uint8_t {
  local_memory,        // of an accelerator
  hbm,                 // all stacks of a module
  ddr,                 // all channels of a module
  switch_memory_side,  // of a module
  switch_port_side,
  embedded_switch,  // of a module, where both sides share one budget
  all_to_all,       // of an appliance
  uplink,           // of an appliance, all
  spine,            // all spines
  downlink,         // of an appliance, all
  port,             // of an accelerator at one module
};
const char* name_of(Part part);  // "optical port"

struct Link {
  NodeId from = 0;
  NodeId to = 0;
  Part part = Part::port;
  std::int64_t capacity = 0;
};

enum class Store : std::uint8_t { local, hbm, ddr };
enum class Spread : std::uint8_t { module, appliance, system };

struct Share {
  std::uint32_t link = 0;
  double share = 0;  // of the reader's rate
};

// One accelerator reading from one store.
struct Stream {
  std::int64_t reader = 0;
  Store store = Store::hbm;
  Spread spread = Spread::appliance;
  double rate = 0;  // bit/s
};

struct BrokenCut {
  std::string name;        // "optical port (1 x 7.2 Tb/s)"
  Part part = Part::port;  // of the narrowest of its links
  double carries = 0;      // bit/s, its links together
  double needed = 0;       // bit/s that has to cross it
  double factor() const { return needed / carries; }
};

class CapacityGraph {
 public:
  // `resolved` without faults (resolve()).
  static CapacityGraph make(const Resolved& resolved);

  const std::vector<Link>& links() const { return links_; }
  std::int64_t readers() const { return static_cast<std::int64_t>(readers_.size()); }

  // What a stream uses, by link in order of index; links without a rate of their own are left out.
  std::vector<Share> usage(std::int64_t reader, Store store, Spread spread) const;
  std::vector<double> loads(std::span<const Stream> streams) const;  // by link

  // Narrowest first; empty where the demand fits, to a part in 1e9.
  std::vector<BrokenCut> broken_cuts(std::span<const Stream> streams) const;

 private:
  struct Entry {  // ports of a reader at one module
    std::int64_t module = 0;
    double share = 0;  // of its ports
    std::uint32_t port = 0;
  };
  struct Reader {
    std::int64_t appliance = 0;
    std::uint32_t local = 0;
    std::vector<Entry> entries;
  };
  struct ModuleLinks {
    std::uint32_t hbm = 0;
    std::uint32_t ddr = 0;
    std::uint32_t memory_side = 0;
    std::uint32_t port_side = 0;
  };
  struct ApplianceLinks {
    std::uint32_t all_to_all = 0;
    std::uint32_t up = 0;
    std::uint32_t down = 0;
  };

  NodeId node() { return nodes_++; }
  std::uint32_t link(NodeId from, NodeId to, Part part, Rate rate);
  void joint(NodeId from, NodeId to) { joints_.emplace_back(from, to); }
  void add_appliances(const System& system);
  void add_readers(const Resolved& resolved);
  std::vector<Share> sources(const Reader& reader, Spread spread) const;  // modules with their parts
  void add_way(std::int64_t module, const Entry& entry, const Reader& reader, double share,
               std::vector<double>& by_link) const;
  FlowNetwork demand_network(std::span<const Stream> streams, NodeId source, NodeId sink) const;
  BrokenCut cut_of(std::span<const std::uint32_t> links, const std::vector<double>& loads) const;
  void add_rest(const std::vector<bool>& over, const std::vector<double>& load, std::vector<BrokenCut>& broken) const;
  std::string cut_name(std::span<const std::uint32_t> links) const;

  NodeId nodes_ = 0;
  std::vector<Link> links_;
  std::vector<std::pair<NodeId, NodeId>> joints_;  // without a rate of their own
  std::vector<ModuleLinks> modules_;
  std::vector<ApplianceLinks> appliances_;
  std::uint32_t spine_ = 0;
  std::vector<NodeId> entrances_;  // port-side exit of each module
  std::vector<Reader> readers_;
  std::int64_t modules_per_appliance_ = 0;
};

}  // namespace photonrail::pool
