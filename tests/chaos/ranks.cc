// Load of real processes: the ranks of one job, each with a stream of its own, which never stop exchanging with their
// neighbours, now with the one, now with the other, so that each exchange moves circuits.
//
// usage: chaos_ranks JOB JOB_EPOCH RANKS PACE_MS LOG ADDRESS...
// Writes to LOG, one line each, times from CLOCK_BOOTTIME in nanoseconds:
//   S time rank partner epoch path     an operation began (path: rail or management)
//   F time rank partner started path   it ended
//   X time rank reason                 the rank has failed for good
// Runs until standard input ends; then begins nothing more, and ends when what began has ended.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <queue>
#include <thread>

#include "base/random.h"
#include "remote/rank_link.h"

namespace {

using namespace photonrail;
using remote::boot_time;

std::int64_t nanoseconds(Instant at) { return at.time_since_epoch().count(); }
const char* name(control::Path path) { return path == control::Path::rail ? "rail" : "management"; }

// One rank: issues to one neighbour, waits for the start, "sends" for a while, and turns to the other neighbour.
struct Rank {
  control::Rank number = 0;
  control::Rank partners[2]{};
  remote::RankLink* link = nullptr;
  client::GroupHandle groups[2]{};
  int turn = 0;
  bool issued = false, running = false, reported = false;
  client::Start start;
  Instant began{};
};

class Load {
 public:
  Load(std::string job, std::uint64_t job_epoch, unsigned ranks, Duration pace, std::FILE* log)
      : job_(std::move(job)),
        job_epoch_(job_epoch),
        ranks_(ranks),
        pace_(pace),
        log_(log),
        random_(job_epoch, "chaos") {}

  Status start(const remote::ChannelSpec& spec) {
    PR_ASSIGN(links_, remote::RankLinks::open(spec));
    const auto incarnation = static_cast<std::uint64_t>(nanoseconds(boot_time()));
    for (unsigned r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      const auto count = static_cast<unsigned>(ranks_.size());
      rank.number = r;
      rank.partners[0] = r % 2 == 0 ? r + 1 : r - 1;
      rank.partners[1] = r % 2 == 0 ? (r + count - 1) % count : (r + 1) % count;
      rank.link = &links_->add({{job_, job_epoch_, r, incarnation + r, "chaos"}},
                               [this, &rank](remote::Sessions sessions) { changed(rank, sessions[0]); });
      rank.link->use([&](remote::Sessions sessions) {
        for (int i = 0; i < 2; ++i) rank.groups[i] = add_group(sessions[0], r, rank.partners[i]);
      });
    }
    timer_ = std::thread([this] { run_timer(); });
    return {};
  }

  void stop() {
    ending_ = true;
    for (int i = 0; i < 500 && running_ > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      wake_.notify_all();
    }
    timer_.join();
    links_.reset();
  }

 private:
  struct Due {
    Instant at;
    Rank* rank;
    bool operator>(const Due& other) const { return at > other.at; }
  };

  static client::GroupHandle add_group(client::RankSession& session, control::Rank a, control::Rank b) {
    if (a > b) std::swap(a, b);
    return session.add_group("pair-" + std::to_string(a) + "-" + std::to_string(b), {a, b},
                             control::RegisterGroup::Shape::pair);
  }

  // Under the link's mutex.
  void changed(Rank& rank, client::RankSession& session) {
    if (session.failed() && !rank.reported) {
      rank.reported = true;
      line("X %lld %u %s\n", static_cast<long long>(nanoseconds(boot_time())), rank.number, session.failure().c_str());
    }
    const Instant now = boot_time();
    for (const client::Start& start : session.take_starts(now)) {
      rank.running = true;
      rank.start = start;
      rank.began = now;
      ++running_;
      line("S %lld %u %u %llu %s\n", static_cast<long long>(nanoseconds(now)), rank.number, rank.partners[rank.turn],
           static_cast<unsigned long long>(session.epoch()), name(start.path));
      wait(rank, pace_ / 10);
    }
    if (!rank.issued && session.ready(rank.groups[0]) && session.ready(rank.groups[1])) issue(rank, session);
  }

  void issue(Rank& rank, client::RankSession& session) {
    if (ending_) return;
    rank.issued = true;
    const control::Sequence sequence = session.issue(rank.groups[rank.turn], true);
    session.waiting(rank.groups[rank.turn], sequence);
  }

  void wait(Rank& rank, Duration about) {
    const std::lock_guard lock(mutex_);
    const auto spread = static_cast<std::uint64_t>(about.count()) + 1;
    due_.push({boot_time() + about / 2 + Duration(static_cast<std::int64_t>(random_.below(spread))), &rank});
    wake_.notify_all();
  }

  void fire(Rank& rank) {
    rank.link->use([&](remote::Sessions sessions) {
      client::RankSession& session = sessions[0];
      if (!rank.running) {
        issue(rank, session);
        return;
      }
      // Before it is reported: the circuit is ours until then.
      line("F %lld %u %u %lld %s\n", static_cast<long long>(nanoseconds(boot_time())), rank.number,
           rank.partners[rank.turn], static_cast<long long>(nanoseconds(rank.began)), name(rank.start.path));
      session.finished(rank.start.group, rank.start.sequence);
      rank.running = false;
      rank.turn = 1 - rank.turn;
      --running_;
      wait(rank, pace_);
    });
  }

  void run_timer() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      const Instant now = boot_time();
      if (due_.empty() || due_.top().at > now) {
        const Duration patience = due_.empty() ? Duration(std::chrono::seconds(1)) : Duration(due_.top().at - now);
        wake_.wait_for(lock, patience);
        continue;
      }
      Rank& rank = *due_.top().rank;
      due_.pop();
      lock.unlock();
      fire(rank);
      lock.lock();
    }
  }

  template <class... Values>
  void line(const char* format, Values... values) {
    const std::lock_guard lock(log_mutex_);
    std::fprintf(log_, format, values...);  // NOLINT: the formats above
    std::fflush(log_);
  }

  const std::string job_;
  const std::uint64_t job_epoch_;
  std::vector<Rank> ranks_;
  const Duration pace_;
  std::FILE* const log_;
  RandomStream random_;
  std::unique_ptr<remote::RankLinks> links_;
  std::atomic<bool> ending_{false};
  std::atomic<int> running_{0};
  std::mutex mutex_, log_mutex_;
  std::condition_variable wake_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  bool stopped_ = false;
  std::thread timer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fputs("usage: chaos_ranks JOB JOB_EPOCH RANKS PACE_MS LOG ADDRESS...\n", stderr);
    return 2;
  }
  std::FILE* const log = std::fopen(argv[5], "a");
  const auto ranks = static_cast<unsigned>(std::atoi(argv[3]));
  if (log == nullptr || ranks < 4 || ranks % 2 != 0) return 2;
  remote::ChannelSpec spec;
  spec.address = argv[6];
  spec.others.assign(argv + 7, argv + argc);
  spec.plaintext = true;
  spec.identity = std::string("spiffe://trial/job/") + argv[1];
  Load load(argv[1], static_cast<std::uint64_t>(std::atoll(argv[2])), ranks,
            std::chrono::milliseconds(std::atoi(argv[4])), log);
  if (const Status started = load.start(spec); !started) {
    std::fprintf(stderr, "chaos_ranks: %s\n", started.error().message.c_str());
    return 5;
  }
  while (std::getchar() != EOF) {}
  load.stop();
  std::fclose(log);
  return 0;
}
