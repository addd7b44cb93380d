#include "device/conformance.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace photonrail::device {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(1);  // between looks at the box while nothing is due

}  // namespace

std::vector<Dialect> built_in_dialects() {
  std::vector<Dialect> result;
  SwitchModel model{SwitchModelSpec{}};
  for (const Dialect dialect :
       {Dialect::polatis_scpi, Dialect::polatis_tl1, Dialect::calient_tl1, Dialect::glimmerglass_tl1,
        Dialect::polatis_netconf, Dialect::polatis_restconf, Dialect::ocp_gnmi, Dialect::sonic_gnmi}) {
    if (make_driver(dialect, {}) && make_front_end(dialect, model, {})) result.push_back(dialect);
  }
  return result;
}

bool is_byte_stream(Dialect dialect) {
  return dialect == Dialect::polatis_scpi || dialect == Dialect::polatis_tl1 || dialect == Dialect::calient_tl1 ||
         dialect == Dialect::glimmerglass_tl1;
}

EmulatedBox::EmulatedBox(Dialect dialect, SwitchModelSpec spec, FrontEndOptions options)
    : dialect_(dialect), model_(std::move(spec)), front_end_(make_front_end(dialect, model_, std::move(options))) {
  PR_CHECK(front_end_ != nullptr, "a dialect that is built in");
}

ConnectionId EmulatedBox::open(Instant now) {
  front_end_->opened(++last_, now);
  collect();
  return last_;
}

void EmulatedBox::close(ConnectionId connection, Instant now) {
  front_end_->closed(connection, now);
  collect();
  leaving_.erase(connection);
}

void EmulatedBox::send(ConnectionId connection, const Frame& frame, Instant now) {
  front_end_->receive(connection, frame, now);
  collect();
}

void EmulatedBox::advance(Instant now) {
  front_end_->advance(now);
  collect();
}

void EmulatedBox::collect() {
  for (FrontEndReply& reply : front_end_->take_replies()) {
    auto& queue = leaving_[reply.connection];
    const auto after = std::upper_bound(queue.begin(), queue.end(), reply.at,
                                        [](Instant at, const FrontEndReply& other) { return at < other.at; });
    queue.insert(after, std::move(reply));
  }
}

Instant EmulatedBox::next(ConnectionId connection) const {
  const auto found = leaving_.find(connection);
  return found == leaving_.end() || found->second.empty() ? kNever : found->second.front().at;
}

std::optional<FrontEndReply> EmulatedBox::take(ConnectionId connection, Instant now) {
  if (next(connection) > now) return std::nullopt;
  auto& queue = leaving_[connection];
  FrontEndReply reply = std::move(queue.front());
  queue.pop_front();
  return reply;
}

Carrier::Carrier(EmulatedBox& box, Credentials credentials, CarrierSpec spec)
    : box_(box),
      spec_(spec),
      random_(spec.seed, "carrier"),
      driver_(make_driver(box.dialect(), std::move(credentials))) {}

Answer Carrier::connect() {
  hang_up();
  connection_ = box_.open(now_);
  connected_ = true;
  again_.reset();
  heard_at_ = now_ - driver_->capabilities().min_gap;
  driver_->connected();
  silences_ = 0;
  Answer answer = finish();
  identified_ = answer.outcome == Outcome::applied;
  return answer;
}

void Carrier::hang_up() {
  if (!connected_) return;
  connected_ = false;
  driver_->disconnected();
  box_.close(connection_, now_);
  while (driver_->take_answer()) ++stray_answers_;
}

Answer Carrier::run(const Command& command, Duration timeout) {
  constexpr unsigned kSilences = 3;
  if (!connected_ || !identified_ || silences_ >= kSilences || driver_->wants_new_connection()) connect();
  begin(command);
  return finish(timeout);
}

void Carrier::begin(const Command& command) {
  while (driver_->take_answer()) ++stray_answers_;
  driver_->begin(command);
}

