#include "sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "algo/max_min.h"
#include "base/check.h"
#include "base/digest.h"
#include "engine/event_queue.h"
#include "sim/channels.h"
#include "sim/deadlock.h"
#include "sim/state.h"

namespace photonrail::sim {
namespace {

using model::Rank;
using model::TaskIndex;
using model::TaskKind;

// What happens first at one instant: things end, then light comes back, then things begin.
enum EventClass : std::uint8_t { kEnds, kCircuits, kBegins };
enum EventKind : std::uint32_t { kComputeDone, kFlowDone, kCommandDone, kOperationMayStart, kFlowBegins };

constexpr std::uint32_t kIdle = 0xffffffff;
constexpr std::uint64_t kEventLimit = 20'000'000'000;
constexpr Time kLatest{Time::max().ps / 4};  // of any event, some 26 days: instants and their sums stay representable

// Time for `bytes` at `rate` bit/s, rounded up; exact when the rate is a whole number. Never more than Time::max().
Time flow_time(double bytes, double rate) {
  if (bytes * 8e12 / rate > static_cast<double>(kLatest.ps)) return Time::max();
  const double whole = std::floor(rate);
  if (whole == rate && bytes == std::floor(bytes) && rate < 9e18 && bytes < 9e18) {
    return serialization_time({static_cast<std::int64_t>(bytes)}, {static_cast<std::int64_t>(rate)});
  }
  return {static_cast<std::int64_t>(std::ceil(bytes * 8e12 / rate))};
}

class Simulator {
 public:
  Simulator(const model::TaskGraph& graph, const fabric::Fabric& fabric, const RunOptions& options, ChannelTable table)
      : graph_(graph),
        options_(options),
        table_(std::move(table)),
        state_(graph, table_.channels.size()),
        fabric_(fabric),
        shares_(fabric.capacities()) {
    if (options.photonic) make_controller();
  }

  Result<model::RunResult> run() {
    for (std::uint32_t step = 0; step <= options_.warm_up_steps; ++step) {
      recording_ = step == options_.warm_up_steps;
      PR_TRY(run_step());
    }
    return std::move(result_);
  }

 private:
  void make_controller() {
    const PhotonicControl& photonic = *options_.photonic;
    controller_.emplace(control::ControllerSpec{fabric_.ports(), std::max(1U, fabric_.ports_per_gpu()),
                                                photonic.switch_ahead, photonic.rule});
    timer_.emplace(photonic.terms, options_.seed);
    for (const control::Demand& demand : table_.demands) {
      controller_->add_demand(demand);
      if (photonic.fixed_circuits) controller_->preset(demand.circuits);
    }
  }

  Status run_step() {
    state_.reset();
    step_start_ = now_;
    if (recording_) {
      result_ = {};
      result_.ranks.resize(graph_.ranks());
    }
    digest_ = {};
    mispredictions_before_ = controller_ ? controller_->mispredictions() : 0;
    if (controller_) {
      controller_->begin_step();
      take_outputs();
    }
    for (Rank rank = 0; rank < graph_.ranks(); ++rank) start_rank(rank);
    drain();
    while (state_.tasks_left > 0 && !queue_.empty() && !too_late_) {
      const engine::Event event = queue_.pop();
      now_ = event.at;
      PR_CHECK(++events_ < kEventLimit, "more events than any step has");
      handle(event);
      if (queue_.empty() || queue_.next_time() > now_) settle();
    }
    if (too_late_) return never_ends();
    if (state_.tasks_left != 0) {
      return fail(ErrorCode::deadlock,
                  describe_deadlock(graph_, table_, state_, controller_ ? &*controller_ : nullptr));
    }
    ++steps_done_;
    if (recording_) finish_result();
    return {};
  }

  Status never_ends() const {
    return fail(ErrorCode::infeasible,
                fmt::format("step {} of {} would go beyond {:.0f} days of simulated time; look for a wrong unit in the "
                            "rates, sizes and switching times",
                            steps_done_ + 1, options_.warm_up_steps + 1, to_seconds(kLatest) / 86400));
  }

  // The instant `delay` from now. One beyond the last instant ends the run before anything happens there.
  Time after(Time delay) {
    if (delay <= kLatest - now_) return now_ + delay;
    too_late_ = true;
    return kLatest;
  }

  void start_rank(Rank rank) {
    for (TaskIndex task = 0; task < graph_.program(rank).tasks.size(); ++task) {
      if (graph_.program(rank).needs(task).empty()) state_.ready.push_back({rank, task});
    }
  }

  // Issues what has become ready, in order, until nothing is left; zero-time operations do not recurse.
  void drain() {
    for (std::size_t i = 0; i < state_.ready.size(); ++i) issue(state_.ready[i].rank, state_.ready[i].task);
    state_.ready.clear();
    start_computes();
  }

