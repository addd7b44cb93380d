#include "world_impl.h"

namespace photonrail::dst {

// ---- ranks

void World::reopen_later(RankProcess& rank, Duration delay) {
  events_.after(delay, [this, &rank] { open_stream(rank); });
}

void World::open_stream(RankProcess& rank) {
  if (rank.dead || rank.done || rank.connection != 0 || rank.session.failed() || !rank.job->submitted) return;
  if (!core_ || events_.now() < rank.cut_until) return reopen_later(rank, 50ms + latency());
  rank.connection = ++next_connection_;
  rank.last_up = rank.last_down = events_.now();
  streams_[rank.connection] = &rank;
  rank.session.opened(rank.clock.local(events_.now()));
  daemon::Identity identity{daemon::Identity::Role::rank, rank.job->plan.name, rank.job->plan.name, rank.rank};
  on_daemon([this, connection = rank.connection, identity] { core_->rank_opened(connection, identity, daemon_now()); });
  advance(rank);
}

void World::break_stream(RankProcess& rank) {
  if (rank.connection == 0) return;
  const ConnectionId connection = rank.connection;
  streams_.erase(connection);
  rank.connection = 0;
  rank.session.closed();
  on_daemon([this, connection] { core_->rank_closed(connection, daemon_now()); });
  reopen_later(rank, std::max<Duration>(rank.session.retry_after(), 10ms) + latency());
}

// The daemon ends the stream: what it has sent before still arrives.
void World::close_stream(ConnectionId connection) {
  const auto found = streams_.find(connection);
  if (found == streams_.end()) return;
  RankProcess& rank = *found->second;
  rank.last_down = std::max(rank.last_down, events_.now() + latency());
  events_.at(rank.last_down, [this, connection] {
    if (const auto stream = streams_.find(connection); stream != streams_.end()) break_stream(*stream->second);
  });
}

void World::rank_to_daemon(RankProcess& rank, const control::RankMessage& message) {
  if (rank.connection == 0) return;
  if (spec_.verbose) say(fmt::format("{} rank {} ->: {}", rank.job->plan.name, rank.rank, text(message)));
  const bool twice = plan_.repeat_message > 0 && net_.uniform() < plan_.repeat_message;
  for (int copy = 0; copy < (twice ? 2 : 1); ++copy) {
    rank.last_up = std::max(rank.last_up, events_.now() + latency());
    events_.at(rank.last_up, [this, connection = rank.connection, message] {
      const auto found = streams_.find(connection);
      if (found == streams_.end()) return;
      if (events_.now() < found->second->cut_until) return break_stream(*found->second);
      on_daemon([this, connection, message] { core_->rank_message(connection, message, daemon_now()); });
    });
    if (copy == 1) ++outcome_.faults["repeated-message"];
  }
}

void World::daemon_to_rank(ConnectionId connection, const control::DaemonMessage& message) {
  const auto found = streams_.find(connection);
  if (found == streams_.end()) return;
  RankProcess& rank = *found->second;
  if (const auto* granted = std::get_if<control::Granted>(&message)) {
    outcome_.grants += granted->last - granted->first + 1;
  }
  if (spec_.verbose) say(fmt::format("-> {} rank {}: {}", rank.job->plan.name, rank.rank, text(message)));
  rank.last_down = std::max(rank.last_down, events_.now() + latency());
  events_.at(rank.last_down, [this, connection, message] {
    const auto stream = streams_.find(connection);
    if (stream == streams_.end()) return;
    RankProcess& r = *stream->second;
    if (events_.now() < r.cut_until) return break_stream(r);
    r.session.receive(message, r.clock.local(events_.now()));
    if (r.session.failed() && r.session.failure().find("cuts a batch") != std::string::npos) {
      checker_.violate("P3", r.session.failure());
    }
    if (r.session.failed()) return abort(*r.job, "the session ended: " + r.session.failure());
    advance(r);
  });
}

void World::schedule_wake(RankProcess& rank) {
  const Instant deadline = rank.session.next_deadline();
  if (deadline == kNever || rank.dead) return;
  const Instant when = std::max(rank.clock.global(deadline), events_.now());
  if (when >= rank.wake) return;
  rank.wake = when;
  events_.at(when, [this, &rank, when] {
    if (rank.wake != when) return;
    rank.wake = kNever;
    advance(rank);
  });
}

void World::advance(RankProcess& rank) {
  if (rank.dead) return;
  if (events_.now() < rank.paused_until) {
    events_.at(rank.paused_until, [this, &rank] { advance(rank); });
    return;
  }
  const Instant now = rank.clock.local(events_.now());
  rank.session.tick(now);
  bool moved = true;
  while (moved && !rank.dead) {
    moved = execute(rank);
    if (!rank.job->aborted) {
      for (const client::Start& start : rank.session.take_starts(now)) {
        start_operation(rank, rank.groups[start.group], start.sequence, start.path);
        moved = true;
      }
    }
    const auto failures = rank.session.take_failures();
    if (!failures.empty()) return abort(*rank.job, "an operation failed: " + failures.front().reason);
  }
  for (const control::RankMessage& message : rank.session.take_messages()) rank_to_daemon(rank, message);
  schedule_wake(rank);
}

// One instruction of the rank's program; false when it has to wait for something.
bool World::execute(RankProcess& rank) {
  Job& job = *rank.job;
  const auto& program = job.plan.programs[rank.rank];
  if (job.aborted || rank.computing || rank.done) return false;
  for (const auto& [group, handle] : rank.handles) {
    if (!rank.session.ready(handle)) return false;
  }
  if (rank.next == program.size()) {
    rank.done = true;
    if (rank.connection != 0) rank_to_daemon(rank, control::Goodbye{});
    check_end(job);
    return false;
  }
  const Instruction& instruction = program[rank.next];
  const std::pair<std::uint32_t, std::uint64_t> operation{instruction.group, instruction.number};
  switch (instruction.kind) {
    case Instruction::Kind::compute:
      rank.computing = true;
      events_.after(instruction.compute, [this, &rank] {
        rank.computing = false;
        ++rank.next;
        advance(rank);
      });
      return false;
    case Instruction::Kind::issue: {
      const bool alone = std::all_of(rank.open.begin(), rank.open.end(),
                                     [&](const auto& other) { return other.first == instruction.group; });
      rank.open.insert(operation);
      ++rank.next;
      const client::GroupHandle handle = rank.handles.at(instruction.group);
      if (!rank.session.rail(handle)) {
        rank.session.issued_elsewhere();
        start_operation(rank, instruction.group, instruction.number, Path::management);
      } else {
        const control::Sequence number = rank.session.issue(handle, alone);
        PR_CHECK(number == instruction.number, "the session counts operations differently");
      }
      return true;
    }
    case Instruction::Kind::wait:
      if (!rank.ended.contains(operation)) {
        const client::GroupHandle handle = rank.handles.at(instruction.group);
        if (rank.session.rail(handle)) rank.session.waiting(handle, instruction.number);
        return false;
      }
      rank.open.erase(operation);
      ++rank.next;
      return true;
  }
  return false;
}

std::vector<CrossConnect> World::pairs_of(const Job& job, std::uint32_t group) const {
  const GroupPlan& plan = job.plan.groups[group];
  std::vector<CrossConnect> pairs;
  const auto join = [&](Rank a, std::uint32_t port_a, Rank b, std::uint32_t port_b) {
    const device::Position p = job.ports[a * job.plan.ports_per_rank + port_a].position;
    const device::Position q = job.ports[b * job.plan.ports_per_rank + port_b].position;
    pairs.push_back({p, q});
    pairs.push_back({q, p});
  };
  if (plan.members.size() == 2) {
    join(plan.members[0], 0, plan.members[1], job.plan.ports_per_rank > 1 ? 1 : 0);
    return pairs;
  }
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    join(plan.members[i], 0, plan.members[(i + 1) % plan.members.size()], 1);
  }
  return pairs;
}

