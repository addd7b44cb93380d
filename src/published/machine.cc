#include "published/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace photonrail::published {
namespace {

using workload::ChakraNode;
using workload::ChakraTrace;
using workload::ChakraType;

constexpr std::uint32_t kMaxStages = 12;       // 2^stages topologies are looked at
constexpr std::int64_t kMaxBytes = 1LL << 46;  // of one communication; keeps times far from overflow
constexpr double kMaxComputeNs = 1e15;

struct NodeContext {
  const workload::TraceSet& traces;
  const PublishedConfig& config;
  std::size_t program;

  std::string where(const ChakraNode& node) const {
    const auto first = std::find(traces.program_of.begin(), traces.program_of.end(), program);
    return fmt::format("{}: rank {}, node {}", traces.source, first - traces.program_of.begin(), node.id);
  }
  tl::unexpected<Error> refuse(const ChakraNode& node, const std::string& what) const {
    return fail(ErrorCode::invalid_input, where(node) + ": " + what);
  }
};

Result<Nanoseconds> compute_time(const NodeContext& context, const ChakraNode& node) {
  if (node.num_ops <= 0 || node.tensor_size <= 0) {
    return context.refuse(node,
                          "compute without num_ops and tensor_size above 0; the published simulator drops such a "
                          "node and never starts what depends on it");
  }
  const double peak = context.config.peak_tflops * 1'000'000'000'000.0;
  const double memory = context.config.local_memory_GBps * 1'000'000'000.0;
  const double operations =
      static_cast<double>(node.num_ops) * static_cast<double>(context.config.operations_per_count);
  const double bytes = static_cast<double>(node.tensor_size) * static_cast<double>(context.config.bytes_per_element);
  const double rate = std::min(memory * (operations / bytes), peak);
  const double nanoseconds = operations / rate * 1e9;
  if (!(nanoseconds < kMaxComputeNs)) return context.refuse(node, "compute time above 11 days");
  return static_cast<Nanoseconds>(nanoseconds);
}

Result<CollectiveKind> collective_kind(const NodeContext& context, const ChakraNode& node) {
  switch (node.comm_type) {
    case 0: return CollectiveKind::all_reduce;
    case 2: return CollectiveKind::all_gather;
    case 6: return CollectiveKind::all_to_all;
    case 7: return CollectiveKind::reduce_scatter;
    default: break;
  }
  return context.refuse(node, fmt::format("collective type {}; the published simulator runs all-reduce (0), all-gather "
                                          "(2), all-to-all (6) and reduce-scatter (7)",
                                          node.comm_type));
}

Result<ProgramNode> make_node(const NodeContext& context, const ChakraNode& node) {
  ProgramNode made;
  made.id = node.id;
  if (node.is_cpu_op) return context.refuse(node, "host operation; the published workloads have none");
  if (node.type == ChakraType::compute) {
    PR_ASSIGN(made.duration, compute_time(context, node));
    return made;
  }
  made.size = node.comm_size;
  made.tag = node.comm_tag;
  if (node.type == ChakraType::send) {
    made.kind = NodeKind::send;
    made.slot = static_cast<std::uint32_t>(node.comm_dst);
  } else if (node.type == ChakraType::receive) {
    made.kind = NodeKind::receive;
    made.slot = static_cast<std::uint32_t>(node.comm_src);
  } else if (node.type == ChakraType::collective) {
    made.kind = NodeKind::collective;
    made.slot = static_cast<std::uint32_t>(node.group);
    PR_ASSIGN(made.collective, collective_kind(context, node));
  } else {
    return context.refuse(node, "node type other than compute, send, receive and collective");
  }
  if (made.size > kMaxBytes) return context.refuse(node, fmt::format("comm_size {} above {}", made.size, kMaxBytes));
  made.size *= context.config.bytes_per_element;
  const std::int64_t least = made.kind == NodeKind::collective ? context.config.splits : 1;
  if (made.size < least) {
    return context.refuse(node, fmt::format("comm_size {}; it must be at least {}", node.comm_size, least));
  }
  return made;
}

// Every node must be reachable by finishing what it depends on.
Status check_acyclic(const NodeContext& context, const ChakraTrace& trace, const Program& program) {
  std::vector<std::uint32_t> needs, ready;
  for (std::uint32_t i = 0; i < program.nodes.size(); ++i) {
    needs.push_back(program.nodes[i].needs);
    if (needs.back() == 0) ready.push_back(i);
  }
  std::size_t reached = 0;
  while (!ready.empty()) {
    const ProgramNode& node = program.nodes[ready.back()];
    ready.pop_back();
    ++reached;
    for (std::uint32_t c = 0; c < node.child_count; ++c) {
      const std::uint32_t child = program.children[node.child_start + c];
      if (--needs[child] == 0) ready.push_back(child);
    }
  }
  if (reached == program.nodes.size()) return {};
  const auto stuck = std::find_if(needs.begin(), needs.end(), [](std::uint32_t n) { return n != 0; });
  const std::uint64_t id = program.nodes[static_cast<std::size_t>(stuck - needs.begin())].id;
  for (const ChakraNode& node : trace.nodes) {
    if (node.id == id) return context.refuse(node, "is on, or depends on, a cycle of dependencies");
  }
  return {};
}

Result<Program> make_program(const NodeContext& context, const ChakraTrace& trace) {
  std::vector<const ChakraNode*> sorted;
  for (const ChakraNode& node : trace.nodes) {
    if (node.type != ChakraType::metadata) sorted.push_back(&node);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* x, const auto* y) { return x->id < y->id; });
  Program program;
  std::vector<std::vector<std::uint32_t>> children(sorted.size());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) {
    PR_ASSIGN(ProgramNode node, make_node(context, *sorted[i]));
    const auto needs = trace.needs(*sorted[i]);
    const std::set<std::uint64_t> distinct(needs.begin(), needs.end());
    for (const std::uint64_t id : distinct) {
      const auto found = std::lower_bound(sorted.begin(), sorted.end(), id,
                                          [](const auto* x, std::uint64_t wanted) { return x->id < wanted; });
      if (found == sorted.end() || (*found)->id != id) {
        return context.refuse(*sorted[i], fmt::format("depends on node {}, which is not in the trace", id));
      }
      children[static_cast<std::size_t>(found - sorted.begin())].push_back(i);
    }
    node.needs = static_cast<std::uint32_t>(distinct.size());
    program.nodes.push_back(node);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    program.nodes[i].child_start = static_cast<std::uint32_t>(program.children.size());
    program.nodes[i].child_count = static_cast<std::uint32_t>(children[i].size());
    program.children.insert(program.children.end(), children[i].begin(), children[i].end());
  }
  PR_TRY(check_acyclic(context, trace, program));
  return program;
}

