#include <algorithm>

#include "base/check.h"
#include "published/simulator.h"

namespace photonrail::published {

bool Simulator::start_collective(std::uint32_t rank, std::uint32_t node) {
  const ProgramNode& collective = machine_.program(rank).nodes[node];
  const std::uint32_t member = machine_.slots[rank][collective.slot];
  const MachineGroup& group = machine_.groups[machine_.members[member].group];
  if (!group.always_up && !vote(rank, member)) return false;
  Rank& state = ranks_[rank];
  state.communicating = true;
  note_start(rank, node);
  ++members_[member].started;
  state.ring = Ring{};
  state.ring.active = true;
  state.ring.member = member;
  state.ring.node = node;
  state.ring.shape =
      ring_shape(collective, static_cast<std::uint32_t>(group.members.size()), machine_.ranks(), config_);
  if (!state.ending_collective) start_chunk(rank);
  return true;
}

bool Simulator::votes_complete(const MachineGroup& group, std::uint32_t round) const {
  return std::all_of(group.members.begin(), group.members.end(),
                     [&](std::uint32_t m) { return members_[m].votes > round; });
}

bool Simulator::vote(std::uint32_t rank, std::uint32_t member) {
  const std::uint32_t index = machine_.members[member].group;
  const MachineGroup& group = machine_.groups[index];
  Group& state = groups_[index];
  Member& mine = members_[member];
  if (mine.votes <= mine.finishes) ++mine.votes;
  if (mine.votes > state.finish_rounds + 1) return false;
  if (!votes_complete(group, state.finish_rounds)) return false;
  if (state.vote_rounds != state.finish_rounds) return true;
  if (!ask_data(rank)) return false;
  note(LogEntry::Kind::leader, rank, group.id, 0);
  ++in_flight_;
  ++state.vote_rounds;
  if (!config_.wake_members) return true;
  for (const std::uint32_t other : group.members) {
    if (other != member) queue_.push(queue_.now(), {EventKind::wake, machine_.members[other].rank, 0});
  }
  return true;
}

void Simulator::end_round(std::uint32_t member) {
  const std::uint32_t index = machine_.members[member].group;
  Group& state = groups_[index];
  ++members_[member].finishes;
  const auto& all = machine_.groups[index].members;
  const bool complete =
      std::all_of(all.begin(), all.end(), [&](std::uint32_t m) { return members_[m].finishes > state.finish_rounds; });
  if (!complete) return;
  --in_flight_;
  ++state.finish_rounds;
}

void Simulator::start_chunk(std::uint32_t rank) {
  Ring& ring = ranks_[rank].ring;
  ring.step = 0;
  ring.reduced = true;
  ring.ready_at = queue_.now() + config_.endpoint_delay_ns;
  register_job(rank, config_.endpoint_delay_ns, Job::message_ready, 0);
}

// The endpoint delay before a message is over; a reduction may follow it.
void Simulator::on_message_ready(std::uint32_t rank) {
  Ring& ring = ranks_[rank].ring;
  if (!ring.reduced) {
    ring.reduced = true;
    register_job(rank, ring.shape.reduction, Job::message_ready, 0);
    return;
  }
  if (ring.step < ring.shape.steps) {
    send_step(rank);
  } else {
    end_chunk(rank);
  }
}

void Simulator::send_step(std::uint32_t rank) {
  Ring& ring = ranks_[rank].ring;
  Member& member = members_[ring.member];
  const bool first = ring.chunk == 0 && ring.step == 0;
  network_.send(member.link, {ring.shape.message, EventKind::ring_arrival, first, member.next});
  ring.first_sent = true;
  if (ring.computed) return;
  ring.awaits_message = true;
  if (member.arrived > member.received) queue_.push(queue_.now(), {EventKind::ring_receive, ring.member, 0});
}

void Simulator::on_ring_arrival(std::uint32_t member) {
  ++members_[member].arrived;
  const Ring& ring = ranks_[machine_.members[member].rank].ring;
  const bool posted = ring.active && ring.member == member && ring.awaits_message;
  // An earlier message whose receive was posted late is still on its way to the receiver.
  if (posted && members_[member].arrived == members_[member].received + 1) receive_step(member);
}

void Simulator::receive_step(std::uint32_t member) {
  const std::uint32_t rank = machine_.members[member].rank;
  Ring& ring = ranks_[rank].ring;
  PR_CHECK(ring.active && ring.member == member && ring.awaits_message, "a message without its receive");
  ++members_[member].received;
  ring.awaits_message = false;
  ++ring.step;
  ring.reduced = ring.step > ring.shape.reductions;
  register_job(rank, config_.endpoint_delay_ns, Job::message_ready, 0);
}

void Simulator::end_chunk(std::uint32_t rank) {
  Ring& ring = ranks_[rank].ring;
  if (++ring.chunk < ring.shape.chunks) {
    start_chunk(rank);
  } else {
    end_collective(rank);
  }
}

void Simulator::end_collective(std::uint32_t rank) {
  Rank& state = ranks_[rank];
  const std::uint32_t member = state.ring.member;
  const std::uint32_t node = state.ring.node;
  const std::uint32_t index = machine_.members[member].group;
  const MachineGroup& group = machine_.groups[index];
  state.ring.active = false;
  if (groups_[index].exclusive && !state.ring.was_computed) --stepping_[groups_[index].stage];
  if (!group.always_up) end_round(member);
  const bool off_rails = reconfigurable_ ? group.always_up : group.kind == LinkClass::tensor;
  after_communication(rank, off_rails ? -2 : -1);
  state.communicating = false;
  state.ending_collective = true;
  complete(rank, node);
  state.ending_collective = false;
  if (state.ring.active) start_chunk(rank);
}

}  // namespace photonrail::published
