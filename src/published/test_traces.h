// Small trace sets for tests, built in memory; each rank has its own program.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "workload/trace_set.h"

namespace photonrail::published {

class TestTraces {
 public:
  explicit TestTraces(std::uint32_t ranks) : slot_of_(ranks) {
    set_.source = "test";
    set_.traces.resize(ranks);
    set_.slot_is_peer.resize(ranks);
    set_.slots.resize(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) set_.program_of.push_back(r);
  }

  void group(std::int32_t id, std::vector<std::uint32_t> members) { set_.groups.members[id] = std::move(members); }

  // At 1 TFLOP/s of peak and memory that never limits; one operation more, for the time is rounded down.
  std::uint64_t compute(std::uint32_t rank, std::int64_t nanoseconds, std::vector<std::uint64_t> needs = {}) {
    workload::ChakraNode node;
    node.type = workload::ChakraType::compute;
    node.num_ops = nanoseconds * 1000 + 1;
    node.tensor_size = 1;
    return add(rank, node, std::move(needs));
  }
  // comm_type: 0 all-reduce, 2 all-gather, 6 all-to-all, 7 reduce-scatter
  std::uint64_t collective(std::uint32_t rank, std::int32_t group, std::uint8_t comm_type, std::int64_t bytes,
                           std::vector<std::uint64_t> needs = {}) {
    workload::ChakraNode node;
    node.type = workload::ChakraType::collective;
    node.comm_type = comm_type;
    node.comm_size = bytes;
    node.group = static_cast<std::int32_t>(slot(rank, group, false));
    return add(rank, node, std::move(needs));
  }
  std::uint64_t send(std::uint32_t rank, std::uint32_t to, std::int64_t bytes, std::vector<std::uint64_t> needs = {},
                     std::int32_t tag = 1) {
    workload::ChakraNode node;
    node.type = workload::ChakraType::send;
    node.comm_size = bytes;
    node.comm_tag = tag;
    node.comm_dst = static_cast<std::int32_t>(slot(rank, static_cast<std::int32_t>(to), true));
    return add(rank, node, std::move(needs));
  }
  std::uint64_t receive(std::uint32_t rank, std::uint32_t from, std::int64_t bytes,
                        std::vector<std::uint64_t> needs = {}, std::int32_t tag = 1) {
    workload::ChakraNode node;
    node.type = workload::ChakraType::receive;
    node.comm_size = bytes;
    node.comm_tag = tag;
    node.comm_src = static_cast<std::int32_t>(slot(rank, static_cast<std::int32_t>(from), true));
    return add(rank, node, std::move(needs));
  }
  std::uint64_t add(std::uint32_t rank, workload::ChakraNode node, std::vector<std::uint64_t> needs) {
    workload::ChakraTrace& trace = set_.traces[rank];
    node.id = trace.nodes.size() + 1;
    node.dependency_start = static_cast<std::uint32_t>(trace.dependencies.size());
    node.dependency_count = static_cast<std::uint32_t>(needs.size());
    trace.dependencies.insert(trace.dependencies.end(), needs.begin(), needs.end());
    trace.nodes.push_back(node);
    return node.id;
  }

  const workload::TraceSet& set() const { return set_; }

 private:
  std::uint32_t slot(std::uint32_t rank, std::int32_t value, bool is_peer) {
    const auto [found, fresh] = slot_of_[rank].try_emplace({is_peer, value}, set_.slots[rank].size());
    if (fresh) {
      set_.slots[rank].push_back(value);
      set_.slot_is_peer[rank].push_back(is_peer);
    }
    return static_cast<std::uint32_t>(found->second);
  }

  workload::TraceSet set_;
  std::vector<std::map<std::pair<bool, std::int32_t>, std::size_t>> slot_of_;
};

}  // namespace photonrail::published
