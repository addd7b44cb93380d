#include "pool/min_cut.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::pool {

LinkIndex FlowNetwork::add(NodeId from, NodeId to, std::int64_t capacity) {
  PR_CHECK(from < first_.size() && to < first_.size() && capacity >= 0, "a link of the graph");
  const auto edge = static_cast<std::uint32_t>(edges_.size());
  edges_.push_back({to, 0});
  edges_.push_back({from, 0});
  first_[from].push_back(edge);
  first_[to].push_back(edge + 1);
  capacity_.push_back(capacity);
  return edge / 2;
}

void FlowNetwork::set_capacity(LinkIndex link, std::int64_t capacity) { capacity_[link] = capacity; }

bool FlowNetwork::find_levels(NodeId source, NodeId sink) {
  level_.assign(first_.size(), -1);
  level_[source] = 0;
  std::vector<NodeId> queue{source};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const std::uint32_t e : first_[queue[at]]) {
      const Edge& edge = edges_[e];
      if (edge.room == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[at]] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

// One augmenting path down the levels; 0 where there is none. The path is kept on a list, not on the stack of calls,
// so that long graphs are safe.
std::int64_t FlowNetwork::push(NodeId source, NodeId sink) {
  std::vector<std::uint32_t> path;
  NodeId at = source;
  while (at != sink) {
    bool advanced = false;
    for (std::size_t& i = next_[at]; i < first_[at].size(); ++i) {
      const Edge& edge = edges_[first_[at][i]];
      if (edge.room == 0 || level_[edge.to] != level_[at] + 1) continue;
      path.push_back(first_[at][i]);
      at = edge.to;
      advanced = true;
      break;
    }
    if (advanced) continue;
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1U].to;
    path.pop_back();
    ++next_[at];
  }
  std::int64_t amount = kUnlimited;
  for (const std::uint32_t e : path) amount = std::min(amount, edges_[e].room);
  for (const std::uint32_t e : path) {
    edges_[e].room -= amount;
    edges_[e ^ 1U].room += amount;
  }
  return amount;
}

FlowNetwork::Cut FlowNetwork::smallest_cut(NodeId source, NodeId sink) {
  for (std::size_t i = 0; i < capacity_.size(); ++i) {
    edges_[2 * i].room = capacity_[i];
    edges_[2 * i + 1].room = 0;
  }
  Cut cut;
  while (find_levels(source, sink)) {
    next_.assign(first_.size(), 0);
    while (const std::int64_t amount = push(source, sink)) cut.flow += amount;
  }
  for (LinkIndex i = 0; i < capacity_.size(); ++i) {
    const NodeId from = edges_[2 * i + 1].to;
    const NodeId to = edges_[2 * i].to;
    if (level_[from] >= 0 && level_[to] < 0) cut.links.push_back(i);
  }
  return cut;
}

}  // namespace photonrail::pool
