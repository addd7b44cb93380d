// For tests: a dialect without syntax over a SwitchModel, and a carrier with a clock that joins it to a Reconciler.
// PlainDriver checks on every command what no run may break: no write before a read on this connection, and never two
// writes without a read between them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "device/reconciler.h"
#include "device/switch_model.h"

namespace photonrail::device {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Frames: verb = number of the command, target = its kind, body = numbers.
class PlainDriver final : public Driver {
 public:
  explicit PlainDriver(Capabilities capabilities) : capabilities_(capabilities) {}

  Dialect dialect() const override { return Dialect::polatis_scpi; }
  const Capabilities& capabilities() const override { return capabilities_; }

  void connected() override {
    read_since_write_ = false;
    up_ = true;
    ask("identity", "");
  }
  void disconnected() override {
    frames_.clear();
    up_ = false;
    end();
  }
  void expire() override { end(); }

  void begin(const Command& command) override {
    ASSERT_TRUE(expected_.empty()) << "one command at a time";
    const bool writes = command.kind == Command::Kind::add || command.kind == Command::Kind::remove;
    if (writes) {
      EXPECT_TRUE(read_since_write_) << "a write without a read before it";
      EXPECT_LE(command.pairs.size(), capabilities_.max_batch);
      read_since_write_ = false;
      ++writes_;
    }
    std::string body;
    for (const CrossConnect& pair : command.pairs) {
      body += std::to_string(pair.in) + " " + std::to_string(pair.out) + " ";
    }
    for (const Position output : command.outputs) body += std::to_string(output) + " ";
    static constexpr const char* kNames[] = {"read", "readings", "remove", "add", "set_ports"};
    ask(kNames[static_cast<int>(command.kind)], body);
  }

  void receive(const Frame& frame) override {
    if (!up_ || expected_.empty() || frame.verb != expected_) return;  // late or garbage
    Answer answer;
    answer.outcome = static_cast<Outcome>(frame.status);
    std::istringstream in(frame.body);
    int a = 0, b = 0;
    double power = 0;
    if (target_ == "identity") {
      answer.identity = {"Photonrail", "EMU", frame.target, "1.0", 0, 0};
      in >> answer.identity.inputs >> answer.identity.outputs;
    } else if (target_ == "read") {
      while (in >> a >> b) {
        answer.snapshot.connections.push_back({static_cast<Position>(a), static_cast<Position>(b)});
      }
      read_since_write_ = read_since_write_ || answer.outcome == Outcome::applied;
    } else if (target_ == "readings") {
      while (in >> a >> power) {
        OutputReading reading;
        if (capabilities_.status) reading.status = static_cast<PortStatus>(a);
        if (capabilities_.power) reading.power_dbm = power;
        answer.snapshot.outputs.push_back(reading);
      }
    } else {
      while (in >> a) answer.pairs.push_back(static_cast<Outcome>(a));
    }
    expected_.clear();
    answers_.push_back(std::move(answer));
  }

  std::vector<Frame> take_frames() override { return std::exchange(frames_, {}); }
  std::optional<Answer> take_answer() override {
    if (answers_.empty()) return std::nullopt;
    Answer answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
    return answer;
  }
  std::vector<Event> take_events() override { return std::exchange(events, {}); }
  bool wants_new_connection() const override { return false; }
  unsigned writes() const { return writes_; }

  std::vector<Event> events;

 private:
  void ask(const std::string& target, std::string body) {
    expected_ = std::to_string(++number_);
    target_ = target;
    Frame frame;
    frame.verb = expected_;
    frame.target = target;
    frame.body = std::move(body);
    frames_.push_back(std::move(frame));
  }
  void end() {
    if (expected_.empty()) return;
    expected_.clear();
    answers_.emplace_back();
  }

  Capabilities capabilities_;
  std::vector<Frame> frames_;
  std::vector<Answer> answers_;
  std::string expected_, target_;
  std::uint64_t number_ = 0;
  unsigned writes_ = 0;
  bool up_ = false;
  bool read_since_write_ = false;
};

// The carrier, the box and the clock: runs the reconciler until a time, a result, or quiet.
class Rig {
 public:
  Rig(SwitchModelSpec model_spec, ReconcilerSpec spec, Capabilities capabilities)
      : model(std::move(model_spec)), capabilities_(capabilities) {
    auto owned = std::make_unique<PlainDriver>(capabilities);
    driver = owned.get();
    reconciler = std::make_unique<Reconciler>(std::move(spec), std::move(owned));
    model.advance(now);
    drain();
  }

