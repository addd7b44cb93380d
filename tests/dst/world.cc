#include "world.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/digest.h"
#include "client/rank_session.h"
#include "daemon/core.h"
#include "device/front_end.h"
#include "events.h"
#include "faults.h"
#include "journal/journal.h"
#include "journal/memory_disk.h"
#include "program.h"

namespace photonrail::dst {
namespace {

using namespace std::chrono_literals;
using control::Path;
using control::Rank;
using daemon::ConnectionId;
using daemon::SwitchId;
using device::CrossConnect;

constexpr Duration kLease = 5s;
constexpr Duration kMargin = 500ms;
constexpr Duration kOperationTimeout = 2s;   // after which a rank gives up an operation whose peer is gone
constexpr std::size_t kCompactAt = 4096;     // bytes of journal

// A clock that runs fast or slow, and began at some other moment.
struct Clock {
  std::int64_t ppm = 0;
  Duration offset{};
  Instant local(Instant now) const {
    const auto since = now.time_since_epoch();
    return Instant(since + Duration(static_cast<std::int64_t>(static_cast<Int128>(since.count()) * ppm / 1'000'000)) +
                   offset);
  }
  // The first instant at which the clock shows `local` or later (1 ns of rounding beyond).
  Instant global(Instant local) const {
    if (local == kNever) return kNever;
    const Int128 since = (local.time_since_epoch() - offset).count();
    return Instant(Duration(static_cast<std::int64_t>(since * 1'000'000 / (1'000'000 + ppm)) + 2));
  }
};

// For the history that people read.
struct Text {
  std::string operator()(const control::Hello& m) const {
    std::string text = "hello";
    for (const auto& g : m.groups) {
      text += fmt::format(" [{}: done {}, granted {}-{}, announced {}]", g.group, g.completed, g.granted_first, g.granted,
                          g.announced);
    }
    return text;
  }
  std::string operator()(const control::RegisterGroup& m) const { return "register " + m.key; }
  std::string operator()(const control::Announce& m) const {
    return fmt::format("announce {}#{}{}", m.group, m.sequence, m.alone ? " alone" : "");
  }
  std::string operator()(const control::Complete& m) const { return fmt::format("complete {}#{}", m.group, m.through); }
  std::string operator()(const control::Blocked& m) const { return fmt::format("blocked {}#{}", m.group, m.sequence); }
  std::string operator()(const control::Stopped& m) const {
    return fmt::format("stopped {} of -{} at {}", m.group, m.granted_last, m.highest_started);
  }
  std::string operator()(const control::Renew&) const { return "renew"; }
  std::string operator()(const control::Goodbye&) const { return "goodbye"; }
  std::string operator()(const control::Welcome& m) const { return fmt::format("welcome, epoch {}", m.epoch); }
  std::string operator()(const control::GroupReady& m) const {
    return fmt::format("group {} is {}{}", m.key, m.group, m.rail ? "" : ", no rail: " + m.why);
  }
  std::string operator()(const control::Granted& m) const {
    return fmt::format("granted {}#{}-{}{}", m.group, m.first, m.last, m.path == Path::rail ? "" : " management");
  }
  std::string operator()(const control::Stop& m) const { return fmt::format("stop {} of -{}", m.group, m.granted_last); }
  std::string operator()(const control::Limit& m) const {
    return fmt::format("limit {} of -{} to {}", m.group, m.granted_last, m.last);
  }
  std::string operator()(const control::Failed& m) const { return fmt::format("failed {}#{}", m.group, m.sequence); }
  std::string operator()(const control::Renewed&) const { return "renewed"; }
  std::string operator()(const control::Refused& m) const { return "refused: " + m.text; }
};
template <class Message>
std::string text(const Message& message) {
  return std::visit(Text(), message);
}

struct Box {
  explicit Box(device::SwitchModelSpec spec) : model(std::move(spec)) {}
  device::SwitchModel model;
  std::unique_ptr<device::FrontEnd> front;
  device::Dialect dialect = device::Dialect::polatis_scpi;
  device::ConnectionId connection = 0;     // 0: none
  Instant last_down{}, last_up{};          // frames keep their order
  std::size_t log_seen = 0;
  Instant cut_until{};                     // partition from the daemon
  Instant wake = kNever;
  bool light_may_fail = false;             // a fault that takes light away by itself is possible here
};

struct OperationRun {
  std::set<Rank> started, finished;
  std::optional<Path> path;
  std::vector<CrossConnect> pairs;
};

struct Job;

struct RankProcess {
  Job* job = nullptr;
  Rank rank = 0;
  client::RankSession session;
  Clock clock;
  std::vector<std::uint32_t> groups;       // of the plan, by handle of the session
  std::map<std::uint32_t, client::GroupHandle> handles;
  std::size_t next = 0;                    // instruction
  bool computing = false, dead = false, done = false;
  Instant paused_until{};
  std::set<std::pair<std::uint32_t, std::uint64_t>> open, running, ended;   // not waited for; started; finished
  ConnectionId connection = 0;
  Instant cut_until{}, last_up{}, last_down{};
  Instant wake = kNever;
  explicit RankProcess(client::RankSessionSpec spec) : session(std::move(spec)) {}
};

struct Job {
  JobPlan plan;
  SwitchId ocs = 0;
  std::vector<daemon::Attachment> ports;
  std::vector<std::unique_ptr<RankProcess>> ranks;
  std::vector<std::vector<OperationRun>> runs;   // by group, by operation
  bool submitted = false, aborted = false, over = false, ended = false;
  unsigned lives = 1;
};

class World {
 public:
  explicit World(const WorldSpec& spec)
      : spec_(spec), random_(spec.seed, "world"), net_(spec.seed, "net"), checker_(switch_count(spec)) {}

