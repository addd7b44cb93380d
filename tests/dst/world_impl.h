// Everything that one simulated run holds; its parts are in world.cc (set-up, operators, faults, the run),
// world_daemon.cc (the daemon's process, switches) and world_ranks.cc.
#pragma once

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

using namespace std::chrono_literals;
using control::Path;
using control::Rank;
using daemon::ConnectionId;
using daemon::SwitchId;
using device::CrossConnect;

inline constexpr Duration kLease = 5s;
inline constexpr Duration kMargin = 500ms;
inline constexpr Duration kOperationTimeout = 2s;  // after which a rank gives up an operation whose peer is gone
inline constexpr std::size_t kCompactAt = 4096;    // bytes of journal

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
      text += fmt::format(" [{}: done {}, granted {}-{}, announced {}]", g.group, g.completed, g.granted_first,
                          g.granted, g.announced);
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
  std::string operator()(const control::Stop& m) const {
    return fmt::format("stop {} of -{}", m.group, m.granted_last);
  }
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
  device::ConnectionId connection = 0;  // 0: none
  Instant last_down{}, last_up{};       // frames keep their order
  std::size_t log_seen = 0;
  Instant cut_until{};  // partition from the daemon
  Instant wake = kNever;
  bool light_may_fail = false;  // a fault that takes light away by itself is possible here
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
  std::vector<std::uint32_t> groups;  // of the plan, by handle of the session
  std::map<std::uint32_t, client::GroupHandle> handles;
  std::size_t next = 0;  // instruction
  bool computing = false, dead = false, done = false;
  Instant paused_until{};
  std::set<std::pair<std::uint32_t, std::uint64_t>> open, running, ended;  // not waited for; started; finished
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
  std::vector<std::vector<OperationRun>> runs;  // by group, by operation
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
      fmt::print(stderr, "{:>12.3f} ms  {}\n", static_cast<double>(events_.now().time_since_epoch().count()) * 1e-6,
                 what);
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
  void call(const daemon::OperatorCall& call, daemon::Identity::Role role,
            std::function<void(const daemon::Reply&)> then);
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
  std::uint64_t life_ = 0;  // of the daemon's process; also its epoch
  bool draining_ = false, syncing_ = false;
  std::optional<std::uint64_t> record_offset_;  // journal number - core's number
  std::map<ConnectionId, RankProcess*> streams_;
  ConnectionId next_connection_ = 1;
  daemon::RequestId next_request_ = 1;
  std::map<daemon::RequestId, std::function<void(const daemon::Reply&)>> requests_;
  std::map<daemon::Attachment, std::string> promised_ports_;  // acknowledged: drained or quarantined
};

}  // namespace photonrail::dst
