#include <algorithm>

#include "base/check.h"
#include "control/coordinator_impl.h"

namespace photonrail::control {

Coordinator::Impl::Impl(const CoordinatorSpec& wanted)
    : spec(wanted),
      controller({wanted.ports, wanted.ports_per_rank, false, wanted.rule, true}),
      ranks(wanted.ranks, RankState(wanted.learn_after)),
      groups_of_port(wanted.ports) {
  PR_CHECK(wanted.max_batch > 0, "a batch without operations");
}

std::size_t Coordinator::Impl::member(Rank rank, GroupId group) const {
  if (group >= groups.size()) return kNobody;
  const auto& members = groups[group].members;
  const auto found = std::lower_bound(members.begin(), members.end(), rank);
  return found != members.end() && *found == rank ? static_cast<std::size_t>(found - members.begin()) : kNobody;
}

// A message of this rank about this group makes sense at all.
bool Coordinator::Impl::heard(Rank rank, GroupId group) const {
  return rank < ranks.size() && ranks[rank].alive && member(rank, group) != kNobody &&
         (!recovering || ranks[rank].resumed);
}

bool Coordinator::Impl::announce(Rank rank, GroupId id, Sequence sequence, bool alone) {
  if (!heard(rank, id) || sequence == 0) return false;
  GroupState& group = groups[id];
  const std::size_t index = member(rank, id);
  MemberState& state = group.state[index];
  if (sequence <= state.completed) return true;
  if (sequence > std::max(state.reached, group.granted) + 1) return false;
  if (sequence > group.granted + kMaxAhead) return false;
  const bool fresh = sequence > state.reached;
  if (fresh) {
    leave_batch(rank, id);
    carry(rank, id, sequence - 1, true);
    issue(rank, id, sequence, alone);
  }
  if (sequence <= group.granted) {
    for (Batch& batch : group.batches) {
      if (batch.first <= sequence && sequence <= batch.last && !batch.closing) send_grant(rank, id, batch);
    }
  } else if (group.broken) {
    fail_waiting(id, index, sequence);
  } else if (fresh && spec.rule == AdmissionRule::naive_lock && group.demand != kNoDemand) {
    announce_naive(id, rank, sequence);
  }
  if (fresh) settle(id);
  return true;
}

// A member has gone on: batches that close may have their answer, and operations may be fully announced.
void Coordinator::Impl::settle(GroupId id) {
  for (std::size_t i = 0; i < groups[id].batches.size(); ++i) {
    if (groups[id].batches[i].closing) limit_if_answered(id, groups[id].batches[i]);
  }
  release(id);
  queue_full(id);
  pump();
}

Sequence Coordinator::Impl::full(const GroupState& group) const {
  Sequence through = ~Sequence{0};
  for (const MemberState& state : group.state) through = std::min(through, state.reached);
  return through;
}

void Coordinator::Impl::queue_full(GroupId id) {
  if (recovering || groups[id].broken) return;
  const Sequence through = full(groups[id]);
  if (groups[id].demand == kNoDemand) {
    while (groups[id].granted < through) decide(id, Path::management, kNoOperation, 0);
    return;
  }
  if (spec.rule == AdmissionRule::naive_lock) return;
  while (groups[id].granted + groups[id].pending.size() < through) {
    const OperationId operation = open(id);
    for (const Rank rank : groups[id].members) controller.announce(operation, rank);
    pump();
  }
  if (!groups[id].pending.empty()) watched.push_back(ranks.size() + id);
}

OperationId Coordinator::Impl::open(GroupId id) {
  const OperationId operation = controller.open(groups[id].demand);
  if (operation >= group_of_operation.size()) group_of_operation.resize(operation + 1, kNoGroup);
  group_of_operation[operation] = id;
  groups[id].pending.push_back({operation, ++last_ticket, false});
  return operation;
}

void Coordinator::Impl::announce_naive(GroupId id, Rank rank, Sequence sequence) {
  while (groups[id].granted + groups[id].pending.size() < sequence) open(id);
  const std::size_t index = static_cast<std::size_t>(sequence - groups[id].granted - 1);
  controller.announce(groups[id].pending[index].operation, rank);
}

// Carries out what the controller has decided, and looks for cycles among waits that have changed, until nothing is
// left. Not entered twice: what a decision leads to is taken in its turn, so that grants keep the order of their group.
void Coordinator::Impl::pump() {
  if (pumping) return;
  pumping = true;
  for (;;) {
    const Outputs& out = controller.outputs();
    if (!out.grants.empty() || !out.unserved.empty() || !out.commands.empty()) {
      take_decisions();
    } else if (!watched.empty()) {
      const std::size_t node = watched.back();
      watched.pop_back();
      watch(node);
    } else {
      break;
    }
  }
  pumping = false;
}

void Coordinator::Impl::take_decisions() {
  Outputs out = std::exchange(controller.outputs(), {});
  for (SwitchCommand& command : out.commands) {
    ++(command.ahead ? counts.switches_ahead : counts.switches);
    commands.push_back({++last_command, command.id, {}});
    for (const auto* circuits : {&command.connect, &command.disconnect}) {
      for (const Circuit& c : *circuits) commands.back().ports.insert(commands.back().ports.end(), {c.a, c.b});
    }
    command.id = last_command;
    outputs.commands.push_back(std::move(command));
  }
  for (const OperationId operation : out.unserved) {
    auto& pending = groups[group_of_operation[operation]].pending;
    for (Pending& waiting : pending) waiting.unserved = waiting.unserved || waiting.operation == operation;
  }
  for (const OperationId operation : out.unserved) serve_unserved(group_of_operation[operation]);
  for (const Grant& grant : out.grants) {
    const GroupId id = group_of_operation[grant.operation];
    PR_CHECK(groups[id].pending.front().operation == grant.operation, "a grant out of the order of its group");
    decide(id, Path::rail, grant.operation, extent(id, groups[id].granted + 1));
    serve_unserved(id);
  }
}

// What the rails cannot serve takes the management path as soon as it is its turn in the group.
void Coordinator::Impl::serve_unserved(GroupId id) {
  while (!groups[id].pending.empty() && groups[id].pending.front().unserved) {
    decide(id, Path::management, kNoOperation, 0);
  }
}

// Grants the next operation of the group, and `more` after it.
void Coordinator::Impl::decide(GroupId id, Path path, OperationId hold, Sequence more) {
  GroupState& group = groups[id];
  if (!group.pending.empty()) group.pending.erase(group.pending.begin());
  const Batch batch{group.granted + 1, group.granted + 1 + more, path, hold, false, false, {}};
  group.granted = batch.last;
  group.batches.push_back(batch);
  ++counts.grants;
  counts.operations += more + 1;
  counts.batched += more;
  if (path == Path::management) counts.management += more + 1;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Rank rank = group.members[i];
    if (!ranks[rank].alive) continue;
    send_grant(rank, id, batch);
    if (group.state[i].reached < batch.last) ranks[rank].inside = id;
    std::erase_if(ranks[rank].blocked, [&](const auto& b) { return b.first == id && b.second <= group.granted; });
  }
  if (more > 0) watch_ports(id);
}

