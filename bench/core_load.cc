// What the daemon's core costs by itself, on one thread, without sockets and disk: messages of ranks in, messages,
// records and frames out, over switches that do at once what they are told.
//
//   standing   rings of 8 over the circuits that are up: 8 announcements, 8 completions, 8 grants an operation
//   switching  rings of 8 along rows and columns of 8 x 8 ranks in turn: each operation drops 8 circuits and makes 8
//   jobs       64 jobs of 512 ports, standing
//
// A request is a message of a rank (announcement or completion). Time is virtual, so nothing waits; the machine's clock
// measures the work. Records count as durable at once. Memory is the growth of the process over the ranks attached.
// usage: core_load      status 1 when 50,000 requests a second are missed
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "allocations.h"
#include "base/check.h"
#include "daemon/core.h"

namespace {

using namespace photonrail;
using namespace std::chrono_literals;

constexpr double kPromised = 5e4;
constexpr control::Rank kGang = 8;

// A switch that does everything at once and needs no frames.
class InstantDriver final : public device::Driver {
 public:
  explicit InstantDriver(const daemon::SwitchSpec& ocs) {
    identity_ = {"bench", "instant", ocs.reconciler.serial, "1", ocs.reconciler.inputs, ocs.reconciler.outputs};
    capabilities_.atomic_batch = capabilities_.status = true;
    capabilities_.max_batch = 1024;
  }
  device::Dialect dialect() const override { return device::Dialect::polatis_scpi; }
  const device::Capabilities& capabilities() const override { return capabilities_; }
  void connected() override { answer().identity = identity_; }
  void disconnected() override {}
  void begin(const device::Command& command) override {
    using Kind = device::Command::Kind;
    device::Answer& reply = answer();
    for (const device::CrossConnect pair : command.pairs) {
      if (command.kind == Kind::add)
        matrix_.insert(pair);
      else
        matrix_.erase(pair);
    }
    reply.pairs.assign(command.pairs.size(), device::Outcome::applied);
    if (command.kind == Kind::read) reply.snapshot.connections.assign(matrix_.begin(), matrix_.end());
    if (command.kind != Kind::readings) return;
    reply.snapshot.outputs.resize(identity_.outputs);
    for (device::OutputReading& reading : reply.snapshot.outputs) reading.status = device::PortStatus::tuned;
  }
  void receive(const device::Frame&) override {}
  void expire() override {}
  std::vector<device::Frame> take_frames() override { return {}; }
  std::optional<device::Answer> take_answer() override { return std::exchange(answer_, std::nullopt); }
  std::vector<device::Event> take_events() override { return {}; }
  bool wants_new_connection() const override { return false; }

 private:
  device::Answer& answer() {
    answer_.emplace();
    answer_->outcome = device::Outcome::applied;
    return *answer_;
  }
  device::Identity identity_;
  device::Capabilities capabilities_;
  std::set<device::CrossConnect> matrix_;
  std::optional<device::Answer> answer_;
};

struct Shape {
  const char* name;
  std::uint32_t jobs, ranks, switches;  // ranks of each job; switches of all
  device::Position ports;               // of each switch
  bool switching;
  unsigned rounds;
};

class Load {
 public:
  explicit Load(const Shape& shape) : shape_(shape) {
    daemon::CoreSpec spec;
    for (std::uint32_t i = 0; i < shape.switches; ++i) {
      daemon::SwitchSpec ocs;
      ocs.name = "ocs" + std::to_string(i);
      ocs.reconciler.serial = ocs.name;
      ocs.reconciler.inputs = ocs.reconciler.outputs = shape.ports;
      ocs.reconciler.poll = 1h;
      spec.switches.push_back(ocs);
    }
    spec.lease = 24h;
    spec.batches = spec.switch_ahead = false;
    spec.make_driver = [](const daemon::SwitchSpec& ocs) { return std::make_unique<InstantDriver>(ocs); };
    auto core = daemon::Core::recover(spec, {}, now_);
    PR_CHECK(core.has_value(), "an empty journal is refused");
    core_.emplace(std::move(*core));
    core_->lead(1, kNever, now_);
    take();
    settle();
    for (std::uint32_t job = 0; job < shape.jobs; ++job) add_job(job);
  }

  // One operation of each gang, rows and columns in turn where the circuits shall change.
  void round(unsigned number) {
    for (std::uint32_t job = 0; job < shape_.jobs; ++job) {
      const std::uint32_t gangs = shape_.ranks / kGang;
      const unsigned layout = shape_.switching ? number % 2 : 0;
      const control::Sequence sequence = shape_.switching ? number / 2 + 1 : number + 1;
      for (std::uint32_t gang = 0; gang < gangs; ++gang) {
        for (control::Rank i = 0; i < kGang; ++i) {
          say(job, member(layout, gang, i), control::Announce{layout * gangs + gang, sequence, false});
        }
      }
      settle();
      for (std::uint32_t gang = 0; gang < gangs; ++gang) {
        for (control::Rank i = 0; i < kGang; ++i) {
          say(job, member(layout, gang, i), control::Complete{layout * gangs + gang, sequence});
        }
      }
    }
  }

