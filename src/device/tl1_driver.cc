#include "device/tl1_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "device/dialect_text.h"

namespace photonrail::device {
namespace {

constexpr std::uint32_t kTagMax = 999'999;   // GR-831: a tag has at most six digits
constexpr unsigned kLoginsMax = 40;          // 0.5 s after ACT-USER at a gap of 20 ms: 'Login Not Active' until then
constexpr unsigned kDeafMax = 2;
constexpr std::size_t kEventsMax = 256;

// Words of a request: quoted where they hold more than letters, digits and a few harmless signs.
std::string quoted_if_needed(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  return plain ? word : "\"" + word + "\"";
}

// Neither quotes nor control characters can be written in a request.
bool writable(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

bool login_not_active(const tl1::Message& message) {
  return message.error_code() == "PLNA" || contains_word(message.text(), "Login Not Active");
}

// The refusal says that nothing was done, unless it is one of a failure under way (GR-831: SROF, requested operation
// failed). A completion that tells of a failure in words is none.
Outcome outcome_of(const tl1::Message& message) {
  const std::string text = message.text();
  switch (message.completion) {
    case tl1::Completion::complete:
      return contains_word(text, "Failed") || contains_word(text, "Invalid") ? Outcome::failed : Outcome::applied;
    case tl1::Completion::deny:
      return message.error_code() == "SROF" || contains_word(text, "Failed") ? Outcome::failed : Outcome::rejected;
    case tl1::Completion::partial: return Outcome::failed;
    case tl1::Completion::delayed:
    case tl1::Completion::retrieve: return Outcome::unknown;
  }
  return Outcome::unknown;
}

}  // namespace

Tl1Driver::Tl1Driver(std::unique_ptr<Tl1Codec> codec, Credentials credentials)
    : codec_(std::move(codec)), credentials_(std::move(credentials)), capabilities_(codec_->capabilities()) {
  capabilities_.login = !credentials_.user.empty();
}

Tl1Context Tl1Driver::context() { return {command_, answer_, identity_, capabilities_, todo_}; }

Tl1Step Tl1Driver::login_step() const {
  Tl1Step step;
  step.kind = Tl1Step::Kind::login;
  step.verb = "ACT-USER";
  step.access = quoted_if_needed(credentials_.user);
  step.tail = "::" + quoted_if_needed(credentials_.password);
  return step;
}

void Tl1Driver::connected() {
  todo_.clear();
  frames_.clear();
  reader_.clear();
  target_.clear();
  answer_ = {};
  identity_ = {};
  connected_ = greeting_ = true;
  identified_ = wants_new_connection_ = heard_ = false;
  logins_ = deaf_ = 0;
  if (!writable(credentials_.user) || !writable(credentials_.password)) {
    append_text(answer_.device_text, "not sent: TL1 has no way to write this user name or password");
    return finish(Outcome::rejected);
  }
  if (!credentials_.user.empty()) todo_.push_back(login_step());
  if (codec_->addressed()) {
    Tl1Step step;
    step.kind = Tl1Step::Kind::header;
    step.verb = "RTRV-HDR";
    todo_.push_back(std::move(step));
  }
  Tl1Context all = context();
  codec_->identify(all);
  send_next();
}

void Tl1Driver::disconnected() {
  if (!idle()) finish(Outcome::unknown);
  connected_ = false;
  frames_.clear();
  reader_.clear();
}

void Tl1Driver::expire() {
  if (idle()) return;
  deaf_ = heard_ ? 0 : deaf_ + 1;
  wants_new_connection_ = wants_new_connection_ || greeting_ || deaf_ >= kDeafMax;
  frames_.clear();
  finish(Outcome::unknown);
}

bool Tl1Driver::in_range() const {
  const auto known = [&](const CrossConnect& pair) {
    return pair.in < identity_.inputs && pair.out < identity_.outputs;
  };
  return std::all_of(command_.pairs.begin(), command_.pairs.end(), known) &&
         std::all_of(command_.outputs.begin(), command_.outputs.end(),
                     [&](Position output) { return output < identity_.outputs; });
}

void Tl1Driver::begin(const Command& command) {
  PR_CHECK(idle(), "one command at a time");
  command_ = command;
  answer_ = {};
  writes_ = Outcome::applied;
  logins_ = 0;
  heard_ = false;
  if (!connected_ || !identified_ || wants_new_connection_) return finish(Outcome::unknown);
  if (!in_range()) {
    answer_.device_text = "not sent: the switch has no such port";
    return finish(Outcome::rejected);
  }
  if (command.kind == Command::Kind::set_ports && !capabilities_.port_control) {
    answer_.device_text = "not sent: the switch cannot disable ports";
    return finish(Outcome::rejected);
  }
  const bool writes = command.kind == Command::Kind::add || command.kind == Command::Kind::remove;
  if (writes) answer_.pairs.assign(command.pairs.size(), Outcome::rejected);  // until it is sent
  if (command.kind == Command::Kind::readings) answer_.snapshot.outputs.resize(identity_.outputs);
  Tl1Context all = context();
  if (!writes || !command.pairs.empty()) codec_->begin(all);
  if (todo_.empty()) return finish(Outcome::applied);
  send_next();
}

void Tl1Driver::send_next() {
  const Tl1Step& step = todo_.front();
  tag_ = tag_ % kTagMax + 1;
  const bool anonymous = step.kind == Tl1Step::Kind::login || step.kind == Tl1Step::Kind::header || target_.empty();
  const std::string target = anonymous ? "" : "\"" + target_ + "\"";
  Frame frame;
  frame.body = fmt::format("{}:{}:{}:{}{};\n", step.verb, target, step.access, tag_, step.tail);
  frames_.push_back(std::move(frame));
}

void Tl1Driver::receive(const Frame& frame) {
  if (!connected_) return;
  reader_.feed(frame.body);
  while (const auto message = reader_.next()) {
    heard_ = true;
    if (message->autonomous) on_event(*message);
    else if (!idle() && message->tag == std::to_string(tag_)) on_response(*message);
  }
}

void Tl1Driver::on_event(const tl1::Message& message) {
  if (events_.size() >= kEventsMax) return;  // nobody listens; the next read tells all
  Event event;
  if (contains_word(message.verb, "DBCHG")) event.kind = Event::Kind::connections_changed;
  else if (contains_word(message.verb, "EVT")) event.kind = Event::Kind::port_changed;
  for (const std::string_view line : message.data()) {
    const auto output = codec_->output_in(line.substr(0, line.find_first_of(":,")));
    if (output) event.outputs.push_back(*output);
  }
  event.device_text = shown_text(message.verb + "\n" + message.text(), credentials_.password);
  events_.push_back(std::move(event));
}

bool Tl1Driver::log_in_again(const Tl1Step& step, const tl1::Message& message) {
  if (!login_not_active(message) || credentials_.user.empty() || ++logins_ > kLoginsMax) return false;
  todo_.push_front(step);
  if (step.kind != Tl1Step::Kind::login) todo_.push_front(login_step());
  send_next();
  return true;
}

void Tl1Driver::on_response(const tl1::Message& message) {
  const Tl1Step step = std::move(todo_.front());
  todo_.pop_front();
  if (message.completion == tl1::Completion::deny && log_in_again(step, message)) return;
  // The step may finish the command; until then it counts as in flight.
  if (step.kind == Tl1Step::Kind::write) {
    const Outcome outcome = outcome_of(message);
    if (outcome != Outcome::applied) quote(message);
    return on_written(step, outcome);
  }
  if (message.completion == tl1::Completion::deny) return on_denied(step, message);
  if (step.kind == Tl1Step::Kind::login) return advance();
  if (step.kind == Tl1Step::Kind::header) {
    if (writable(message.source) && message.source != ")") target_ = message.source;  // "( nil )": none is set
    return advance();
  }
  Tl1Context all = context();
  if (message.completion == tl1::Completion::complete && codec_->on_reply(step, message, all)) return advance();
  quote(message);
  finish(Outcome::unknown);
}

void Tl1Driver::quote(const tl1::Message& message) {
  append_text(answer_.device_text, shown_text(message.text(), credentials_.password));
}

void Tl1Driver::on_denied(const Tl1Step& step, const tl1::Message& message) {
  if (step.kind == Tl1Step::Kind::header) return advance();
  if (step.kind == Tl1Step::Kind::login && contains_word(message.text(), "Already logged in")) return advance();
  if (step.kind == Tl1Step::Kind::probe) {
    Tl1Context all = context();
    codec_->on_denied(step, all);
    return advance();
  }
  quote(message);
  finish(step.kind == Tl1Step::Kind::login ? Outcome::rejected : Outcome::failed);
}

void Tl1Driver::on_written(const Tl1Step& step, Outcome outcome) {
  for (const std::size_t pair : step.pairs) answer_.pairs[pair] = outcome;
  if (step.pairs.empty()) writes_ = std::max(writes_, outcome);
  Tl1Context all = context();
  codec_->on_written(step, outcome, all);
  advance();
}

void Tl1Driver::advance() {
  if (!todo_.empty()) return send_next();
  if (greeting_) {
    identified_ = identity_.inputs > 0 && identity_.outputs > 0;
    answer_.identity = identity_;
    return finish(identified_ ? Outcome::applied : Outcome::unknown);
  }
  finish(std::max(writes_, outcome_of_pairs(answer_.pairs)));
}

void Tl1Driver::finish(Outcome outcome) {
  if (!todo_.empty() && outcome == Outcome::unknown) {
    for (const std::size_t pair : todo_.front().pairs) answer_.pairs[pair] = outcome;
  }
  todo_.clear();
  greeting_ = false;
  answer_.outcome = outcome;
  if (outcome != Outcome::applied) answer_.snapshot = {};  // half a reading is none
  answers_.push_back(std::exchange(answer_, Answer{}));
}

std::vector<Frame> Tl1Driver::take_frames() { return std::exchange(frames_, {}); }
std::vector<Event> Tl1Driver::take_events() { return std::exchange(events_, {}); }

std::optional<Answer> Tl1Driver::take_answer() {
  if (answers_.empty()) return std::nullopt;
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

}  // namespace photonrail::device