  Outcome run();

 private:
  static std::size_t switch_count(const WorldSpec& spec) { return (spec.jobs + 1) / 2; }
  // Two ports a rank for each of two jobs on a switch: readings of ports that nobody uses only cost time.
  device::Position slot() const { return static_cast<device::Position>(2 * spec_.ranks); }
  device::Position size() const { return static_cast<device::Position>(2 * slot()); }
  void say(const std::string& what) {
    history_.add(what);
    if (spec_.verbose) {
      fmt::print(stderr, "{:>12.3f} ms  {}\n", static_cast<double>(events_.now().time_since_epoch().count()) * 1e-6, what);
    }
  }
  void struck(const std::string& fault) {
    ++outcome_.faults[fault];
    say("fault " + fault);
  }
  Duration latency() {
    std::uint64_t us = 20 + net_.below(60);
    if (plan_.late_message > 0 && net_.uniform() < plan_.late_message) {
      us += net_.below(300'000);
      ++outcome_.faults["late-message"];
    }
    return std::chrono::microseconds(static_cast<std::int64_t>(us));
  }

  // ---- setting up
  void make_switches();
  void make_job(unsigned index, unsigned life);
  daemon::CoreSpec core_spec() const;

  // ---- the daemon's process
  bool daemon_up() const { return core_.has_value() && events_.now() >= daemon_paused_until_; }
  Instant daemon_now() const { return daemon_clock_.local(events_.now()); }
  // Runs `act` on the core when the daemon is not paused, if it still lives then.
  void on_daemon(std::function<void()> act);
  void start_daemon();
  void crash_daemon(const std::string& why);
  bool killed_at(const std::string& point);
  void drain();
  void perform(daemon::Action& action);
  void schedule_tick();
  void schedule_sync();

  // ---- switches
  void connect_switch(SwitchId ocs);
  void disconnect_switch(SwitchId ocs);
  void frame_to_switch(SwitchId ocs, device::Frame frame);
  void pump(SwitchId ocs);
  void look_at_writes(SwitchId ocs);

  // ---- ranks
  void open_stream(RankProcess& rank);
  void break_stream(RankProcess& rank);
  void close_stream(ConnectionId connection);
  void reopen_later(RankProcess& rank, Duration delay);
  void rank_to_daemon(RankProcess& rank, const control::RankMessage& message);
  void daemon_to_rank(ConnectionId connection, const control::DaemonMessage& message);
  void advance(RankProcess& rank);
  void schedule_wake(RankProcess& rank);
  bool execute(RankProcess& rank);
  void start_operation(RankProcess& rank, std::uint32_t group, std::uint64_t number, Path path);
  void end_operation(RankProcess& rank, std::uint32_t group, std::uint64_t number);
  void kill_rank(RankProcess& rank);
  void abort(Job& job, const std::string& why);
  std::vector<CrossConnect> pairs_of(const Job& job, std::uint32_t group) const;
  void check_end(Job& job);

  // ---- operators
  void call(const daemon::OperatorCall& call, daemon::Identity::Role role, std::function<void(const daemon::Reply&)> then);
  void submit(Job& job);
  void end(Job& job);

  // ---- faults
  void strike(const TimedFault& fault);
  RankProcess* pick_rank(std::uint64_t pick);

  WorldSpec spec_;
  RandomStream random_, net_;
  Events events_;
  FaultPlan plan_;
  Checker checker_;
  Outcome outcome_;
  Digest history_;
  Instant quiet_{};
  std::vector<std::unique_ptr<Box>> boxes_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::unique_ptr<Job>> former_;

  std::optional<daemon::Core> core_;
  std::optional<journal::Journal> journal_;
  journal::MemoryDisk disk_;
  Clock daemon_clock_;
  Instant daemon_paused_until_{};
  Instant daemon_wake_ = kNever;
  std::uint64_t life_ = 0;               // of the daemon's process; also its epoch
  bool draining_ = false, syncing_ = false;
  std::optional<std::uint64_t> record_offset_;   // journal number - core's number
  std::map<ConnectionId, RankProcess*> streams_;
  ConnectionId next_connection_ = 1;
  daemon::RequestId next_request_ = 1;
  std::map<daemon::RequestId, std::function<void(const daemon::Reply&)>> requests_;
  std::map<daemon::Attachment, std::string> promised_ports_;   // acknowledged: drained or quarantined
};

// ---- setting up

void World::make_switches() {
  using device::Dialect;
  const Dialect dialects[] = {Dialect::polatis_scpi,    Dialect::polatis_tl1,      Dialect::calient_tl1,
                              Dialect::glimmerglass_tl1, Dialect::polatis_netconf, Dialect::polatis_restconf,
                              Dialect::ocp_gnmi,        Dialect::sonic_gnmi};
  for (std::size_t i = 0; i < switch_count(spec_); ++i) {
    device::SwitchModelSpec spec;
    spec.inputs = spec.outputs = size();
    spec.model = fmt::format("EMU-{0}x{0}", size());
    spec.serial = fmt::format("S{}", i);
    spec.seed = spec_.seed * 1000 + i;
    spec.settle_median = std::chrono::milliseconds(2 + static_cast<std::int64_t>(random_.below(20)));
    spec.command_time = std::chrono::microseconds(200 + static_cast<std::int64_t>(random_.below(2000)));
    spec.on_conflict = random_.below(2) == 0 ? device::OnConflict::steals : device::OnConflict::rejects;
    spec.has_power = random_.below(4) > 0;
    if (spec_.faults) spec.faults = plan_.switches[i];
    // A box that shows neither power nor status cannot be caught when it lies about light.
    const bool dark_faults = spec.faults.fails_to_tune > 0 || spec.faults.wrong_output > 0;
    spec.has_power = spec.has_power || dark_faults;
    auto box = std::make_unique<Box>(spec);
    while (box->front == nullptr) {
      box->dialect = dialects[random_.below(std::size(dialects))];
      box->light_may_fail =
          spec.faults.reverts > 0 || (spec.faults.wrong_output > 0 && box->dialect == Dialect::sonic_gnmi) ||
          (dark_faults && box->dialect == Dialect::glimmerglass_tl1);
      box->front = device::make_front_end(box->dialect, box->model, {{"admin", "secret"}, 5, ""});
    }
    say(fmt::format("switch {} speaks {}{}", i, device::name(box->dialect), spec.has_power ? ", shows power" : ""));
    boxes_.push_back(std::move(box));
  }
}

void World::make_job(unsigned index, unsigned life) {
  auto job = std::make_unique<Job>();
  const bool rings = spec_.ranks >= 8 && random_.below(3) == 0;
  job->plan = dst::make_job(fmt::format("job{}", index), life, spec_.ranks, rings, spec_.steps, random_);
  job->ocs = static_cast<SwitchId>(index % boxes_.size());
  job->lives = life;
  const auto slots = static_cast<device::Position>(index / boxes_.size());   // jobs that share a switch
  const auto first = static_cast<device::Position>(slots * slot());
  for (std::uint32_t i = 0; i < spec_.ranks * job->plan.ports_per_rank; ++i) {
    job->ports.push_back({job->ocs, static_cast<device::Position>(first + i)});
  }
  job->runs.resize(job->plan.groups.size());
  for (std::size_t g = 0; g < job->plan.groups.size(); ++g) job->runs[g].resize(job->plan.durations[g].size());
  for (Rank rank = 0; rank < spec_.ranks; ++rank) {
    auto process = std::make_unique<RankProcess>(
        client::RankSessionSpec{job->plan.name, life, rank, random_.next(), "dst"});
    process->job = job.get();
    process->rank = rank;
    if (plan_.clock_ppm > 0) {
      process->clock.ppm = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.clock_ppm))) -
                           plan_.clock_ppm / 2;
    }
    job->ranks.push_back(std::move(process));
  }
  if (index < jobs_.size()) {
    former_.push_back(std::move(jobs_[index]));
    jobs_[index] = std::move(job);
  } else {
    jobs_.push_back(std::move(job));
  }
  submit(*jobs_[index]);
}

