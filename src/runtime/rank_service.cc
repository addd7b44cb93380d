#include "runtime/rank_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/clock.h"
#include "security/certificates.h"
#include "wire/limits.h"

namespace photonrail::runtime {
namespace {

namespace pb = control::v1;
using Reactor = grpc::ServerBidiReactor<pb::RankFrame, pb::DaemonFrame>;

constexpr const char* kMethod = "/photonrail.control.v1.Ranks/Attach";
constexpr unsigned kReadAhead = 8;

// Refuses the call that it is made for.
class Refused final : public Reactor {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

// gRPC never runs a callback inside of a Start call of ours, so these may be made under the mutex.
class RankStream final : public Reactor, public StreamOutlet {
 public:
  RankStream(RankService& service, grpc::CallbackServerContext* context, Caller caller)
      : service_(service), context_(context), caller_(std::move(caller)) {}

  void begin(std::shared_ptr<RankStream> self) {
    self_ = std::move(self);
    const std::lock_guard lock(mutex_);
    reading_ = true;
    StartRead(&incoming_);
  }
  const Caller& caller() const { return caller_; }
  bool silent_since(Instant before) const {
    const std::lock_guard lock(mutex_);
    return !spoke_ && opened_ < before;
  }

  // Ends the call; what is queued is not sent.
  void cut(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    leave(status);
    if (writing_) context_->TryCancel();  // the client may never read what is being written
  }

  // ---- gRPC
  void OnReadDone(bool ok) override {
    const Instant received = now();
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (!ok || leaving_) return leave(grpc::Status::OK);
    RankMessages messages;
    const grpc::Status status = take_in(messages);
    if (!status.ok()) {
      ++service_.metrics_.malformed;
      service_.access_.refuse(caller_, "malformed message", status.error_message());
      return leave(status);
    }
    ++service_.metrics_.rank_frames;
    service_.metrics_.rank_messages += messages.size();
    service_.host_.rank_frame(self_, std::move(messages), received);  // before the next read: frames keep their order
    if (++ahead_ < kReadAhead) read_on();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) leave(grpc::Status(grpc::StatusCode::CANCELLED, "the client left"));
    if (leaving_) return finish();
    write_on();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    leave(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    service_.ended(this);
    const std::shared_ptr<RankStream> self = std::move(self_);  // the core may hold it for a while yet
  }

  // ---- the core's thread
  void send(control::Rank rank, const wire::FromDaemon& message) override {
    const std::lock_guard lock(mutex_);
    if (leaving_) return;
    wire::write(rank, message, *waiting_.add_messages());
    if (static_cast<std::size_t>(waiting_.messages_size()) <= service_.limits_.messages_waiting) return;
    ++service_.metrics_.slow_clients;
    service_.access_.refuse(caller_, "slow client", fmt::format("{} messages wait", waiting_.messages_size()));
    leave(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many messages wait for this client to read"));
    if (writing_) context_->TryCancel();
  }

  void end_rank(control::Rank rank, const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    if (connections_.erase(rank) == 0 || leaving_) return;
    wire::write(rank, wire::Closed{reason}, *waiting_.add_messages());
    if (connections_.empty()) last_words_ = grpc::Status(grpc::StatusCode::ABORTED, reason.substr(0, 1024));
  }

  void flush() override {
    const std::lock_guard lock(mutex_);
    if (!writing_) write_on();
  }

  void taken() override {
    const std::lock_guard lock(mutex_);
    --ahead_;
    if (!reading_) read_on();
  }

 private:
  // All below: under the mutex.

  void read_on() {
    if (leaving_ || reading_) return;
    reading_ = true;
    StartRead(&incoming_);
  }

  void write_on() {
    if (leaving_ || writing_) return;
    if (waiting_.messages_size() == 0) {
      if (last_words_) leave(*last_words_);
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

  // The ranks have left for the core; the call ends when nothing is being written.
  void leave(const grpc::Status& status) {
    if (leaving_) return;
    leaving_ = true;
    status_ = status;
    for (const auto& [rank, connection] : connections_) service_.host_.rank_closed(connection);
    connections_.clear();
    finish();
  }

  void finish() {
    if (writing_ || finished_) return;
    finished_ = true;
    Finish(status_);
  }

  // The frame as messages of the core; ranks that are new on this stream are opened there first.
  grpc::Status take_in(RankMessages& messages) {
    const auto bad = [](std::string_view what) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, std::string(what));
    };
    if (incoming_.messages_size() > wire::kFrameMessages) return bad("too many messages in a frame");
    for (const pb::RankMessage& in : incoming_.messages()) {
      auto message = wire::read(in);
      if (!message) return bad(message.error().message);
      auto found = connections_.find(in.rank());
      if (found == connections_.end()) {
        const auto* hello = std::get_if<control::Hello>(&*message);
        if (hello == nullptr) continue;  // of a rank that was ended from here: it will hear of it
        const grpc::Status status = open(*hello);
        if (!status.ok()) return status;
        found = connections_.find(in.rank());
      }
      messages.emplace_back(found->second, std::move(*message));
    }
    return grpc::Status::OK;
  }

  grpc::Status open(const control::Hello& hello) {
    const daemon::Identity& who = caller_.identity;
    if (hello.job != who.job || (who.rank && *who.rank != hello.rank)) {
      return {grpc::StatusCode::PERMISSION_DENIED,
              fmt::format("{} may not speak for rank {} of job {}", who.name, hello.rank, hello.job)};
    }
    if (connections_.size() >= service_.limits_.ranks_per_stream) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many ranks on one stream"};
    }
    spoke_ = true;
    const daemon::ConnectionId connection = service_.host_.next_connection();
    connections_.emplace(hello.rank, connection);
    service_.host_.rank_opened(connection, hello.rank, who, self_);
    return grpc::Status::OK;
  }

