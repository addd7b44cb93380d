#include "workload/import.h"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "workload/import_classes.h"
#include "workload/import_order.h"
#include "workload/import_program.h"

namespace photonrail::workload {
namespace {

using model::Collective;
using model::Dimension;
using model::GroupId;
using model::Program;
using model::Task;
using model::TaskIndex;
using model::TaskKind;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;
constexpr std::uint32_t kFlowShare =
    16;  // a call is in the flow when 1/16 of the longest chain of computations follows

class Importer {
 public:
  Importer(const TraceSet& traces, const ImportOptions& options) : traces_(traces), options_(options) {}

  Result<ImportedStep> run() {
    PR_TRY(check_options());
    classes_ = classify_ranks(traces_);
    PR_TRY(make_sources());
    PR_TRY(make_programs());
    PR_ASSIGN(NominalOrder order, run_nominally(traces_, classes_, sources_, options_.nominal_rate, programs_));
    infer_dimensions();
    name_messages();
    fill_stages(order);
    make_places();
    assemble();
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> refuse(const std::string& what) const {
    return fail(ErrorCode::invalid_input, fmt::format("{}: {}", traces_.source, what));
  }

  Status check_options() const {
    std::size_t nodes = 0;
    for (const ChakraTrace& trace : traces_.traces) nodes += trace.nodes.size();
    if (nodes == 0) return refuse("the traces hold no nodes: nothing to run");
    const auto ranks = static_cast<std::int64_t>(traces_.ranks());
    if (options_.domain < 1) return refuse(fmt::format("a scale-up domain of {} GPUs", options_.domain));
    if (ranks > options_.domain && ranks % options_.domain != 0)
      return refuse(fmt::format("{} ranks do not fill scale-up domains of {} GPUs\n  hint: set the domain to a divisor",
                                ranks, options_.domain));
    if (options_.nominal_rate.bits_per_second <= 0) return refuse("the nominal rate must be above 0");
    for (const auto& [id, dimension] : options_.dimension_of) {
      if (id != 0 && traces_.groups.members.count(id) == 0)
        return refuse(
            fmt::format("a dimension ({}) is given for group {}, which does not exist", to_text(dimension), id));
    }
    for (const std::vector<bool>& slots : traces_.slot_is_peer) {
      if (slots.size() > 0xffff)
        return refuse(fmt::format("a rank with {} groups and peers: more than 65535", slots.size()));
    }
    return {};
  }

  Status make_sources() {
    const TagTable tags(traces_);
    for (std::uint32_t trace = 0; trace < traces_.traces.size(); ++trace) {
      const auto rank = static_cast<std::uint32_t>(
          std::find(traces_.program_of.begin(), traces_.program_of.end(), trace) - traces_.program_of.begin());
      PR_ASSIGN(TraceProgram source, make_program(traces_, trace, rank, tags, options_));
      sources_.push_back(std::move(source));
    }
    return {};
  }

  std::uint32_t trace_of(std::uint32_t cls) const { return traces_.program_of[classes_.leader[cls]]; }

  // One program per class: payloads by the number of members, groups of one for nothing, names.
  Status make_programs() {
    out_.graph.names.emplace_back();
    for (std::uint32_t c = 0; c < classes_.leader.size(); ++c) {
      const TraceProgram& source = sources_[trace_of(c)];
      Program& program = programs_.emplace_back(source.program);
      const ChakraTrace& trace = traces_.traces[trace_of(c)];
      for (TaskIndex t = 0; t < program.tasks.size(); ++t) {
        Task& task = program.tasks[t];
        const std::string_view name = trace.name(trace.nodes[source.node_of[t]]);
        if (!name.empty()) {
          task.name = static_cast<std::uint32_t>(out_.graph.names.size());
          out_.graph.names.emplace_back(name);
        }
        if (task.kind != TaskKind::collective) continue;
        const std::int64_t members = classes_.slots[c][task.slot].members;
        if (task.collective == Collective::all_gather) {
          if (task.bytes.count > kMaxBytes / members) {
            return refuse(fmt::format("{}: {} bytes from each of {} ranks are more than 2^60",
                                      describe_node(traces_, classes_.leader[c], trace.nodes[source.node_of[t]]),
                                      task.bytes.count, members));
          }
          task.bytes = task.bytes * members;
        }
        if (members == 1) task = nothing_instead_of(task);
      }
    }
    return {};
  }

  static Task nothing_instead_of(const Task& task) {
    Task nothing;
    nothing.name = task.name;
    return nothing;
  }

  // Calls of one slot, by what decides its dimension.
  struct SlotCalls {
    std::size_t total = 0;
    std::size_t all_to_all = 0;
    std::size_t in_flow = 0;
  };

  std::vector<SlotCalls> count_calls(std::uint32_t c) const {
    const Program& program = programs_[c];
    const std::vector<std::uint32_t> after = computations_after(program);
    const std::uint32_t longest = *std::max_element(after.begin(), after.end());
    std::vector<SlotCalls> out(classes_.slots[c].size());
    for (TaskIndex t = 0; t < program.tasks.size(); ++t) {
      const Task& task = program.tasks[t];
      if (task.kind != TaskKind::collective) continue;
      const auto needs = program.needs(t);
      const bool follows = std::any_of(needs.begin(), needs.end(),
                                       [&](TaskIndex need) { return program.tasks[need].kind == TaskKind::compute; });
      SlotCalls& calls = out[task.slot];
      ++calls.total;
      if (task.collective == Collective::all_to_all) ++calls.all_to_all;
      if (follows && after[t] * kFlowShare >= longest && after[t] > 0) ++calls.in_flow;
    }
    return out;
  }

  // Per task: computations in the longest chain of dependents behind it. Programs have no cycle by now.
  static std::vector<std::uint32_t> computations_after(const Program& program) {
    const std::size_t n = program.tasks.size();
    std::vector<std::uint32_t> dependents(n, 0);
    for (const TaskIndex need : program.dependencies) ++dependents[need];
    std::vector<TaskIndex> ready;
    for (TaskIndex t = 0; t < n; ++t) {
      if (dependents[t] == 0) ready.push_back(t);
    }
    std::vector<std::uint32_t> after(n, 0);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const TaskIndex t = ready[i];
      const std::uint32_t with_it = after[t] + (program.tasks[t].kind == TaskKind::compute ? 1 : 0);
      for (const TaskIndex need : program.needs(t)) {
        after[need] = std::max(after[need], with_it);
        if (--dependents[need] == 0) ready.push_back(need);
      }
    }
    return after;
  }

