// Crashes: after every record that became durable, the core is killed and recovered; ranks come back and go on.
// Whatever happens, no circuit changes under a running operation, every operation runs, and what is recovered from
// the records is what is recovered from a snapshot of them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "base/random.h"
#include "daemon/durable.h"
#include "daemon/test_world.h"

namespace photonrail::daemon {
namespace {

using namespace std::chrono_literals;
using control::Path;
using control::Sequence;

// One rank that runs operations one after the other: announces, waits for the grant, runs for a while, completes.
struct Worker {
  control::Rank rank = 0;
  std::vector<std::size_t> program;  // groups
  std::size_t at = 0;                // in the program
  std::optional<Instant> ends;       // of the operation that runs
  Path path = Path::rail;
  ConnectionId connection = 0;
  bool attached = false;                  // on this connection
  std::vector<Sequence> done, announced;  // by group
  std::size_t read = 0;                   // messages of the connection
};

struct Groups {
  std::vector<std::vector<control::Rank>> members;
  std::vector<std::optional<control::GroupId>> id;
};

// Four ranks, rows and columns of a 2 x 2 grid, random programs in one order.
struct Grid : TestWorld {
  explicit Grid(std::uint64_t seed, bool twice = false) : say_twice(twice) {
    groups.members = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    groups.id.resize(4);
    RandomStream random(seed, "grid");
    workers.resize(4);
    for (control::Rank rank = 0; rank < 4; ++rank) {
      workers[rank].rank = rank;
      workers[rank].done.resize(4);
      workers[rank].announced.resize(4);
    }
    for (int i = 0; i < 24; ++i) {
      const std::size_t group = random.below(4);
      for (const control::Rank rank : groups.members[group]) workers[rank].program.push_back(group);
    }
  }

  void begin(std::vector<std::string> from) {
    start(std::move(from));
    ASSERT_TRUE(ask(job_of("grid", 4)).outcome.has_value() || kill_at);
    for (Worker& worker : workers) connect(worker);
  }
  void connect(Worker& worker) {
    worker.connection = ++connections;
    worker.read = 0;
    worker.attached = false;
    std::vector<control::ResumedGroup> stands;
    for (std::size_t g = 0; g < groups.members.size(); ++g) {
      if (!groups.id[g] || !member(worker, g)) continue;
      control::ResumedGroup r{*groups.id[g], worker.done[g], 0, 0, Path::rail, worker.announced[g]};
      if (worker.ends && worker.program[worker.at] == g) {
        r.granted = r.granted_first = worker.done[g] + 1;
        r.granted_path = worker.path;
      }
      stands.push_back(r);
    }
    if (!welcomed.contains(worker.rank)) stands.clear();
    hello(worker.connection, "grid", worker.rank, 100 + worker.rank, std::move(stands));
  }
  bool member(const Worker& worker, std::size_t group) const {
    const auto& m = groups.members[group];
    return std::find(m.begin(), m.end(), worker.rank) != m.end();
  }
  void tell(Worker& worker, const control::RankMessage& message) {
    if (!worker.attached) return;
    say(worker.connection, message);
    if (say_twice) say(worker.connection, message);
  }
  void announce(Worker& worker) {
    if (worker.at == worker.program.size() || !worker.attached) return;
    const std::size_t g = worker.program[worker.at];
    if (!groups.id[g] || worker.announced[g] > worker.done[g]) return;
    worker.announced[g] = worker.done[g] + 1;
    tell(worker, control::Announce{*groups.id[g], worker.announced[g], false});
  }
  void hear(Worker& worker) {
    while (worker.read < streams[worker.connection].size()) {
      const control::DaemonMessage message = streams[worker.connection][worker.read++];
      if (std::holds_alternative<control::Welcome>(message)) {
        welcomed.insert(worker.rank);
        worker.attached = true;
        for (std::size_t g = 0; g < groups.members.size(); ++g) {
          if (member(worker, g)) {
            if (worker.done[g] > 0) tell(worker, control::Complete{*groups.id[g], worker.done[g]});
            tell(worker, control::RegisterGroup{"g" + std::to_string(g), groups.members[g],
                                                control::RegisterGroup::Shape::pair});
          }
        }
      }
      if (const auto* ready = std::get_if<control::GroupReady>(&message)) {
        groups.id[static_cast<std::size_t>(ready->key[1] - '0')] = ready->group;
      }
      if (const auto* grant = std::get_if<control::Granted>(&message)) {
        const std::size_t g = worker.program[std::min(worker.at, worker.program.size() - 1)];
        if (worker.at == worker.program.size() || worker.ends || *groups.id[g] != grant->group) continue;
        if (grant->first != worker.done[g] + 1) continue;
        worker.path = grant->path;
        worker.ends = now + 30ms;
      }
      EXPECT_FALSE(std::holds_alternative<control::Refused>(message)) << std::get<control::Refused>(message).text;
      EXPECT_FALSE(std::holds_alternative<control::Failed>(message));
    }
  }
  void finish(Worker& worker) {
    if (!worker.ends || now < *worker.ends) return;
    const std::size_t g = worker.program[worker.at];
    worker.ends.reset();
    ++worker.at;
    tell(worker, control::Complete{*groups.id[g], ++worker.done[g]});
  }
  // No circuit of a running operation was changed by the last writes.
  void check_writes() {
    const auto& log = boxes[0]->model.writer_log();
    for (; checked < log.size(); ++checked) {
      for (const device::CrossConnect pair : log[checked].removed) {
        for (const Worker& worker : workers) {
          const bool runs = worker.ends && worker.path == Path::rail;
          EXPECT_FALSE(runs && (worker.rank == pair.in || worker.rank == pair.out))
              << pair.in << ">" << pair.out << " under an operation of rank " << worker.rank;
        }
      }
    }
  }
  // Goes on until all programs are done, or until `kill_at` records are durable.
  bool go() {
    for (int step = 0; step < 20000; ++step) {
      for (Worker& worker : workers) {
        hear(worker);
        finish(worker);
        announce(worker);
        if (step % 500 == 499) tell(worker, control::Renew{});
      }
      if (kill_at && recovered_records + synced >= *kill_at) return false;
      const bool done =
          std::all_of(workers.begin(), workers.end(), [](const Worker& w) { return w.at == w.program.size(); });
      if (done) return true;
      run(5ms);
      if (hold_records) sync_one();
      check_writes();
    }
    ADD_FAILURE() << "the programs do not end";
    return true;
  }
  // Records become durable one by one, so that each prefix is met.
  void sync_one() {
    if (recovered_records + synced >= records.size() || (kill_at && recovered_records + synced >= *kill_at)) return;
    ++synced;
    core->durable(synced, now);
    drain();
  }

