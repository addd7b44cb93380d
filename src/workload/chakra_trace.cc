#include "workload/chakra_trace.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace photonrail::workload {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 31;
constexpr std::size_t kMaxNodes = std::size_t{1} << 22;
constexpr std::int64_t kMaxQuantity = std::int64_t{1} << 60;  // sums of 2^3 such values still fit 64 bits

// Wire types of protocol buffers (protobuf.dev/programming-guides/encoding).
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kLength = 2;
constexpr std::uint32_t kFixed32 = 5;

struct Cursor {
  const std::uint8_t* at = nullptr;
  const std::uint8_t* end = nullptr;
  bool done() const { return at == end; }
  std::size_t left() const { return static_cast<std::size_t>(end - at); }
};

struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;
};

struct Value {
  enum class Kind : std::uint8_t { none, integer, text, other } kind = Kind::none;
  bool too_large = false;  // an unsigned value above the signed range
  std::int64_t integer = 0;
  std::string_view text;
};

enum Attribute : std::uint32_t {
  kNumOps = 1,
  kTensorSize = 2,
  kCommSize = 4,
  kCommType = 8,
  kCommSrc = 16,
  kCommDst = 32,
  kCommTag = 64,
  kGroup = 128,
  kCpu = 256,
  kUnused = 0,
};

Attribute attribute_of(std::string_view name) {
  switch (name.size()) {
    case 7: return name == "num_ops" ? kNumOps : name == "pg_name" ? kGroup : kUnused;
    case 8:
      return name == "comm_src" ? kCommSrc : name == "comm_dst" ? kCommDst : name == "comm_tag" ? kCommTag : kUnused;
    case 9:
      return name == "comm_size" ? kCommSize : name == "comm_type" ? kCommType : name == "is_cpu_op" ? kCpu : kUnused;
    case 11: return name == "tensor_size" ? kTensorSize : kUnused;
    default: return kUnused;
  }
}

std::string_view text_of(Cursor c) { return {reinterpret_cast<const char*>(c.at), c.left()}; }

std::int64_t zigzag(std::uint64_t v) { return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1); }