  RankService& service_;
  grpc::CallbackServerContext* const context_;
  const Caller caller_;
  const Instant opened_ = now();
  std::shared_ptr<RankStream> self_;  // until OnDone

  mutable std::mutex mutex_;
  pb::RankFrame incoming_;
  pb::DaemonFrame outgoing_, waiting_;
  std::unordered_map<control::Rank, daemon::ConnectionId> connections_;
  std::optional<grpc::Status> last_words_;  // ends the stream when all is written
  grpc::Status status_;
  unsigned ahead_ = 0;
  bool reading_ = false, writing_ = false, leaving_ = false, finished_ = false, spoke_ = false;
};

RankService::RankService(CoreHost& host, const Access& access, RankLimits limits, Metrics& metrics, Log& log)
    : host_(host), access_(access), limits_(limits), metrics_(metrics), log_(log) {}

RankService::~RankService() = default;

Reactor* RankService::Attach(grpc::CallbackServerContext* context) {
  Access::Verdict verdict = access_.check(*context, kMethod);
  if (!verdict.status.ok()) return new Refused(verdict.status);
  std::shared_ptr<RankStream> stream;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return new Refused({grpc::StatusCode::UNAVAILABLE, "the daemon stops"});
    if (streams_.size() >= limits_.streams) {
      return new Refused({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams are open"});
    }
    stream = std::make_shared<RankStream>(*this, context, std::move(verdict.caller));
    streams_.emplace(stream.get(), stream);
  }
  ++metrics_.streams_opened;
  ++metrics_.streams;
  log_.write(Log::Level::debug, "stream opened",
             {{"who", stream->caller().identity.name}, {"peer", stream->caller().peer}});
  RankStream* const reactor = stream.get();
  reactor->begin(std::move(stream));
  return reactor;
}

void RankService::ended(RankStream* stream) {
  --metrics_.streams;
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void RankService::sweep(const std::string& roots) {
  std::vector<std::shared_ptr<RankStream>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, stream] : streams_) {
      if (auto held = stream.lock()) all.push_back(std::move(held));
    }
  }
  const auto wall = std::chrono::system_clock::now();
  const Instant silent_before = now() - limits_.hello_within;
  for (const auto& stream : all) {
    const Caller& caller = stream->caller();
    const bool over = caller.certificate_ends && *caller.certificate_ends <= wall;
    const bool untrusted =
        !over && !roots.empty() && !caller.certificate.empty() && !security::chains_to(caller.certificate, roots);
    if (over || untrusted) {
      const std::string why = over ? "the certificate has expired" : "the certificate is not trusted any more";
      access_.refuse(caller, "certificate", why);
      stream->cut({grpc::StatusCode::UNAUTHENTICATED, why});
    } else if (stream->silent_since(silent_before)) {
      stream->cut({grpc::StatusCode::DEADLINE_EXCEEDED, "no Hello"});
    }
  }
}

void RankService::close_all(const std::string& why) {
  std::vector<std::shared_ptr<RankStream>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& [key, stream] : streams_) {
      if (auto held = stream.lock()) all.push_back(std::move(held));
    }
  }
  for (const auto& stream : all) stream->cut({grpc::StatusCode::UNAVAILABLE, why});
}

}  // namespace photonrail::runtime
