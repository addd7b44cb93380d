// One rank's Chakra execution trace, as read from a file: fields only, nothing interpreted.
//
// File: [varint length][GlobalMetadata] then [varint length][Node] to the end. Schema: mlcommons/chakra et_def.proto.
// Only the fields that simulation needs are kept; names can be skipped, for they are half of a file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace photonrail::workload {

enum class ChakraType : std::uint8_t {
  invalid,
  metadata,
  memory_load,
  memory_store,
  compute,
  send,
  receive,
  collective
};

struct ChakraNode {
  std::uint64_t id = 0;
  ChakraType type = ChakraType::invalid;
  bool is_cpu_op = false;
  std::uint8_t comm_type = 0;  // CollectiveCommType of the schema: 0 all-reduce, 2 all-gather, 6 all-to-all, ...
  std::uint32_t dependency_start = 0;  // into ChakraTrace::dependencies, data and control together
  std::uint32_t dependency_count = 0;
  std::int64_t num_ops = 0;
  std::int64_t tensor_size = 0;
  std::int64_t comm_size = 0;
  std::int32_t comm_src = -1;
  std::int32_t comm_dst = -1;
  std::int32_t comm_tag = 0;
  std::int32_t group = 0;  // pg_name as an integer; 0: all ranks
  std::uint64_t duration_micros = 0;
  std::uint32_t name = 0;    // offset into ChakraTrace::names, 0 when names are skipped
  bool has_num_ops = false;  // compute nodes may come with operations (roofline), with a duration, or both
  bool has_tensor_size = false;

  friend bool operator==(const ChakraNode&, const ChakraNode&) = default;
};

struct ChakraTrace {
  std::vector<ChakraNode> nodes;            // in file order
  std::vector<std::uint64_t> dependencies;  // node ids
  std::string names;                        // zero-terminated, one after the other; starts with an empty name

  std::span<const std::uint64_t> needs(const ChakraNode& node) const {
    return std::span(dependencies).subspan(node.dependency_start, node.dependency_count);
  }
  std::string_view name(const ChakraNode& node) const { return names.empty() ? "" : names.data() + node.name; }
  friend bool operator==(const ChakraTrace&, const ChakraTrace&) = default;
};

// Parses one file's bytes. `file` is for messages. Refuses a truncated message, a wrong wire type, a repeated id, a
// value out of range, a missing attribute that its node type needs; the message gives the byte offset and the node.
// Attributes that the simulation does not use (operands, op_type, ...) are skipped by their length, unread; integers
// may come in any integer kind of the schema. Dependencies are ids: whether they exist is checked by import_traces.
// Safe to call from several threads. At most 4,194,304 nodes and 2 GiB a file.
Result<ChakraTrace> parse_chakra(std::span<const std::byte> bytes, std::string_view file, bool keep_names);

}  // namespace photonrail::workload