  static Capabilities sees_all() {
    Capabilities can;
    can.power = can.status = true;
    can.max_batch = 64;
    can.settle_typical = milliseconds(20);
    can.settle_max = milliseconds(200);
    return can;
  }

  void submit(Intent intent) {
    if (intent.deadline == Instant{}) intent.deadline = now + seconds(60);
    for (const auto* pairs : {&intent.remove, &intent.add}) {
      for (const CrossConnect& pair : *pairs) {
        named_in.insert(pair.in);
        named_out.insert(pair.out);
      }
    }
    ++submitted;
    reconciler->submit(std::move(intent), now);
    drain();
  }

  // The box says something unasked.
  void tell(Event event) {
    driver->events.push_back(std::move(event));
    reconciler->receive({}, now);
    drain();
  }

  void run_until(Instant end) {
    constexpr int kStepsMax = 2'000'000;
    for (int i = 0; i < kStepsMax; ++i) {
      const Instant next = std::min(next_event(), reconciler->next_deadline());
      if (next > end) {
        now = end;
        model.advance(now);
        return;
      }
      now = std::max(now, next);
      step();
    }
    FAIL() << "the reconciler never sleeps";
  }
  void run_for(Duration span) { run_until(now + span); }

  // Runs until the result of `id` is there; nothing after `limit`.
  const IntentResult* result(IntentId id, Duration limit = seconds(120)) {
    const Instant end = now + limit;
    while (now < end && !results.contains(id)) run_until(std::min(end, now + milliseconds(1)));
    return results.contains(id) ? &results.at(id) : nullptr;
  }

  std::size_t alarms_of(Alarm::Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(alarms.begin(), alarms.end(), [&](const Alarm& a) { return a.kind == kind; }));
  }

  // ---- the world
  SwitchModel model;
  PlainDriver* driver = nullptr;
  std::unique_ptr<Reconciler> reconciler;
  Instant now{seconds(1000)};
  Duration latency = microseconds(200);
  bool reachable = true;
  std::string serial = "0001";

  // ---- what was seen
  std::map<IntentId, IntentResult> results;
  std::map<IntentId, Instant> ended;
  std::vector<Alarm> alarms;
  std::vector<WriteRecord> records;
  std::set<Position> named_in, named_out;
  std::map<Position, Instant> lit_at;        // when the box last served a reading of an output with its light in truth
  std::size_t submitted = 0;
  std::size_t adds_over_busy = 0;            // adds that came while a port of theirs was in use
  std::function<void(const IntentResult&)> on_result;

 private:
  struct InFlight {
    Instant at{};
    std::uint64_t order = 0;
    bool to_box = false;
    std::uint64_t connection = 0;
    bool breaks = false;
    Frame frame;
  };

  Instant next_event() const {
    Instant next = kNever;
    for (const InFlight& f : flights_) next = std::min(next, f.at);
    if (connecting_) next = std::min(next, connect_at_);
    return next;
  }

  void step() {
    model.advance(now);
    if (connecting_ && connect_at_ <= now) return connect();
    const auto first = std::min_element(flights_.begin(), flights_.end(), [](const InFlight& a, const InFlight& b) {
      return a.at != b.at ? a.at < b.at : a.order < b.order;
    });
    if (first == flights_.end() || first->at > now) {
      reconciler->tick(now);
      return drain();
    }
    const InFlight flight = *first;
    flights_.erase(first);
    if (flight.connection != connection_) return;
    if (flight.to_box) return serve(flight.frame);
    if (!flight.breaks) reconciler->receive(flight.frame, now);
    else break_connection();
    drain();
  }

  void connect() {
    connecting_ = false;
    if (!reachable || !model.up(now)) {
      reconciler->disconnected(now);
      return drain();
    }
    ++connection_;
    silent_ = false;
    open_ = true;
    reconciler->connected(now);
    drain();
  }

  void break_connection() {
    ++connection_;
    open_ = false;
    reconciler->disconnected(now);
  }

