#include "published/simulator.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::published {
namespace {

constexpr std::size_t kShownCircle = 8;

bool is_reconfigurable(const PublishedConfig& config) {
  return config.mode == Mode::on_demand || config.mode == Mode::provisioned;
}

LinkRates to_link_rates(const ClassRates& rates, double gigabyte) {
  return {bytes_per_nanosecond(rates.tensor, gigabyte), bytes_per_nanosecond(rates.data, gigabyte),
          bytes_per_nanosecond(rates.pipeline, gigabyte)};
}

NetworkRules network_rules(const PublishedConfig& config) {
  return {config.latency_ns, config.delay_ms * 1e6, config.link_held_for_twice_latency};
}

}  // namespace

Simulator::Simulator(const Machine& machine, const PublishedConfig& config, const ClassRates& rates,
                     const std::vector<ProvisionEntry>& provision)
    : machine_(machine),
      config_(config),
      rates_(rates),
      reconfigurable_(is_reconfigurable(config)),
      network_(machine.layout, to_link_rates(rates, config.bytes_per_gigabyte), network_rules(config), queue_),
      ranks_(machine.ranks()),
      members_(machine.members.size()),
      groups_(machine.groups.size()),
      pipeline_flags_(machine.layout.pp, 0),
      stepping_(machine.layout.pp, 0),
      unfinished_ranks_(machine.ranks()) {
  for (std::uint32_t r = 0; r < machine.ranks(); ++r) {
    const Program& program = machine.program(r);
    Rank& rank = ranks_[r];
    rank.unfinished = program.nodes.size();
    for (std::uint32_t i = 0; i < program.nodes.size(); ++i) {
      const ProgramNode& node = program.nodes[i];
      rank.needs.push_back(node.needs);
      if (node.needs != 0) continue;
      (node.kind == NodeKind::compute ? rank.ready_compute : rank.ready_communication).push_back(i);
    }
    if (config.keep_nodes) node_starts_.emplace_back(program.nodes.size(), 0);
  }
  for (const ProvisionEntry& entry : provision) ranks_[entry.rank].provision.emplace_back(entry.index, entry.target);
  for (Rank& rank : ranks_) std::sort(rank.provision.begin(), rank.provision.end());
  make_links();
}

void Simulator::make_links() {
  for (std::uint32_t g = 0; g < machine_.groups.size(); ++g) {
    const std::vector<std::uint32_t>& ring = machine_.groups[g].members;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::uint32_t next = ring[(i + 1) % ring.size()];
      members_[ring[i]].next = next;
      members_[ring[i]].link = network_.add_link(machine_.members[ring[i]].rank, machine_.members[next].rank);
    }
  }
  for (std::uint32_t r = 0; r < machine_.ranks(); ++r) {
    peer_links_.emplace_back(machine_.slots[r].size(), 0);
    for (const ProgramNode& node : machine_.program(r).nodes) {
      if (node.kind == NodeKind::send) peer_links_[r][node.slot] = network_.add_link(r, machine_.slots[r][node.slot]);
    }
  }
  mark_exclusive_groups();
  network_.take_over = [this](const Message& message) { return take_over(message); };
  network_.on_accepted = [this](std::uint32_t from, std::uint32_t to) {
    ++result_.reconfigurations;
    result_.topologies.push_back(to);
    note(LogEntry::Kind::accepted, 0, static_cast<std::int32_t>(from), static_cast<std::int32_t>(to));
    unfold_all();
  };
  network_.on_applied = [this](std::uint32_t topology) {
    note(LogEntry::Kind::applied, 0, 0, static_cast<std::int32_t>(topology));
  };
  network_.start(reconfigurable_ ? 0 : Layout::kEverything);
  if (reconfigurable_) result_.topologies.push_back(0);
}

void Simulator::mark_exclusive_groups() {
  std::vector<std::uint32_t> users(network_.links(), 0);
  for (const Member& member : members_) ++users[member.link];
  for (std::uint32_t r = 0; r < machine_.ranks(); ++r) {
    for (const ProgramNode& node : machine_.program(r).nodes) {
      if (node.kind == NodeKind::send) ++users[peer_links_[r][node.slot]];
    }
  }
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const MachineGroup& group = machine_.groups[g];
    const bool steady = group.kind == LinkClass::tensor || (!reconfigurable_ && group.kind != LinkClass::none);
    const bool alone = std::all_of(group.members.begin(), group.members.end(),
                                   [&](std::uint32_t m) { return users[members_[m].link] == 1; });
    groups_[g].exclusive = config_.fast && steady && alone;
    groups_[g].stage = machine_.layout.stage_of(machine_.members[group.members.front()].rank);
  }
}