Status check_config(const workload::TraceSet& traces, const PublishedConfig& config) {
  const auto bad = [](const std::string& what) { return fail(ErrorCode::invalid_input, what); };
  const std::uint64_t ranks = std::uint64_t{config.dp} * config.pp * config.tp;
  if (ranks == 0 || config.dp > 65536 || config.pp > 65536 || config.tp > 65536 || ranks != traces.ranks()) {
    return bad(fmt::format("{}: {} ranks, but dp {} x pp {} x tp {} = {}; give degrees that multiply to the ranks",
                           traces.source, traces.ranks(), config.dp, config.pp, config.tp, ranks));
  }
  const bool reconfigurable = config.mode == Mode::on_demand || config.mode == Mode::provisioned;
  if (reconfigurable && config.pp > kMaxStages) {
    return bad(
        fmt::format("pp {}: the published rules keep 2^pp topologies; at most {} stages", config.pp, kMaxStages));
  }
  const auto positive = [](double value) { return value > 0 && value < 1e9; };
  if (!positive(config.scale_out_GBps) || !positive(config.scale_up_GBps) || !positive(config.peak_tflops) ||
      !positive(config.local_memory_GBps)) {
    return bad("rates and peak performance must be above 0 and below 1e9");
  }
  if (config.bytes_per_element < 1 || config.bytes_per_element > 16 || config.operations_per_count < 1 ||
      config.operations_per_count > 16 || !(config.bytes_per_gigabyte >= 1e9 && config.bytes_per_gigabyte < 1.1e9)) {
    return bad("conventions out of range: 1..16 bytes per element and operations per count, GB of 1e9 or 2^30 bytes");
  }
  if (config.splits < 1 || config.splits > 4096) return bad("splits must be in 1..4096");
  if (!(config.latency_ns >= 0 && config.latency_ns < 1e9) || config.endpoint_delay_ns < 1 ||
      config.endpoint_delay_ns > 1'000'000'000 || !(config.delay_ms >= 0 && config.delay_ms < 1e7)) {
    return bad("latency, endpoint delay (at least 1 ns) or switching delay out of range");
  }
  return {};
}

bool is_always_up(const Layout& layout, const MachineGroup& group, const std::vector<MachineMember>& members) {
  for (std::uint32_t topology = 0; topology < layout.topologies(); ++topology) {
    for (std::size_t i = 0; i + 1 < group.members.size(); ++i) {
      const std::uint32_t from = members[group.members[i]].rank, to = members[group.members[i + 1]].rank;
      if (!layout.is_up(topology, from, to)) return false;
    }
  }
  return true;
}

Result<LinkClass> ring_class(const Machine& machine, const MachineGroup& group) {
  LinkClass kind = LinkClass::none;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const std::uint32_t from = machine.members[group.members[i]].rank;
    const std::uint32_t to = machine.members[group.members[(i + 1) % group.members.size()]].rank;
    const LinkClass link = machine.layout.link_class(from, to);
    if (link == LinkClass::none) {
      return fail(
          ErrorCode::invalid_input,
          fmt::format("group {}: ring neighbours {} and {} are joined in no topology; the rank layout is stage x "
                      "(tp x dp) + tp index x dp + dp index",
                      group.id, from, to));
    }
    if (i == 0) kind = link;
    if (kind != link) return LinkClass::none;
  }
  return kind;
}

