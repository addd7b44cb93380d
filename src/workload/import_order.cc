#include "workload/import_order.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <queue>

namespace photonrail::workload {
namespace {

using model::Program;
using model::Task;
using model::TaskIndex;
using model::TaskKind;

struct TaskRef {
  std::uint32_t cls = kNoIndex;
  TaskIndex task = 0;
};

struct Event {
  Time at;
  std::uint64_t sequence = 0;  // ties in the order of scheduling
  TaskRef task;
  friend bool operator>(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.sequence > b.sequence; }
};

template <class T>
using LowestFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

struct ClassState {
  std::vector<std::uint32_t> waiting;      // per task: dependencies that have not finished
  std::vector<std::uint32_t> after_start;  // dependents in compressed rows
  std::vector<TaskIndex> after;
  std::vector<std::vector<TaskIndex>> issued;  // per slot: collectives in the order of issue
  std::vector<TaskRef> partner;                // per send and receive: the other side
  std::vector<bool> is_issued;                 // per task
  LowestFirst<TaskIndex> ready_compute;
  bool is_computing = false;
  std::size_t finished = 0;
};

class NominalRun {
 public:
  NominalRun(const TraceSet& traces, const RankClasses& classes, const std::vector<TraceProgram>& sources, Rate rate,
             std::vector<Program>& programs)
      : traces_(traces),
        classes_(classes),
        sources_(sources),
        rate_(rate),
        programs_(programs),
        states_(programs.size()),
        group_next_(classes.groups.size(), 0),
        group_busy_(classes.groups.size(), false) {
    out_.stage_of.assign(programs.size(), kNoIndex);
  }

  Result<NominalOrder> run() {
    PR_TRY(refuse_silent_members());
    for (std::uint32_t c = 0; c < programs_.size(); ++c) prepare(c);
    for (std::uint32_t c = 0; c < programs_.size(); ++c) PR_TRY(match_messages(c));
    for (std::uint32_t c = 0; c < programs_.size(); ++c) {
      for (TaskIndex t = 0; t < programs_[c].tasks.size(); ++t) {
        if (states_[c].waiting[t] == 0) PR_TRY(issue({c, t}));
      }
      start_compute(c);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      PR_TRY(finish(event.task));
    }
    PR_TRY(refuse_unfinished());
    return std::move(out_);
  }

 private:
  const Task& task(TaskRef ref) const { return programs_[ref.cls].tasks[ref.task]; }
  const ChakraNode& node(TaskRef ref) const {
    const std::uint32_t trace = traces_.program_of[classes_.leader[ref.cls]];
    return traces_.traces[trace].nodes[sources_[trace].node_of[ref.task]];
  }
  std::string describe(TaskRef ref) const { return describe_node(traces_, classes_.leader[ref.cls], node(ref)); }
  tl::unexpected<Error> refuse(ErrorCode code, const std::string& what) const {
    return fail(code, fmt::format("{}: {}", traces_.source, what));
  }
  std::int32_t slot_value(TaskRef ref) const { return traces_.slots[classes_.leader[ref.cls]][task(ref).slot]; }

  Status refuse_silent_members() const {
    for (const std::vector<SlotRef>& group : classes_.groups) {
      const auto silent =
          std::find_if(group.begin(), group.end(), [](const SlotRef& ref) { return ref.slot == kNoIndex; });
      if (silent == group.end()) continue;
      const auto caller =
          std::find_if(group.begin(), group.end(), [](const SlotRef& ref) { return ref.slot != kNoIndex; });
      const std::uint32_t rank = classes_.leader[caller->cls];
      const std::int32_t id = traces_.slots[rank][caller->slot];
      return refuse(
          ErrorCode::invalid_input,
          fmt::format("rank {} calls collectives in group {}, but a member of it never does (such as rank {})\n  hint: "
                      "take the rank out of the group, or add its calls",
                      rank, id, silent_member(rank, id)));
    }
    return {};
  }

  std::uint32_t silent_member(std::uint32_t rank, std::int32_t group) const {
    for (const std::uint32_t member : members_of(traces_, group)) {
      const std::vector<bool>& is_peer = traces_.slot_is_peer[traces_.program_of[member]];
      bool calls = false;
      for (std::size_t s = 0; s < is_peer.size(); ++s)
        calls = calls || (!is_peer[s] && traces_.slots[member][s] == group);
      if (!calls) return member;
    }
    return rank;
  }

  void prepare(std::uint32_t c) {
    const Program& program = programs_[c];
    ClassState& state = states_[c];
    const std::size_t n = program.tasks.size();
    state.waiting.resize(n);
    state.is_issued.assign(n, false);
    state.partner.resize(n);
    state.issued.resize(classes_.slots[c].size());
    state.after_start.assign(n + 1, 0);
    for (const TaskIndex need : program.dependencies) ++state.after_start[need + 1];
    for (std::size_t t = 0; t < n; ++t) state.after_start[t + 1] += state.after_start[t];
    state.after.resize(program.dependencies.size());
    std::vector<std::uint32_t> next(state.after_start.begin(), state.after_start.end() - 1);
    for (TaskIndex t = 0; t < n; ++t) {
      state.waiting[t] = static_cast<std::uint32_t>(program.needs(t).size());
      for (const TaskIndex need : program.needs(t)) state.after[next[need]++] = t;
    }
  }