void Coordinator::Impl::send_grant(Rank rank, GroupId group, const Batch& batch) {
  outputs.grants.push_back({rank, group, batch.first, batch.last, batch.path});
}

// Tells a member of a broken group that what it has announced from here on will never be granted.
void Coordinator::Impl::fail_waiting(GroupId id, std::size_t index, Sequence from) {
  const GroupState& group = groups[id];
  RankState& rank = ranks[group.members[index]];
  if (!rank.alive) return;
  std::erase_if(rank.blocked, [&](const auto& b) { return b.first == id; });
  for (Sequence s = std::max(from, group.granted + 1); s <= group.state[index].reached; ++s) {
    ++counts.failed;
    outputs.failures.push_back({group.members[index], id, s, "a rank of the group is lost"});
  }
}

bool Coordinator::Impl::complete(Rank rank, GroupId id, Sequence through) {
  if (!heard(rank, id)) return false;
  GroupState& group = groups[id];
  MemberState& state = group.state[member(rank, id)];
  if (through > group.granted && !group.broken) return false;
  through = std::min(through, group.granted);
  if (through <= state.completed) return true;
  carry(rank, id, through, true);
  state.completed = through;
  for (const Batch& batch : group.batches) {
    if (batch.first <= through) state.reached = std::max(state.reached, std::min(state.believed, batch.last));
  }
  settle(id);
  return true;
}