void Simulator::dispatch(const Event& event) {
  switch (event.kind) {
    case EventKind::npu_batch: run_batch(event.a); break;
    case EventKind::ring_arrival: on_ring_arrival(event.a); break;
    case EventKind::peer_arrival: on_peer_arrival(event.a); break;
    case EventKind::link_free: network_.on_link_free(event.a); break;
    case EventKind::links_switched: network_.on_links_switched(event.a); break;
    case EventKind::ring_receive: receive_step(event.a); break;
    case EventKind::peer_receive: {
      const Transfer& transfer = transfers_[event.a];
      end_peer(transfer.to, transfer.receive_node, transfer.from);
      break;
    }
    case EventKind::ring_resume: on_ring_resume(event.a, event.b); break;
    case EventKind::wake: try_ready(event.a); break;
  }
}

void Simulator::run_events() {
  while (has_events()) dispatch(queue_.pop());
}

bool Simulator::all_finished() const { return unfinished_ranks_ == 0; }

// When no event is left every rank tries again, twice (rule 7); only when that starts nothing is the run over.
Result<PublishedResult> Simulator::run() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) try_ready(r);
  run_events();
  while (!all_finished()) {
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) try_ready(r);
    }
    if (!has_events()) return deadlock();
    run_events();
  }
  return collect();
}

std::string Simulator::describe_wait(std::uint32_t rank) const {
  const Rank& state = ranks_[rank];
  const Program& program = machine_.program(rank);
  if (state.ring.active) {
    const MachineGroup& group = machine_.groups[machine_.members[state.ring.member].group];
    return fmt::format("rank {} is in collective node {} of group {}", rank, program.nodes[state.ring.node].id,
                       group.id);
  }
  for (const std::uint32_t node : state.ready_communication) {
    const ProgramNode& waiting = program.nodes[node];
    const char* what = waiting.kind == NodeKind::send ? "send" : "collective";
    return fmt::format("rank {} cannot start {} node {}", rank, what, waiting.id);
  }
  return fmt::format("rank {} waits for a message", rank);
}

// The first member that has not started the collective that the rank is in.
std::optional<std::uint32_t> Simulator::awaited_rank(std::uint32_t rank) const {
  const Ring& ring = ranks_[rank].ring;
  if (!ring.active) return std::nullopt;
  for (const std::uint32_t member : machine_.groups[machine_.members[ring.member].group].members) {
    if (members_[member].started < members_[ring.member].started) return machine_.members[member].rank;
  }
  return std::nullopt;
}

// Ranks each of which is in a collective that waits for the next, the last for the first; empty when there are none.
std::vector<std::uint32_t> Simulator::waiting_circle() const {
  std::vector<std::uint32_t> met_from(ranks_.size(), 0);  // 1 + the rank from which the search came; 0: not met
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    std::optional<std::uint32_t> at = r;
    for (; at && met_from[*at] == 0; at = awaited_rank(*at)) met_from[*at] = r + 1;
    if (!at || met_from[*at] != r + 1) continue;
    std::vector<std::uint32_t> circle = {*at};
    for (at = awaited_rank(*at); *at != circle.front(); at = awaited_rank(*at)) circle.push_back(*at);
    return circle;
  }
  return {};
}

tl::unexpected<Error> Simulator::deadlock() const {
  std::string text = fmt::format("the run can never finish: nothing happens after {} ns, {} of {} ranks unfinished",
                                 queue_.now(), unfinished_ranks_, ranks_.size());
  int shown = 0;
  const std::vector<std::uint32_t> circle = waiting_circle();
  if (!circle.empty()) text += "; collectives wait for each other in a circle:";
  for (std::size_t i = 0; i < std::min(circle.size(), kShownCircle); ++i) {
    text += fmt::format("\n  {}, which waits for rank {}", describe_wait(circle[i]), circle[(i + 1) % circle.size()]);
  }
  if (circle.size() > kShownCircle) text += fmt::format("\n  and {} more", circle.size() - kShownCircle);
  if (!circle.empty()) return fail(ErrorCode::deadlock, text);
  for (std::uint32_t r = 0; r < ranks_.size() && shown < 5; ++r) {
    if (ranks_[r].finish >= 0) continue;
    text += "\n  " + describe_wait(r);
    ++shown;
  }
  return fail(ErrorCode::deadlock, text);
}

PublishedResult Simulator::collect() {
  for (const Rank& rank : ranks_) result_.ranks.push_back({rank.finish, rank.finish - rank.computed_ns});
  result_.first_rank_ns = result_.ranks.front().finish_ns;
  result_.last_ns = result_.ranks[last_rank_].finish_ns;
  result_.last_exposed_ns = result_.ranks[last_rank_].exposed_ns;
  result_.rates = rates_;
  result_.events = queue_.popped();
  for (LinkId id = 0; id < network_.links(); ++id) {
    const Link& link = network_.link(id);
    if (link.kind == LinkClass::tensor) result_.traffic.tensor += link.bytes_sent;
    if (link.kind == LinkClass::data) result_.traffic.data += link.bytes_sent;
    if (link.kind == LinkClass::pipeline) result_.traffic.pipeline += link.bytes_sent;
  }
  return std::move(result_);
}

}  // namespace photonrail::published
