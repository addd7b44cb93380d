// CoreHost: the one thread that owns daemon::Core. Events come in through a queue from gRPC, switches, journal and
// timers; actions go out through the outlets below, which are called on this thread and never block.
//
//   queue -> Core -> take_actions() -> streams, switches, journal, audit, log       after every single event
//
// Bounds: a stream has at most RankStream::kReadAhead frames here (it reads no further until `taken`), operators' calls
// are turned away beyond kCallsMost, and switches are bounded by their own frames. So memory is bounded by the number
// of streams, and a flood slows down only who floods.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <variant>

#include "daemon/core.h"
#include "runtime/event_queue.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "runtime/record_writer.h"
#include "wire/rank_messages.h"

namespace photonrail::runtime {

// A stream that carries one rank or several. Calls come from the core's thread and may come after the stream has ended.
class StreamOutlet {
 public:
  virtual ~StreamOutlet() = default;
  virtual void send(control::Rank rank, const wire::FromDaemon& message) = 0;  // kept until flush()
  virtual void end_rank(control::Rank rank, const std::string& reason) = 0;    // tells it; the last one ends the stream
  virtual void flush() = 0;
  virtual void taken() = 0;  // one frame was worked off
};

// Connections to switches. `generation` tells apart connections of one switch.
class SwitchOutlet {
 public:
  virtual ~SwitchOutlet() = default;
  virtual void connect(daemon::SwitchId ocs, std::uint64_t generation) = 0;  // after dropping the one before
  virtual void send(daemon::SwitchId ocs, std::uint64_t generation, device::Frame frame) = 0;
  // Nothing is written from `until` on, whatever was handed over before. In the past: every connection is dropped now.
  virtual void allow_until(Instant until) = 0;
};

using RankMessages = std::vector<std::pair<daemon::ConnectionId, control::RankMessage>>;

struct CoreHostSpec {
  std::vector<std::string> switch_names;
  std::size_t compact_bytes = std::size_t{64} << 20;  // of records since the last snapshot
  std::uint64_t first_request = 1;
};

class CoreHost {
 public:
  using ReplyCallback = std::function<void(const daemon::Reply& reply)>;  // on the core's thread
  using EventSink = std::function<void(const wire::Event& event)>;        // on the core's thread
  static constexpr std::size_t kCallsMost = 1024;
  static constexpr Duration kPatienceMost = std::chrono::milliseconds(500);  // also the beat for `alive`

  CoreHost(daemon::Core core, CoreHostSpec spec, RecordWriter& writer, SwitchOutlet& switches, Metrics& metrics,
           Log& log, EventSink sink);
  ~CoreHost();
  CoreHost(const CoreHost&) = delete;
  CoreHost& operator=(const CoreHost&) = delete;

  void start();
  void stop();  // steps down, tells the ranks, ends the thread; nothing is switched or granted afterwards

  // ---- any thread
  void lead(control::Epoch epoch, Instant until);
  void extend(Instant until);
  // Where the core leads in `term` (of take_over(); 0: of lead()). `then` runs on the core's thread in any case, when
  // nothing is switched or granted in that term any more.
  void step_down(control::Epoch term = 0, std::function<void()> then = {});

  // Another core in place of this one, which leads no more: it leads, with its journal in `store`. An error of the
  // store comes to `failed`, on the writer's thread. `lapsed`: it is told, on the core's thread, that the core has
  // stopped by itself, because it heard of an extension too late; it cannot lead in this term any more.
  void take_over(daemon::Core core, std::unique_ptr<journal::RecordStore> store, control::Epoch epoch, Instant until,
                 RecordWriter::FailedCallback failed, std::function<void()> lapsed);

  daemon::ConnectionId next_connection() { return next_connection_.fetch_add(1); }
  void rank_opened(daemon::ConnectionId connection, control::Rank rank, daemon::Identity identity,
                   std::shared_ptr<StreamOutlet> stream);
  void rank_frame(std::shared_ptr<StreamOutlet> stream, RankMessages messages, Instant received);
  void rank_closed(daemon::ConnectionId connection);

  daemon::RequestId next_request() { return next_request_.fetch_add(1); }
  // False where too many calls wait; `done` is then never called.
  bool call(daemon::RequestId request, daemon::Identity identity, daemon::OperatorCall call, ReplyCallback done);