void World::start_operation(RankProcess& rank, std::uint32_t group, std::uint64_t number, Path path) {
  Job& job = *rank.job;
  OperationRun& operation = job.runs[group][number - 1];
  const auto& members = job.plan.groups[group].members;
  const std::string who =
      fmt::format("{} {} #{} rank {}", job.plan.name, job.plan.groups[group].key, number, rank.rank);
  say("start " + who + (path == Path::rail ? "" : " over management"));
  if (operation.path && *operation.path != path) checker_.violate("P3", who + ": one operation takes two paths");
  if (operation.started.contains(rank.rank)) checker_.violate("P3", who + ": an operation starts twice");
  operation.path = path;
  if (path == Path::rail) {
    Box& box = *boxes_[job.ocs];
    if (operation.pairs.empty()) operation.pairs = pairs_of(job, group);
    box.model.advance(events_.now());
    look_at_writes(job.ocs);
    for (const CrossConnect& pair : operation.pairs) {
      if (box.light_may_fail || box.model.lit(pair, events_.now())) continue;
      checker_.violate("P2", fmt::format("{}: starts, but {} -> {} is dark", who, pair.in, pair.out));
    }
    checker_.traffic_begins(job.ocs, operation.pairs, who);
  }
  operation.started.insert(rank.rank);
  rank.running.insert({group, number});
  if (operation.started.size() < members.size()) return;
  const Duration length = job.plan.durations[group][number - 1];
  for (const Rank member : members) {
    events_.after(length + latency(), [this, &job, member, group, number] {
      if (!job.aborted) end_operation(*job.ranks[member], group, number);
    });
  }
}

