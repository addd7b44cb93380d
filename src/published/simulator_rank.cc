#include <algorithm>

#include "published/simulator.h"

namespace photonrail::published {
namespace {

void insert_sorted(std::vector<std::uint32_t>& nodes, std::uint32_t node) {
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node), node);
}

}  // namespace

// Ready nodes in ascending id; of the compute nodes only the first can find the slot free.
void Simulator::try_ready(std::uint32_t rank) {
  Rank& state = ranks_[rank];
  std::vector<std::uint32_t>& waiting = state.ready_communication;
  const bool may_compute = !state.computing && !state.ready_compute.empty();
  bool compute_due = may_compute;
  std::size_t i = 0;
  while (i < waiting.size()) {
    if (compute_due && state.ready_compute.front() < waiting[i]) {
      compute_due = false;
      start_compute(rank);
    }
    if (start_communication(rank, waiting[i])) {
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (compute_due) start_compute(rank);
}

void Simulator::start_compute(std::uint32_t rank) {
  Rank& state = ranks_[rank];
  const std::uint32_t node = state.ready_compute.front();
  state.ready_compute.erase(state.ready_compute.begin());
  state.computing = true;
  const Nanoseconds duration = machine_.program(rank).nodes[node].duration;
  state.computed_ns += duration;
  note_start(rank, node);
  register_job(rank, duration, Job::compute, node);
}

bool Simulator::start_communication(std::uint32_t rank, std::uint32_t node) {
  const NodeKind kind = machine_.program(rank).nodes[node].kind;
  if (kind == NodeKind::receive) {
    start_receive(rank, node);
    return true;
  }
  if (ranks_[rank].communicating) return false;
  return kind == NodeKind::send ? start_send(rank, node) : start_collective(rank, node);
}

std::uint32_t Simulator::transfer_of(const ChannelKey& key, bool is_send) {
  Channel& channel = channels_[key];
  std::size_t& next = is_send ? channel.sends : channel.receives;
  if (next == channel.transfers.size()) {
    channel.transfers.push_back(static_cast<std::uint32_t>(transfers_.size()));
    Transfer transfer;
    transfer.from = std::get<0>(key);
    transfer.to = std::get<1>(key);
    transfers_.push_back(transfer);
  }
  return channel.transfers[next++];
}

bool Simulator::start_send(std::uint32_t rank, std::uint32_t node) {
  const ProgramNode& send = machine_.program(rank).nodes[node];
  const std::uint32_t peer = machine_.slots[rank][send.slot];
  if (reconfigurable_ && !ask_pipeline(rank, peer)) return false;
  ranks_[rank].communicating = true;
  note_start(rank, node);
  const std::uint32_t transfer = transfer_of({rank, peer, send.tag, send.size}, true);
  transfers_[transfer].send_node = node;
  network_.send(peer_links_[rank][send.slot], {send.size, EventKind::peer_arrival, false, transfer});
  return true;
}

void Simulator::start_receive(std::uint32_t rank, std::uint32_t node) {
  const ProgramNode& receive = machine_.program(rank).nodes[node];
  const std::uint32_t peer = machine_.slots[rank][receive.slot];
  note_start(rank, node);
  const std::uint32_t id = transfer_of({peer, rank, receive.tag, receive.size}, false);
  Transfer& transfer = transfers_[id];
  transfer.receive_node = node;
  transfer.posted = true;
  if (transfer.arrived) queue_.push(queue_.now(), {EventKind::peer_receive, id, 0});
}

// The sender is told first, and in the same event the receiver, if it has posted its receive.
void Simulator::on_peer_arrival(std::uint32_t id) {
  transfers_[id].arrived = true;
  const Transfer transfer = transfers_[id];
  ranks_[transfer.from].communicating = false;
  end_peer(transfer.from, transfer.send_node, transfer.to);
  if (transfer.posted) end_peer(transfer.to, transfer.receive_node, transfer.from);
}

void Simulator::end_peer(std::uint32_t rank, std::uint32_t node, std::uint32_t peer) {
  after_communication(rank, static_cast<std::int32_t>(peer));
  complete(rank, node);
}

void Simulator::complete(std::uint32_t rank, std::uint32_t node) {
  Rank& state = ranks_[rank];
  const Program& program = machine_.program(rank);
  const ProgramNode& done = program.nodes[node];
  if (config_.keep_nodes) result_.nodes.push_back({rank, done.id, node_starts_[rank][node], queue_.now()});
  for (std::uint32_t c = 0; c < done.child_count; ++c) {
    const std::uint32_t child = program.children[done.child_start + c];
    if (--state.needs[child] != 0) continue;
    const bool computes = program.nodes[child].kind == NodeKind::compute;
    insert_sorted(computes ? state.ready_compute : state.ready_communication, child);
  }
  try_ready(rank);
  if (--state.unfinished != 0) return;
  state.finish = queue_.now();
  last_rank_ = rank;
  --unfinished_ranks_;
}

void Simulator::register_job(std::uint32_t rank, Nanoseconds delay, Job job, std::uint32_t node) {
  Rank& state = ranks_[rank];
  const Nanoseconds at = queue_.now() + delay;
  const bool known =
      (delay == 0 && state.in_batch) || std::any_of(state.registered.begin(), state.registered.end(),
                                                    [at](const Registered& other) { return other.at == at; });
  state.registered.push_back({at, job, node});
  if (!known) queue_.push(at, {EventKind::npu_batch, rank, 0});
}

void Simulator::run_batch(std::uint32_t rank) {
  Rank& state = ranks_[rank];
  const Nanoseconds now = queue_.now();
  state.in_batch = true;
  for (;;) {
    const auto due = std::find_if(state.registered.begin(), state.registered.end(),
                                  [now](const Registered& other) { return other.at == now; });
    if (due == state.registered.end()) break;
    const Registered registered = *due;
    state.registered.erase(due);
    if (registered.job == Job::message_ready) {
      on_message_ready(rank);
      continue;
    }
    state.computing = false;
    complete(rank, registered.node);
  }
  state.in_batch = false;
}

bool Simulator::ask_pipeline(std::uint32_t rank, std::uint32_t peer) {
  pipeline_flags_[machine_.layout.stage_of(rank)] = 1;
  pipeline_flags_[machine_.layout.stage_of(peer)] = 1;
  return ask();
}

bool Simulator::ask_data(std::uint32_t rank) {
  pipeline_flags_[machine_.layout.stage_of(rank)] = 0;
  return ask();
}

bool Simulator::ask() {
  std::uint32_t topology = 0;
  for (const std::uint8_t flag : pipeline_flags_) topology = topology * 2 + flag;
  const Network::Answer answer = network_.ask(topology, in_flight_);
  if (answer == Network::Answer::refused) ++result_.refused;
  if (answer == Network::Answer::same) ++result_.same;
  return answer != Network::Answer::refused;
}

void Simulator::after_communication(std::uint32_t rank, std::int32_t kind) {
  Rank& state = ranks_[rank];
  const std::int32_t index = state.communications++;
  note(LogEntry::Kind::communication, rank, index, kind);
  if (state.next_provision == state.provision.size()) return;
  const auto [due, target] = state.provision[state.next_provision];
  if (due != index) return;
  ++state.next_provision;
  if (target == kind) return;
  // A refusal is ignored: the operation asks again when it is tried.
  if (target < 0) {
    ask_data(rank);
  } else {
    ask_pipeline(rank, static_cast<std::uint32_t>(target));
  }
}

void Simulator::note(LogEntry::Kind kind, std::uint32_t rank, std::int32_t index, std::int32_t what) {
  if (config_.keep_log) result_.log.push_back({kind, rank, index, what, queue_.now()});
}

void Simulator::note_start(std::uint32_t rank, std::uint32_t node) {
  if (config_.keep_nodes) node_starts_[rank][node] = queue_.now();
}

}  // namespace photonrail::published