  // Every class of groups gets one dimension, from the lowest class that uses it.
  void infer_dimensions() {
    group_dimension_.assign(classes_.groups.size(), Dimension::none);
    for (std::uint32_t c = 0; c < programs_.size(); ++c) {
      if (programs_[c].tasks.empty()) continue;
      const std::vector<SlotCalls> slots = count_calls(c);
      std::size_t most = 0;
      for (const SlotCalls& calls : slots) most = std::max(most, calls.in_flow);
      for (std::uint32_t s = 0; s < slots.size(); ++s) {
        const SlotView& view = classes_.slots[c][s];
        if (view.is_peer || slots[s].total == 0 || group_dimension_[view.group_class] != Dimension::none) continue;
        group_dimension_[view.group_class] = infer(slots[s], view.members, most);
      }
    }
    for (std::uint32_t c = 0; c < programs_.size(); ++c) {
      for (Task& task : programs_[c].tasks) {
        if (task.kind != TaskKind::collective) continue;
        task.dimension =
            dimension_of_group(traces_.slots[classes_.leader[c]][task.slot], classes_.slots[c][task.slot].group_class);
      }
    }
  }

  Dimension infer(const SlotCalls& calls, std::uint32_t members, std::size_t most_in_flow) const {
    if (calls.all_to_all * 2 > calls.total) return Dimension::expert;
    const bool in_flow = calls.in_flow * 2 > calls.total && calls.in_flow == most_in_flow;
    if (members <= options_.domain && in_flow) return Dimension::tensor;
    return Dimension::data;
  }

  Dimension dimension_of_group(std::int32_t id, std::uint32_t group_class) const {
    const auto given = options_.dimension_of.find(id);
    return given == options_.dimension_of.end() ? group_dimension_[group_class] : given->second;
  }

  void name_messages() {
    for (std::uint32_t c = 0; c < programs_.size(); ++c) {
      for (Task& task : programs_[c].tasks) {
        const bool is_message = task.kind == TaskKind::send || task.kind == TaskKind::receive;
        if (is_message && classes_.slots[c][task.slot].peer.cls == c) task.dimension = Dimension::other;
      }
    }
  }

  void fill_stages(const NominalOrder& order) {
    std::vector<std::uint32_t> stage = order.stage_of;
    const auto unknown = [&](std::uint32_t c) { return stage[c] == kNoIndex; };
    for (const std::vector<SlotRef>& group : classes_.groups) {
      std::uint32_t known = kNoIndex;
      for (const SlotRef& ref : group) known = std::min(known, stage[ref.cls]);
      for (const SlotRef& ref : group) {
        if (unknown(ref.cls)) stage[ref.cls] = known;
      }
    }
    for (const std::uint32_t c : classes_.class_of) out_.graph.stage_of.push_back(unknown(c) ? 0 : stage[c]);
  }