  void issue(Rank rank, TaskIndex index) {
    const model::Task& task = graph_.program(rank).tasks[index];
    state_.issued[state_.at(rank, index)] = true;
    if (task.kind == TaskKind::compute) {
      RankState& r = state_.ranks[rank];
      r.ready_computes.push_back(index);
      std::push_heap(r.ready_computes.begin(), r.ready_computes.end(), std::greater<>());
      if (r.running == kIdle) state_.idle_with_work.push_back(rank);
      return;
    }
    const std::size_t slot = graph_.slot_start[rank] + task.slot;
    join(task.kind == TaskKind::receive ? table_.incoming[slot] : table_.outgoing[slot], rank, index, task);
  }

  void start_computes() {
    for (const Rank rank : state_.idle_with_work) {
      RankState& r = state_.ranks[rank];
      if (r.running != kIdle || r.ready_computes.empty()) continue;
      std::pop_heap(r.ready_computes.begin(), r.ready_computes.end(), std::greater<>());
      r.running = r.ready_computes.back();
      r.ready_computes.pop_back();
      const Time duration = graph_.program(rank).tasks[r.running].duration;
      r.compute += duration;
      queue_.push(after(duration), kEnds, kComputeDone, rank, 0);
    }
    state_.idle_with_work.clear();
  }

  // A rank issues its part of an operation.
  void join(ChannelId channel_id, Rank rank, TaskIndex index, const model::Task& task) {
    const Channel& channel = table_.channels[channel_id];
    const std::uint32_t id = state_.find_or_open(channel_id, task.ordinal);
    OperationState& op = state_.operations[id];
    if (op.members.empty()) {
      op.issued_first = now_;
      op.collective = task.collective;
      op.lane = static_cast<std::uint32_t>(channel.lane_of[static_cast<std::size_t>(task.collective)]);
      op.payload = task.bytes;
      if (controlled(op)) {
        op.control_id = controller_->open(table_.lanes[op.lane].demand);
        if (op.control_id >= state_.by_control_id.size()) state_.by_control_id.resize(op.control_id + 1);
        state_.by_control_id[op.control_id] = id;
      }
    }
    PR_CHECK(op.payload == task.bytes && op.collective == task.collective, "members of an operation disagree");
    op.members.push_back({rank, index});
    if (op.members.size() == channel.members) op.issued_last = now_;
    if (controlled(op)) {
      announce(id, rank);
    } else if (op.members.size() == channel.members) {
      op.granted = true;
      try_start(id);
    }
  }

  // Gang admission: collectives of a group take their tickets in the order in which they will run. One that took its
  // ticket first would hold its ports while it waits for the one before, which may need them for its own issue.
  void announce(std::uint32_t id, Rank rank) {
    OperationState& op = state_.operations[id];
    const Channel& channel = table_.channels[op.channel];
    if (options_.photonic->rule == control::AdmissionRule::naive_lock) {
      controller_->announce(op.control_id, rank);
    } else if (op.members.size() < channel.members) {
      return;
    } else if (channel.point_to_point) {
      announce_all(op);
    } else {
      announce_in_order(state_.channels[op.channel], channel.members);
    }
    take_outputs();
  }

  void announce_all(const OperationState& op) {
    for (const Member& member : op.members) controller_->announce(op.control_id, member.rank);
  }

  void announce_in_order(ChannelState& line, std::size_t members) {
    for (;;) {
      const auto next = std::find_if(line.open.begin(), line.open.end(), [&](std::uint32_t id) {
        const OperationState& op = state_.operations[id];
        return op.ordinal == line.next_ticket && op.members.size() == members;
      });
      if (next == line.open.end()) return;
      ++line.next_ticket;
      announce_all(state_.operations[*next]);
    }
  }

  bool controlled(const OperationState& op) const {
    return controller_ && table_.lanes[op.lane].demand != control::kNoDemand;
  }

  // Carries out what the controller decided, with the time that messages and devices take.
  void take_outputs() {
    control::Outputs& out = controller_->outputs();
    // Handling a grant may start an operation, which calls the controller only through later events; so no new output
    // appears while these are read.
    for (const control::SwitchCommand& command : out.commands) send_command(command);
    for (const control::Grant& grant : out.grants) accept_grant(grant);
    out.commands.clear();
    out.grants.clear();
  }