daemon::CoreSpec World::core_spec() const {
  daemon::CoreSpec spec;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    daemon::SwitchSpec ocs;
    ocs.name = fmt::format("rail{}", i);
    ocs.dialect = boxes_[i]->dialect;
    ocs.credentials = {"admin", "secret"};
    ocs.reconciler.inputs = ocs.reconciler.outputs = size();
    ocs.reconciler.command_timeout = 1s;
    ocs.reconciler.seed = spec_.seed;
    spec.switches.push_back(ocs);
  }
  spec.lease = kLease;
  spec.margin = kMargin;
  spec.seed = spec_.seed;
  return spec;
}

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
      if (life != life_) break;   // it died doing so
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
      if (spec_.verbose) say(fmt::format("switch {} -> {}{} {}", ocs, reply.close ? "closes " : "", frame.verb, frame.body));
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
  const std::string who = fmt::format("{} {} #{} rank {}", job.plan.name, job.plan.groups[group].key, number, rank.rank);
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

// ---- operators

// Asks until there is an answer: the daemon may die over the question.
void World::call(const daemon::OperatorCall& call_, daemon::Identity::Role role,
                 std::function<void(const daemon::Reply&)> then) {
  if (!core_) {
    events_.after(100ms, [this, call_, role, then] { call(call_, role, then); });
    return;
  }
  const daemon::RequestId request = next_request_++;
  auto answered = std::make_shared<bool>(false);
  requests_[request] = [answered, then](const daemon::Reply& reply) {
    if (*answered) return;
    *answered = true;
    then(reply);
  };
  on_daemon([this, request, call_, role] {
    core_->operator_call(request, {role, "operator", "", std::nullopt}, call_, daemon_now());
  });
  events_.after(2s, [this, answered, request, call_, role, then] {
    if (*answered) return;
    requests_.erase(request);
    *answered = true;
    call(call_, role, then);
  });
}