// Ends the holds of what all living members have completed.
void Coordinator::Impl::release(GroupId id) {
  bool released = false;
  for (;;) {
    GroupState& group = groups[id];
    if (group.batches.empty()) break;
    const Batch& batch = group.batches.front();
    bool done = true;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      done = done && (!ranks[group.members[i]].alive || group.state[i].completed >= batch.last);
    }
    if (!done) break;
    const OperationId hold = batch.hold;
    group.batches.erase(group.batches.begin());
    if (hold == kNoOperation) continue;
    controller.complete(hold);
    released = true;
    pump();
  }
  if (released && spec.switch_ahead) switch_ahead(groups[id].members);
}

// Switches for what these ranks, whose ports may be idle now, issue next, where all members of that next group agree.
void Coordinator::Impl::switch_ahead(const std::vector<Rank>& freed) {
  std::vector<GroupId> tried;
  for (const Rank rank : freed) {
    const std::optional<GroupId> next = next_group(rank);
    if (!next || std::find(tried.begin(), tried.end(), *next) != tried.end()) continue;
    tried.push_back(*next);
    const GroupState& group = groups[*next];
    if (group.demand == kNoDemand || group.broken) continue;
    const bool agreed = std::all_of(group.members.begin(), group.members.end(),
                                    [&](Rank other) { return next_group(other) == next; });
    if (agreed) controller.switch_ahead(group.demand);
  }
  pump();
}

void Coordinator::Impl::lost(Rank rank) {
  if (rank >= ranks.size() || !ranks[rank].alive) return;
  RankState& gone = ranks[rank];
  gone.alive = false;
  gone.inside = kNoGroup;
  gone.blocked.clear();
  // From the last ticket back, so that none is granted because the one before it goes.
  std::vector<Pending> waiting;
  for (const GroupId id : gone.groups) {
    auto& pending = groups[id].pending;
    waiting.insert(waiting.end(), pending.begin(), pending.end());
    pending.clear();
  }
  std::sort(waiting.begin(), waiting.end(), [](const Pending& a, const Pending& b) { return a.ticket > b.ticket; });
  for (const Pending& pending : waiting) {
    if (!pending.unserved) controller.cancel(pending.operation);
  }
  for (const GroupId id : gone.groups) {
    GroupState& group = groups[id];
    const bool first = !group.broken;
    group.broken = true;
    if (recovering) continue;
    for (std::size_t i = 0; first && i < group.members.size(); ++i) fail_waiting(id, i, 0);
    // What was granted and not begun ends here: it would be waited for in vain.
    for (std::size_t i = 0; i < group.batches.size(); ++i) {
      Batch& batch = group.batches[i];
      if (!batch.closing && ends_early(group, batch)) close(id, batch, kNobody, 0);
      if (group.batches[i].closing) limit_if_answered(id, group.batches[i]);
    }
    release(id);
  }
  if (recovering && all_back()) finish_recovery();
  pump();
}