  Groups groups;
  std::vector<Worker> workers;
  std::set<control::Rank> welcomed;
  ConnectionId connections = 0;
  bool say_twice = false;
  std::size_t checked = 0;
  std::optional<std::size_t> kill_at;
};

std::size_t records_of_a_whole_run(std::uint64_t seed) {
  Grid grid(seed);
  grid.begin({});
  EXPECT_TRUE(grid.go());
  return grid.records.size();
}

TEST(Restart, EveryMessageTwiceIsTheSameAsOnce) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Grid once(seed), twice(seed, true);
    once.begin({});
    twice.begin({});
    EXPECT_TRUE(once.go());
    EXPECT_TRUE(twice.go());
    EXPECT_EQ(once.core->digest(), twice.core->digest());
    EXPECT_EQ(once.boxes[0]->writes, twice.boxes[0]->writes);
    EXPECT_EQ(twice.audited("refused"), 0U);
  }
}

TEST(Restart, AfterEveryRecordTheJobGoesOn) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const std::size_t all = records_of_a_whole_run(seed);
    ASSERT_GT(all, 30U);
    for (std::size_t kill_at = 7; kill_at < all; ++kill_at) {  // the job and its ranks are known
      SCOPED_TRACE(kill_at);
      Grid grid(seed);
      grid.begin({});
      grid.run(100ms);
      grid.hold_records = true;
      grid.kill_at = kill_at;
      if (grid.go()) break;
      grid.kill();
      const std::uint64_t lives = grid.epoch;
      grid.kill_at.reset();
      grid.hold_records = false;
      const auto again = Core::recover(grid.spec, grid.records, grid.now);
      ASSERT_TRUE(again.has_value());
      const auto from_snapshot = Core::recover(grid.spec, again->snapshot(), grid.now);
      ASSERT_TRUE(from_snapshot.has_value()) << from_snapshot.error().message;
      EXPECT_EQ(again->digest(), from_snapshot->digest());
      grid.run(300ms);
      grid.begin(kill_at % 2 == 0 ? grid.records : again->snapshot());
      EXPECT_TRUE(grid.go());
      EXPECT_EQ(grid.epoch, lives + 1);
      EXPECT_EQ(grid.job("grid").lost, 0U);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Restart, GrantsNothingUntilEveryRankIsBackOrItsLeaseIsOver) {
  Grid grid(1);
  grid.begin({});
  grid.run(1s);
  grid.kill();
  const auto before = grid.matrix();
  grid.start(grid.records);
  for (control::Rank rank = 0; rank < 3; ++rank) grid.hello(50 + rank, "grid", rank, 100 + rank);
  grid.run(100ms);
  EXPECT_EQ(grid.heard<control::Welcome>(50).size(), 1U);
  for (const ConnectionId id : {50U, 51U}) {
    grid.say(id, control::RegisterGroup{"g0", {0, 1}, control::RegisterGroup::Shape::pair});
    grid.say(id, control::Announce{0, 1, false});
  }
  const auto renewing = [&grid](Duration time) {
    for (Duration t{}; t < time; t += 1s) {
      for (const ConnectionId id : {50U, 51U, 52U}) grid.say(id, control::Renew{});
      grid.run(1s);
    }
  };
  renewing(10s);
  EXPECT_TRUE(grid.job("grid").recovering);
  EXPECT_TRUE(grid.heard<control::Granted>(50).empty());
  EXPECT_EQ(grid.matrix(), before);
  renewing(2s);
  EXPECT_FALSE(grid.job("grid").recovering);
  EXPECT_EQ(grid.heard<control::Granted>(50).size(), 1U);
  EXPECT_EQ(grid.job("grid").lost, 1U);
}