void World::submit(Job& job) {
  std::vector<std::uint32_t> domains(job.plan.ranks);
  for (Rank rank = 0; rank < job.plan.ranks; ++rank) domains[rank] = rank;
  const daemon::SubmitJob request{job.plan.name, job.plan.epoch, job.plan.ports_per_rank, job.ports, domains};
  call(request, daemon::Identity::Role::scheduler, [this, &job](const daemon::Reply& reply) {
    if (!reply.outcome) {
      say("submit " + job.plan.name + " refused: " + reply.outcome.error().message);
      events_.after(500ms, [this, &job] { submit(job); });
      return;
    }
    say("submitted " + job.plan.name);
    job.submitted = true;
    for (const auto& process : job.ranks) {
      for (std::uint32_t g = 0; g < job.plan.groups.size(); ++g) {
        const GroupPlan& group = job.plan.groups[g];
        if (std::find(group.members.begin(), group.members.end(), process->rank) == group.members.end()) continue;
        process->handles[g] = process->session.add_group(group.key, group.members, group.shape);
        process->groups.push_back(g);
      }
    }
    for (const auto& process : job.ranks) reopen_later(*process, latency());
  });
}

void World::end(Job& job) {
  call(daemon::EndJob{job.plan.name, job.plan.epoch}, daemon::Identity::Role::scheduler,
       [this, &job](const daemon::Reply&) {
         if (job.ended) return;
         job.ended = true;
         say("ended " + job.plan.name);
         if (job.over) return;
         job.over = true;
         ++outcome_.jobs_ended_by_faults;
         const auto index = static_cast<unsigned>(
             std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j.get() == &job; }) - jobs_.begin());
         if (job.lives < 3) make_job(index, job.lives + 1);
       });
}

