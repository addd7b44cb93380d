#include "remote/emulated_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>
#include <thread>

#include "base/random.h"
#include "remote/rank_link.h"

namespace photonrail::remote {
namespace {

using control::Rank;

// Groups that a rank takes turns in; rank r with its neighbours, or its ring alone.
std::vector<std::vector<Rank>> groups_of(Rank r, const EmulatedRanksSpec& spec) {
  if (spec.gang > 0) {
    std::vector<Rank> members;
    const Rank first = r / spec.gang * spec.gang;
    for (Rank m = first; m < std::min(first + spec.gang, spec.ranks); ++m) members.push_back(m);
    return {members};
  }
  const Rank before = (r + spec.ranks - 1) % spec.ranks, after = (r + 1) % spec.ranks;
  const Rank partners[] = {r % 2 == 0 ? after : before, r % 2 == 0 ? before : after};
  std::vector<std::vector<Rank>> groups;
  for (const Rank partner : partners) groups.push_back({std::min(r, partner), std::max(r, partner)});
  if (groups[0] == groups[1]) groups.pop_back();
  return groups;
}

std::string key_of(const std::vector<Rank>& members) { return fmt::format("emulated-{}", fmt::join(members, "-")); }

struct Member {
  Rank rank = 0;
  RankLink* link = nullptr;
  std::size_t index = 0;  // of its session on the link
  std::vector<std::vector<Rank>> groups;
  std::vector<client::GroupHandle> handles;
  std::size_t turn = 0;
  enum class State : std::uint8_t { joining, pausing, waiting, running } state = State::joining;
  client::Start running;
};

// An operation as its members see it.
struct Operation {
  Instant last_announced{}, last_started{};
  Rank started = 0;
};

}  // namespace

struct EmulatedRanks::Impl {
  explicit Impl(const EmulatedRanksSpec& s) : spec(s), random(s.seed, "emulated_ranks") {}

  const EmulatedRanksSpec spec;
  std::vector<Member> members;
  std::unique_ptr<RankLinks> links;
  std::atomic<bool> ending{false};
  std::atomic<int> running{0};

  std::mutex mutex;  // of all below; taken inside of a link's mutex, never the other way round
  std::condition_variable wake;
  RandomStream random;
  using Due = std::pair<Instant, std::size_t>;  // and which member
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  std::map<std::pair<std::string, control::Sequence>, Operation> operations;
  EmulatedRanksCounts counts;
  bool stopped = false;
  std::thread timer;

  void changed(std::size_t first, Sessions sessions) {
    for (std::size_t i = 0; i < sessions.size(); ++i) step(first + i, sessions[i]);
  }

  // Under the link's mutex.
  void step(std::size_t i, client::RankSession& session) {
    Member& member = members[i];
    const Instant now = boot_time();
    for (const client::FailedOperation& lost : session.take_failures()) {
      const std::lock_guard lock(mutex);
      ++counts.failed_operations;
      if (member.state == Member::State::waiting && lost.group == member.handles[member.turn]) rest(i, now);
    }
    for (const client::Start& start : session.take_starts(now)) {
      member.state = Member::State::running;
      member.running = start;
      ++running;
      note_start(member, start, now);
    }
    const bool ready =
        !member.handles.empty() && std::all_of(member.handles.begin(), member.handles.end(),
                                               [&](client::GroupHandle handle) { return session.ready(handle); });
    if (member.state == Member::State::joining && ready) {
      const std::lock_guard lock(mutex);
      rest(i, now);
    }
  }

  // Under `mutex`.
  void rest(std::size_t i, Instant now) {
    Member& member = members[i];
    member.state = Member::State::pausing;
    const double factor = 0.5 + random.uniform();
    due.push({now + Duration(static_cast<std::int64_t>(static_cast<double>(spec.pause.count()) * factor)), i});
    wake.notify_one();
  }

  void note_start(const Member& member, const client::Start& start, Instant now) {
    const std::lock_guard lock(mutex);
    const auto& group = member.groups[member.turn];
    const auto found = operations.find({key_of(group), start.sequence});
    due.push({now + spec.run, static_cast<std::size_t>(&member - members.data())});
    wake.notify_one();
    if (found == operations.end()) return;
    Operation& op = found->second;
    op.last_started = std::max(op.last_started, now);
    if (++op.started < group.size()) return;
    ++(start.path == control::Path::rail ? counts.rail : counts.management);
    counts.latencies.push_back(op.last_started - op.last_announced);
    operations.erase(found);
  }

  void fire(std::size_t i) {
    Member& member = members[i];
    member.link->use([&](Sessions sessions) {
      client::RankSession& session = sessions[member.index];
      if (member.state == Member::State::running) {
        session.finished(member.running.group, member.running.sequence);
        --running;
        member.turn = (member.turn + 1) % member.groups.size();
        const std::lock_guard lock(mutex);
        rest(i, boot_time());
      } else if (member.state == Member::State::pausing && !ending && !session.failed()) {
        announce(member, session);
      }
    });
  }