  // The sends, or receives, of a class in one slot, by tag.
  std::vector<TaskIndex> messages(SlotRef where, TaskKind kind) const {
    std::vector<TaskIndex> list;
    const Program& program = programs_[where.cls];
    for (TaskIndex t = 0; t < program.tasks.size(); ++t) {
      if (program.tasks[t].kind == kind && program.tasks[t].slot == where.slot) list.push_back(t);
    }
    std::sort(list.begin(), list.end(),
              [&](TaskIndex a, TaskIndex b) { return program.tasks[a].ordinal < program.tasks[b].ordinal; });
    return list;
  }

  Status match_messages(std::uint32_t c) {
    for (std::uint32_t s = 0; s < classes_.slots[c].size(); ++s) {
      const SlotView& view = classes_.slots[c][s];
      if (!view.is_peer) continue;
      const bool named_back = view.peer.slot != kNoIndex;
      PR_TRY(match(c, messages({c, s}, TaskKind::send), view.peer.cls,
                   named_back ? messages(view.peer, TaskKind::receive) : std::vector<TaskIndex>{}));
      if (named_back) continue;
      const std::vector<TaskIndex> receives = messages({c, s}, TaskKind::receive);
      if (!receives.empty()) return refuse_lonely({c, receives.front()});
    }
    return {};
  }

  Status match(std::uint32_t from, const std::vector<TaskIndex>& sends, std::uint32_t to,
               const std::vector<TaskIndex>& receives) {
    const std::size_t common = std::min(sends.size(), receives.size());
    for (std::size_t i = 0; i < common; ++i) {
      const TaskRef out{from, sends[i]};
      const TaskRef in{to, receives[i]};
      if (task(out).ordinal != task(in).ordinal) return refuse_lonely(task(out).ordinal < task(in).ordinal ? out : in);
      if (task(out).bytes != task(in).bytes) {
        return refuse(
            ErrorCode::invalid_input,
            fmt::format("sizes differ: {} sends {} bytes to rank {} with tag {}, but node {} there receives {} bytes",
                        describe(out), task(out).bytes.count, slot_value(out), node(out).comm_tag, node(in).id,
                        task(in).bytes.count));
      }
      states_[from].partner[sends[i]] = in;
      states_[to].partner[receives[i]] = out;
    }
    if (sends.size() > common) return refuse_lonely({from, sends[common]});
    if (receives.size() > common) return refuse_lonely({to, receives[common]});
    return {};
  }

  tl::unexpected<Error> refuse_lonely(TaskRef ref) const {
    const bool is_send = task(ref).kind == TaskKind::send;
    return refuse(
        ErrorCode::invalid_input,
        fmt::format("{} without {}: {} {} rank {} with tag {} ({} bytes), and nothing there {} it\n  hint: source, "
                    "destination and tag must be the same on both sides",
                    is_send ? "send" : "receive", is_send ? "receive" : "send", describe(ref),
                    is_send ? "sends to" : "receives from", slot_value(ref), node(ref).comm_tag, task(ref).bytes.count,
                    is_send ? "receives" : "sends"));
  }

  Status issue(TaskRef ref) {
    ClassState& state = states_[ref.cls];
    state.is_issued[ref.task] = true;
    switch (task(ref).kind) {
      case TaskKind::compute: state.ready_compute.push(ref.task); return {};
      case TaskKind::collective: {
        std::vector<TaskIndex>& queue = state.issued[task(ref).slot];
        programs_[ref.cls].tasks[ref.task].ordinal = static_cast<std::uint32_t>(queue.size());
        queue.push_back(ref.task);
        return start_collective(classes_.slots[ref.cls][task(ref).slot].group_class);
      }
      case TaskKind::send:
      case TaskKind::receive: {
        const TaskRef other = state.partner[ref.task];
        if (!states_[other.cls].is_issued[other.task]) return {};
        const bool is_send = task(ref).kind == TaskKind::send;
        note_stage(is_send ? ref.cls : other.cls, is_send ? other.cls : ref.cls);
        schedule(ref, serialization_time(task(ref).bytes, rate_));
        schedule(other, serialization_time(task(ref).bytes, rate_));
        return {};
      }
    }
    return {};
  }

  void note_stage(std::uint32_t from, std::uint32_t to) {
    if (out_.stage_of[from] == kNoIndex) out_.stage_of[from] = 0;
    if (out_.stage_of[to] == kNoIndex) out_.stage_of[to] = out_.stage_of[from] + 1;
  }

  void start_compute(std::uint32_t c) {
    ClassState& state = states_[c];
    if (state.is_computing || state.ready_compute.empty()) return;
    const TaskRef ref{c, state.ready_compute.top()};
    state.ready_compute.pop();
    state.is_computing = true;
    schedule(ref, task(ref).duration);
  }