// ---- faults

RankProcess* World::pick_rank(std::uint64_t pick) {
  Job& job = *jobs_[pick % jobs_.size()];
  if (!job.submitted || job.aborted || job.over) return nullptr;
  return job.ranks[(pick >> 8) % job.ranks.size()].get();
}

void World::strike(const TimedFault& fault) {
  const Instant until = events_.now() + fault.length;
  const auto ocs = static_cast<SwitchId>(fault.pick % boxes_.size());
  Box& box = *boxes_[ocs];
  RankProcess* rank = pick_rank(fault.pick);
  const daemon::Attachment port{ocs, static_cast<device::Position>((fault.pick >> 16) % size())};
  if (fault.name == "daemon-crash") return crash_daemon("daemon-crash");
  if (fault.name == "daemon-pause") {
    struck(fault.name);
    daemon_paused_until_ = until;
  } else if (fault.name == "rank-crash" && rank != nullptr) {
    kill_rank(*rank);
  } else if (fault.name == "rank-pause" && rank != nullptr) {
    struck(fault.name);
    rank->paused_until = until;
  } else if (fault.name == "stream-break" && rank != nullptr && rank->connection != 0) {
    struck(fault.name);
    break_stream(*rank);
  } else if (fault.name == "rank-partition" && rank != nullptr) {
    struck(fault.name);
    rank->cut_until = until;
  } else if (fault.name == "switch-disconnect" && box.connection != 0) {
    struck(fault.name);
    disconnect_switch(ocs);
    on_daemon([this, ocs] { core_->switch_disconnected(ocs, daemon_now()); });
  } else if (fault.name == "switch-partition") {
    struck(fault.name);
    box.cut_until = until;
  } else if (fault.name == "power-cycle") {
    struck(fault.name);
    box.light_may_fail = true;
    box.model.power_cycle(events_.now(), std::max<Duration>(fault.length, 100ms));
    disconnect_switch(ocs);
    on_daemon([this, ocs] { core_->switch_disconnected(ocs, daemon_now()); });
    pump(ocs);
  } else if (fault.name == "port-fails") {
    struck(fault.name);
    box.light_may_fail = true;
    box.model.fail_port(port.position, events_.now());
  } else if (fault.name == "foreign-change") {
    struck(fault.name);
    box.light_may_fail = true;
    const auto connections = box.model.connections(events_.now());
    if (connections.empty()) return;
    box.model.foreign_write({"foreign", {connections[(fault.pick >> 24) % connections.size()]}, {}, {}, false},
                            events_.now());
    look_at_writes(ocs);
    pump(ocs);
  } else if (fault.name == "operator-drain" || fault.name == "operator-quarantine") {
    struck(fault.name);
    const auto state = fault.name == "operator-drain" ? daemon::SetPort::State::drained
                                                      : daemon::SetPort::State::quarantined;
    call(daemon::SetPort{port, state, "test"}, daemon::Identity::Role::operator_,
         [this, port, name = fault.name](const daemon::Reply& reply) {
           if (reply.outcome) promised_ports_[port] = name;
         });
  } else if (fault.name == "operator-maintenance") {
    struck(fault.name);
    call(daemon::SetSwitch{ocs, daemon::SetSwitch::State::maintenance, "test"}, daemon::Identity::Role::operator_,
         [this, ocs, until](const daemon::Reply&) {
           events_.at(until, [this, ocs] {
             call(daemon::SetSwitch{ocs, daemon::SetSwitch::State::in_service, "test"},
                  daemon::Identity::Role::operator_, [](const daemon::Reply&) {});
           });
         });
  }
}

