#include "runtime/hand_over.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/clock.h"

namespace photonrail::runtime {
namespace {

constexpr Duration kResignWithin = std::chrono::milliseconds(500);

}  // namespace

struct HandOver::Impl {
  Impl(HandOverSpec wanted, daemon::CoreSpec core, CoreHost& core_host, Log& to, DamagedCallback when_damaged)
      : spec(std::move(wanted)),
        core_spec(std::move(core)),
        host(core_host),
        log(to),
        damaged(std::move(when_damaged)) {}

  etcd::CandidateCallbacks callbacks();
  void loop();
  void take_over(etcd::Revision epoch);
  void give_back(etcd::Revision epoch);

  const HandOverSpec spec;
  const daemon::CoreSpec core_spec;
  CoreHost& host;
  Log& log;
  const DamagedCallback damaged;
  std::unique_ptr<etcd::Client> client;
  std::unique_ptr<etcd::Candidate> candidate;

  std::mutex mutex;
  std::condition_variable wake;
  std::optional<etcd::Revision> elected;  // and not yet taken over
  bool stopping = false;
  std::thread thread;
};

etcd::CandidateCallbacks HandOver::Impl::callbacks() {
  etcd::CandidateCallbacks out;
  out.elected = [this](etcd::Revision epoch, Instant) {
    log.write(Log::Level::info, "elected", {{"epoch", static_cast<std::uint64_t>(epoch)}});
    const std::lock_guard lock(mutex);
    elected = epoch;
    wake.notify_all();
  };
  out.extended = [this](Instant until) { host.extend(until); };
  out.lost = [this](etcd::Revision epoch) {
    log.write(Log::Level::warning, "leadership lost", {{"epoch", static_cast<std::uint64_t>(epoch)}});
    {
      const std::lock_guard lock(mutex);
      elected.reset();
    }
    host.step_down(static_cast<control::Epoch>(epoch));
  };
  out.follows = [this](const std::string& leader) {
    log.write(Log::Level::info, "following", {{"leader", leader.empty() ? "nobody yet" : leader}});
  };
  out.troubled = [this](const std::string& why) { log.write(Log::Level::warning, "etcd", {{"detail", why}}); };
  return out;
}

void HandOver::Impl::loop() {
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [this] { return elected || stopping; });
    if (stopping) return;
    const etcd::Revision epoch = *std::exchange(elected, std::nullopt);
    lock.unlock();
    take_over(epoch);
    lock.lock();
  }
}

void HandOver::Impl::take_over(etcd::Revision epoch) {
  etcd::StoreSpec store;
  store.prefix = spec.prefix;
  store.now = now;
  store.until = [this, epoch] { return candidate->until(epoch); };
  const Instant begun = now();
  auto recovered = etcd::Store::recover(*client, store, epoch);
  while (!recovered && recovered.error().code == ErrorCode::io && candidate->until(epoch) > now()) {
    recovered = etcd::Store::recover(*client, store, epoch);
  }
  if (!recovered) {
    log.write(Log::Level::error, "cannot take over", {{"detail", recovered.error().message}});
    if (recovered.error().code != ErrorCode::io) damaged(recovered.error());
    return give_back(epoch);
  }
  auto core = daemon::Core::recover(core_spec, recovered->records, now());
  if (!core) {
    damaged(core.error());
    return give_back(epoch);
  }
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now() - begun).count();
  log.write(Log::Level::info, "recovered",
            {{"records", std::uint64_t{recovered->records.size()}},
             {"milliseconds", static_cast<std::uint64_t>(milliseconds)}});
  host.take_over(
      std::move(*core), std::move(recovered->store), static_cast<control::Epoch>(epoch), candidate->until(epoch),
      [this, epoch](const Error& error) {
        log.write(Log::Level::error, "journal failed", {{"detail", error.message}});
        give_back(epoch);
      },
      [this, epoch] { candidate->abandon(epoch); });
}

// In this order: another one may lead only when this one has stopped.
void HandOver::Impl::give_back(etcd::Revision epoch) {
  host.step_down(static_cast<control::Epoch>(epoch), [this, epoch] { candidate->abandon(epoch); });
}

HandOver::HandOver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HandOver::~HandOver() { resign(); }

Result<std::unique_ptr<HandOver>> HandOver::make(HandOverSpec spec, daemon::CoreSpec core, CoreHost& host, Log& log,
                                                 DamagedCallback damaged) {
  spec.client.now = now;
  auto impl = std::make_unique<Impl>(std::move(spec), std::move(core), host, log, std::move(damaged));
  PR_ASSIGN(impl->client, etcd::Client::make(impl->spec.client));
  etcd::CandidateSpec candidate;
  candidate.key = etcd::leader_key(impl->spec.prefix);
  candidate.election = impl->spec.election;
  candidate.now = now;
  impl->candidate = std::make_unique<etcd::Candidate>(*impl->client, std::move(candidate), impl->callbacks());
  return std::unique_ptr<HandOver>(new HandOver(std::move(impl)));
}

void HandOver::start() {
  impl_->thread = std::thread([impl = impl_.get()] { impl->loop(); });
  impl_->candidate->start();
}

void HandOver::resign() {
  if (!impl_->thread.joinable()) return;
  impl_->candidate->resign(kResignWithin);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->wake.notify_all();
  }
  impl_->thread.join();
}

}  // namespace photonrail::runtime
