#include "runtime/core_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "runtime/clock.h"

namespace photonrail::runtime {
namespace {

Log::Level level_named(const std::string& name) {
  if (name == "error") return Log::Level::error;
  if (name == "warning") return Log::Level::warning;
  if (name == "debug") return Log::Level::debug;
  return Log::Level::info;
}

}  // namespace

CoreHost::CoreHost(daemon::Core core, CoreHostSpec spec, RecordWriter& writer, SwitchOutlet& switches, Metrics& metrics,
                   Log& log, EventSink sink)
    : core_(std::move(core)),
      spec_(std::move(spec)),
      writer_(writer),
      switches_(switches),
      metrics_(metrics),
      log_(log),
      sink_(std::move(sink)),
      next_request_(spec_.first_request),
      generations_(spec_.switch_names.size(), 0) {}

CoreHost::~CoreHost() { stop(); }

void CoreHost::start() {
  last_beat_ns_ = now().time_since_epoch().count();
  thread_ = std::thread([this] { loop(); });
}

void CoreHost::stop() {
  if (!thread_.joinable()) return;
  queue_.push_always(Stop{});
  thread_.join();
}

// ---- any thread

void CoreHost::lead(control::Epoch epoch, Instant until) { queue_.push_always(Leadership{epoch, until, 0, {}}); }
void CoreHost::extend(Instant until) { queue_.push_always(Leadership{std::nullopt, until, 0, {}}); }

void CoreHost::step_down(control::Epoch term, std::function<void()> then) {
  queue_.push_always(Leadership{std::nullopt, std::nullopt, term, std::move(then)});
}

void CoreHost::take_over(daemon::Core core, std::unique_ptr<journal::RecordStore> store, control::Epoch epoch,
                         Instant until, RecordWriter::FailedCallback failed, std::function<void()> lapsed) {
  queue_.push_always(TakeOver{std::make_unique<daemon::Core>(std::move(core)), std::move(store), epoch, until,
                              std::move(failed), std::move(lapsed)});
}

void CoreHost::rank_opened(daemon::ConnectionId connection, control::Rank rank, daemon::Identity identity,
                           std::shared_ptr<StreamOutlet> stream) {
  queue_.push_always(RankOpened{connection, rank, std::move(identity), std::move(stream)});
}

void CoreHost::rank_frame(std::shared_ptr<StreamOutlet> stream, RankMessages messages, Instant received) {
  queue_.push_always(RankFrame{std::move(stream), std::move(messages), received});
}

void CoreHost::rank_closed(daemon::ConnectionId connection) { queue_.push_always(RankClosed{connection}); }

bool CoreHost::call(daemon::RequestId request, daemon::Identity identity, daemon::OperatorCall call,
                    ReplyCallback done) {
  if (calls_waiting_.fetch_add(1) >= kCallsMost) {
    calls_waiting_.fetch_sub(1);
    return false;
  }
  queue_.push_always(Call{request, std::move(identity), std::move(call), std::move(done)});
  return true;
}

void CoreHost::switch_connected(daemon::SwitchId ocs, std::uint64_t generation) {
  queue_.push_always(SwitchEvent{SwitchEvent::Kind::connected, ocs, generation, {}, now()});
}

void CoreHost::switch_frame(daemon::SwitchId ocs, std::uint64_t generation, device::Frame frame) {
  queue_.push_always(SwitchEvent{SwitchEvent::Kind::frame, ocs, generation, std::move(frame), now()});
}

void CoreHost::switch_disconnected(daemon::SwitchId ocs, std::uint64_t generation) {
  queue_.push_always(SwitchEvent{SwitchEvent::Kind::disconnected, ocs, generation, {}, now()});
}

void CoreHost::durable(daemon::RecordNumber through, control::Epoch term) {
  queue_.push_always(Durable{through, term});
}

void CoreHost::audit_refusal(daemon::AuditRecord record) {
  ++metrics_.denied;
  queue_.push(Refusal{std::move(record)});  // turned away in a flood: counted above
}

bool CoreHost::alive(Duration patience) const {
  return now().time_since_epoch().count() - last_beat_ns_.load() <= patience.count();
}

// ---- the core's thread

void CoreHost::loop() {
  std::vector<Event> events;
  while (!stopping_) {
    const Instant deadline = core_.next_deadline();
    const Instant before = now();
    const Duration patience =
        deadline <= before ? Duration::zero() : std::min(kPatienceMost, Duration(deadline - before));
    queue_.take(events, patience);
    const Instant begun = now();
    last_beat_ns_ = begun.time_since_epoch().count();
    metrics_.queue_depth = static_cast<std::int64_t>(events.size());
    for (Event& event : events) {
      std::visit([this](auto& e) { on(e); }, event);
      drain();
    }
    if (core_.next_deadline() <= now() && !stopping_) {
      core_.tick(now());
      ++metrics_.core_ticks;
      drain();
    }
    compact_if_due();
    if (!events.empty()) metrics_.core_batch.add(now() - begun);
  }
}

void CoreHost::on(Leadership& event) {
  if (event.until) switches_.allow_until(*event.until);
  if (event.lead) {
    core_.lead(*event.lead, *event.until, now());
    log_.write(Log::Level::info, "leading", {{"epoch", *event.lead}});
  } else if (event.until) {
    core_.extend(*event.until, now());
    notice_lapse();
  } else if (event.term == term_) {
    core_.step_down(now());
    switches_.allow_until(Instant::min());
    log_.write(Log::Level::warning, "stepped down");
  }
  if (!event.then) return;
  drain();
  event.then();
}

// A core that leads until some instant always has a deadline.
void CoreHost::notice_lapse() {
  if (!lapsed_ || core_.next_deadline() != kNever) return;
  drain();
  switches_.allow_until(Instant::min());
  std::exchange(lapsed_, {})();
}

// Ranks and operators of the core before have been refused by it; who is left came a moment ago.
void CoreHost::on(TakeOver& event) {
  core_.step_down(now());
  drain();
  end_all("the daemon begins to lead; attach again");
  switches_.allow_until(event.until);
  term_ = event.epoch;
  lapsed_ = std::move(event.lapsed);
  writer_.write_to(
      std::move(event.store), [this, term = term_](daemon::RecordNumber through) { durable(through, term); },
      std::move(event.failed));
  compactions_when_asked_.reset();
  core_ = std::move(*event.core);
  core_.lead(event.epoch, event.until, now());
  log_.write(Log::Level::info, "leading", {{"epoch", event.epoch}});
}

void CoreHost::on(RankOpened& event) {
  ranks_[event.connection] = {std::move(event.stream), event.rank};
  ++metrics_.ranks;
  core_.rank_opened(event.connection, event.identity, now());
}

void CoreHost::on(RankFrame& event) {
  grants_in_event_ = 0;
  for (auto& [connection, message] : event.messages) {
    if (!ranks_.contains(connection)) continue;  // closed from here while the message was on its way
    core_.rank_message(connection, message, now());
    drain();
  }
  if (grants_in_event_ > 0) metrics_.grant_announced.add(now() - event.received);
  event.stream->taken();
}

void CoreHost::on(RankClosed& event) {
  if (ranks_.erase(event.connection) == 0) return;
  --metrics_.ranks;
  core_.rank_closed(event.connection, now());
}

void CoreHost::on(Call& event) {
  calls_.emplace(event.request, std::move(event.done));
  core_.operator_call(event.request, event.identity, event.call, now());
}

void CoreHost::on(SwitchEvent& event) {
  if (event.generation != generations_[event.ocs]) return;  // of a connection that was given up
  grants_in_event_ = 0;
  switch (event.kind) {
    case SwitchEvent::Kind::connected: core_.switch_connected(event.ocs, now()); break;
    case SwitchEvent::Kind::frame: core_.switch_frame(event.ocs, event.frame, now()); break;
    case SwitchEvent::Kind::disconnected: core_.switch_disconnected(event.ocs, now()); break;
  }
  drain();
  if (grants_in_event_ > 0) metrics_.grant_switched.add(now() - event.received);
}

void CoreHost::on(Durable& event) {
  if (event.term == term_) core_.durable(event.through, now());
}

void CoreHost::on(Refusal& event) {
  const Instant at = now();
  if (at - refusal_second_ >= std::chrono::seconds(1)) {
    refusal_second_ = at;
    refusals_ = 0;
  }
  if (++refusals_ > kRefusalsPerSecond) return;
  daemon::Audit audit{std::move(event.record)};
  act(audit);
}

void CoreHost::on(Stop&) {
  core_.step_down(now());
  switches_.allow_until(Instant::min());
  drain();
  end_all("the daemon stops; attach again");
  stopping_ = true;
}

void CoreHost::end_all(const std::string& why) {
  for (auto& [connection, rank] : ranks_) {
    rank.stream->end_rank(rank.rank, why);
    to_flush_.push_back(rank.stream.get());
  }
  flush_streams();
  metrics_.ranks -= static_cast<std::int64_t>(ranks_.size());
  ranks_.clear();
  const daemon::Reply ended{fail(ErrorCode::io, why), {}, {}};
  for (auto& [request, done] : calls_) done(ended);
  calls_waiting_.fetch_sub(calls_.size());
  calls_.clear();
}

void CoreHost::drain() {
  for (daemon::Action& action : core_.take_actions()) {
    std::visit([this](auto& a) { act(a); }, action);
  }
  flush_streams();
}

void CoreHost::act(daemon::ToRank& action) {
  const auto found = ranks_.find(action.connection);
  if (found == ranks_.end()) return;  // it left
  count(action.message);
  found->second.stream->send(found->second.rank, action.message);
  to_flush_.push_back(found->second.stream.get());
}

void CoreHost::act(daemon::CloseRank& action) {
  const auto found = ranks_.find(action.connection);
  if (found == ranks_.end()) return;
  // Kept alive over flush_streams() by the stream's owner or by the map of another rank of it: flush at once instead.
  const std::shared_ptr<StreamOutlet> stream = std::move(found->second.stream);
  stream->end_rank(found->second.rank, action.reason);
  stream->flush();
  std::erase(to_flush_, stream.get());
  ranks_.erase(found);
  --metrics_.ranks;
}

void CoreHost::act(daemon::ToOperator& action) {
  const auto found = calls_.find(action.request);
  if (found == calls_.end()) return;
  if (!action.reply.outcome) ++metrics_.operator_refused;
  found->second(action.reply);
  calls_.erase(found);
  calls_waiting_.fetch_sub(1);
}

void CoreHost::act(daemon::ToSwitch& action) {
  ++metrics_.switches[action.ocs].frames_sent;
  switches_.send(action.ocs, generations_[action.ocs], std::move(action.frame));
}

void CoreHost::act(daemon::ConnectSwitch& action) { switches_.connect(action.ocs, ++generations_[action.ocs]); }

void CoreHost::act(daemon::AppendRecord& action) { writer_.append(action.number, std::move(action.payload)); }

void CoreHost::act(daemon::Audit& action) {
  writer_.audit(action.record);
  sink_({wall_time(), "audit", std::move(action.record)});
}

void CoreHost::act(daemon::Notice& action) {
  log_.write(level_named(action.level), "notice", {{"text", action.text}});
  wire::Event event{wall_time(), std::move(action.level), {}};
  event.record.detail = std::move(action.text);
  sink_(event);
}

void CoreHost::act(daemon::IntentMeasured& action) {
  constexpr unsigned kWritesOfOne = 2;  // one removal, one addition
  SwitchMetrics& ocs = metrics_.switches[action.ocs];
  ++(action.done ? ocs.intents_done : ocs.intents_failed);
  ocs.switching.add(action.total);
  ocs.settling.add(action.settle);
  if (action.writes > kWritesOfOne) ocs.retries += action.writes - kWritesOfOne;
  ocs.unknown_outcomes += action.unknown_pairs;
}

void CoreHost::count(const control::DaemonMessage& message) {
  if (const auto* granted = std::get_if<control::Granted>(&message)) {
    ++(granted->path == control::Path::rail ? metrics_.grants_rail : metrics_.grants_management);
    ++grants_in_event_;
  } else if (std::holds_alternative<control::Refused>(message)) {
    ++metrics_.refusals;
  } else if (std::holds_alternative<control::Stop>(message)) {
    ++metrics_.stops;
  }
}

void CoreHost::flush_streams() {
  for (std::size_t i = 0; i < to_flush_.size(); ++i) {
    if (i == 0 || to_flush_[i] != to_flush_[i - 1]) to_flush_[i]->flush();
  }
  to_flush_.clear();
}

void CoreHost::compact_if_due() {
  if (metrics_.journal_bytes.load() < static_cast<std::int64_t>(spec_.compact_bytes)) return;
  if (compactions_when_asked_ == metrics_.compactions.load()) return;  // the one asked for is not done yet
  compactions_when_asked_ = metrics_.compactions.load();
  writer_.compact(core_.snapshot());
}

}  // namespace photonrail::runtime