// ---- the run

Outcome World::run() {
  quiet_ = Instant(std::chrono::milliseconds(300 + static_cast<std::int64_t>(random_.below(1500))));
  if (spec_.faults) plan_ = plan_faults(switch_count(spec_), quiet_, random_);
  if (plan_.clock_ppm > 0) {
    daemon_clock_.ppm = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.clock_ppm))) -
                        plan_.clock_ppm / 2;
    daemon_clock_.offset = std::chrono::seconds(random_.below(1000));
  }
  make_switches();
  start_daemon();
  for (unsigned i = 0; i < spec_.jobs; ++i) make_job(i, 1);
  for (const TimedFault& fault : plan_.timed) events_.at(fault.at, [this, fault] { strike(fault); });

  const Instant end = quiet_ + 400s;
  const auto over = [&] { return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& j) { return j->over && j->ended; }); };
  constexpr std::uint64_t kMaxEvents = 20'000'000;
  while (!over() && events_.count() < kMaxEvents && events_.step(end)) {
    if (checker_.violations().size() > 20) break;
  }
  for (const auto& job : jobs_) {
    if (job->over) continue;
    std::string where;
    for (const auto& rank : job->ranks) {
      if (rank->done || rank->next >= job->plan.programs[rank->rank].size()) continue;
      const Instruction& at = job->plan.programs[rank->rank][rank->next];
      where += fmt::format(" {}: {}{}#{}", rank->rank,
                           at.kind == Instruction::Kind::wait      ? "waits "
                           : at.kind == Instruction::Kind::issue   ? "issues "
                           : rank->session.attached()              ? "computes "
                                                                   : "detached ",
                           job->plan.groups[at.group].key, at.number);
    }
    checker_.violate("liveness", fmt::format("{} neither finished nor ended;{}", job->plan.name, where));
  }
  for (const auto& box : boxes_) {
    for (const auto& [fault, count] : box->model.faults_struck()) outcome_.faults["switch-" + fault] += count;
  }
  outcome_.events = events_.count();
  outcome_.virtual_time = events_.now().time_since_epoch();
  outcome_.violations = checker_.violations();
  outcome_.digest = history_.value();
  --outcome_.restarts;   // the first start is none
  return outcome_;
}

}  // namespace

Outcome run(const WorldSpec& spec) { return World(spec).run(); }

}  // namespace photonrail::dst
