// One state of the explored system: the real Coordinator, a model of the shim of each of four ranks, a stream each way
// between each rank and the coordinator, and switches that answer when they like. Copied at every branch.
//
// The network keeps the order of each stream and nothing between streams. At most once each (budgets): a stream breaks
// and loses all that is on it, both ways, and the shim resumes; a message is delivered a second time, at any later
// moment; a rank crashes, and is reported lost at any later moment; a command fails; the controller restarts and
// forgets everything. An operation ends at a member, at any moment, once all members have started it (or one of them
// has crashed).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "program.h"

namespace photonrail::explore {

struct Options {
  control::CoordinatorSpec spec;             // ranks and ports are filled in
  bool blocking_issue = false;               // a rule that fails: an asynchronous issue waits for its grant
  bool guard_timer = false;                  // the timer may go off at any moment
  std::uint8_t losses = 0, repetitions = 0, crashes = 0, failures = 0, restarts = 0;
};

// What does not change while exploring.
struct Setting {
  Setting(Fabric fabric, Program program, Options options);

  Fabric fabric;
  Program program;
  Options options;
  std::vector<std::vector<std::uint8_t>> operations;  // of each group, in order
  std::vector<control::Sequence> base;                // of each group: done before
  std::vector<std::vector<bool>> alone;               // per rank and operation, from the program
};

enum class Kind : std::uint8_t { announce, complete, blocked, stopped, resume, grant, stop, limit, fail };

struct Message {
  Kind kind = Kind::announce;
  std::uint8_t group = 0;
  bool flag = false;                         // announce: alone; grant: rail
  control::Sequence a = 0, b = 0;
  std::shared_ptr<const std::vector<control::ResumedGroup>> resumed;
};

struct Transition {
  enum class What : std::uint8_t {
    issue, to_coordinator, to_shim, end, answer, device_fails, timer, loss, repeat_up, repeat_down, repeated, crash,
    lost, restart,
  };
  What what = What::issue;
  std::uint8_t rank = 0;
  std::uint8_t operation = 0;
  control::CommandId command = 0;
};

struct HeldGrant {
  control::Sequence first = 0, last = 0;
  bool rail = true, stopped = false, limited = false;
  bool said_stopped = false;                 // and has had no limit
};

enum class Life : std::uint8_t { unborn, issued, started, done, failed };

struct ShimGroup {
  std::vector<HeldGrant> grants;             // not completed, and the last one
  control::Sequence newest = 0;              // highest first operation of a grant seen
  control::Sequence announced = 0, completed = 0;
};

struct Shim {
  std::uint8_t at = 0;                       // in its program
  bool crashed = false;
  bool waits_reported = false;
  std::vector<Life> life;                    // per operation
  std::vector<std::uint8_t> rail;            // per operation, of its start
  std::vector<std::uint8_t> said;            // operations in the order in which they were last issued or announced
  std::vector<ShimGroup> groups;
  std::vector<Message> up, down;
};

class World {
 public:
  explicit World(std::shared_ptr<const Setting> setting);
  // Goes on with what another world's coordinator has learnt, when its program has ended.
  World(std::shared_ptr<const Setting> setting, const World& before);

  // What can happen next. `progress`: something other than timer and faults among it.
  std::vector<Transition> transitions(bool& progress) const;
  void apply(const Transition& transition);

  bool ended() const;                        // every rank that lives has come to the end of its program
  const std::string& violation() const { return violation_; }
  std::pair<std::uint64_t, std::uint64_t> digest() const;
  const control::CoordinatorCounts& counts() const { return coordinator_.counts(); }
  const Setting& setting() const { return *setting_; }
  std::string text() const;
  std::string text(const Transition& transition) const;   // with the message that it delivers

 private:
  struct Command {
    control::CommandId id = 0;
    std::vector<control::Circuit> connect, disconnect;
  };

  control::Coordinator make_coordinator() const;
  bool issue_enabled(const Shim& shim, std::uint8_t rank) const;
  bool stopped(std::uint8_t rank, std::uint8_t group) const;
  bool is_member(std::uint8_t rank, std::uint8_t group) const;
  bool may_end(std::uint8_t rank, std::uint8_t operation) const;
  bool only_listens(std::uint8_t rank) const;

  void issue(std::uint8_t rank);
  void come_to_wait(std::uint8_t rank);
  void announce(std::uint8_t rank, std::uint8_t operation);
  void note_said(std::uint8_t rank, std::uint8_t operation);
  void leave_batches(std::uint8_t rank, std::uint8_t group);
  void leave_if_elsewhere(std::uint8_t rank, std::uint8_t group, HeldGrant& grant);
  control::Sequence issued(std::uint8_t rank, std::uint8_t group) const;
  control::Sequence started(std::uint8_t rank, std::uint8_t group) const;
  HeldGrant* covering(std::uint8_t rank, std::uint8_t group, control::Sequence sequence);
  void start_covered(std::uint8_t rank, std::uint8_t group);
  void finish(std::uint8_t rank, std::uint8_t operation, Life life);
  void report_completed(std::uint8_t rank, std::uint8_t group);
  void say(std::uint8_t rank, Kind kind, std::uint8_t group, control::Sequence a, control::Sequence b, bool flag);
  void resume(std::uint8_t rank);

  void hear(std::uint8_t rank, const Message& message);   // a shim
  void tell(std::uint8_t rank, const Message& message);   // the coordinator
  void drain();
  void check_grant(const control::GrantMessage& grant);
  void restart();
  void note_limit(std::uint8_t group, control::Sequence last);
  void note_failed(std::uint8_t group, control::Sequence sequence);
  void carry_out(const control::SwitchCommand& command);
  void note_announced(std::uint8_t rank, std::uint8_t group, control::Sequence through);
  void violate(const std::string& what);

  std::shared_ptr<const Setting> setting_;
  control::Coordinator coordinator_;
  std::vector<Shim> shims_;
  std::vector<Command> commands_;            // on their way
  std::vector<control::PortId> partner_;     // what the switches hold
  std::uint8_t lost_ = 0;                    // bit per rank
  std::uint8_t losses_ = 0, repetitions_ = 0, crashes_ = 0, failures_ = 0, restarts_ = 0;  // left
  bool dark_ = false;                        // a circuit has been given up: a command failed
  std::optional<std::pair<std::uint8_t, Message>> copy_;  // to be delivered again; rank + 4: to the shim
  std::vector<std::array<control::Sequence, kRanks>> announced_;  // per group: what the coordinator has been told
  std::vector<std::uint8_t> order_;          // operations in the order of full announcement
  std::vector<std::uint8_t> granted_;        // per operation: 0 no, 1 rail, 2 management, 3 failed
  std::string violation_;
};

}  // namespace photonrail::explore