  Status start_collective(std::uint32_t group) {
    const std::size_t next = group_next_[group];
    if (group_busy_[group]) return {};
    for (const SlotRef& member : classes_.groups[group]) {
      if (states_[member.cls].issued[member.slot].size() <= next) return {};
    }
    const auto call = [&](const SlotRef& member) {
      return TaskRef{member.cls, states_[member.cls].issued[member.slot][next]};
    };
    const TaskRef first = call(classes_.groups[group].front());
    for (const SlotRef& member : classes_.groups[group]) {
      const TaskRef other = call(member);
      if (task(other).collective == task(first).collective && task(other).bytes == task(first).bytes) continue;
      return refuse(
          ErrorCode::invalid_input,
          fmt::format(
              "members of group {} call different collectives as number {}: {} {} of {} bytes, {} {} of {} bytes",
              slot_value(first), next, describe(first), to_text(task(first).collective), task(first).bytes.count,
              describe(other), to_text(task(other).collective), task(other).bytes.count));
    }
    group_busy_[group] = true;
    for (const SlotRef& member : classes_.groups[group])
      schedule(call(member), serialization_time(task(first).bytes, rate_));
    return {};
  }

  // Saturates instead of overflowing: only the order matters here.
  void schedule(TaskRef ref, Time after) {
    constexpr std::int64_t kLate = Time::max().ps / 2;
    events_.push({{std::min(now_.ps, kLate) + std::min(after.ps, kLate)}, sequence_++, ref});
  }

  Status finish(TaskRef ref) {
    ClassState& state = states_[ref.cls];
    ++state.finished;
    if (task(ref).kind == TaskKind::compute) state.is_computing = false;
    if (task(ref).kind == TaskKind::collective) PR_TRY(leave_collective(ref));
    for (std::uint32_t i = state.after_start[ref.task]; i < state.after_start[ref.task + 1]; ++i) {
      const TaskIndex next = state.after[i];
      if (--state.waiting[next] == 0) PR_TRY(issue({ref.cls, next}));
    }
    start_compute(ref.cls);
    return {};
  }

  // The last member to leave lets the next collective of the group start.
  Status leave_collective(TaskRef ref) {
    const std::uint32_t group = classes_.slots[ref.cls][task(ref).slot].group_class;
    const SlotRef& last = classes_.groups[group].back();
    if (last.cls != ref.cls || last.slot != task(ref).slot) return {};
    group_busy_[group] = false;
    ++group_next_[group];
    return start_collective(group);
  }

  Status refuse_unfinished() const {
    std::vector<std::string> waits;
    for (std::uint32_t c = 0; c < programs_.size(); ++c) {
      for (TaskIndex t = 0; t < programs_[c].tasks.size() && states_[c].finished < programs_[c].tasks.size(); ++t) {
        if (states_[c].is_issued[t] && !is_over({c, t}) && waits.size() < 6) waits.push_back(wait_text({c, t}));
      }
    }
    if (waits.empty()) return {};
    return refuse(ErrorCode::deadlock,
                  fmt::format("the ranks wait for each other and never finish:\n  {}\n  hint: every member of "
                              "a group must call its collectives in the same order, and every send needs its "
                              "receive",
                              fmt::join(waits, "\n  ")));
  }

  bool is_over(TaskRef ref) const {
    if (task(ref).kind == TaskKind::collective) {
      return task(ref).ordinal < group_next_[classes_.slots[ref.cls][task(ref).slot].group_class];
    }
    const TaskRef other = states_[ref.cls].partner[ref.task];
    return task(ref).kind == TaskKind::compute || states_[other.cls].is_issued[other.task];
  }

  std::string wait_text(TaskRef ref) const {
    const Task& t = task(ref);
    if (t.kind == TaskKind::collective)
      return fmt::format("{} waits in {} number {} of group {}", describe(ref), to_text(t.collective), t.ordinal,
                         slot_value(ref));
    const TaskRef other = states_[ref.cls].partner[ref.task];
    return fmt::format("{} waits to {} rank {}, whose node {} is not reached", describe(ref),
                       t.kind == TaskKind::send ? "send to" : "receive from", slot_value(ref), node(other).id);
  }

  const TraceSet& traces_;
  const RankClasses& classes_;
  const std::vector<TraceProgram>& sources_;
  Rate rate_;
  std::vector<Program>& programs_;
  std::vector<ClassState> states_;
  std::vector<std::size_t> group_next_;  // per class of groups: collectives that are over
  std::vector<bool> group_busy_;
  LowestFirst<Event> events_;
  std::uint64_t sequence_ = 0;
  Time now_;
  NominalOrder out_;
};

}  // namespace

Result<NominalOrder> run_nominally(const TraceSet& traces, const RankClasses& classes,
                                   const std::vector<TraceProgram>& sources, Rate nominal_rate,
                                   std::vector<Program>& programs) {
  return NominalRun(traces, classes, sources, nominal_rate, programs).run();
}

}  // namespace photonrail::workload
