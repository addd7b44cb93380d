// Ranks, operators and switches that do whatever comes to mind. The core neither falls over nor lets them reach another
// job: its ranks get their grants, no circuit of it changes under an operation, and a restart finds a journal that it
// understands.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "base/random.h"
#include "daemon/test_world.h"

namespace photonrail::daemon {
namespace {

using namespace std::chrono_literals;
using control::Path;

class Hostile : public TestWorld {
 public:
  explicit Hostile(std::uint64_t seed) : TestWorld(2, 12), random_(seed, "hostile") {
    spec.max_outstanding_per_rank = 8;
    spec.max_groups_per_job = 20;
    spec.batches = random_.below(2) == 0;
    spec.switch_ahead = random_.below(2) == 0;
  }

  control::RankMessage message() {
    const auto small = [this] { return static_cast<std::uint32_t>(random_.below(6)); };
    const auto large = [this] { return random_.below(8) == 0 ? random_.next() : random_.below(6); };
    switch (random_.below(10)) {
      case 0: return hello_message();
      case 1: {
        control::RegisterGroup group{"k" + std::to_string(random_.below(4)), {}, control::RegisterGroup::Shape::pair};
        group.shape = static_cast<control::RegisterGroup::Shape>(random_.below(3));
        for (std::uint64_t n = random_.below(4); n > 0; --n) group.members.push_back(small());
        return group;
      }
      case 2:
      case 3:
      case 4: return control::Announce{small(), large(), random_.below(2) == 0};
      case 5: return control::Complete{small(), large()};
      case 6: return control::Blocked{small(), large()};
      case 7: return control::Stopped{small(), large(), large()};
      case 8: return random_.below(30) == 0 ? control::RankMessage(control::Goodbye{}) : control::Renew{};
      default: return control::Renew{};
    }
  }
  control::Hello hello_message() {
    control::Hello hello{random_.below(8) == 0 ? "good" : "bad",
                         1 + random_.below(2),
                         static_cast<control::Rank>(random_.below(5)),
                         1 + random_.below(3),
                         {},
                         "x"};
    for (std::uint64_t n = random_.below(3); n > 0; --n) {
      hello.groups.push_back({static_cast<control::GroupId>(random_.below(4)), random_.below(4), random_.below(5),
                              random_.below(4), random_.below(2) == 0 ? Path::rail : Path::management,
                              random_.below(6)});
    }
    return hello;
  }
  OperatorCall call() {
    const Attachment port{static_cast<SwitchId>(random_.below(3)),
                          static_cast<device::Position>(4 + random_.below(12))};
    SubmitJob job = job_of(random_.below(4) == 0 ? "good" : "bad", 1 + static_cast<std::uint32_t>(random_.below(4)),
                           1 + static_cast<std::uint32_t>(random_.below(2)), 0,
                           static_cast<device::Position>(random_.below(8)), random_.below(4));
    if (job.job == "good") job.job_epoch = 1;
    switch (random_.below(6)) {
      case 0: return job;
      case 1: return EndJob{"bad", random_.below(4)};
      case 2: return SetPort{port, static_cast<SetPort::State>(random_.below(3)), "x"};
      case 3:
        return SetSwitch{1 + static_cast<SwitchId>(random_.below(2)), static_cast<SetSwitch::State>(random_.below(2)),
                         "x"};
      case 4: return PlanJob{job};
      default: return GetStatus{};
    }
  }
  void mischief() {
    const ConnectionId connection = 100 + random_.below(8);
    switch (random_.below(12)) {
      case 0:
        if (std::exchange(open_[connection - 100], true)) break;
        closed_streams.erase(connection);
        open(connection, {Identity::Role::rank, "x", "bad", static_cast<control::Rank>(random_.below(4))});
        say(connection, hello_message());
        break;
      case 1:
        if (!std::exchange(open_[connection - 100], false)) break;
        hang_up_rank(connection);
        break;
      case 2: ask(call(), static_cast<Identity::Role>(random_.below(4))); break;
      case 3: run(std::chrono::milliseconds(random_.below(300))); break;
      default:
        if (open_[connection - 100]) say(connection, message());
        break;
    }
    for (ConnectionId id = 100; id < 108; ++id) {
      if (closed(id)) open_[id - 100] = false;
    }
  }

  RandomStream random_;
  std::array<bool, 8> open_{};
};

bool grants_are_lit(Hostile& world, ConnectionId stream) {
  return world.heard<control::Granted>(stream).front().path == Path::management || world.joined(0, 1);
}

RC_GTEST_PROP(HostileClients, DoNotReachAnotherJob, (std::uint64_t seed)) {
  Hostile world(seed);
  world.start();
  world.run(100ms);
  RC_ASSERT(world.ask(world.job_of("good", 2, 1, 0, 0)).outcome.has_value());
  RC_ASSERT(world.ask(world.job_of("bad", 4, 2, 0, 4)).outcome.has_value());
  ConnectionId streams = 1;
  for (control::Sequence n = 1; n <= 3; ++n) {
    if (n > 1) {
      world.kill();
      world.open_ = {};
      world.start(world.records);
      world.run(100ms);
    }
    const auto stands = n == 1 ? std::vector<control::ResumedGroup>{}
                               : std::vector<control::ResumedGroup>{{0, n - 1, 0, 0, Path::rail, n - 1}};
    const ConnectionId first = streams;
    streams += 2;
    for (control::Rank rank = 0; rank < 2; ++rank) {
      world.hello(first + rank, "good", rank, 1, stands);
      world.say(first + rank, control::RegisterGroup{"g", {0, 1}, control::RegisterGroup::Shape::pair});
      world.say(first + rank, control::Announce{0, n, false});
    }
    for (int i = 0; i < 400; ++i) {
      world.mischief();
      if (i % 20 != 0) continue;
      for (control::Rank rank = 0; rank < 2; ++rank) world.say(first + rank, control::Renew{});
    }
    for (int i = 0; i < 200 && world.heard<control::Granted>(first).empty(); ++i) world.run(100ms);
    for (control::Rank rank = 0; rank < 2; ++rank) {
      const auto grants = world.heard<control::Granted>(first + rank);
      RC_ASSERT(grants.size() == 1U);
      RC_ASSERT(grants[0].first == n);
    }
    RC_ASSERT(grants_are_lit(world, first));
    for (int i = 0; i < 200; ++i) world.mischief();
    RC_ASSERT(grants_are_lit(world, first));
    for (control::Rank rank = 0; rank < 2; ++rank) {
      world.say(first + rank, control::Complete{0, n});
      RC_ASSERT(world.heard<control::Refused>(first + rank).empty());
    }
  }
}

}  // namespace
}  // namespace photonrail::daemon