  std::uint64_t requests() const { return requests_; }
  std::uint64_t grants() const { return grants_; }
  std::uint64_t records() const { return records_; }

 private:
  // Rows and columns of blocks of 8 x 8 ranks.
  static control::Rank member(unsigned layout, std::uint32_t gang, control::Rank i) {
    if (layout == 0) return gang * kGang + i;
    return gang / kGang * kGang * kGang + i * kGang + gang % kGang;
  }

  void add_job(std::uint32_t number) {
    daemon::SubmitJob job;
    job.job = "job" + std::to_string(number);
    job.job_epoch = 1;
    job.ports_per_rank = 2;
    for (control::Rank rank = 0; rank < shape_.ranks; ++rank) {
      job.domain.push_back(rank);
      for (std::uint32_t port = 0; port < 2; ++port) {
        const std::uint32_t place = (number * shape_.ranks + rank) * 2 + port;
        job.ports.push_back({place / shape_.ports, static_cast<device::Position>(place % shape_.ports)});
      }
    }
    core_->operator_call(number, {daemon::Identity::Role::scheduler, "bench", {}, {}}, job, now_);
    take();
    for (control::Rank rank = 0; rank < shape_.ranks; ++rank) {
      const std::uint32_t connection = number * shape_.ranks + rank + 1;
      core_->rank_opened(connection, {daemon::Identity::Role::rank, job.job, job.job, rank}, now_);
      say(number, rank, control::Hello{job.job, 1, rank, 1, {}, {}});
    }
    for (const unsigned layout : {0U, 1U}) {
      for (std::uint32_t gang = 0; gang < shape_.ranks / kGang; ++gang) {
        control::RegisterGroup group{
            std::to_string(layout) + "-" + std::to_string(gang), {}, control::RegisterGroup::Shape::ring};
        for (control::Rank i = 0; i < kGang; ++i) group.members.push_back(member(layout, gang, i));
        for (const control::Rank rank : group.members) say(number, rank, group);
      }
    }
    requests_ = 0;
  }

  void say(std::uint32_t job, control::Rank rank, const control::RankMessage& message) {
    core_->rank_message(job * shape_.ranks + rank + 1, message, now_);
    ++requests_;
    take();
  }

  // Lets virtual time pass until the core waits for nothing but timers far away.
  void settle() {
    while (core_->next_deadline() < now_ + 1s) {
      now_ = std::max(now_ + 1us, core_->next_deadline());
      core_->tick(now_);
      take();
    }
  }

  void take() {
    for (std::vector<daemon::Action> actions = core_->take_actions(); !actions.empty();
         actions = core_->take_actions()) {
      daemon::RecordNumber last = 0;
      for (const daemon::Action& action : actions) {
        if (const auto* record = std::get_if<daemon::AppendRecord>(&action)) last = record->number;
        if (const auto* connect = std::get_if<daemon::ConnectSwitch>(&action))
          core_->switch_connected(connect->ocs, now_);
        const auto* message = std::get_if<daemon::ToRank>(&action);
        if (message == nullptr) continue;
        PR_CHECK(!std::holds_alternative<control::Refused>(message->message), "a message was refused");
        const auto* grant = std::get_if<control::Granted>(&message->message);
        if (grant == nullptr) continue;
        PR_CHECK(grant->path == control::Path::rail, "an operation took the management path");
        ++grants_;
      }
      if (last == 0) continue;
      records_ += 1;
      core_->durable(last, now_);
    }
  }

  Shape shape_;
  Instant now_{1h};
  std::optional<daemon::Core> core_;
  std::uint64_t requests_ = 0, grants_ = 0, records_ = 0;
};

bool measure(const Shape& shape) {
  const std::size_t heap = mallinfo2().uordblks;
  Load load(shape);
  load.round(0);
  load.round(1);
  const double ranks = static_cast<double>(shape.jobs) * shape.ranks;
  const double memory = static_cast<double>(mallinfo2().uordblks - heap) / ranks;
  const std::uint64_t before = load.requests(), allocated = allocations();
  const auto start = std::chrono::steady_clock::now();
  for (unsigned round = 0; round < shape.rounds; ++round) load.round(round + 2);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double requests = static_cast<double>(load.requests() - before);
  PR_CHECK(load.grants() == load.requests() / 2, "an operation was not granted to each of its members");
  std::printf("%-10s %5u %7.0f %10.0f %14.0f %14.2f %14.1f %12.1f\n", shape.name, shape.jobs, ranks, requests,
              requests / seconds, seconds / requests * 1e6, static_cast<double>(allocations() - allocated) / requests,
              memory / 1024);
  return requests / seconds >= kPromised;
}

}  // namespace

int main() {
  std::printf("%-10s %5s %7s %10s %14s %14s %14s %12s\n", "load", "jobs", "ranks", "requests", "requests/s",
              "us/request", "allocations", "KiB/rank");
  bool kept = measure({"standing", 1, 1024, 8, 256, false, 1000});
  kept = measure({"switching", 1, 1024, 8, 256, true, 100}) && kept;
  kept = measure({"jobs", 64, 256, 64, 512, false, 50}) && kept;
  std::printf("promised: %.0f requests a second on one thread\n", kPromised);
  return kept ? 0 : 1;
}
