#include "etcd/candidate.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace photonrail::etcd {
namespace {

constexpr Duration kWatch = std::chrono::seconds(5);  // then it is begun anew, perhaps elsewhere
constexpr Duration kTroubleApart = std::chrono::seconds(1);
constexpr Duration kBeat = std::chrono::seconds(1);

}  // namespace

struct Candidate::Impl {
  Impl(Client& etcd, CandidateSpec wanted, CandidateCallbacks calls)
      : client(etcd), spec(std::move(wanted)), callbacks(std::move(calls)), election(spec.election) {}

  void run();
  void watch();
  void perform(const Election::Next& next, std::unique_lock<std::mutex>& lock);
  void look(std::unique_lock<std::mutex>& lock);
  void campaign(Lease lease, std::unique_lock<std::mutex>& lock);
  void tell(std::unique_lock<std::mutex>& lock);
  void trouble(const Error& error, std::unique_lock<std::mutex>& lock);
  Instant deadline() const { return spec.now() + spec.election.ttl / 2; }

  // Lets go of the lock while `call` waits for etcd.
  template <class Call>
  auto unlocked(std::unique_lock<std::mutex>& lock, Call call) {
    lock.unlock();
    auto answer = call();
    lock.lock();
    return answer;
  }

  Client& client;
  const CandidateSpec spec;
  const CandidateCallbacks callbacks;

  mutable std::mutex mutex;
  std::condition_variable wake;
  Election election;
  bool changed = false;                // the election, from outside of run()
  std::optional<Revision> told_epoch;  // what the carrier knows
  Instant told_until{};
  std::string told_leader;
  Instant troubled{};
  Revision watch_from = 0;  // 0: nothing to watch
  bool done = false;        // resigned, or given up waiting for it
  std::thread caller, watcher;
};

// What has changed since the carrier was told; the callbacks run without the lock.
void Candidate::Impl::tell(std::unique_lock<std::mutex>& lock) {
  const auto leads = election.leads();
  const auto before = std::exchange(told_epoch, leads ? std::optional(leads->epoch) : std::nullopt);
  const bool extended = leads && before == told_epoch && leads->until > told_until;
  if (leads) told_until = leads->until;
  const std::string leader = election.leader();
  const bool follows = !leads && std::exchange(told_leader, leader) != leader;
  lock.unlock();
  if (before && before != told_epoch) callbacks.lost(*before);
  if (leads && before != told_epoch) callbacks.elected(leads->epoch, leads->until);
  if (extended) callbacks.extended(leads->until);
  if (follows) callbacks.follows(leader);
  lock.lock();
}

void Candidate::Impl::trouble(const Error& error, std::unique_lock<std::mutex>& lock) {
  const Instant now = spec.now();
  if (now - troubled < kTroubleApart) return;
  troubled = now;
  lock.unlock();
  callbacks.troubled(error.message);
  lock.lock();
}

void Candidate::Impl::look(std::unique_lock<std::mutex>& lock) {
  const auto found = unlocked(lock, [&] { return client.range({spec.key, {}, 1, 0}, deadline()); });
  if (!found) {
    election.failed(spec.now());
    return trouble(found.error(), lock);
  }
  const bool there = !found->values.empty();
  watch_from = there ? found->revision + 1 : 0;
  election.looked(there ? std::optional(found->values.front()) : std::nullopt, spec.now());
}

void Candidate::Impl::campaign(Lease lease, std::unique_lock<std::mutex>& lock) {
  Transaction create;
  create.guards.push_back({spec.key, Guard::What::created, 0, {}});
  create.puts.push_back({spec.key, spec.election.name, lease});
  create.otherwise.push_back(spec.key);
  const auto answer = unlocked(lock, [&] { return client.transact(create, deadline()); });
  if (!answer) {
    election.failed(spec.now());
    return trouble(answer.error(), lock);
  }
  if (answer->done) return election.campaigned({spec.key, spec.election.name, answer->revision, lease}, spec.now());
  if (answer->read.empty()) return election.failed(spec.now());
  watch_from = answer->revision + 1;
  election.campaigned(answer->read.front(), spec.now());
}