  void announce(Member& member, client::RankSession& session) {
    const client::GroupHandle handle = member.handles[member.turn];
    if (!session.rail(handle)) return;  // needs no circuits: nothing to see
    member.state = Member::State::waiting;
    const control::Sequence sequence = session.issue(handle, true);
    {
      const std::lock_guard lock(mutex);
      Operation& op = operations[{key_of(member.groups[member.turn]), sequence}];
      op.last_announced = std::max(op.last_announced, boot_time());
    }
    session.waiting(handle, sequence);
    // A batch may cover it already.
    step(static_cast<std::size_t>(&member - members.data()), session);
  }

  void run_timer() {
    std::unique_lock lock(mutex);
    while (!stopped) {
      const Instant now = boot_time();
      if (due.empty() || due.top().first > now) {
        const Duration patience = due.empty() ? Duration(std::chrono::seconds(1)) : Duration(due.top().first - now);
        wake.wait_for(lock, patience);
        continue;
      }
      const std::size_t i = due.top().second;
      due.pop();
      lock.unlock();
      fire(i);
      lock.lock();
    }
  }

  Status open_stream(std::size_t first, std::size_t last) {
    std::vector<client::RankSessionSpec> ranks;
    for (std::size_t i = first; i < last; ++i) {
      const auto incarnation = static_cast<std::uint64_t>(boot_time().time_since_epoch().count()) + i;
      ranks.push_back({spec.job, spec.job_epoch, static_cast<Rank>(i), incarnation, "emulated"});
    }
    ChannelSpec channel = spec.channel;
    channel.own_connection = true;
    const auto hear = [this, first](Sessions sessions) { changed(first, sessions); };
    RankLink* link = nullptr;
    if (spec.own_connections) {
      PR_ASSIGN(link, links->add(channel, std::move(ranks), hear));
    } else {
      link = &links->add(std::move(ranks), hear);
    }
    link->use([&](Sessions sessions) {
      for (std::size_t i = first; i < last; ++i) {
        Member& member = members[i];
        member.link = link;
        member.index = i - first;
        using Shape = control::RegisterGroup::Shape;
        for (const auto& group : member.groups) {
          const Shape shape = group.size() == 2 ? Shape::pair : Shape::ring;
          member.handles.push_back(sessions[member.index].add_group(key_of(group), group, shape));
        }
      }
    });
    return {};
  }
};

Result<std::unique_ptr<EmulatedRanks>> EmulatedRanks::start(const EmulatedRanksSpec& spec) {
  if (spec.ranks < 2 || (spec.gang == 0 && spec.ranks % 2 != 0) || spec.gang == 1 || spec.ranks_per_stream == 0) {
    return fail(ErrorCode::usage, "an even number of ranks, or rings of at least two");
  }
  auto impl = std::make_unique<Impl>(spec);
  impl->members.resize(spec.ranks);
  for (Rank r = 0; r < spec.ranks; ++r) {
    impl->members[r].rank = r;
    impl->members[r].groups = groups_of(r, spec);
  }
  PR_ASSIGN(impl->links, RankLinks::open(spec.channel));
  std::unique_ptr<EmulatedRanks> ranks(new EmulatedRanks(std::move(impl)));
  for (std::size_t first = 0; first < spec.ranks; first += spec.ranks_per_stream) {
    PR_TRY(ranks->impl_->open_stream(first, std::min<std::size_t>(spec.ranks, first + spec.ranks_per_stream)));
  }
  ranks->impl_->timer = std::thread([i = ranks->impl_.get()] { i->run_timer(); });
  return ranks;
}

EmulatedRanks::EmulatedRanks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

void EmulatedRanks::finish() {
  impl_->ending = true;
  for (int i = 0; i < 250 && impl_->running > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

EmulatedRanks::~EmulatedRanks() {
  finish();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopped = true;
    impl_->wake.notify_all();
  }
  if (impl_->timer.joinable()) impl_->timer.join();
  impl_->links.reset();
}

EmulatedRanksCounts EmulatedRanks::counts() {
  std::uint64_t attached = 0, failed = 0;
  std::string trouble;
  for (const Member& member : impl_->members) {
    if (member.index == 0 && trouble.empty()) trouble = member.link->trouble();
    member.link->use([&](Sessions sessions) {
      if (sessions[member.index].attached()) ++attached;
      if (sessions[member.index].failed()) ++failed;
      if (sessions[member.index].failed()) trouble = sessions[member.index].failure();
    });
  }
  const std::lock_guard lock(impl_->mutex);
  EmulatedRanksCounts out = impl_->counts;
  impl_->counts.latencies.clear();
  out.attached = attached;
  out.failed = failed;
  out.trouble = std::move(trouble);
  return out;
}

}  // namespace photonrail::remote