class MachineBuilder {
 public:
  MachineBuilder(const workload::TraceSet& traces, const PublishedConfig& config) : traces_(traces), config_(config) {}

  Result<Machine> build() {
    PR_TRY(check_config(traces_, config_));
    machine_.layout = {config_.dp, config_.pp, config_.tp};
    machine_.program_of = traces_.program_of;
    for (std::size_t i = 0; i < traces_.traces.size(); ++i) {
      PR_ASSIGN(Program program, make_program({traces_, config_, i}, traces_.traces[i]));
      machine_.programs.push_back(std::move(program));
    }
    for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) PR_TRY(bind_slots(rank));
    const bool is_static = config_.mode == Mode::static_eps || config_.mode == Mode::static_ideal;
    for (MachineGroup& group : machine_.groups) {
      PR_ASSIGN(group.kind, ring_class(machine_, group));
      group.always_up = is_static || is_always_up(machine_.layout, group, machine_.members);
    }
    return std::move(machine_);
  }

 private:
  Status bind_slots(std::uint32_t rank) {
    const std::uint32_t program = traces_.program_of[rank];
    std::vector<std::uint32_t> bound;
    for (std::size_t s = 0; s < traces_.slots[rank].size(); ++s) {
      const std::int32_t value = traces_.slots[rank][s];
      if (traces_.slot_is_peer[program][s]) {
        const auto peer = static_cast<std::uint32_t>(value);
        if (machine_.layout.link_class(rank, peer) == LinkClass::none) {
          return fail(ErrorCode::invalid_input,
                      fmt::format("{}: ranks {} and {} exchange messages but are joined in no topology (dp {}, pp {}, "
                                  "tp {})",
                                  traces_.source, rank, peer, config_.dp, config_.pp, config_.tp));
        }
        bound.push_back(peer);
        continue;
      }
      PR_ASSIGN(const std::uint32_t member, member_of(rank, value));
      bound.push_back(member);
    }
    machine_.slots.push_back(std::move(bound));
    return {};
  }

  Result<std::uint32_t> member_of(std::uint32_t rank, std::int32_t group_id) {
    PR_ASSIGN(const std::uint32_t group, group_index(group_id));
    for (const std::uint32_t member : machine_.groups[group].members) {
      if (machine_.members[member].rank == rank) return member;
    }
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: rank {} uses group {}, of which it is not a member", traces_.source, rank, group_id));
  }

  Result<std::uint32_t> group_index(std::int32_t id) {
    const auto [found, fresh] = index_of_.try_emplace(id, static_cast<std::uint32_t>(machine_.groups.size()));
    if (!fresh) return found->second;
    std::vector<std::uint32_t> ranks;
    if (id == 0) {
      for (std::uint32_t r = 0; r < machine_.ranks(); ++r) ranks.push_back(r);
    } else {
      const auto named = traces_.groups.members.find(id);
      if (named != traces_.groups.members.end()) ranks = named->second;
    }
    if (ranks.size() < 2) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("{}: collective on group {} of {} rank(s); the published simulator never finishes it",
                              traces_.source, id, ranks.size()));
    }
    MachineGroup group;
    group.id = id;
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      group.members.push_back(static_cast<std::uint32_t>(machine_.members.size()));
      machine_.members.push_back({found->second, ranks[i], i});
    }
    machine_.groups.push_back(std::move(group));
    return found->second;
  }

  const workload::TraceSet& traces_;
  const PublishedConfig& config_;
  Machine machine_;
  std::map<std::int32_t, std::uint32_t> index_of_;
};

}  // namespace

Result<Machine> make_machine(const workload::TraceSet& traces, const PublishedConfig& config) {
  return MachineBuilder(traces, config).build();
}

RingShape ring_shape(const ProgramNode& node, std::uint32_t members, std::uint32_t ranks,
                     const PublishedConfig& config) {
  const bool gathers = node.collective == CollectiveKind::all_gather;
  std::int64_t size = node.size;
  std::int64_t chunk = size / config.splits;
  if (!gathers && chunk < static_cast<std::int64_t>(ranks)) {
    chunk = ranks;
    size = chunk * config.splits;
  }
  RingShape shape;
  shape.chunks = static_cast<std::uint32_t>((size + chunk - 1) / chunk);
  shape.message = gathers ? chunk : chunk / members;
  shape.steps = members - 1;
  if (node.collective == CollectiveKind::all_reduce) shape.steps *= 2;
  if (node.collective == CollectiveKind::all_to_all) shape.steps = members * (members - 1) / 2;
  const bool reduces =
      node.collective == CollectiveKind::all_reduce || node.collective == CollectiveKind::reduce_scatter;
  shape.reductions = reduces ? members - 1 : 0;
  // One write and two reads of local memory, each rounded down to a nanosecond.
  shape.reduction = 3 * static_cast<Nanoseconds>(static_cast<double>(shape.message) / config.local_memory_GBps);
  return shape;
}

}  // namespace photonrail::published
