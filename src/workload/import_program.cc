#include "workload/import_program.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "workload/import_classes.h"

namespace photonrail::workload {
namespace {

using model::Collective;
using model::Dimension;
using model::Task;
using model::TaskIndex;
using model::TaskKind;

constexpr std::uint8_t kReduce = 1;
constexpr std::uint8_t kGather = 3;
constexpr std::uint8_t kScatter = 4;

bool is_message(const ChakraNode& node) { return node.type == ChakraType::send || node.type == ChakraType::receive; }
bool is_empty(const ChakraNode& node) { return node.type == ChakraType::metadata || node.type == ChakraType::invalid; }

Collective collective_of(std::uint8_t comm_type) {
  switch (comm_type) {
    case 0: return Collective::all_reduce;
    case 2: return Collective::all_gather;
    case 5: return Collective::broadcast;
    case 6: return Collective::all_to_all;
    case 7:
    case 8: return Collective::reduce_scatter;
    case 9: return Collective::barrier;
    default: return Collective::none;
  }
}

const char* name_of(std::uint8_t comm_type) {
  return comm_type == kReduce    ? "REDUCE"
         : comm_type == kGather  ? "GATHER"
         : comm_type == kScatter ? "SCATTER"
                                 : "unknown";
}

// A trace's nodes in the order of their ids, looked up by id.
class NodeOrder {
 public:
  explicit NodeOrder(const ChakraTrace& trace) : trace_(trace), order_(trace.nodes.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return trace.nodes[a].id < trace.nodes[b].id; });
  }
  const std::vector<std::uint32_t>& nodes() const { return order_; }
  std::uint32_t position(std::uint64_t id) const {
    const auto at = std::lower_bound(order_.begin(), order_.end(), id, [&](std::uint32_t a, std::uint64_t wanted) {
      return trace_.nodes[a].id < wanted;
    });
    if (at == order_.end() || trace_.nodes[*at].id != id) return kNoIndex;
    return static_cast<std::uint32_t>(at - order_.begin());
  }

 private:
  const ChakraTrace& trace_;
  std::vector<std::uint32_t> order_;  // indices into trace.nodes
};

// Calls visit(node index, occurrence) for every message, in the order of ids.
template <class Visit>
void visit_messages(const ChakraTrace& trace, const NodeOrder& order, Visit visit) {
  std::map<std::tuple<bool, std::int32_t, std::int32_t>, std::uint32_t> seen;  // (is send, slot, tag)
  for (const std::uint32_t i : order.nodes()) {
    const ChakraNode& node = trace.nodes[i];
    if (!is_message(node)) continue;
    const bool is_send = node.type == ChakraType::send;
    visit(i, seen[{is_send, is_send ? node.comm_dst : node.comm_src, node.comm_tag}]++);
  }
}

class ProgramBuilder {
 public:
  ProgramBuilder(const TraceSet& traces, std::uint32_t trace, std::uint32_t rank, const TagTable& tags,
                 const ImportOptions& options)
      : traces_(traces), trace_(traces.traces[trace]), rank_(rank), tags_(tags), options_(options), order_(trace_) {}