// Job "a" of two ranks, on connections 1 and 2: their pair has its first grant.
void grant_to_two(TestWorld& world) {
  world.start();
  world.run(100ms);
  ASSERT_TRUE(world.ask(world.job_of("a", 2)).outcome.has_value());
  for (control::Rank rank = 0; rank < 2; ++rank) {
    world.hello(rank + 1, "a", rank);
    world.say(rank + 1, control::RegisterGroup{"g", {0, 1}, control::RegisterGroup::Shape::pair});
    world.say(rank + 1, control::Announce{0, 1, false});
  }
  world.run(1s);
  ASSERT_EQ(world.heard<control::Granted>(1).size(), 1U);
}

TEST(Restart, TakesOverCircuitsThatAreUpWithoutAWrite) {
  TestWorld world;
  ASSERT_NO_FATAL_FAILURE(grant_to_two(world));
  const unsigned writes = world.boxes[0]->writes;
  world.kill();
  world.start(world.records);
  for (control::Rank rank = 0; rank < 2; ++rank) {
    world.hello(rank + 11, "a", rank, 1, {{0, 0, 1, 1, Path::rail, 1}});
    world.say(rank + 11, control::Complete{0, 1});
    world.say(rank + 11, control::Announce{0, 2, false});
  }
  world.run(100ms);
  for (control::Rank rank = 0; rank < 2; ++rank) {
    world.say(rank + 11, control::Complete{0, 1});
    world.say(rank + 11, control::Announce{0, 2, false});
  }
  ASSERT_FALSE(world.heard<control::Granted>(11).empty());
  EXPECT_EQ(world.heard<control::Granted>(11).back().last, 2U);
  EXPECT_EQ(world.heard<control::Granted>(11).back().path, Path::rail);
  EXPECT_EQ(world.boxes[0]->writes, writes);
}

TEST(Restart, ACircuitThatWentMeanwhileComesBackForThoseWhoHoldIt) {
  TestWorld world;
  ASSERT_NO_FATAL_FAILURE(grant_to_two(world));
  world.kill();
  world.boxes[0]->model.foreign_write({"somebody", {{0, 1}, {1, 0}}, {}, {}, false}, world.now);
  world.start(world.records);
  for (control::Rank rank = 0; rank < 2; ++rank) world.hello(rank + 11, "a", rank, 1, {{0, 0, 1, 1, Path::rail, 1}});
  world.run(2s);
  EXPECT_TRUE(world.joined(0, 1));
}