void Candidate::Impl::perform(const Election::Next& next, std::unique_lock<std::mutex>& lock) {
  const Instant sent = spec.now();
  switch (next.call) {
    case Election::Call::none: return;
    case Election::Call::look: return look(lock);
    case Election::Call::campaign: return campaign(next.lease, lock);
    case Election::Call::grant: {
      const auto lease = unlocked(lock, [&] { return client.grant(spec.election.ttl, deadline()); });
      if (lease) return election.granted(lease->lease, lease->ttl, sent);
      election.failed(spec.now());
      return trouble(lease.error(), lock);
    }
    case Election::Call::keep: {
      const auto ttl = unlocked(lock, [&] { return client.keep(next.lease, deadline()); });
      if (ttl) return election.kept(*ttl, sent, spec.now());
      election.failed(spec.now());
      return trouble(ttl.error(), lock);
    }
    case Election::Call::revoke: {
      const Status done_with = unlocked(lock, [&] { return client.revoke(next.lease, deadline()); });
      if (done_with) return election.revoked(spec.now());
      election.failed(spec.now());
      return trouble(done_with.error(), lock);
    }
  }
}

void Candidate::Impl::run() {
  std::unique_lock lock(mutex);
  while (!done) {
    election.tick(spec.now());
    tell(lock);
    const Election::Next next = election.next();
    if (next.call == Election::Call::none) break;
    const Instant now = spec.now();
    if (next.at > now) {
      wake.wait_for(lock, std::min(kBeat, Duration(next.at - now)), [this] { return changed || done; });
      changed = false;
      continue;
    }
    perform(next, lock);
    wake.notify_all();
  }
  tell(lock);
  done = true;
  wake.notify_all();
}

void Candidate::Impl::watch() {
  std::unique_lock lock(mutex);
  while (!done) {
    if (watch_from == 0 || election.leads()) {
      wake.wait_for(lock, kBeat);
      continue;
    }
    const Revision from = watch_from;
    const bool gone = unlocked(lock, [&] { return client.watch_removal(spec.key, from, spec.now() + kWatch); });
    if (gone) {
      if (watch_from == from) watch_from = 0;
      election.key_gone(spec.now());
      changed = true;
      wake.notify_all();
    } else if (!done) {
      wake.wait_for(lock, spec.election.retry);
    }
  }
}

Candidate::Candidate(Client& client, CandidateSpec spec, CandidateCallbacks callbacks)
    : impl_(std::make_unique<Impl>(client, std::move(spec), std::move(callbacks))) {}

Candidate::~Candidate() { resign(Duration::zero()); }

void Candidate::start() {
  impl_->caller = std::thread([this] { impl_->run(); });
  impl_->watcher = std::thread([this] { impl_->watch(); });
}

void Candidate::abandon(Revision epoch) {
  const std::lock_guard lock(impl_->mutex);
  const auto leads = impl_->election.leads();
  if (!leads || leads->epoch != epoch) return;
  impl_->election.abandon(impl_->spec.now());
  impl_->changed = true;
  impl_->wake.notify_all();
}

void Candidate::resign(Duration patience) {
  if (!impl_->caller.joinable()) return;
  {
    std::unique_lock lock(impl_->mutex);
    impl_->election.resign(impl_->spec.now());
    impl_->changed = true;
    impl_->wake.notify_all();
    impl_->wake.wait_for(lock, patience, [this] { return impl_->done; });
    impl_->done = true;
    impl_->wake.notify_all();
  }
  impl_->client.stop_watching();
  impl_->caller.join();
  impl_->watcher.join();
}

Instant Candidate::until(Revision epoch) const {
  const std::lock_guard lock(impl_->mutex);
  const auto leads = impl_->election.leads();
  return leads && leads->epoch == epoch ? leads->until : Instant::min();
}

}  // namespace photonrail::etcd
