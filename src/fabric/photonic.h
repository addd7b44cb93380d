// Photonic rails: one optical circuit switch per rail, `ports` duplex ports per GPU, each of `port_rate` both ways.
//
// A circuit joins two ports, both directions, and only those two; an operation needs its circuits for as long as it
// runs. Which ports: a dimension owns a list of port indices, the same on every GPU (all of them, or its part of a
// static split). With m ports of the dimension and w = floor(m / 2):
//   ring, n > 2   ports 0..w-1 of a member join ports w..2w-1 of the next. The ring runs both ways at once, each
//                 direction carrying half of the payload: a member sends on 2w ports, 1/(2w) of its bytes on each.
//                 w = 0 is refused: a ring of more than two needs two duplex ports.
//   pair, n = 2   port j to port j of the peer, all m ports (pair_ports = half: max(1, w)).
//   chain         messages of the pipeline dimension: a stage keeps ports 0..w-1 for the next stage and w..2w-1 for the
//                 previous one (earlier stage: the lower rank), so that a middle stage holds both neighbours at once.
//                 With one port it holds one neighbour at a time and must switch between them. Two stages are a pair.
//   message       of any other dimension: as a pair.
// all_to_all on a ring: members forward, each byte by the shorter way. The distances to all others sum to floor(n^2/4),
// so a member's ports carry P * floor(n^2/4) / n bytes, in floor(n/2) steps.
// Rates follow from circuits: n GPUs never move more than n * m * port_rate.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"

namespace photonrail::fabric {

inline constexpr std::size_t kDimensions = 7;  // of model::Dimension

enum class PairPorts : std::uint8_t { all, half };

// Port indices that each dimension owns, by Dimension. A dimension may own none; then its operations are refused.
struct PortSplit {
  std::array<std::vector<std::uint32_t>, kDimensions> ports;
};

struct PhotonicOptions {
  model::ScaleUp scale_up;
  std::int64_t ports = 4;                     // per GPU
  Rate port_rate = gigabits_per_second(100);  // per port and direction
  Time latency = nanoseconds(1000);           // one step between neighbours
  PairPorts pair_ports = PairPorts::all;
  std::int64_t pipeline_stages = 0;  // 2: stages are pairs, with all ports; 0: not known, chains
  std::vector<PortSplit> split;      // none: every dimension uses all ports; else exactly one
};

PhotonicOptions photonic_options(const model::Scenario& scenario);

// invalid_input: ports outside 1..1024, rate <= 0, a split that names a port twice or beyond `ports`.
Result<std::unique_ptr<Fabric>> make_photonic(const Layout& layout, const PhotonicOptions& options);

// The kinds of circuits that a dimension keeps on a rail, for planning a static split.
struct RailShape {
  enum class Kind : std::uint8_t { pair, ring, chain } kind = Kind::pair;
  Dimension dimension = Dimension::data;
  double weight = 1;  // its claim to ports; rail_shapes: bytes that all GPUs together send on rails for it
};

// What the graph asks of rails: one shape per dimension that leaves a domain, ascending by dimension. `chain` where
// some rank exchanges pipeline messages with two others, `pair` where with one. infeasible where no split can serve: a
// rank in two different groups of one dimension or with more peers, a dimension with both collectives and messages.
// The graph must have passed model::check.
Result<std::vector<RailShape>> rail_shapes(const model::TaskGraph& graph, const Layout& layout);

// Duplex ports per GPU below which the shape cannot exist: pair 1, ring 2, chain 2.
std::int64_t least_ports(RailShape::Kind kind);

// Whole ports in proportion to weights: every shape gets its least; then units (a ring or chain grows by 2, a pair
// by 1) go, one by one, to the shape that is furthest below its proportional part (ties: lowest dimension).
// infeasible, with the shortfall: "static needs 4 ports per GPU (data ring 2 + pipeline chain 2), there are 2".
Result<PortSplit> split_ports(std::span<const RailShape> shapes, std::int64_t ports);

// Whether two footprints cannot hold at once: some port is wanted with two different partners.
bool circuits_conflict(std::span<const CircuitDemand> a, std::span<const CircuitDemand> b);

}  // namespace photonrail::fabric