  void send_command(const control::SwitchCommand& command) {
    const PhotonicControl& photonic = *options_.photonic;
    Time path;
    if (!photonic.free_control_path)
      path = sum_of_delays(timer_->message(command.rail), timer_->accepted(command.rail));
    if (command.id >= state_.switches.size()) state_.switches.resize(command.id + 1);
    const Time dark = after(path);
    const Time done = std::max(dark, after(sum_of_delays(path, timer_->blind(command.rail))));
    state_.switches[command.id] = {
        command.rail, static_cast<std::uint32_t>(command.connect.size() * 2), command.ahead, now_, dark, done, {}};
    queue_.push(done, kCircuits, kCommandDone, command.id, 0);
  }

  void accept_grant(const control::Grant& grant) {
    const std::uint32_t id = state_.by_control_id[grant.operation];
    OperationState& op = state_.operations[id];
    Time message;
    // A switch just answered (its command's message time covers the request), a batch covers it, or nothing is charged.
    const bool paid = answered_ || grant.covered || options_.photonic->free_control_path;
    if (!paid) message = timer_->message(controller_->demand(controller_->demand_of(grant.operation)).rail);
    if (answered_) note_exposure(op);
    queue_.push(after(message), kBegins, kOperationMayStart, id, 0);
  }

  void note_exposure(const OperationState& op) {
    model::SwitchRecord& record = *answered_;
    record.exposed = std::max(record.exposed, now_ - std::max(record.requested, op.issued_last));
  }

  void command_done(control::CommandId command) {
    answered_ = state_.switches[command];
    controller_->command_done(command);
    take_outputs();
    digest_.add_signed((answered_->finished - step_start_).ps);
    if (recording_) result_.switches.push_back(shifted(*answered_));
    answered_.reset();
  }

  // Collectives of one group start in order; messages of a pair need not wait for each other.
  void try_start(std::uint32_t id) {
    OperationState& op = state_.operations[id];
    const Channel& channel = table_.channels[op.channel];
    ChannelState& line = state_.channels[op.channel];
    if (!op.granted || (!channel.point_to_point && (line.busy || line.next != op.ordinal))) return;
    line.busy = true;
    op.running = true;
    op.started = now_;
    const Lane& lane = table_.lanes[op.lane];
    op.flow_bytes = static_cast<double>(op.payload.count) * lane.footprint.bytes_per_payload;
    const Time latency = lane.footprint.latency;
    if (op.flow_bytes == 0 || lane.footprint.usage.empty()) {
      queue_.push(after(latency), kEnds, kFlowDone, id, op.version);
    } else if (channel.is_private) {
      queue_.push(after(sum_of_delays(latency, flow_time(op.flow_bytes, lane.solo_rate))), kEnds, kFlowDone, id,
                  op.version);
    } else {
      queue_.push(after(latency), kBegins, kFlowBegins, id, op.version);
    }
  }

  void begin_flow(std::uint32_t id) {
    OperationState& op = state_.operations[id];
    op.remaining = op.flow_bytes;
    op.updated = now_;
    op.rate = 0;
    op.flowing = true;
    shares_.add(id, table_.lanes[op.lane].footprint.usage);
    unsettled_ = true;
  }

  // New fair rates after the flows of this instant have come and gone.
  void settle() {
    if (!unsettled_) return;
    unsettled_ = false;
    for (const algo::ActivityId id : shares_.settle()) {
      OperationState& op = state_.operations[id];
      const double elapsed = to_seconds(now_ - op.updated);
      if (elapsed > 0) op.remaining = std::max(0.0, op.remaining - op.rate / 8 * elapsed);
      op.updated = now_;
      op.rate = shares_.rate(id);
      PR_CHECK(op.rate > 0, "a flow without a rate");
      queue_.push(after(flow_time(op.remaining, op.rate)), kEnds, kFlowDone, id, ++op.version);
    }
  }

  void finish_operation(std::uint32_t id) {
    OperationState& op = state_.operations[id];
    const Channel& channel = table_.channels[op.channel];
    if (op.flowing) {
      shares_.remove(id);
      unsettled_ = true;
    }
    record_operation(op, channel);
    if (!channel.point_to_point) {
      state_.channels[op.channel].busy = false;
      ++state_.channels[op.channel].next;
    }
    for (const Member& member : op.members) complete_task(member.rank, member.task);
    const bool was_controlled = controlled(op);
    const control::OperationId control_id = op.control_id;
    const ChannelId channel_id = op.channel;
    state_.close(id);
    if (was_controlled) {
      controller_->complete(control_id);
      take_outputs();
    }
    if (!channel.point_to_point) start_successor(channel_id);
  }

  void start_successor(ChannelId channel) {
    for (const std::uint32_t id : state_.channels[channel].open) {
      if (state_.operations[id].ordinal == state_.channels[channel].next) {
        if (state_.operations[id].granted) try_start(id);
        return;
      }
    }
  }