  void make_places() {
    struct Seat {
      std::uint32_t leader;    // lowest rank of the tensor group
      std::uint32_t position;  // in it
      std::uint32_t rank;
    };
    std::vector<Seat> seats;
    std::map<std::int32_t, std::vector<std::uint32_t>> tensor_members;
    for (std::uint32_t rank = 0; rank < traces_.ranks(); ++rank) {
      Seat seat{rank, 0, rank};
      const std::uint32_t c = classes_.class_of[rank];
      for (std::uint32_t s = 0; s < classes_.slots[c].size(); ++s) {
        const SlotView& view = classes_.slots[c][s];
        const std::int32_t id = traces_.slots[rank][s];
        if (view.is_peer || view.members < 2 || dimension_of_group(id, view.group_class) != Dimension::tensor) continue;
        auto [at, fresh] = tensor_members.try_emplace(id);
        if (fresh) at->second = members_of(traces_, id);
        const auto place = std::find(at->second.begin(), at->second.end(), rank) - at->second.begin();
        seat = {*std::min_element(at->second.begin(), at->second.end()), static_cast<std::uint32_t>(place), rank};
        break;
      }
      seats.push_back(seat);
    }
    std::sort(seats.begin(), seats.end(), [](const Seat& a, const Seat& b) {
      return std::tie(a.leader, a.position, a.rank) < std::tie(b.leader, b.position, b.rank);
    });
    const auto domain = static_cast<std::uint32_t>(options_.domain);
    out_.domain_of.resize(seats.size());
    out_.local_of.resize(seats.size());
    for (std::uint32_t i = 0; i < seats.size(); ++i) {
      out_.domain_of[seats[i].rank] = i / domain;
      out_.local_of[seats[i].rank] = i % domain;
    }
  }

  void assemble() {
    model::TaskGraph& graph = out_.graph;
    graph.programs = std::move(programs_);
    graph.program_of = classes_.class_of;
    std::map<std::int32_t, GroupId> index_of;
    graph.slot_start.push_back(0);
    for (std::uint32_t rank = 0; rank < traces_.ranks(); ++rank) {
      const std::uint32_t c = classes_.class_of[rank];
      for (std::uint32_t s = 0; s < traces_.slots[rank].size(); ++s) {
        const std::int32_t value = traces_.slots[rank][s];
        const SlotView& view = classes_.slots[c][s];
        if (view.is_peer) {
          graph.slots.push_back(static_cast<std::uint32_t>(value));
          continue;
        }
        const auto [at, fresh] = index_of.emplace(value, static_cast<GroupId>(graph.groups.size()));
        if (fresh) graph.groups.push_back({dimension_of_group(value, view.group_class), members_of(traces_, value)});
        graph.slots.push_back(at->second);
      }
      graph.slot_start.push_back(static_cast<std::uint32_t>(graph.slots.size()));
    }
    note_inference(index_of);
  }

  void note_inference(const std::map<std::int32_t, GroupId>& index_of) {
    std::map<std::pair<Dimension, std::size_t>, std::pair<std::size_t, std::int32_t>> kinds;  // -> count, lowest id
    for (const auto& [id, index] : index_of) {
      const model::Group& group = out_.graph.groups[index];
      ++kinds.try_emplace({group.dimension, group.members.size()}, 0, id).first->second.first;
    }
    for (const auto& [kind, what] : kinds) {
      if (kind.second == 1) continue;
      out_.notes.push_back(fmt::format("{} group{} of {} rank{} (such as group {}) taken as {}", what.first,
                                       what.first == 1 ? "" : "s", kind.second, kind.second == 1 ? "" : "s",
                                       what.second, to_text(kind.first)));
    }
    const std::uint32_t last = *std::max_element(out_.graph.stage_of.begin(), out_.graph.stage_of.end());
    out_.notes.push_back(fmt::format("{} ranks in {} kinds, {} pipeline stage{}", traces_.ranks(),
                                     classes_.leader.size(), last + 1, last == 0 ? "" : "s"));
  }

  const TraceSet& traces_;
  const ImportOptions& options_;
  RankClasses classes_;
  std::vector<TraceProgram> sources_;       // per trace
  std::vector<Program> programs_;           // per class
  std::vector<Dimension> group_dimension_;  // per class of groups
  ImportedStep out_;
};

}  // namespace

Result<ImportedStep> import_step(const TraceSet& traces, const ImportOptions& options) {
  return Importer(traces, options).run();
}

Result<model::TaskGraph> import_traces(const TraceSet& traces, const ImportOptions& options) {
  PR_ASSIGN(ImportedStep step, import_step(traces, options));
  return std::move(step.graph);
}

}  // namespace photonrail::workload
