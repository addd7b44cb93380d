#include "remote/rank_link.h"

#include <photonrail/control/v1/control.grpc.pb.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>

#include "base/random.h"
#include "remote/grpc_channel.h"
#include "wire/limits.h"
#include "wire/rank_messages.h"

namespace photonrail::remote {
namespace {

namespace pb = control::v1;

constexpr Duration kBackoff = std::chrono::milliseconds(50), kBackoffMost = std::chrono::seconds(2);
// Nobody is granted anything after a hand-over before every rank has come back: all of them must find the leader soon.
constexpr Duration kBackoffMostOfSeveral = std::chrono::milliseconds(150);
constexpr Duration kTick = std::chrono::milliseconds(20);

using Channels = std::vector<std::shared_ptr<grpc::Channel>>;  // of one ChannelSpec: of each daemon

class Stream;

// State of one link; the streams that carried it one after the other share it.
class Link final : public RankLink, public std::enable_shared_from_this<Link> {
 public:
  Link(const Channels& channels, ChannelSpec spec, std::vector<client::RankSessionSpec> ranks, Changed changed,
       std::uint64_t seed)
      : spec_(std::move(spec)), changed_(std::move(changed)), jitter_(seed, "rank_link.jitter") {
    for (const auto& channel : channels) stubs_.push_back(pb::Ranks::NewStub(channel));
    for (client::RankSessionSpec& rank : ranks) {
      ranks_.push_back({rank.rank, false, Instant{}});
      sessions_.emplace_back(std::move(rank));
    }
  }

  void use(const std::function<void(Sessions sessions)>& work) override {
    const std::lock_guard lock(mutex_);
    work(sessions_);
    say();
  }
  std::string trouble() const override {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

  void tick();
  void close();
  bool idle() const {
    const std::lock_guard lock(mutex_);
    return stream_ == nullptr;
  }

 private:
  friend class Stream;
  struct Rank {
    control::Rank rank = 0;
    bool open = false;  // on the present stream
    Instant open_at{};
  };
  void hear(const pb::DaemonFrame& frame);
  void lost(Stream* stream, const grpc::Status& status);
  void say();
  void leave_stream(std::size_t i, Instant now, Duration pause);
  bool silent(Instant now) const { return asked_at_ && now - *asked_at_ > kSilence; }

  std::vector<std::unique_ptr<pb::Ranks::Stub>> stubs_;
  const ChannelSpec spec_;
  const Changed changed_;
  mutable std::mutex mutex_;
  std::vector<client::RankSession> sessions_;
  std::vector<Rank> ranks_;
  std::shared_ptr<Stream> stream_;
  Instant stream_at_{};  // when to open the next
  Duration backoff_ = kBackoff;
  std::size_t daemon_ = 0;           // of the stream that is open, or is tried next
  std::optional<Instant> asked_at_;  // what wants an answer and has had none on this stream
  RandomStream jitter_;
  std::string trouble_;
  bool closing_ = false;
};

// One call. Under the link's mutex but for OnDone.
class Stream final : public grpc::ClientBidiReactor<pb::RankFrame, pb::DaemonFrame> {
 public:
  explicit Stream(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  void begin(std::shared_ptr<Stream> self) {
    self_ = std::move(self);
    prepare(context_, link_->spec_);
    link_->stubs_[link_->daemon_]->async()->Attach(&context_, this);
    StartRead(&incoming_);
    AddHold();  // writes are started from outside of callbacks
    StartCall();
  }
  void add(control::Rank rank, const control::RankMessage& message) {
    wire::write(rank, message, *waiting_.add_messages());
  }
  void flush() {
    if (writing_ || ended_) return;
    if (waiting_.messages_size() == 0) {
      if (last_) end(false);
      return;
    }
    outgoing_.Clear();
    if (waiting_.messages_size() <= wire::kFrameMessages) {
      outgoing_.Swap(&waiting_);
    } else {
      auto& all = *waiting_.mutable_messages();
      for (int i = 0; i < wire::kFrameMessages; ++i) outgoing_.add_messages()->Swap(all.Mutable(i));
      all.DeleteSubrange(0, wire::kFrameMessages);
    }
    writing_ = true;
    StartWrite(&outgoing_);
  }
  // Nothing is written any more once what waits has gone.
  void end_after_writes() {
    last_ = true;
    flush();
  }
  void cancel() { end(true); }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(link_->mutex_);
    if (!ok) return end(false);
    link_->hear(incoming_);
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(link_->mutex_);
    writing_ = false;
    if (!ok) return end(false);
    flush();
  }
  void OnDone(const grpc::Status& status) override {
    link_->lost(this, status);
    const std::shared_ptr<Stream> self = std::move(self_);
  }

 private:
  void end(bool cancel_too) {
    if (cancel_too) context_.TryCancel();
    if (ended_) return;
    ended_ = true;
    if (!cancel_too && !writing_) StartWritesDone();
    RemoveHold();
  }