  void drain() {
    for (WriteRecord& record : reconciler->take_records()) {
      EXPECT_FALSE(record.frames.empty());
      records.push_back(std::move(record));
      ++records_pending_;
    }
    for (Frame& frame : reconciler->take_frames()) {
      const bool writes = frame.target == "add" || frame.target == "remove";
      if (writes) {
        EXPECT_GT(records_pending_, 0U) << "a write that no record announced";
        records_pending_ = 0;
      }
      send(std::move(frame), true, now + latency);
    }
    if (reconciler->take_connect_request()) {
      ++connection_;
      open_ = false;
      connecting_ = true;
      connect_at_ = now + latency;
    }
    for (IntentResult& result : reconciler->take_results()) {
      EXPECT_FALSE(results.contains(result.id)) << "two results for one intent";
      ended[result.id] = now;
      if (on_result) on_result(result);
      results[result.id] = std::move(result);
    }
    for (Alarm& alarm : reconciler->take_alarms()) alarms.push_back(std::move(alarm));
  }

  void send(Frame frame, bool to_box, Instant at, bool breaks = false) {
    flights_.push_back({at, ++order_, to_box, connection_, breaks, std::move(frame)});
  }

  void serve(const Frame& asked) {
    if (silent_ || !open_) return;
    if (!model.up(now)) {
      break_connection();
      return drain();
    }
    if (model.draw("half_open")) {
      silent_ = true;
      return;
    }
    const bool breaks = model.draw("disconnects");
    if (breaks && asked.body.size() % 2 == 0) return send({}, false, now + latency, true);  // before it is obeyed
    Frame reply = answer(asked);
    Instant at = reply_at_ + latency;
    if (breaks) return send({}, false, at, true);
    if (model.draw("no_reply")) return;
    if (model.draw("late_reply")) at += model.spec().faults.late_by;
    if (model.draw("garbage")) send({"x", "noise", 0, "?"}, false, at);
    send(std::move(reply), false, at);
  }

  Frame answer(const Frame& asked) {
    Frame reply;
    reply.verb = asked.verb;
    std::ostringstream body;
    if (asked.target == "identity") {
      reply_at_ = model.take_turn(now);
      reply.target = serial;
      body << model.spec().inputs << " " << model.spec().outputs;
    } else if (asked.target == "read") {
      reply_at_ = model.take_turn(now);
      for (const CrossConnect& pair : model.connections(now)) body << pair.in << " " << pair.out << " ";
    } else if (asked.target == "readings") {
      reply_at_ = model.take_turn(now);
      for (Position out = 0; out < model.spec().outputs; ++out) {
        const OutputReading reading = model.reading(out, now);
        body << static_cast<int>(reading.status) << " " << reading.power_dbm.value_or(-60) << " ";
      }
      for (const CrossConnect& pair : model.connections(now)) {
        if (model.lit(pair, now)) lit_at[pair.out] = now;
      }
    } else {
      serve_write(asked, reply, body);
    }
    reply.body = body.str();
    return reply;
  }

  void serve_write(const Frame& asked, Frame& reply, std::ostringstream& body) {
    std::istringstream in(asked.body);
    WriteRequest request;
    request.writer = "us";
    int a = 0, b = 0;
    while (in >> a >> b) {
      (asked.target == "add" ? request.add : request.remove)
          .push_back({static_cast<Position>(a), static_cast<Position>(b)});
    }
    for (const CrossConnect& pair : request.add) {
      for (const CrossConnect& held : model.connections(now)) {
        if (held != pair && (held.in == pair.in || held.out == pair.out)) ++adds_over_busy;
      }
    }
    const WriteReply written = model.write(request, now);
    reply_at_ = written.accepted;
    reply.status = static_cast<int>(written.outcome);
    for (const Outcome o : asked.target == "add" ? written.add : written.remove) body << static_cast<int>(o) << " ";
  }

  Capabilities capabilities_;
  std::vector<InFlight> flights_;
  std::uint64_t order_ = 0, connection_ = 0;
  std::size_t records_pending_ = 0;
  Instant connect_at_{}, reply_at_{};
  bool connecting_ = false, open_ = false, silent_ = false;
};

}  // namespace photonrail::device