  Result<TraceProgram> run() {
    PR_TRY(resolve());
    select();
    occurrence_.assign(trace_.nodes.size(), 0);
    visit_messages(trace_, order_, [&](std::uint32_t i, std::uint32_t occurrence) { occurrence_[i] = occurrence; });
    out_.program.dependency_start.push_back(0);
    for (std::uint32_t p = 0; p < order_.nodes().size(); ++p) {
      if (task_of_[p] == kNoIndex) continue;
      PR_ASSIGN(Task task, make_task(order_.nodes()[p]));
      out_.program.tasks.push_back(task);
      out_.node_of.push_back(order_.nodes()[p]);
      for (std::uint32_t d = needs_start_[p]; d < needs_start_[p + 1]; ++d) {
        if (task_of_[needs_[d]] != kNoIndex) out_.program.dependencies.push_back(task_of_[needs_[d]]);
      }
      out_.program.dependency_start.push_back(static_cast<std::uint32_t>(out_.program.dependencies.size()));
    }
    PR_TRY(refuse_cycle());
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> refuse(const ChakraNode& node, const std::string& what) const {
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: {}: {}", traces_.source, describe_node(traces_, rank_, node), what));
  }

  // Dependencies as positions in the order of ids.
  Status resolve() {
    needs_start_.push_back(0);
    for (const std::uint32_t i : order_.nodes()) {
      for (const std::uint64_t id : trace_.needs(trace_.nodes[i])) {
        const std::uint32_t position = order_.position(id);
        if (position == kNoIndex)
          return refuse(trace_.nodes[i],
                        fmt::format("depends on node {}, which this rank does not have\n  hint: the trace is "
                                    "incomplete, or was cut out of a larger one",
                                    id));
        needs_.push_back(position);
      }
      needs_start_.push_back(static_cast<std::uint32_t>(needs_.size()));
    }
    return {};
  }

  // Metadata that stands alone is left out.
  void select() {
    std::vector<bool> is_needed(order_.nodes().size(), false);
    for (const std::uint32_t position : needs_) is_needed[position] = true;
    task_of_.assign(order_.nodes().size(), kNoIndex);
    std::uint32_t tasks = 0;
    for (std::uint32_t p = 0; p < task_of_.size(); ++p) {
      const bool alone = needs_start_[p] == needs_start_[p + 1] && !is_needed[p];
      if (!is_empty(trace_.nodes[order_.nodes()[p]]) || !alone) task_of_[p] = tasks++;
    }
  }

  Result<Task> make_task(std::uint32_t index) const {
    const ChakraNode& node = trace_.nodes[index];
    Task task;
    switch (node.type) {
      case ChakraType::invalid:
      case ChakraType::metadata: return task;
      case ChakraType::compute: return make_compute(node);
      case ChakraType::memory_load:
      case ChakraType::memory_store:
        return refuse(node,
                      "loads from or stores to remote memory, which a training fabric does not have\n  hint: drop the "
                      "node, or give its time as a COMP node with duration_micros");
      case ChakraType::collective: break;
      case ChakraType::send:
      case ChakraType::receive:
        if (node.is_cpu_op) return refuse(node, "a message of the processor (is_cpu_op) is not understood");
        task.kind = node.type == ChakraType::send ? TaskKind::send : TaskKind::receive;
        task.slot = static_cast<model::Slot>(node.type == ChakraType::send ? node.comm_dst : node.comm_src);
        task.ordinal = tags_.ordinal(node.comm_tag, occurrence_[index]);
        task.dimension = Dimension::pipeline;
        return sized(task, node);
    }
    if (node.is_cpu_op) return refuse(node, "a collective of the processor (is_cpu_op) is not understood");
    task.kind = TaskKind::collective;
    task.collective = collective_of(node.comm_type);
    task.slot = static_cast<model::Slot>(node.group);
    if (task.collective == Collective::none) {
      return refuse(node,
                    fmt::format("collective {} is not understood\n  hint: all-reduce, all-gather, reduce-scatter, "
                                "all-to-all, broadcast and barrier are",
                                name_of(node.comm_type)));
    }
    return sized(task, node);
  }

  Result<Task> sized(Task task, const ChakraNode& node) const {
    const double bytes = static_cast<double>(node.comm_size) * options_.comm_bytes_per_unit;
    if (!(bytes < 0x1p60)) return refuse(node, fmt::format("{} bytes are more than 2^60", bytes));
    const bool whole = options_.comm_bytes_per_unit == 1.0;
    task.bytes = {whole ? node.comm_size : static_cast<std::int64_t>(bytes + 0.5)};
    return task;
  }

  Result<Task> make_compute(const ChakraNode& node) const {
    if (node.is_cpu_op && options_.cpu_ops == CpuOps::refuse) {
      return refuse(node,
                    "an operation of the processor (is_cpu_op): a rank has no processor of its own here\n  hint: allow "
                    "them to take turns with GPU operations, or drop them from the trace");
    }
    Task task;
    const bool by_roofline = options_.compute_time == ComputeTime::roofline_else_replay && node.has_num_ops &&
                             node.has_tensor_size && !node.is_cpu_op;
    if (!by_roofline) {
      if (node.duration_micros > static_cast<std::uint64_t>(Time::max().ps) / 1'000'000 / 1000)
        return refuse(node, fmt::format("a duration of {} us is longer than 2.5 hours", node.duration_micros));
      task.duration = microseconds(static_cast<std::int64_t>(node.duration_micros));
      return task;
    }
    const double per_op = options_.num_ops_unit == OpsUnit::multiply_accumulates ? 2.0 : 1.0;
    task.flops = static_cast<double>(node.num_ops) * per_op;
    const double bytes = static_cast<double>(node.tensor_size) * options_.tensor_bytes_per_unit;
    if (!(bytes < 0x1p60)) return refuse(node, fmt::format("{} bytes of memory are more than 2^60", bytes));
    task.memory = {static_cast<std::int64_t>(bytes)};
    const double seconds = operators::roofline_seconds({task.flops, bytes}, options_.gpu);
    if (!(seconds < 10'000.0))
      return refuse(node, fmt::format("takes {} s by the roofline: more than 2.5 hours", seconds));
    task.duration = time_from_seconds(seconds);
    return task;
  }

  // Kahn's algorithm; what stays behind holds a cycle, which is then walked for the message.
  Status refuse_cycle() const {
    const model::Program& program = out_.program;
    const std::size_t n = program.tasks.size();
    std::vector<std::uint32_t> waiting(n);
    std::vector<std::vector<TaskIndex>> after(n);
    std::vector<TaskIndex> ready;
    for (TaskIndex t = 0; t < n; ++t) {
      waiting[t] = static_cast<std::uint32_t>(program.needs(t).size());
      if (waiting[t] == 0) ready.push_back(t);
      for (const TaskIndex need : program.needs(t)) after[need].push_back(t);
    }
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      for (const TaskIndex next : after[ready[done]]) {
        if (--waiting[next] == 0) ready.push_back(next);
      }
    }
    if (done == n) return {};
    const auto first = static_cast<TaskIndex>(
        std::find_if(waiting.begin(), waiting.end(), [](auto w) { return w > 0; }) - waiting.begin());
    return refuse(node(walk_cycle(waiting, first).front()),
                  "is in a cycle of dependencies: " + cycle_text(waiting, first));
  }

  const ChakraNode& node(TaskIndex task) const { return trace_.nodes[out_.node_of[task]]; }

  std::vector<TaskIndex> walk_cycle(const std::vector<std::uint32_t>& waiting, TaskIndex from) const {
    std::vector<TaskIndex> path;
    std::vector<std::uint32_t> place(waiting.size(), kNoIndex);
    while (place[from] == kNoIndex) {
      place[from] = static_cast<std::uint32_t>(path.size());
      path.push_back(from);
      const auto needs = out_.program.needs(from);
      from = *std::find_if(needs.begin(), needs.end(), [&](TaskIndex need) { return waiting[need] > 0; });
    }
    path.erase(path.begin(), path.begin() + place[from]);
    return path;
  }

  std::string cycle_text(const std::vector<std::uint32_t>& waiting, TaskIndex from) const {
    const std::vector<TaskIndex> cycle = walk_cycle(waiting, from);
    std::string text;
    const std::size_t shown = std::min<std::size_t>(cycle.size(), 8);
    for (std::size_t i = 0; i < shown; ++i) text += fmt::format("{} needs ", node(cycle[i]).id);
    return text + (shown < cycle.size() ? "... needs " : "") + fmt::format("{}", node(cycle.front()).id);
  }

  const TraceSet& traces_;
  const ChakraTrace& trace_;
  std::uint32_t rank_;
  const TagTable& tags_;
  const ImportOptions& options_;
  NodeOrder order_;
  std::vector<std::uint32_t> needs_start_;
  std::vector<std::uint32_t> needs_;       // positions in the order of ids
  std::vector<std::uint32_t> task_of_;     // by position; kNoIndex: left out
  std::vector<std::uint32_t> occurrence_;  // by node: how often its tag came before
  TraceProgram out_;
};

}  // namespace

TagTable::TagTable(const TraceSet& traces) {
  bool needs_table = false;
  for (const ChakraTrace& trace : traces.traces) {
    visit_messages(trace, NodeOrder(trace), [&](std::uint32_t i, std::uint32_t occurrence) {
      needs_table = needs_table || occurrence > 0 || trace.nodes[i].comm_tag < 0;
      pairs_.emplace_back(trace.nodes[i].comm_tag, occurrence);
    });
  }
  if (!needs_table) pairs_.clear();
  std::sort(pairs_.begin(), pairs_.end());
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
}

std::uint32_t TagTable::ordinal(std::int32_t tag, std::uint32_t occurrence) const {
  if (pairs_.empty()) return static_cast<std::uint32_t>(tag);
  return static_cast<std::uint32_t>(std::lower_bound(pairs_.begin(), pairs_.end(), std::pair(tag, occurrence)) -
                                    pairs_.begin());
}

Result<TraceProgram> make_program(const TraceSet& traces, std::uint32_t trace, std::uint32_t rank, const TagTable& tags,
                                  const ImportOptions& options) {
  return ProgramBuilder(traces, trace, rank, tags, options).run();
}

std::string describe_node(const TraceSet& traces, std::uint32_t rank, const ChakraNode& node) {
  const std::string_view name = traces.traces[traces.program_of[rank]].name(node);
  return fmt::format("rank {}, node {}{}", rank, node.id,
                     name.empty() ? "" : fmt::format(" '{}'", name.substr(0, 200)));
}

}  // namespace photonrail::workload