TEST(Restart, RefusesAJournalThatMakesNoSense) {
  Grid grid(1);
  grid.begin({});
  EXPECT_TRUE(grid.go());
  std::vector<std::string> records = grid.records;
  const auto refused = [&grid](const std::vector<std::string>& from) {
    const auto core = Core::recover(grid.spec, from, grid.now);
    return !core.has_value() && core.error().message.find("record ") != std::string::npos;
  };
  EXPECT_FALSE(refused(records));
  std::vector<std::string> doubled = records;
  doubled.insert(doubled.begin() + 2, doubled[1]);  // the job twice
  EXPECT_TRUE(refused(doubled));
  std::vector<std::string> headless(records.begin() + 2, records.end());
  EXPECT_TRUE(refused(headless));
  std::vector<std::string> torn = records;
  torn[1].pop_back();
  EXPECT_TRUE(refused(torn));
  CoreSpec smaller = grid.spec;
  smaller.switches.clear();
  EXPECT_FALSE(Core::recover(smaller, records, grid.now).has_value()) << "a job on a switch that is not configured";
}

// ---- records

Record arbitrary_record(RandomStream& random) {
  const auto text = [&random] { return std::string(random.below(6), static_cast<char>('a' + random.below(26))); };
  const auto pairs = [&random] {
    std::vector<device::CrossConnect> out(random.below(4));
    for (auto& pair : out)
      pair = {static_cast<device::Position>(random.below(9)), static_cast<device::Position>(random.below(9))};
    return out;
  };
  const auto number = [&random] { return random.next() >> random.below(64); };
  const auto small = [&random] { return static_cast<std::uint32_t>(random.below(5)); };
  switch (random.below(14)) {
    case 0: return EpochBegun{number()};
    case 1: {
      SubmitJob job{text(), 1 + random.below(3), 1, {}, {}};
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        job.ports.push_back({small(), static_cast<device::Position>(small())});
        job.domain.push_back(rank);
      }
      return JobSubmitted{job};
    }
    case 2: return JobEnded{text(), 1 + random.below(3)};
    case 3: return JobRemoved{text(), 1 + random.below(3)};
    case 4: return JobFenced{text(), number()};
    case 5: return RankAttached{text(), 1 + random.below(3), small(), random.below(4), Duration(number() >> 1)};
    case 6: return RankDetached{text(), 1 + random.below(3), small(), random.below(4)};
    case 7: return GroupAdded{text(), 1 + random.below(3), {text(), {0, 2}, control::RegisterGroup::Shape::any}, {}};
    case 8: return PortSet{{small(), 1}, SetPort::State::drained, text()};
    case 9: return SwitchSet{small(), SetSwitch::State::maintenance, text()};
    case 10: return WriteIntended{small(), text(), {random.below(9), number(), pairs(), pairs(), pairs(), text()}};
    case 11: return IntentEnded{small(), random.below(9), true, pairs(), text()};
    case 12: return CircuitsMade{small(), pairs()};
    default: return IntentsUsed{random.below(99)};
  }
}

RC_GTEST_PROP(Records, ComeBackAsTheyWere, (std::uint64_t seed)) {
  RandomStream random(seed, "records");
  const std::string bytes = encode(arbitrary_record(random));
  const auto back = decode(bytes);
  RC_ASSERT(back.has_value());
  RC_ASSERT(encode(*back) == bytes);
}

// Bytes that are damaged anywhere are refused or are another record; they never crash, and never allocate beyond them.
RC_GTEST_PROP(Records, DamageIsNoCrash, (std::uint64_t seed)) {
  RandomStream random(seed, "damage");
  std::string bytes = encode(arbitrary_record(random));
  for (std::uint64_t n = 1 + random.below(4); n > 0 && !bytes.empty(); --n) {
    const std::size_t at = random.below(bytes.size());
    if (random.below(4) == 0)
      bytes.resize(at);
    else
      bytes[at] = static_cast<char>(random.below(256));
  }
  const auto back = decode(bytes);
  if (back) RC_ASSERT(encode(*back) == bytes);
}

// Any sequence of records, sensible or not: a snapshot of what was accepted is accepted, and adds up to the same.
RC_GTEST_PROP(Records, ASnapshotAddsUpToTheSameState, (std::uint64_t seed)) {
  RandomStream random(seed, "state");
  DurableState state;
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t before = state.digest();
    if (!state.apply(arbitrary_record(random))) RC_ASSERT(state.digest() == before);
  }
  DurableState again;
  for (const std::string& bytes : state.snapshot()) {
    const auto record = decode(bytes);
    RC_ASSERT(record.has_value());
    RC_ASSERT(again.apply(*record).has_value());
  }
  RC_ASSERT(again.digest() == state.digest());
}

}  // namespace
}  // namespace photonrail::daemon
