#include "world_impl.h"

namespace photonrail::dst {

// ---- the daemon's process

void World::on_daemon(std::function<void()> act) {
  if (!core_) return;
  if (events_.now() < daemon_paused_until_) {
    events_.at(daemon_paused_until_, [this, life = life_, act = std::move(act)] {
      if (life == life_) on_daemon(act);
    });
    return;
  }
  act();
  drain();
}

bool World::killed_at(const std::string& point) {
  const auto found = plan_.kill_at.find(point);
  if (found == plan_.kill_at.end()) return false;
  if (found->second-- > 0) return false;
  plan_.kill_at.erase(found);
  crash_daemon("kill-" + point);
  return true;
}

void World::start_daemon() {
  ++life_;
  ++outcome_.restarts;
  auto recovered = journal::Journal::open(disk_);
  if (!recovered) return checker_.violate("P4", "journal: " + recovered.error().message);
  journal_ = std::move(recovered->journal);
  record_offset_.reset();
  if (plan_.disk_fails && outcome_.restarts == 1) disk_.fail_after(40 + random_.below(400));
  auto core = daemon::Core::recover(core_spec(), recovered->records, daemon_now());
  if (!core) return checker_.violate("P4", "recovery: " + core.error().message);
  core_ = std::move(*core);
  say(fmt::format("daemon life {} with {} records", life_, recovered->records.size()));
  if (killed_at("during-recovery")) return;
  core_->lead(life_, kNever, daemon_now());
  drain();
}

void World::crash_daemon(const std::string& why) {
  if (!core_) return;
  struck(why);
  ++life_;
  core_.reset();
  journal_.reset();
  syncing_ = false;
  daemon_wake_ = kNever;
  daemon_paused_until_ = {};
  disk_.crash(random_);
  requests_.clear();
  for (SwitchId ocs = 0; ocs < boxes_.size(); ++ocs) disconnect_switch(ocs);
  const auto streams = std::exchange(streams_, {});
  for (const auto& [connection, rank] : streams) {
    rank->connection = 0;
    rank->session.closed();
    reopen_later(*rank, latency());
  }
  const auto delay = std::chrono::milliseconds(static_cast<std::int64_t>(10 + random_.below(3000)));
  events_.after(delay, [this] { start_daemon(); });
}

void World::drain() {
  if (draining_ || !core_) return;
  draining_ = true;
  const std::uint64_t life = life_;
  for (auto actions = core_->take_actions(); !actions.empty(); actions = core_->take_actions()) {
    for (daemon::Action& action : actions) {
      perform(action);
      if (life != life_) break;  // it died doing so
    }
    if (life != life_) break;
  }
  draining_ = false;
  if (life == life_) schedule_tick();
}

void World::perform(daemon::Action& action) {
  if (auto* to_rank = std::get_if<daemon::ToRank>(&action)) {
    if (!killed_at("before-rank-message")) daemon_to_rank(to_rank->connection, to_rank->message);
  } else if (auto* close = std::get_if<daemon::CloseRank>(&action)) {
    say("closed by the daemon: " + close->reason);
    close_stream(close->connection);
  } else if (auto* reply = std::get_if<daemon::ToOperator>(&action)) {
    if (killed_at("before-reply")) return;
    if (const auto found = requests_.find(reply->request); found != requests_.end()) {
      const auto then = found->second;
      requests_.erase(found);
      events_.after(latency(), [then, answer = std::move(reply->reply)] { then(answer); });
    }
  } else if (auto* frame = std::get_if<daemon::ToSwitch>(&action)) {
    if (killed_at("before-frame")) return;
    frame_to_switch(frame->ocs, std::move(frame->frame));
    killed_at("after-frame");
  } else if (auto* connect = std::get_if<daemon::ConnectSwitch>(&action)) {
    if (!killed_at("before-connect")) connect_switch(connect->ocs);
  } else if (auto* record = std::get_if<daemon::AppendRecord>(&action)) {
    if (killed_at("before-append")) return;
    const std::uint64_t number = journal_->append(record->payload);
    if (!record_offset_) record_offset_ = number - record->number;
    PR_CHECK(number == record->number + *record_offset_, "records are appended out of order");
    if (!killed_at("after-append")) schedule_sync();
  } else if (auto* notice = std::get_if<daemon::Notice>(&action)) {
    say("notice " + notice->level + ": " + notice->text);
  } else if (auto* audit = std::get_if<daemon::Audit>(&action)) {
    if (spec_.verbose) say("audit " + audit->record.action + " " + audit->record.detail);
  }
}

void World::schedule_tick() {
  if (!core_) return;
  const Instant deadline = core_->next_deadline();
  if (deadline == kNever) return;
  const Instant when = std::max(daemon_clock_.global(deadline), events_.now());
  if (when >= daemon_wake_) return;
  daemon_wake_ = when;
  events_.at(when, [this, life = life_, when] {
    if (life != life_ || when != daemon_wake_) return;
    daemon_wake_ = kNever;
    on_daemon([this] { core_->tick(daemon_now()); });
  });
}

void World::schedule_sync() {
  if (syncing_) return;
  syncing_ = true;
  const auto delay = std::chrono::microseconds(static_cast<std::int64_t>(50 + random_.below(400)));
  events_.after(delay, [this, life = life_] {
    if (life != life_ || !core_) return;
    syncing_ = false;
    if (killed_at("before-sync")) return;
    if (!journal_->sync()) return crash_daemon("disk-fails");
    if (killed_at("after-sync")) return;
    if (journal_->bytes_since_snapshot() > kCompactAt) {
      if (killed_at("before-compact")) return;
      if (!journal_->compact(core_->snapshot())) return crash_daemon("disk-fails");
      if (killed_at("after-compact")) return;
    }
    on_daemon([this] { core_->durable(journal_->durable() - *record_offset_, daemon_now()); });
  });
}

// ---- switches

void World::disconnect_switch(SwitchId ocs) {
  Box& box = *boxes_[ocs];
  if (box.connection == 0) return;
  box.front->closed(box.connection, events_.now());
  box.connection = 0;
}

void World::connect_switch(SwitchId ocs) {
  disconnect_switch(ocs);
  events_.after(latency() + 200us, [this, ocs, life = life_] {
    if (life != life_ || !core_) return;
    Box& box = *boxes_[ocs];
    box.model.advance(events_.now());
    if (!box.model.up(events_.now()) || events_.now() < box.cut_until || box.connection != 0) {
      on_daemon([this, ocs] { core_->switch_disconnected(ocs, daemon_now()); });
      return;
    }
    box.connection = ++next_connection_;
    box.last_down = box.last_up = events_.now();
    box.front->opened(box.connection, events_.now());
    on_daemon([this, ocs] { core_->switch_connected(ocs, daemon_now()); });
    pump(ocs);
  });
}

void World::frame_to_switch(SwitchId ocs, device::Frame frame) {
  Box& box = *boxes_[ocs];
  if (box.connection == 0) return;
  box.last_down = std::max(box.last_down, events_.now() + latency());
  events_.at(box.last_down, [this, ocs, connection = box.connection, frame = std::move(frame), epoch = life_] {
    Box& b = *boxes_[ocs];
    // Bytes in flight arrive also when their sender has died since; not through a cut cable.
    if (events_.now() < b.cut_until || !b.model.up(events_.now())) return;
    if (b.connection != connection) return;
    if (spec_.verbose) say(fmt::format("switch {} <- {} {} {}", ocs, frame.verb, frame.target, frame.body));
    b.front->receive(connection, frame, events_.now());
    if (b.model.writer_log().size() > b.log_seen) checker_.written(ocs, epoch, events_.now());
    look_at_writes(ocs);
    pump(ocs);
  });
}

void World::look_at_writes(SwitchId ocs) {
  Box& box = *boxes_[ocs];
  const auto& log = box.model.writer_log();
  for (; box.log_seen < log.size(); ++box.log_seen) {
    const device::WriterLogEntry& entry = log[box.log_seen];
    if (entry.writer.rfind("device:", 0) == 0 || entry.writer == "foreign") {
      box.light_may_fail = true;
      continue;
    }
    ++outcome_.writes;
    say(fmt::format("switch {}: -{} +{}", ocs, entry.removed.size(), entry.added.size()));
    checker_.removed(ocs, entry.removed, events_.now());
  }
}

// Carries what a front end has to say, and wakes it for what happens by itself.
void World::pump(SwitchId ocs) {
  Box& box = *boxes_[ocs];
  for (device::FrontEndReply& reply : box.front->take_replies()) {
    box.last_up = std::max({box.last_up, reply.at, events_.now()}) + latency();
    events_.at(box.last_up, [this, ocs, reply = std::move(reply)] {
      Box& b = *boxes_[ocs];
      if (b.connection != reply.connection || events_.now() < b.cut_until) return;
      const device::Frame& frame = reply.frame;
      if (spec_.verbose)
        say(fmt::format("switch {} -> {}{} {}", ocs, reply.close ? "closes " : "", frame.verb, frame.body));
      if (!reply.close || !frame.body.empty() || !frame.verb.empty()) {
        on_daemon([this, ocs, reply] { core_->switch_frame(ocs, reply.frame, daemon_now()); });
      }
      if (!reply.close || b.connection != reply.connection) return;
      disconnect_switch(ocs);
      on_daemon([this, ocs] { core_->switch_disconnected(ocs, daemon_now()); });
    });
  }
  const Instant next = box.model.next_change();
  if (next == kNever || next >= box.wake) return;
  box.wake = std::max(next, events_.now());
  events_.at(box.wake, [this, ocs, when = box.wake] {
    Box& b = *boxes_[ocs];
    if (b.wake != when) return;
    b.wake = kNever;
    b.model.advance(events_.now());
    b.front->advance(events_.now());
    look_at_writes(ocs);
    pump(ocs);
  });
}

}  // namespace photonrail::dst