void Coordinator::Impl::finish_command(CommandId command, bool done) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const auto& c) { return c.told == command; });
  if (found == commands.end()) return;  // answered before
  const CommandState answered = std::move(*found);
  commands.erase(found);
  if (done) {
    controller.command_done(answered.inner);
  } else {
    controller.command_failed(answered.inner);
  }
  pump();
  if (!spec.switch_ahead || recovering) return;
  std::vector<Rank> freed;
  for (const PortId port : answered.ports) {
    for (const GroupId id : groups_of_port[port]) {
      freed.insert(freed.end(), groups[id].members.begin(), groups[id].members.end());
    }
  }
  std::sort(freed.begin(), freed.end());
  freed.erase(std::unique(freed.begin(), freed.end()), freed.end());
  switch_ahead(freed);
}

// ---- the public face

Coordinator::Coordinator(const CoordinatorSpec& spec) : impl_(std::make_unique<Impl>(spec)) {}
Coordinator::Coordinator(const Coordinator& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Coordinator::Coordinator(Coordinator&&) noexcept = default;
Coordinator& Coordinator::operator=(const Coordinator& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Coordinator& Coordinator::operator=(Coordinator&&) noexcept = default;
Coordinator::~Coordinator() = default;

GroupId Coordinator::add_group(GroupSpec spec) {
  const auto id = static_cast<GroupId>(impl_->groups.size());
  PR_CHECK(!spec.members.empty() && std::is_sorted(spec.members.begin(), spec.members.end()) &&
               std::adjacent_find(spec.members.begin(), spec.members.end()) == spec.members.end() &&
               spec.members.back() < impl_->ranks.size(),
           "members of a group are sorted, distinct ranks of the job");
  GroupState group;
  group.members = std::move(spec.members);
  group.state.resize(group.members.size());
  if (spec.demand) {
    spec.demand->members = static_cast<std::uint32_t>(group.members.size());
    for (const Circuit& circuit : spec.demand->circuits) {
      for (const PortId port : {circuit.a, circuit.b}) {
        PR_CHECK(port < impl_->groups_of_port.size(), "a demand for a port that is not the job's");
        impl_->groups_of_port[port].push_back(id);
      }
    }
    group.demand = impl_->controller.add_demand(std::move(*spec.demand));
  }
  for (const Rank rank : group.members) {
    impl_->ranks[rank].groups.push_back(id);
    group.broken = group.broken || !impl_->ranks[rank].alive;
  }
  impl_->groups.push_back(std::move(group));
  return id;
}

bool Coordinator::announce(Rank rank, GroupId group, Sequence sequence, bool alone) {
  if (impl_->recovering) return impl_->note(rank, group, sequence, 0);
  return impl_->announce(rank, group, sequence, alone);
}

bool Coordinator::complete(Rank rank, GroupId group, Sequence through) {
  if (impl_->recovering) return impl_->note(rank, group, 0, through);
  return impl_->complete(rank, group, through);
}

bool Coordinator::blocked(Rank rank, GroupId group, Sequence sequence) {
  return impl_->blocked(rank, group, sequence);
}

bool Coordinator::stopped(Rank rank, GroupId group, Sequence granted_last, Sequence highest_started) {
  return impl_->stopped(rank, group, granted_last, highest_started);
}

void Coordinator::lost(Rank rank) { impl_->lost(rank); }

Rank Coordinator::add_rank() {
  for (std::size_t& node : impl_->watched) {
    if (node >= impl_->ranks.size()) ++node;   // groups count behind the ranks
  }
  impl_->ranks.emplace_back(impl_->spec.learn_after);
  impl_->ranks.back().resumed = true;
  return static_cast<Rank>(impl_->ranks.size() - 1);
}

void Coordinator::begin_recovery() {
  impl_->recovering = true;
  if (impl_->all_back()) impl_->finish_recovery();
}

bool Coordinator::resume(Rank rank, const std::vector<ResumedGroup>& groups) { return impl_->resume(rank, groups); }
bool Coordinator::recovering() const { return impl_->recovering; }
void Coordinator::preset(std::span<const Circuit> circuits) { impl_->controller.preset(circuits); }
void Coordinator::command_done(CommandId command) { impl_->finish_command(command, true); }
void Coordinator::command_failed(CommandId command) { impl_->finish_command(command, false); }

void Coordinator::set_usable(PortId port, bool usable) {
  impl_->controller.set_usable(port, usable);
  impl_->pump();
}

void Coordinator::guard_timer() { impl_->guard_timer(); }
CoordinatorOutputs& Coordinator::outputs() { return impl_->outputs; }
const CoordinatorCounts& Coordinator::counts() const { return impl_->counts; }
bool Coordinator::idle() const { return waiting() == 0 && running() == 0; }

std::uint64_t Coordinator::waiting() const {
  std::uint64_t sum = 0;
  for (const GroupState& group : impl_->groups) {
    Sequence highest = group.granted;
    for (std::size_t i = 0; i < group.members.size() && !group.broken; ++i) {
      highest = std::max(highest, group.state[i].reached);
    }
    sum += highest - group.granted;
  }
  return sum;
}

std::uint64_t Coordinator::running() const {
  std::uint64_t sum = 0;
  for (const GroupState& group : impl_->groups) sum += group.batches.size();
  return sum;
}

std::uint32_t Coordinator::holds(PortId port) const { return impl_->controller.holds(port); }
PortId Coordinator::partner(PortId port) const { return impl_->controller.partner(port); }

bool Coordinator::granted(GroupId group, Sequence sequence) const {
  return group < impl_->groups.size() && sequence <= impl_->groups[group].granted;
}

std::uint64_t Coordinator::digest(std::uint64_t salt) const {
  Digest digest;
  digest.add(salt);
  impl_->add_to(digest);
  return digest.value();
}

void Coordinator::Impl::add_to(Digest& digest) const {
  digest.add(recovering ? 1U : 0U);
  controller.add_to(digest);
  std::vector<std::pair<std::uint64_t, GroupId>> tickets;
  for (GroupId id = 0; id < groups.size(); ++id) {
    const GroupState& group = groups[id];
    digest.add(group.granted * 2 + (group.broken ? 1U : 0U));
    for (const MemberState& state : group.state) {
      digest.add(state.reached);
      digest.add(state.believed);
      digest.add(state.completed);
    }
    digest.add(group.batches.size());
    for (const Batch& batch : group.batches) {
      digest.add(batch.first);
      digest.add(batch.last * 16 + (batch.path == Path::rail ? 8U : 0U) + (batch.hold == kNoOperation ? 4U : 0U) +
                 (batch.closing ? 2U : 0U) + (batch.closed ? 1U : 0U));
      for (const Sequence at : batch.stopped_at) digest.add(at);
    }
    digest.add(group.pending.size());
    for (const Pending& pending : group.pending) {
      digest.add(pending.unserved ? 1U : 0U);
      tickets.push_back({pending.ticket, id});
    }
  }
  std::sort(tickets.begin(), tickets.end());
  for (const auto& [ticket, id] : tickets) digest.add(id);
  for (const RankState& rank : ranks) {
    digest.add(rank.inside * 4ULL + (rank.alive ? 2U : 0U) + (rank.resumed ? 1U : 0U));
    digest.add(rank.blocked.size());
    for (const auto& [group, sequence] : rank.blocked) digest.add(group * (1ULL << 48) + sequence);
    digest.add(rank.reports.size());
    for (const ResumedGroup& r : rank.reports) {
      digest.add(r.group * 2ULL + static_cast<unsigned>(r.granted_path));
      for (const Sequence s : {r.completed, r.granted, r.granted_first, r.announced}) digest.add(s);
    }
    rank.learner.add_to(digest);
  }
}

}  // namespace photonrail::control