  const std::shared_ptr<Link> link_;
  std::shared_ptr<Stream> self_;
  grpc::ClientContext context_;
  pb::DaemonFrame incoming_;
  pb::RankFrame outgoing_, waiting_;
  bool writing_ = false, ended_ = false, last_ = false;
};

void Link::hear(const pb::DaemonFrame& frame) {
  const Instant now = boot_time();
  asked_at_.reset();
  for (const pb::DaemonMessage& in : frame.messages()) {
    const auto found =
        std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.rank == in.rank(); });
    const auto message = wire::read(in);
    if (found == ranks_.end() || !message) continue;  // of a newer daemon, perhaps
    const auto i = static_cast<std::size_t>(found - ranks_.begin());
    if (const auto* closed = std::get_if<wire::Closed>(&*message)) {
      trouble_ = closed->reason;
      leave_stream(i, now, std::max(kBackoff, sessions_[i].retry_after()));
      continue;
    }
    sessions_[i].receive(std::get<control::DaemonMessage>(*message), now);
    if (sessions_[i].attached()) backoff_ = kBackoff;
  }
  changed_(sessions_);
  say();
}

void Link::leave_stream(std::size_t i, Instant now, Duration pause) {
  if (ranks_[i].open) sessions_[i].closed();
  ranks_[i].open = false;
  ranks_[i].open_at = now + pause;
}

void Link::lost(Stream* stream, const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (stream_.get() != stream) return;
  const Instant now = boot_time();
  stream_.reset();
  trouble_ = status.error_message().empty() ? "the stream ended" : status.error_message();
  Duration pause =
      Duration(static_cast<std::int64_t>(static_cast<double>(backoff_.count()) * (0.5 + jitter_.uniform())));
  daemon_ = (daemon_ + 1) % stubs_.size();
  if (daemon_ == 0) backoff_ = std::min(backoff_ * 2, stubs_.size() > 1 ? kBackoffMostOfSeveral : kBackoffMost);
  asked_at_.reset();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    pause = std::max(pause, sessions_[i].retry_after());
    leave_stream(i, now, Duration::zero());
  }
  stream_at_ = now + pause;
  changed_(sessions_);
}

void Link::tick() {
  const std::lock_guard lock(mutex_);
  const Instant now = boot_time();
  if (closing_) return;
  const auto gone = [](const client::RankSession& session) { return session.failed(); };
  if (!stream_ && now >= stream_at_ && !std::all_of(sessions_.begin(), sessions_.end(), gone)) {
    stream_ = std::make_shared<Stream>(shared_from_this());
    stream_->begin(stream_);
  }
  if (stream_ && silent(now)) {
    asked_at_.reset();
    return stream_->cancel();
  }
  bool moved = false;
  for (std::size_t i = 0; stream_ && i < ranks_.size(); ++i) {
    if (!ranks_[i].open && !sessions_[i].failed() && now >= ranks_[i].open_at) {
      ranks_[i].open = true;
      sessions_[i].opened(now);
      moved = true;
    }
    if (ranks_[i].open && sessions_[i].next_deadline() <= now) {
      sessions_[i].tick(now);
      moved = true;
    }
  }
  if (moved) changed_(sessions_);
  say();
}

void Link::say() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const auto messages = sessions_[i].take_messages();
    if (!stream_ || !ranks_[i].open) continue;  // said again after Hello, where it matters
    for (const control::RankMessage& message : messages) {
      const bool asks =
          std::holds_alternative<control::Hello>(message) || std::holds_alternative<control::Renew>(message);
      if (asks && !asked_at_) asked_at_ = boot_time();
      stream_->add(ranks_[i].rank, message);
    }
  }
  if (stream_) stream_->flush();
}

void Link::close() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  if (!stream_) return;
  for (const Rank& rank : ranks_) {
    if (rank.open) stream_->add(rank.rank, control::Goodbye{});
  }
  stream_->end_after_writes();
}

}  // namespace

Instant boot_time() {
  std::timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

struct RankLinks::Impl {
  ChannelSpec spec;
  Channels channels;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::vector<std::shared_ptr<Link>> links;
  std::thread ticker;

  void loop() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      const auto now_there = links;
      lock.unlock();
      for (const auto& link : now_there) link->tick();
      lock.lock();
      wake.wait_for(lock, kTick, [this] { return stopping; });
    }
  }

  RankLink& add(const Channels& with, const ChannelSpec& channel_spec, std::vector<client::RankSessionSpec> ranks,
                Changed changed) {
    const std::lock_guard lock(mutex);
    const std::uint64_t seed = ranks.empty() ? 0 : ranks.front().incarnation;
    links.push_back(std::make_shared<Link>(with, channel_spec, std::move(ranks), std::move(changed), seed));
    return *links.back();
  }
};

namespace {

Result<Channels> make_channels(ChannelSpec spec) {
  Channels out;
  PR_ASSIGN(out.emplace_back(), make_channel(spec));
  for (const std::string& other : std::exchange(spec.others, {})) {
    spec.address = other;
    PR_ASSIGN(out.emplace_back(), make_channel(spec));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<RankLinks>> RankLinks::open(const ChannelSpec& spec) {
  auto impl = std::make_unique<Impl>();
  impl->spec = spec;
  PR_ASSIGN(impl->channels, make_channels(spec));
  std::unique_ptr<RankLinks> links(new RankLinks(std::move(impl)));
  links->impl_->ticker = std::thread([i = links->impl_.get()] { i->loop(); });
  return links;
}

RankLinks::RankLinks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RankLinks::~RankLinks() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->wake.notify_all();
  }
  if (impl_->ticker.joinable()) impl_->ticker.join();
  for (const auto& link : impl_->links) link->close();
  constexpr int kPolls = 100;  // 2 s; what is then still open dies with its last reference
  for (int i = 0; i < kPolls; ++i) {
    const bool idle =
        std::all_of(impl_->links.begin(), impl_->links.end(), [](const auto& link) { return link->idle(); });
    if (idle) return;
    std::this_thread::sleep_for(kTick);
  }
}

RankLink& RankLinks::add(std::vector<client::RankSessionSpec> ranks, Changed changed) {
  return impl_->add(impl_->channels, impl_->spec, std::move(ranks), std::move(changed));
}

Result<RankLink*> RankLinks::add(const ChannelSpec& spec, std::vector<client::RankSessionSpec> ranks, Changed changed) {
  PR_ASSIGN(const Channels channels, make_channels(spec));
  return &impl_->add(channels, spec, std::move(ranks), std::move(changed));
}

}  // namespace photonrail::remote