void World::end_operation(RankProcess& rank, std::uint32_t group, std::uint64_t number) {
  if (rank.running.erase({group, number}) == 0) return;
  Job& job = *rank.job;
  OperationRun& operation = job.runs[group][number - 1];
  operation.finished.insert(rank.rank);
  if (*operation.path == Path::rail) checker_.traffic_ends(job.ocs, operation.pairs);
  if (operation.finished.size() == operation.started.size()) ++outcome_.operations;
  if (rank.dead) return;
  rank.ended.insert({group, number});
  const client::GroupHandle handle = rank.handles.at(group);
  if (rank.session.rail(handle)) rank.session.finished(handle, number);
  advance(rank);
}

void World::kill_rank(RankProcess& rank) {
  if (rank.dead || rank.done || rank.job->aborted) return;
  struck("rank-crash");
  rank.dead = true;
  const auto running = rank.running;
  for (const auto& [group, number] : running) end_operation(rank, group, number);
  if (rank.connection != 0) {
    const ConnectionId connection = rank.connection;
    streams_.erase(connection);
    rank.connection = 0;
    rank.session.closed();
    events_.after(latency(), [this, connection] {
      on_daemon([this, connection] { core_->rank_closed(connection, daemon_now()); });
    });
  }
  events_.after(kOperationTimeout, [this, job = rank.job] { abort(*job, "a rank died"); });
}

// The framework gives up: what runs is ended by its time-out, every process leaves, and the job is started anew.
void World::abort(Job& job, const std::string& why) {
  if (job.aborted || job.over) return;
  job.aborted = true;
  say("abort " + job.plan.name + ": " + why);
  for (const auto& process : job.ranks) {
    const auto running = process->running;
    for (const auto& [group, number] : running) {
      events_.after(kOperationTimeout, [this, &rank = *process, g = group, n = number] { end_operation(rank, g, n); });
    }
  }
  events_.after(kOperationTimeout + 1s, [this, &job] {
    for (const auto& process : job.ranks) {
      process->dead = true;
      if (process->connection == 0) continue;
      const ConnectionId connection = process->connection;
      streams_.erase(connection);
      process->connection = 0;
      process->session.closed();
      on_daemon([this, connection] { core_->rank_closed(connection, daemon_now()); });
    }
    end(job);
  });
}

void World::check_end(Job& job) {
  const bool all = std::all_of(job.ranks.begin(), job.ranks.end(), [](const auto& rank) { return rank->done; });
  if (!all || job.over) return;
  job.over = true;
  ++outcome_.jobs_finished;
  say("finished " + job.plan.name);
  end(job);
}

}  // namespace photonrail::dst