  void switch_connected(daemon::SwitchId ocs, std::uint64_t generation);
  void switch_frame(daemon::SwitchId ocs, std::uint64_t generation, device::Frame frame);
  void switch_disconnected(daemon::SwitchId ocs, std::uint64_t generation);
  void durable(daemon::RecordNumber through, control::Epoch term = 0);  // term: of take_over(), which numbers anew

  // What a carrier refuses on its own is audited like what the core does, up to so many in a second; the rest is
  // counted.
  static constexpr unsigned kRefusalsPerSecond = 20;
  void audit_refusal(daemon::AuditRecord record);

  // The thread has come round within `patience`.
  bool alive(Duration patience) const;

 private:
  struct Leadership {
    std::optional<control::Epoch> lead;  // else extend
    std::optional<Instant> until;        // else step down
    control::Epoch term = 0;             // to step down from
    std::function<void()> then;
  };
  struct TakeOver {
    std::unique_ptr<daemon::Core> core;
    std::unique_ptr<journal::RecordStore> store;
    control::Epoch epoch = 0;
    Instant until{};
    RecordWriter::FailedCallback failed;
    std::function<void()> lapsed;
  };
  struct RankOpened {
    daemon::ConnectionId connection = 0;
    control::Rank rank = 0;
    daemon::Identity identity;
    std::shared_ptr<StreamOutlet> stream;
  };
  struct RankFrame {
    std::shared_ptr<StreamOutlet> stream;
    RankMessages messages;
    Instant received{};
  };
  struct RankClosed {
    daemon::ConnectionId connection = 0;
  };
  struct Call {
    daemon::RequestId request = 0;
    daemon::Identity identity;
    daemon::OperatorCall call;
    ReplyCallback done;
  };
  struct SwitchEvent {
    enum class Kind : std::uint8_t { connected, frame, disconnected } kind = Kind::connected;
    daemon::SwitchId ocs = 0;
    std::uint64_t generation = 0;
    device::Frame frame;
    Instant received{};
  };
  struct Durable {
    daemon::RecordNumber through = 0;
    control::Epoch term = 0;
  };
  struct Refusal {
    daemon::AuditRecord record;
  };
  struct Stop {};
  using Event =
      std::variant<Leadership, TakeOver, RankOpened, RankFrame, RankClosed, Call, SwitchEvent, Durable, Refusal, Stop>;

  struct Rank {
    std::shared_ptr<StreamOutlet> stream;
    control::Rank rank = 0;
  };

  void loop();
  void on(Leadership& event);
  void on(TakeOver& event);
  void on(RankOpened& event);
  void on(RankFrame& event);
  void on(RankClosed& event);
  void on(Call& event);
  void on(SwitchEvent& event);
  void on(Durable& event);
  void on(Refusal& event);
  void on(Stop& event);

  void notice_lapse();
  void end_all(const std::string& why);  // ranks and calls
  void drain();                          // actions of the core to where they go
  void act(daemon::ToRank& action);
  void act(daemon::CloseRank& action);
  void act(daemon::ToOperator& action);
  void act(daemon::ToSwitch& action);
  void act(daemon::ConnectSwitch& action);
  void act(daemon::AppendRecord& action);
  void act(daemon::Audit& action);
  void act(daemon::Notice& action);
  void act(daemon::IntentMeasured& action);
  void count(const control::DaemonMessage& message);
  void flush_streams();
  void compact_if_due();

  daemon::Core core_;
  const CoreHostSpec spec_;
  RecordWriter& writer_;
  SwitchOutlet& switches_;
  Metrics& metrics_;
  Log& log_;
  const EventSink sink_;

  EventQueue<Event> queue_{kCallsMost};
  std::atomic<daemon::ConnectionId> next_connection_{1};
  std::atomic<daemon::RequestId> next_request_;
  std::atomic<std::size_t> calls_waiting_{0};
  std::atomic<std::int64_t> last_beat_ns_{0};

  // ---- of the core's thread
  std::unordered_map<daemon::ConnectionId, Rank> ranks_;
  std::unordered_map<daemon::RequestId, ReplyCallback> calls_;
  std::vector<std::uint64_t> generations_;  // of each switch's present connection
  std::vector<StreamOutlet*> to_flush_;
  std::optional<std::uint64_t> compactions_when_asked_;
  Instant refusal_second_{};
  unsigned refusals_ = 0;
  std::uint64_t grants_in_event_ = 0;
  std::function<void()> lapsed_;  // of this term
  control::Epoch term_ = 0;       // of the records that the core numbers
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace photonrail::runtime
