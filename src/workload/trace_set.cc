#include "workload/trace_set.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "base/digest.h"
#include "workload/trace_set_files.h"

namespace photonrail::workload {
namespace {

constexpr std::uint32_t kMaxRanks = std::uint32_t{1} << 20;
constexpr std::uint32_t kNoProgram = ~std::uint32_t{0};

struct TraceName {
  std::string_view prefix;
  std::uint32_t rank = 0;
};

// "a/workload.17.et" is rank 17 of "a/workload".
std::optional<TraceName> parse_name(std::string_view name) {
  if (!name.ends_with(".et")) return std::nullopt;
  name.remove_suffix(3);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(dot + 1);
  TraceName out{name.substr(0, dot), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.rank);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::uint64_t digest_of(const ChakraTrace& trace) {
  Digest digest;
  for (const ChakraNode& n : trace.nodes) {
    digest.add(n.id);
    digest.add(static_cast<std::uint64_t>(n.type) | std::uint64_t{n.comm_type} << 8 | std::uint64_t{n.is_cpu_op} << 16);
    digest.add_signed(n.num_ops ^ (n.comm_size << 1));
    digest.add_signed(n.tensor_size);
    digest.add(n.duration_micros);
    digest.add_signed(n.comm_src ^ (std::int64_t{n.comm_dst} << 32));
    digest.add_signed(n.comm_tag ^ (std::int64_t{n.group} << 32));
  }
  for (const std::uint64_t d : trace.dependencies) digest.add(d);
  return digest.value();
}

class Reader {
 public:
  Reader(std::string source, std::string prefix, const ReadOptions& options)
      : prefix_(std::move(prefix)), options_(options) {
    set_.source = std::move(source);
  }

  // All prefixes when none was asked for; that there is only one is checked while reading.
  bool wants(std::string_view name) const {
    if (const auto trace = parse_name(name)) return prefix_.empty() || file_name(trace->prefix) == prefix_;
    if (!options_.group_file.empty()) return file_name(name) == file_name(options_.group_file);
    return name.ends_with(".json") && (prefix_.empty() || file_name(name) == prefix_ + ".json");
  }

  Status take(std::string_view name, std::vector<std::byte>& bytes) {
    const auto trace = parse_name(name);
    if (trace) return take_trace(name, *trace, bytes);
    json_texts_.emplace(std::string(name), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return {};
  }

  Result<TraceSet> finish() {
    PR_TRY(check_ranks());
    PR_TRY(read_groups());
    for (std::uint32_t rank = 0; rank < set_.ranks(); ++rank) PR_TRY(check_slots(rank));
    return std::move(set_);
  }

 private:
  tl::unexpected<Error> refuse(const std::string& what) const {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {}", set_.source, what));
  }

  Status take_trace(std::string_view name, TraceName id, const std::vector<std::byte>& bytes) {
    if (files_ == 0) set_.prefix = id.prefix;
    if (id.prefix != set_.prefix) {
      return refuse(fmt::format("holds two sets of traces, '{}' and '{}'\n  hint: name one: {}/{}", set_.prefix,
                                id.prefix, set_.source, file_name(set_.prefix)));
    }
    if (id.rank >= kMaxRanks) return refuse(fmt::format("{}: rank {} is above 1048575", name, id.rank));
    if (id.rank >= set_.ranks()) {
      set_.program_of.resize(id.rank + 1, kNoProgram);
      set_.slots.resize(id.rank + 1);
    }
    if (set_.program_of[id.rank] != kNoProgram)
      return refuse(fmt::format("rank {} is there twice ({})", id.rank, name));
    const std::string shown = fmt::format("{}/{}", set_.source, name);
    PR_ASSIGN(ChakraTrace trace, parse_chakra(bytes, shown, options_.keep_names));
    std::vector<bool> is_peer;
    PR_TRY(bind_slots(trace, id.rank, shown, is_peer));
    set_.program_of[id.rank] = share(std::move(trace), std::move(is_peer));
    set_.bytes_read += bytes.size();
    ++files_;
    if (options_.progress) options_.progress(files_);
    return {};
  }

  // Replaces group ids and peers by slots numbered by first use.
  Status bind_slots(ChakraTrace& trace, std::uint32_t rank, const std::string& shown, std::vector<bool>& is_peer) {
    std::unordered_map<std::int64_t, std::int32_t> known;  // looked up only, never iterated
    std::vector<std::int32_t>& slots = set_.slots[rank];
    const auto slot_of = [&](std::int32_t value, bool peer) {
      const std::int64_t key = std::int64_t{value} * 2 + (peer ? 1 : 0);
      const auto [at, fresh] = known.emplace(key, static_cast<std::int32_t>(slots.size()));
      if (fresh) {
        slots.push_back(value);
        is_peer.push_back(peer);
      }
      return at->second;
    };
    const auto self = static_cast<std::int32_t>(rank);
    for (ChakraNode& node : trace.nodes) {
      if (node.type == ChakraType::collective) {
        node.group = slot_of(node.group, false);
      } else if (node.type == ChakraType::send || node.type == ChakraType::receive) {
        const bool is_send = node.type == ChakraType::send;
        std::int32_t& own = is_send ? node.comm_src : node.comm_dst;
        std::int32_t& other = is_send ? node.comm_dst : node.comm_src;
        if (own != -1 && own != self) {
          return fail(
              ErrorCode::invalid_input,
              fmt::format("{}: node {}: {} = {} in the trace of rank {}\n  hint: a rank can only {} for itself", shown,
                          node.id, is_send ? "comm_src" : "comm_dst", own, rank, is_send ? "send" : "receive"));
        }
        own = -1;
        other = slot_of(other, true);
      }
    }
    return {};
  }

  std::uint32_t share(ChakraTrace trace, std::vector<bool> is_peer) {
    std::vector<std::uint32_t>& same_digest = by_digest_[digest_of(trace)];
    for (const std::uint32_t program : same_digest) {
      if (set_.traces[program] == trace && set_.slot_is_peer[program] == is_peer) return program;
    }
    const auto program = static_cast<std::uint32_t>(set_.traces.size());
    same_digest.push_back(program);
    set_.traces.push_back(std::move(trace));
    set_.slot_is_peer.push_back(std::move(is_peer));
    return program;
  }

  Status check_ranks() const {
    if (files_ == 0) {
      const std::string wanted = prefix_.empty() ? "<name>" : prefix_;
      return refuse(
          fmt::format("no rank found\n  hint: expected trace files {}.0.et, {}.1.et, ... (or .et.gz); Kineto and JSON "
                      "traces are not read, convert them to Chakra .et",
                      wanted, wanted));
    }
    std::vector<std::string> missing;
    for (std::size_t rank = 0; rank < set_.ranks(); ++rank) {
      if (set_.program_of[rank] == kNoProgram) missing.push_back(fmt::to_string(rank));
    }
    if (missing.empty()) return {};
    const std::size_t shown = std::min<std::size_t>(missing.size(), 8);
    return refuse(fmt::format(
        "{} of {} ranks are missing: {}{}\n  hint: the highest rank is {}, so {}.<rank>.et is needed for 0 to {}",
        missing.size(), set_.ranks(),
        fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        missing.size() > shown ? ", ..." : "", set_.ranks() - 1, set_.prefix, set_.ranks() - 1));
  }

  Status read_groups() {
    const std::string name = options_.group_file.empty() ? set_.prefix + ".json" : options_.group_file;
    const auto text = std::find_if(json_texts_.begin(), json_texts_.end(), [&](const auto& entry) {
      return entry.first == name || (!options_.group_file.empty() && file_name(entry.first) == file_name(name));
    });
    if (text == json_texts_.end()) {
      if (!options_.group_file.empty()) return refuse(fmt::format("group file '{}' not found", name));
      return {};
    }
    group_file_ = fmt::format("{}/{}", set_.source, text->first);
    PR_ASSIGN(set_.groups, parse_groups(text->second, group_file_));
    for (const auto& [id, members] : set_.groups.members) {
      const std::uint32_t highest = *std::max_element(members.begin(), members.end());
      if (highest < set_.ranks()) continue;
      return fail(ErrorCode::invalid_input,
                  fmt::format("{}: group {} names rank {}, but the traces are of ranks 0 to {}", group_file_, id,
                              highest, set_.ranks() - 1));
    }
    return {};
  }

  Status check_slots(std::uint32_t rank) const {
    const std::vector<bool>& is_peer = set_.slot_is_peer[set_.program_of[rank]];
    for (std::size_t s = 0; s < is_peer.size(); ++s) {
      const std::int32_t value = set_.slots[rank][s];
      const std::string what = is_peer[s] ? peer_fault(rank, value) : group_fault(rank, value);
      if (!what.empty()) return refuse(fmt::format("rank {} ({}.{}.et): {}", rank, set_.prefix, rank, what));
    }
    return {};
  }

  std::string peer_fault(std::uint32_t rank, std::int32_t peer) const {
    if (static_cast<std::uint32_t>(peer) == rank) {
      return fmt::format("sends to or receives from itself\n  hint: comm_src and comm_dst of a node must differ");
    }
    if (static_cast<std::size_t>(peer) < set_.ranks()) return "";
    return fmt::format("sends to or receives from rank {}, but there are ranks 0 to {} only", peer, set_.ranks() - 1);
  }

  std::string group_fault(std::uint32_t rank, std::int32_t group) const {
    if (group == 0) return "";
    if (group_file_.empty()) {
      return fmt::format(
          "communicates in group {}, but there is no group file\n  hint: put {}.json beside the traces, or "
          "name the group file",
          group, file_name(set_.prefix));
    }
    const auto at = set_.groups.members.find(group);
    if (at == set_.groups.members.end())
      return fmt::format("communicates in group {}, which {} lacks", group, group_file_);
    if (std::find(at->second.begin(), at->second.end(), rank) != at->second.end()) return "";
    return fmt::format("communicates in group {}, of which it is no member by {}", group, group_file_);
  }

  TraceSet set_;
  std::string prefix_;
  const ReadOptions& options_;
  std::size_t files_ = 0;
  std::string group_file_;  // as shown; "" when there is none
  std::map<std::string, std::string> json_texts_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_digest_;  // looked up only, never iterated
};

}  // namespace

Result<TraceSet> read_traces(const std::string& path, const ReadOptions& options) {
  std::error_code error;
  std::string source = path;
  std::string prefix;
  const std::filesystem::path as_path(path);
  const bool is_there = std::filesystem::exists(as_path, error);
  const std::filesystem::path parent = as_path.has_parent_path() ? as_path.parent_path() : std::filesystem::path(".");
  if (!is_there && !error && std::filesystem::is_directory(parent, error) && as_path.has_filename()) {
    const std::string first = path + ".0.et";
    if (std::filesystem::exists(first, error) || std::filesystem::exists(first + ".gz", error)) {
      source = parent.string();
      prefix = as_path.filename().string();
    }
  }
  Reader reader(source, prefix, options);
  PR_TRY(visit_files(
      source, [&](std::string_view name) { return reader.wants(name); },
      [&](std::string_view name, std::vector<std::byte>& bytes) { return reader.take(name, bytes); }));
  return reader.finish();
}

}  // namespace photonrail::workload
