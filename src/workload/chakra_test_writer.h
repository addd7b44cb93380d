// For tests: writes Chakra trace bytes by hand, well-formed or not. Encoding: protocol buffers wire format.
#pragma once

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace photonrail::workload::test {

inline std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>((v & 0x7f) | 0x80));
  out.push_back(static_cast<char>(v));
  return out;
}
inline std::string key(std::uint32_t field, std::uint32_t wire) { return varint(field << 3 | wire); }
inline std::string number(std::uint32_t field, std::uint64_t v) { return key(field, 0) + varint(v); }
inline std::string text(std::uint32_t field, std::string_view s) {
  return key(field, 2) + varint(s.size()) + std::string(s);
}
inline std::string record(std::string_view message) { return varint(message.size()) + std::string(message); }

inline std::string attribute(std::string_view name, std::string_view value) {
  return text(10, text(1, name) + std::string(value));
}
inline std::string int64_attribute(std::string_view name, std::int64_t v) {
  return attribute(name, number(9, static_cast<std::uint64_t>(v)));
}
inline std::string string_attribute(std::string_view name, std::string_view v) { return attribute(name, text(29, v)); }

inline std::string metadata() { return record(text(1, "0.0.4")); }

// Node types of the schema: 1 metadata, 4 compute, 5 send, 6 receive, 7 collective.
inline std::string node(std::uint64_t id, std::uint64_t type, const std::vector<std::uint64_t>& needs,
                        std::string_view rest = "") {
  std::string packed;
  for (const std::uint64_t n : needs) packed += varint(n);
  std::string message = number(1, id) + text(2, fmt::format("n{}", id)) + number(3, type);
  if (!needs.empty()) message += text(5, packed);
  return record(message + std::string(rest));
}
inline std::string compute(std::uint64_t id, std::int64_t ops, std::int64_t size,
                           const std::vector<std::uint64_t>& needs = {}) {
  return node(id, 4, needs, int64_attribute("num_ops", ops) + int64_attribute("tensor_size", size));
}
inline std::string replay(std::uint64_t id, std::uint64_t micros, const std::vector<std::uint64_t>& needs = {}) {
  return node(id, 4, needs, number(7, micros));
}
inline std::string collective(std::uint64_t id, std::int64_t type, std::int64_t size, std::string_view group,
                              const std::vector<std::uint64_t>& needs = {}) {
  return node(id, 7, needs,
              int64_attribute("comm_type", type) + int64_attribute("comm_size", size) +
                  (group.empty() ? "" : string_attribute("pg_name", group)));
}
inline std::string send(std::uint64_t id, std::int64_t to, std::int64_t tag, std::int64_t size,
                        const std::vector<std::uint64_t>& needs = {}) {
  return node(id, 5, needs,
              int64_attribute("comm_dst", to) + int64_attribute("comm_tag", tag) + int64_attribute("comm_size", size));
}
inline std::string receive(std::uint64_t id, std::int64_t from, std::int64_t tag, std::int64_t size,
                           const std::vector<std::uint64_t>& needs = {}) {
  return node(
      id, 6, needs,
      int64_attribute("comm_src", from) + int64_attribute("comm_tag", tag) + int64_attribute("comm_size", size));
}

inline std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

}  // namespace photonrail::workload::test