Answer Carrier::finish(Duration timeout) {
  const Instant deadline = now_ + timeout;
  for (;;) {
    flush();
    if (auto answer = driver_->take_answer()) {
      silences_ = 0;
      return std::move(*answer);
    }
    if (now_ >= deadline || !connected_) break;
    now_ = std::min({deadline, now_ + kStep, std::max(now_, box_.next(connection_))});
    box_.advance(now_);
    while (connected_) {
      const auto reply = box_.take(connection_, now_);
      if (!reply) break;
      deliver(*reply);
    }
  }
  driver_->expire();
  ++silences_;
  auto answer = driver_->take_answer();
  PR_CHECK(answer.has_value(), "a command that expired has an answer");
  return std::move(*answer);
}

void Carrier::pass(Duration time) {
  const Instant until = now_ + time;
  while (now_ < until) {
    now_ = std::min({until, now_ + kStep, std::max(now_, box_.next(connection_))});
    box_.advance(now_);
    while (connected_) {
      const auto reply = box_.take(connection_, now_);
      if (!reply) break;
      deliver(*reply);
    }
    if (box_.next(connection_) <= now_ && !connected_) break;
  }
  now_ = until;
  box_.advance(now_);
  while (driver_->take_answer()) ++stray_answers_;
}

// Frames go out no sooner than the gap of the dialect after the last reply.
void Carrier::flush() {
  for (const Frame& frame : driver_->take_frames()) {
    if (!connected_) continue;
    sent_ += frame.body;
    now_ = std::max(now_, heard_at_ + driver_->capabilities().min_gap);
    box_.send(connection_, frame, now_);
  }
}

void Carrier::deliver(const FrontEndReply& reply) {
  now_ += spec_.latency;
  heard_at_ = now_;
  heard_ += reply.frame.body;
  const bool silent = reply.frame.body.empty() && reply.frame.verb.empty() && reply.frame.status == 0;
  const bool lost = spec_.lost > 0 && random_.uniform() < spec_.lost;
  if (!silent && !lost) {
    if (spec_.noise > 0 && random_.uniform() < spec_.noise) {
      Frame frame = reply.frame;
      frame.body = noise();
      hand_over(frame);
    }
    const bool twice = spec_.repeated > 0 && random_.uniform() < spec_.repeated;
    if (again_) hand_over(*std::exchange(again_, std::nullopt));
    hand_over(reply.frame);
    if (twice && random_.below(2) == 0) hand_over(reply.frame);
    else if (twice) again_ = reply.frame;
  }
  if (!reply.close) return;
  connected_ = false;
  driver_->disconnected();
  box_.close(connection_, now_);
}

std::string Carrier::noise() {
  constexpr std::uint64_t kLengthMax = 64;
  std::string text;
  for (std::uint64_t n = 1 + random_.below(kLengthMax); n > 0; --n) text += static_cast<char>(random_.below(256));
  return is_byte_stream(box_.dialect()) ? text + "\r\n" : text;
}

void Carrier::hand_over(const Frame& frame) {
  if (!spec_.cut || !is_byte_stream(box_.dialect())) return driver_->receive(frame);
  std::string_view rest = frame.body;
  while (!rest.empty()) {
    const auto length = static_cast<std::size_t>(1 + random_.below(std::min<std::uint64_t>(rest.size(), 16)));
    Frame piece;
    piece.body = rest.substr(0, length);
    driver_->receive(piece);
    rest.remove_prefix(length);
  }
}

Answer Carrier::read() { return run({Command::Kind::read, {}, {}, true}); }

Answer Carrier::readings(std::vector<Position> outputs) {
  return run({Command::Kind::readings, {}, std::move(outputs), true});
}

Answer Carrier::add(std::vector<CrossConnect> pairs) { return run({Command::Kind::add, std::move(pairs), {}, true}); }

Answer Carrier::remove(std::vector<CrossConnect> pairs) {
  return run({Command::Kind::remove, std::move(pairs), {}, true});
}

Answer Carrier::set_ports(std::vector<Position> outputs, bool enable) {
  return run({Command::Kind::set_ports, {}, std::move(outputs), enable});
}

}  // namespace photonrail::device