// Methods return false after fail(); the first failure wins.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view file, bool keep_names)
      : begin_(reinterpret_cast<const std::uint8_t*>(bytes.data())),
        file_(file),
        keep_names_(keep_names),
        all_{begin_, begin_ + bytes.size()} {}

  Result<ChakraTrace> run() {
    if (all_.done()) return refuse(all_.at, "the file is empty", "a Chakra trace starts with its metadata");
    if (all_.left() > kMaxFileBytes) return refuse(all_.at, "the file is larger than 2 GiB", "split the trace");
    if (keep_names_) trace_.names.push_back('\0');
    Cursor record;
    if (!length_prefixed(all_, record) || !metadata(record)) return refusal();
    while (!all_.done()) {
      if (!length_prefixed(all_, record) || !node(record)) return refusal();
    }
    if (!ids_are_unique()) return refusal();
    return std::move(trace_);
  }

 private:
  struct Draft {
    ChakraNode node;
    std::uint32_t seen = 0;  // Attribute bits
    std::string_view name;
    const std::uint8_t* at = nullptr;
    bool has_id = false;
  };

  bool fail(const std::uint8_t* at, std::string_view what, std::string_view hint) {
    if (what_.empty()) {
      at_ = at;
      what_ = what;
      hint_ = hint;
    }
    return false;
  }
  tl::unexpected<Error> refuse(const std::uint8_t* at, std::string_view what, std::string_view hint) {
    fail(at, what, hint);
    return refusal();
  }
  tl::unexpected<Error> refusal() const {
    std::string where = fmt::format("{}: byte {}", file_, at_ - begin_);
    if (in_node_ && draft_.has_id) where += fmt::format(": node {}", draft_.node.id);
    if (in_node_ && !draft_.name.empty()) where += fmt::format(" '{}'", draft_.name.substr(0, 200));
    return photonrail::fail(ErrorCode::invalid_input, fmt::format("{}: {}\n  hint: {}", where, what_, hint_));
  }

  bool truncated(const std::uint8_t* at) {
    return fail(at, "the trace is truncated: a message goes on beyond its end",
                "the file was cut short, or it is not a Chakra trace; copy or generate it again");
  }

  bool varint(Cursor& c, std::uint64_t& value) {
    if (c.at != c.end && *c.at < 0x80) {
      value = *c.at++;
      return true;
    }
    const std::uint8_t* start = c.at;
    value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (c.done()) return truncated(start);
      const std::uint8_t byte = *c.at++;
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return fail(start, "a variable-length integer is longer than 64 bits",
                "the file is damaged, or not a Chakra trace");
  }

  bool field(Cursor& c, Field& out) {
    const std::uint8_t* start = c.at;
    std::uint64_t key = 0;
    if (!varint(c, key)) return false;
    out = {static_cast<std::uint32_t>(key >> 3), static_cast<std::uint32_t>(key & 7)};
    if (key >> 3 == 0 || key >> 32 != 0)
      return fail(start, "a field number is out of range", "the file is damaged, or not a Chakra trace");
    return true;
  }

  bool length_prefixed(Cursor& c, Cursor& inner) {
    const std::uint8_t* start = c.at;
    std::uint64_t length = 0;
    if (!varint(c, length)) return false;
    if (length > c.left()) return truncated(start);
    inner = {c.at, c.at + length};
    c.at += length;
    return true;
  }

  bool fixed(Cursor& c, std::size_t size, std::uint64_t& value) {
    if (c.left() < size) return truncated(c.at);
    value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(c.at[i]) << (8 * i);
    c.at += size;
    return true;
  }

  bool expect(const std::uint8_t* at, Field f, std::uint32_t wire, std::string_view message) {
    if (f.wire == wire) return true;
    return fail(at, fmt::format("field {} of {} has wire type {} instead of {}", f.number, message, f.wire, wire),
                "the file is damaged, or not a Chakra trace");
  }

  bool metadata(Cursor c) {
    while (!c.done()) {
      const std::uint8_t* at = c.at;
      Field f;
      Cursor inner;
      if (!field(c, f)) return false;
      if (f.number > 2 || f.wire != kLength) {
        return fail(at, "the file does not start with a Chakra metadata record",
                    "expected: [length][GlobalMetadata], then [length][Node] to the end");
      }
      if (!length_prefixed(c, inner)) return false;
    }
    return true;
  }

  bool node(Cursor c) {
    draft_ = Draft{};
    Draft& draft = draft_;
    draft.at = c.at;
    in_node_ = true;
    draft.node.dependency_start = static_cast<std::uint32_t>(trace_.dependencies.size());
    while (!c.done()) {
      if (!node_field(c, draft)) return false;
    }
    if (!complete(draft)) return false;
    if (trace_.nodes.size() == kMaxNodes) return fail(draft.at, "more than 4194304 nodes", "split the trace");
    draft.node.dependency_count = static_cast<std::uint32_t>(trace_.dependencies.size()) - draft.node.dependency_start;
    if (keep_names_) keep_name(draft);
    trace_.nodes.push_back(draft.node);
    in_node_ = false;
    return true;
  }

  bool node_field(Cursor& c, Draft& draft) {
    const std::uint8_t* at = c.at;
    Field f;
    if (!field(c, f)) return false;
    std::uint64_t value = 0;
    Cursor inner;
    switch (f.number) {
      case 1:
        if (!expect(at, f, kVarint, "Node (id)") || !varint(c, draft.node.id)) return false;
        draft.has_id = true;
        return true;
      case 2:
        if (!expect(at, f, kLength, "Node (name)") || !length_prefixed(c, inner)) return false;
        draft.name = text_of(inner);
        return true;
      case 3:
        if (!expect(at, f, kVarint, "Node (type)") || !varint(c, value)) return false;
        if (value > 7) return fail(at, fmt::format("unknown node type {}", value), "types are 0 to 7");
        draft.node.type = static_cast<ChakraType>(value);
        return true;
      case 4:
      case 5: return dependencies(c, f, at);
      case 6: return expect(at, f, kVarint, "Node (start_time_micros)") && varint(c, value);
      case 7: return expect(at, f, kVarint, "Node (duration_micros)") && varint(c, draft.node.duration_micros);
      case 8:
      case 9: return expect(at, f, kLength, "Node (inputs, outputs)") && length_prefixed(c, inner);
      case 10: return expect(at, f, kLength, "Node (attr)") && length_prefixed(c, inner) && attribute(inner, draft);
      default:
        return fail(at, fmt::format("unknown field {} of Node", f.number),
                    "fields are 1 to 10 (schema of Chakra 0.0.4); a newer schema is not understood");
    }
  }

  bool dependencies(Cursor& c, Field f, const std::uint8_t* at) {
    std::uint64_t id = 0;
    if (f.wire == kVarint) {
      if (!varint(c, id)) return false;
      trace_.dependencies.push_back(id);
      return true;
    }
    Cursor packed;
    if (!expect(at, f, kLength, "Node (dependencies)") || !length_prefixed(c, packed)) return false;
    while (!packed.done()) {
      if (!varint(packed, id)) return false;
      trace_.dependencies.push_back(id);
    }
    return true;
  }

  bool attribute(Cursor c, Draft& draft) {
    const std::uint8_t* at = c.at;
    // Writers put the name first; then an attribute that is not used costs one comparison.
    if (c.left() > 2 && c.at[0] == 0x0a && c.at[1] < 0x80 && c.at[1] <= c.left() - 2) {
      const std::string_view name(reinterpret_cast<const char*>(c.at) + 2, c.at[1]);
      if (attribute_of(name) == kUnused) return true;
    }
    std::string_view name;
    Value value;
    while (!c.done()) {
      const std::uint8_t* field_at = c.at;
      Field f;
      Cursor inner;
      if (!field(c, f)) return false;
      if (f.number <= 2) {
        if (!expect(field_at, f, kLength, "AttributeProto") || !length_prefixed(c, inner)) return false;
        if (f.number == 1) name = text_of(inner);
      } else if (!attribute_value(c, f, field_at, value)) {
        return false;
      }
    }
    const Attribute kind = attribute_of(name);
    return kind == kUnused || assign(kind, name, value, at, draft);
  }

  bool attribute_value(Cursor& c, Field f, const std::uint8_t* at, Value& out) {
    std::uint64_t raw = 0;
    Cursor inner;
    const auto integer = [&](std::int64_t v, bool too_large) {
      out = {Value::Kind::integer, too_large, v, {}};
      return true;
    };
    const auto is_large = [&] { return raw > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()); };
    switch (f.number) {
      case 7:
      case 9:
      case 11:
      case 27:  // int32, int64, uint32, bool
        if (!expect(at, f, kVarint, "AttributeProto") || !varint(c, raw)) return false;
        return integer(static_cast<std::int64_t>(raw), false);
      case 13:  // uint64
        if (!expect(at, f, kVarint, "AttributeProto") || !varint(c, raw)) return false;
        return integer(static_cast<std::int64_t>(raw), is_large());
      case 15:
      case 17:  // sint32, sint64
        if (!expect(at, f, kVarint, "AttributeProto") || !varint(c, raw)) return false;
        return integer(zigzag(raw), false);
      case 19:
      case 23:  // fixed32, sfixed32
        if (!expect(at, f, kFixed32, "AttributeProto") || !fixed(c, 4, raw)) return false;
        return integer(f.number == 19 ? static_cast<std::int64_t>(raw)
                                      : static_cast<std::int32_t>(static_cast<std::uint32_t>(raw)),
                       false);
      case 21:
      case 25:  // fixed64, sfixed64
        if (!expect(at, f, kFixed64, "AttributeProto") || !fixed(c, 8, raw)) return false;
        return integer(static_cast<std::int64_t>(raw), f.number == 21 && is_large());
      case 29:  // string
        if (!expect(at, f, kLength, "AttributeProto") || !length_prefixed(c, inner)) return false;
        out = {Value::Kind::text, false, 0, text_of(inner)};
        return true;
      case 3:
      case 5:  // double, float
        out.kind = Value::Kind::other;
        return expect(at, f, f.number == 3 ? kFixed64 : kFixed32, "AttributeProto") &&
               fixed(c, f.number == 3 ? 8 : 4, raw);
      default:  // lists and bytes
        out.kind = Value::Kind::other;
        if (f.number > 32)
          return fail(at, fmt::format("unknown field {} of AttributeProto", f.number), "fields are 1 to 32");
        return expect(at, f, kLength, "AttributeProto") && length_prefixed(c, inner);
    }
  }

  bool assign(Attribute kind, std::string_view name, Value value, const std::uint8_t* at, Draft& draft) {
    if (kind == kGroup && value.kind == Value::Kind::text && !as_integer(value))
      return fail(at, fmt::format("pg_name '{}' is not an integer", value.text.substr(0, 80)),
                  "pg_name holds a group id of the group file, as text");
    if (value.kind != Value::Kind::integer)
      return fail(at, fmt::format("attribute {} is not an integer", name), "any integer kind of the schema will do");
    const std::int64_t v = value.integer;
    const auto within = [&](std::int64_t low, std::int64_t high) {
      if (!value.too_large && v >= low && v <= high) return true;
      return fail(at,
                  fmt::format("attribute {} = {} is out of range", name,
                              value.too_large ? fmt::to_string(static_cast<std::uint64_t>(v)) : fmt::to_string(v)),
                  fmt::format("expected {} to {}", low, high));
    };
    constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
    draft.seen |= kind;
    ChakraNode& node = draft.node;
    switch (kind) {
      case kNumOps: node.num_ops = v; return within(0, kMaxQuantity);
      case kTensorSize: node.tensor_size = v; return within(0, kMaxQuantity);
      case kCommSize: node.comm_size = v; return within(0, kMaxQuantity);
      case kCommType: node.comm_type = static_cast<std::uint8_t>(v); return within(0, 9);
      case kCommSrc: node.comm_src = static_cast<std::int32_t>(v); return within(0, kInt32);
      case kCommDst: node.comm_dst = static_cast<std::int32_t>(v); return within(0, kInt32);
      case kCommTag: node.comm_tag = static_cast<std::int32_t>(v); return within(-kInt32 - 1, kInt32);
      case kGroup: node.group = static_cast<std::int32_t>(v); return within(0, kInt32);
      case kCpu: node.is_cpu_op = v != 0; return within(0, 1);
      case kUnused: break;
    }
    return true;
  }

  static bool as_integer(Value& value) {
    std::int64_t parsed = 0;
    const char* first = value.text.data();
    const char* last = first + value.text.size();
    if (!value.text.empty()) {
      const auto [end, error] = std::from_chars(first, last, parsed);
      if (error != std::errc() || end != last) return false;
    }
    value = {Value::Kind::integer, false, parsed, {}};
    return true;
  }

  bool complete(Draft& draft) {
    ChakraNode& node = draft.node;
    node.has_num_ops = (draft.seen & kNumOps) != 0;
    node.has_tensor_size = (draft.seen & kTensorSize) != 0;
    const auto require = [&](std::uint32_t bit, std::string_view name, std::string_view type) {
      if ((draft.seen & bit) != 0) return true;
      return fail(draft.at, fmt::format("attribute {} is missing, and a {} node needs it", name, type),
                  "the writer of this trace left it out; it cannot be guessed");
    };
    switch (node.type) {
      case ChakraType::collective:
        return require(kCommType, "comm_type", "COMM_COLL") && require(kCommSize, "comm_size", "COMM_COLL");
      case ChakraType::send:
        return require(kCommDst, "comm_dst", "COMM_SEND") && require(kCommSize, "comm_size", "COMM_SEND") &&
               require(kCommTag, "comm_tag", "COMM_SEND");
      case ChakraType::receive:
        return require(kCommSrc, "comm_src", "COMM_RECV") && require(kCommSize, "comm_size", "COMM_RECV") &&
               require(kCommTag, "comm_tag", "COMM_RECV");
      case ChakraType::memory_load:
      case ChakraType::memory_store: return require(kTensorSize, "tensor_size", "MEM_LOAD or MEM_STORE");
      default: return true;
    }
  }

  void keep_name(Draft& draft) {
    if (draft.name.empty()) return;
    draft.node.name = static_cast<std::uint32_t>(trace_.names.size());
    const std::size_t length = std::min(draft.name.size(), draft.name.find('\0'));
    trace_.names.append(draft.name.substr(0, length));
    trace_.names.push_back('\0');
  }

  bool ids_are_unique() {
    const auto& nodes = trace_.nodes;
    const auto not_rising = [](const ChakraNode& a, const ChakraNode& b) { return a.id >= b.id; };
    if (std::adjacent_find(nodes.begin(), nodes.end(), not_rising) == nodes.end()) return true;
    std::vector<std::uint64_t> ids;
    ids.reserve(nodes.size());
    for (const ChakraNode& n : nodes) ids.push_back(n.id);
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    if (twice == ids.end()) return true;
    return fail(all_.end, fmt::format("node id {} occurs more than once", *twice),
                "every node of a rank has its own id");
  }

  const std::uint8_t* begin_;
  std::string_view file_;
  bool keep_names_;
  Cursor all_;
  ChakraTrace trace_;
  Draft draft_;  // the node being read
  bool in_node_ = false;
  const std::uint8_t* at_ = nullptr;
  std::string what_;
  std::string hint_;
};

}  // namespace

Result<ChakraTrace> parse_chakra(std::span<const std::byte> bytes, std::string_view file, bool keep_names) {
  return Parser(bytes, file, keep_names).run();
}

}  // namespace photonrail::workload
