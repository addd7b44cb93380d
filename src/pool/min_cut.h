// The largest flow between two nodes of a directed graph, and the smallest cut that limits it.
//
// Theory (Ford and Fulkerson 1956): the value of the largest flow equals the capacity of the smallest cut. After the
// last augmenting path, the links from nodes that the source still reaches to nodes that it does not are such a cut,
// the one nearest to the source. Found by blocking flows on level graphs (Dinic 1970), O(V^2 E), in practice linear in
// the layered graphs of this folder.
//
// Capacities are whole numbers in any unit; their sum must stay below 2^62. Not thread-safe; one object, one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace photonrail::pool {

using NodeId = std::uint32_t;
using LinkIndex = std::uint32_t;

inline constexpr std::int64_t kUnlimited = std::int64_t{1} << 61;

class FlowNetwork {
 public:
  explicit FlowNetwork(std::size_t nodes) : first_(nodes) {}

  // The index counts from 0 in the order of calls.
  LinkIndex add(NodeId from, NodeId to, std::int64_t capacity);
  void set_capacity(LinkIndex link, std::int64_t capacity);
  std::int64_t capacity(LinkIndex link) const { return capacity_[link]; }

  struct Cut {
    std::int64_t flow = 0;         // the largest, and the capacity of the links below
    std::vector<LinkIndex> links;  // in order of index
  };
  Cut smallest_cut(NodeId source, NodeId sink);

 private:
  struct Edge {
    NodeId to;
    std::int64_t room;
  };
  bool find_levels(NodeId source, NodeId sink);
  std::int64_t push(NodeId source, NodeId sink);

  std::vector<Edge> edges_;  // 2 i is link i, 2 i + 1 its reverse
  std::vector<std::int64_t> capacity_;
  std::vector<std::vector<std::uint32_t>> first_;  // edges that leave a node
  std::vector<std::int32_t> level_;
  std::vector<std::size_t> next_;
};

}  // namespace photonrail::pool