  void complete_task(Rank rank, TaskIndex index) {
    --state_.tasks_left;
    state_.ranks[rank].finished = now_;
    const ProgramSuccessors& next = state_.successors[graph_.program_of[rank]];
    for (const TaskIndex successor : next.of(index)) {
      std::uint32_t& left = state_.needs_left[state_.at(rank, successor)];
      if (--left == 0) state_.ready.push_back({rank, successor});
    }
  }

  void handle(const engine::Event& event) {
    switch (event.kind) {
      case kComputeDone: {
        RankState& r = state_.ranks[event.a];
        const TaskIndex task = r.running;
        r.running = kIdle;
        complete_task(event.a, task);
        state_.idle_with_work.push_back(event.a);
        break;
      }
      case kFlowBegins: begin_flow(event.a); break;
      case kFlowDone:
        if (state_.operations[event.a].version != event.b) return;
        finish_operation(event.a);
        break;
      case kCommandDone: command_done(event.a); break;
      case kOperationMayStart:
        state_.operations[event.a].granted = true;
        try_start(event.a);
        break;
      default: PR_CHECK(false, "an event of no kind");
    }
    drain();
    report_progress();
  }

  void report_progress() {
    if (!options_.progress || (events_ & 0xffff) != 0) return;
    const double step_share = 1 - static_cast<double>(state_.tasks_left) / static_cast<double>(state_.tasks);
    options_.progress((static_cast<double>(steps_done_) + step_share) / (options_.warm_up_steps + 1));
  }

  void record_operation(const OperationState& op, const Channel& channel) {
    digest_.add(op.channel);
    digest_.add(op.ordinal);
    digest_.add_signed((op.started - step_start_).ps);
    digest_.add_signed((now_ - step_start_).ps);
    if (!recording_) return;
    const Lane& lane = table_.lanes[op.lane];
    const auto wire = std::llround(static_cast<double>(op.payload.count) * lane.footprint.wire_per_payload);
    result_.wire_bytes[static_cast<std::size_t>(channel.dimension)] += wire;
    if (lane.footprint.path == model::Path::scale_up && !options_.record_scale_up) return;
    model::CommRecord record;
    record.collective = op.collective;
    record.dimension = channel.dimension;
    record.path = lane.footprint.path;
    record.group = channel.group;
    record.leader = channel.leader;
    record.peer = channel.peer;
    record.ordinal = op.ordinal;
    record.rail = fabric_.layout().local_of(channel.leader);
    record.stage = graph_.stage_of[channel.leader];
    record.stage_peer = graph_.stage_of[channel.peer];
    record.issued_first = op.issued_first - step_start_;
    record.issued_last = op.issued_last - step_start_;
    record.started = op.started - step_start_;
    record.finished = now_ - step_start_;
    record.wire_bytes = {wire};
    result_.communications.push_back(record);
  }

  model::SwitchRecord shifted(model::SwitchRecord record) const {
    record.requested -= step_start_;
    record.started -= step_start_;
    record.finished -= step_start_;
    return record;
  }

  void finish_result() {
    Time last = step_start_;
    for (Rank rank = 0; rank < graph_.ranks(); ++rank) {
      const RankState& r = state_.ranks[rank];
      last = std::max(last, r.finished);
      const Time finished = std::max(r.finished, step_start_) - step_start_;
      result_.ranks[rank] = {finished, r.compute, finished - r.compute};
      result_.flops += state_.program_flops[graph_.program_of[rank]];
      digest_.add_signed(finished.ps);
    }
    result_.iteration_time = last - step_start_;
    result_.events = events_;
    result_.mispredictions = controller_ ? controller_->mispredictions() - mispredictions_before_ : 0;
    result_.digest = digest_.value();
  }

  const model::TaskGraph& graph_;
  const RunOptions& options_;
  ChannelTable table_;
  State state_;
  const fabric::Fabric& fabric_;
  algo::FairShare shares_;
  std::optional<control::Controller> controller_;
  std::optional<SwitchTimer> timer_;
  engine::EventQueue queue_;
  Time now_;
  Time step_start_;
  std::uint64_t events_ = 0;
  std::uint32_t steps_done_ = 0;
  std::uint64_t mispredictions_before_ = 0;
  bool unsettled_ = false;
  bool recording_ = false;
  bool too_late_ = false;                        // something would happen after kLatest
  std::optional<model::SwitchRecord> answered_;  // the command whose answer is being handled
  Digest digest_;
  model::RunResult result_;
};

}  // namespace

Result<model::RunResult> run(const model::TaskGraph& graph, const fabric::Fabric& fabric, const RunOptions& options) {
  PR_ASSIGN(ChannelTable table, make_channels(graph, fabric));
  return Simulator(graph, fabric, options, std::move(table)).run();
}

}  // namespace photonrail::sim
