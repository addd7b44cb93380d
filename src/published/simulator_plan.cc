// Collectives whose members send their first message in one instant follow a RingPlan: only the first and the last
// message of each member are events. A change of topology counts links while they become free, so every collective
// under way is unfolded into the events of stepping when a request is accepted, and new ones are stepped until the
// change is done.
//
// Events of the instant of unfolding count as still to come.
//
// Times are exact either way. The order within one instant is kept among computed collectives and among stepped ones,
// but not between the two, so a pipeline stage never has both at once: a collective that must be stepped unfolds the
// others of its stage, and none is computed there until all stepped ones have ended.

#include <algorithm>

#include "published/simulator.h"

namespace photonrail::published {
namespace {

constexpr std::size_t kFewestSends = 3;  // with fewer there is nothing between the first and the last

}  // namespace

std::uint32_t Simulator::turned(std::uint32_t member, std::uint32_t turns) const {
  const MachineMember& from = machine_.members[member];
  const auto& ring = machine_.groups[from.group].members;
  return ring[(from.position + turns) % ring.size()];
}

const RingPlan& Simulator::plan_for(double rate, const RingShape& shape) {
  for (const auto& [known_rate, known_shape, plan] : plans_) {
    if (known_rate == rate && known_shape == shape) return *plan;
  }
  auto plan = std::make_unique<RingPlan>(
      make_ring_plan(shape, network_.timing(rate, shape.message), config_.endpoint_delay_ns));
  plans_.emplace_back(rate, shape, std::move(plan));
  return *std::get<2>(plans_.back());
}

// When the member's first message will leave, as things stand; -1 when that cannot be said.
Nanoseconds Simulator::first_send_of(std::uint32_t member) const {
  const Link& link = network_.link(members_[member].link);
  const Ring& ring = ranks_[machine_.members[member].rank].ring;
  if (link.frees_pending != (link.busy ? 1 : 0) || link.rate == 0) return -1;
  if (ring.first_sent) return link.busy && link.waiting.size() == 1 ? link.free_at : -1;
  if (!link.waiting.empty()) return -1;
  return link.busy ? std::max(ring.ready_at, link.free_at) : ring.ready_at;
}

bool Simulator::starts_together(std::uint32_t group, std::uint32_t sender) const {
  const Ring& first = ranks_[machine_.members[sender].rank].ring;
  for (const std::uint32_t member : machine_.groups[group].members) {
    const Ring& ring = ranks_[machine_.members[member].rank].ring;
    const Member& state = members_[member];
    if (!ring.active || ring.member != member || state.started != members_[sender].started) return false;
    if (ring.chunk != 0 || ring.step != 0 || !(ring.shape == first.shape) || state.arrived != state.received)
      return false;
    if (member != sender && first_send_of(member) != queue_.now()) return false;
  }
  return true;
}

bool Simulator::take_over(const Message& message) {
  const MachineMember& receiver = machine_.members[message.target];
  const auto& ring = machine_.groups[receiver.group].members;
  const std::uint32_t sender = ring[(receiver.position + ring.size() - 1) % ring.size()];
  Group& group = groups_[receiver.group];
  if (!group.exclusive) return false;
  if (group.decided != members_[sender].started) {
    group.decided = members_[sender].started;
    const RingShape& shape = ranks_[machine_.members[sender].rank].ring.shape;
    group.computed = shape.chunks * shape.steps >= kFewestSends && stepping_[group.stage] == 0 &&
                     !network_.is_draining() && starts_together(receiver.group, sender);
    if (!group.computed) {
      step_together(receiver.group);
      return false;
    }
    group.plan = &plan_for(network_.link(members_[sender].link).rate, shape);
    group.shape = shape;
    group.first_sent = queue_.now();
    group.order.clear();
    group.resumed = 0;
    ++group.epoch;
    computed_groups_.push_back(receiver.group);
  }
  if (!group.computed) return false;
  join(sender);
  return true;
}

void Simulator::step_together(std::uint32_t group) {
  unfold_stage(groups_[group].stage);
  stepping_[groups_[group].stage] += machine_.groups[group].members.size();
}

void Simulator::join(std::uint32_t member) {
  Group& group = groups_[machine_.members[member].group];
  Ring& ring = ranks_[machine_.members[member].rank].ring;
  ring.computed = true;
  ring.was_computed = true;
  ring.awaits_message = false;
  members_[member].resumed = false;
  group.order.emplace_back(joins_++, member);
  queue_.push(group.first_sent + group.plan->sent.back(),
              {EventKind::ring_resume, turned(member, group.plan->turns.back()), group.epoch});
}

void Simulator::on_ring_resume(std::uint32_t member, std::uint32_t epoch) {
  const std::uint32_t index = machine_.members[member].group;
  Group& group = groups_[index];
  if (!group.computed || group.epoch != epoch) {
    --void_resumes_;
    return;
  }
  Ring& ring = ranks_[machine_.members[member].rank].ring;
  ring.computed = false;
  ring.chunk = group.shape.chunks - 1;
  ring.step = group.shape.steps - 1;
  ring.awaits_message = true;
  members_[member].resumed = true;
  const auto skipped = static_cast<std::int64_t>(group.plan->sent.size() - 1);
  network_.count_bytes(members_[member].link, skipped * group.shape.message);
  network_.transmit(members_[member].link,
                    {group.shape.message, EventKind::ring_arrival, false, members_[member].next});
  if (++group.resumed != machine_.groups[index].members.size()) return;
  group.computed = false;
  std::erase(computed_groups_, index);
}

void Simulator::find_last_send(Group& group) const {
  const std::vector<Nanoseconds>& sent = group.plan->sent;
  const auto coming = std::lower_bound(sent.begin(), sent.end(), queue_.now() - group.first_sent);
  group.last_send = coming == sent.begin() ? sent.size() : static_cast<std::size_t>(coming - sent.begin()) - 1;
}

void Simulator::unfold_all() {
  const std::vector<std::uint32_t> groups = std::move(computed_groups_);
  computed_groups_.clear();
  unfold(groups);
}

void Simulator::unfold_stage(std::uint32_t stage) {
  std::vector<std::uint32_t> of_stage, others;
  for (const std::uint32_t group : computed_groups_) {
    (groups_[group].stage == stage ? of_stage : others).push_back(group);
  }
  computed_groups_ = std::move(others);
  unfold(of_stage);
}

// Members of all groups in the order of their latest messages: so the events of one instant keep their order.
void Simulator::unfold(const std::vector<std::uint32_t>& groups) {
  struct Entry {
    Nanoseconds last_sent;
    std::uint64_t join;
    std::uint32_t group;
    std::uint32_t member;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  for (const std::uint32_t index : groups) {
    Group& group = groups_[index];
    group.computed = false;
    void_resumes_ += group.order.size() - group.resumed;
    stepping_[group.stage] += machine_.groups[index].members.size() - group.resumed;
    find_last_send(group);
    const bool none = group.last_send == group.plan->sent.size();
    const Nanoseconds last_sent = none ? queue_.now() : group.first_sent + group.plan->sent[group.last_send];
    const std::uint32_t turns = none ? 0 : group.plan->turns[group.last_send];
    for (const auto& [join, member] : group.order) entries.push_back({last_sent, join, index, turned(member, turns)});
  }
  std::sort(entries.begin(), entries.end());
  for (const Entry& entry : entries) {
    const Group& group = groups_[entry.group];
    if (group.last_send == group.plan->sent.size()) {
      unfold_first_send(entry.member);
    } else if (!members_[entry.member].resumed) {
      unfold_sender(group, entry.member);
    }
  }
  for (const Entry& entry : entries) {
    const Group& group = groups_[entry.group];
    const std::uint32_t receiver = members_[entry.member].next;
    if (group.last_send != group.plan->sent.size() && !members_[receiver].resumed) unfold_receiver(group, receiver);
  }
}

// The request comes in the very instant of the first messages: those that were taken over leave now.
void Simulator::unfold_first_send(std::uint32_t member) {
  Ring& ring = ranks_[machine_.members[member].rank].ring;
  ring.computed = false;
  ring.was_computed = false;
  ring.awaits_message = true;
  network_.transmit(members_[member].link, {ring.shape.message, EventKind::ring_arrival, false, members_[member].next});
}

void Simulator::unfold_sender(const Group& group, std::uint32_t member) {
  const auto sends = static_cast<std::int64_t>(group.last_send + 1);
  network_.count_bytes(members_[member].link, sends * group.shape.message);
  const Nanoseconds free_at = group.first_sent + group.plan->sent[group.last_send] + group.plan->timing.hold;
  if (free_at >= queue_.now()) network_.restore_busy(members_[member].link, free_at);
}

void Simulator::unfold_receiver(const Group& group, std::uint32_t member) {
  const std::uint32_t rank = machine_.members[member].rank;
  Ring& ring = ranks_[rank].ring;
  ring.computed = false;
  ring.was_computed = false;
  ring.chunk = static_cast<std::uint32_t>(group.last_send) / group.shape.steps;
  ring.step = static_cast<std::uint32_t>(group.last_send) % group.shape.steps;
  const Nanoseconds now = queue_.now();
  const Nanoseconds arrival = group.first_sent + group.plan->sent[group.last_send] + group.plan->timing.travel;
  if (arrival >= now) {
    ring.awaits_message = true;
    queue_.push(arrival, {EventKind::ring_arrival, member, 0});
    return;
  }
  ++ring.step;
  ring.reduced = ring.step > group.shape.reductions;
  const Nanoseconds delayed = arrival + config_.endpoint_delay_ns;
  const Nanoseconds reduced = delayed + (ring.reduced ? 0 : group.shape.reduction);
  if (delayed >= now) {
    register_job(rank, delayed - now, Job::message_ready, 0);
  } else if (reduced >= now) {
    ring.reduced = true;
    register_job(rank, reduced - now, Job::message_ready, 0);
  } else {
    unfold_next_step(group, member);
  }
}

// The member is past its latest receipt: a new chunk is about to start, or its next message waits for the link.
void Simulator::unfold_next_step(const Group& group, std::uint32_t member) {
  const std::uint32_t rank = machine_.members[member].rank;
  Ring& ring = ranks_[rank].ring;
  ring.reduced = true;
  if (ring.step == group.shape.steps) {
    ++ring.chunk;
    ring.step = 0;
  }
  const Nanoseconds ready = group.first_sent + group.plan->ready[group.last_send];
  if (ready >= queue_.now()) {
    register_job(rank, ready - queue_.now(), Job::message_ready, 0);
    return;
  }
  ring.awaits_message = true;
  network_.restore_waiting(members_[member].link,
                           {group.shape.message, EventKind::ring_arrival, false, members_[member].next});
}

}  // namespace photonrail::published
