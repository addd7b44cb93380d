#include "device/message_driver.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "device/dialect_text.h"

namespace photonrail::device {
namespace {

constexpr unsigned kStrangersMax = 64;         // frames that are no answer, before the connection is given up
constexpr std::size_t kEventsMax = 1024;       // kept until they are taken

}  // namespace

void MessageDriver::connected() {
  requests_.clear();
  ends_as_.reset();
  removal_.reset();
  frames_.clear();
  answer_ = Answer{};
  identity_ = Identity{};
  connected_ = greeting_ = true;
  identified_ = wants_new_connection_ = false;
  strangers_ = 0;
  for (Request& request : greeting()) requests_.push_back(std::move(request));
  send_next();
}

void MessageDriver::disconnected() {
  if (!requests_.empty()) finish(Outcome::unknown);
  connected_ = identified_ = false;
  frames_.clear();
}

void MessageDriver::expire() {
  if (requests_.empty()) return;
  const bool was_greeting = greeting_;
  finish(Outcome::unknown);
  frames_.clear();
  wants_new_connection_ = was_greeting || !replies_are_tagged();
}

bool MessageDriver::in_range(const Command& command) const {
  const auto fits = [&](const CrossConnect& pair) {
    return pair.in < identity_.inputs && pair.out < identity_.outputs;
  };
  return std::all_of(command.pairs.begin(), command.pairs.end(), fits) &&
         std::all_of(command.outputs.begin(), command.outputs.end(),
                     [&](Position output) { return output < identity_.outputs; });
}

void MessageDriver::begin(const Command& command) {
  PR_CHECK(requests_.empty(), "one command at a time");
  answer_ = Answer{};
  strangers_ = 0;
  if (!connected_ || !identified_ || wants_new_connection_) return finish(Outcome::unknown);
  if (!in_range(command)) {
    answer_.device_text = "not sent: the switch has no such port";
    return finish(Outcome::rejected);
  }
  if (command.kind == Command::Kind::remove && !command.pairs.empty()) {
    removal_ = command;
    for (Request& request : requests_of({})) requests_.push_back(std::move(request));
    return send_next();
  }
  for (Request& request : requests_of(command)) requests_.push_back(std::move(request));
  if (requests_.empty()) return finish(Outcome::applied);
  // What is never sent was refused, as far as the caller is concerned.
  const bool several = requests_.size() > 1 && !requests_.front().pairs.empty();
  if (several) answer_.pairs.assign(command.pairs.size(), Outcome::rejected);
  send_next();
}

// The matrix was read: what is there is removed, what is not is removed already.
void MessageDriver::remove_what_is_there() {
  const Command wanted = *std::exchange(removal_, std::nullopt);
  const std::vector<CrossConnect> held = std::exchange(answer_.snapshot, Snapshot{}).connections;
  Command rest{Command::Kind::remove, {}, {}, true};
  std::vector<std::size_t> index;  // of the rest's pairs among the wanted ones
  answer_.pairs.assign(wanted.pairs.size(), Outcome::applied);
  for (std::size_t i = 0; i < wanted.pairs.size(); ++i) {
    if (std::find(held.begin(), held.end(), wanted.pairs[i]) == held.end()) continue;
    rest.pairs.push_back(wanted.pairs[i]);
    index.push_back(i);
    answer_.pairs[i] = Outcome::rejected;  // until it is sent
  }
  if (rest.pairs.empty()) return finish(Outcome::applied);
  bool told_apart = false;
  for (Request& request : requests_of(rest)) {
    for (std::size_t& pair : request.pairs) pair = index[pair];
    told_apart = told_apart || !request.pairs.empty();
    requests_.push_back(std::move(request));
  }
  if (!told_apart) answer_.pairs.clear();  // the outcome of the whole counts
  send_next();
}

void MessageDriver::send_next() {
  Request& request = requests_.front();
  stamp(request);
  if (!request.frame.verb.empty() || !request.frame.body.empty()) frames_.push_back(request.frame);
}

void MessageDriver::receive(const Frame& frame) {
  if (!connected_) return;
  const Verdict verdict = requests_.empty() ? Verdict{} : on_reply(requests_.front(), frame);
  if (!verdict.mine) {
    if (on_unasked(frame) || ++strangers_ <= kStrangersMax || requests_.empty()) return;
    finish(Outcome::unknown);
    wants_new_connection_ = true;
    return;
  }
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  if (!answer_.pairs.empty()) {
    for (const std::size_t pair : request.pairs) answer_.pairs[pair] = verdict.outcome;
  }
  if (!verdict.clean_up.empty()) {
    ends_as_ = verdict.outcome;
    requests_.assign(verdict.clean_up.begin(), verdict.clean_up.end());
    return send_next();
  }
  if (ends_as_) return requests_.empty() ? finish(*ends_as_) : send_next();
  const bool writes_on = verdict.outcome == Outcome::rejected && !request.pairs.empty();
  if (verdict.outcome != Outcome::applied && !writes_on) return finish(verdict.outcome);
  if (!requests_.empty()) return send_next();
  if (removal_) return remove_what_is_there();
  finish(answer_.pairs.empty() ? verdict.outcome : outcome_of_pairs(answer_.pairs));
}

void MessageDriver::finish(Outcome outcome) {
  requests_.clear();
  ends_as_.reset();
  removal_.reset();
  answer_.outcome = outcome;
  if (greeting_) {
    identified_ = outcome == Outcome::applied;
    answer_.identity = identity_;
    greeting_ = false;
  }
  answers_.push_back(std::exchange(answer_, Answer{}));
}

void MessageDriver::add_event(Event event) {
  if (events_.size() < kEventsMax) events_.push_back(std::move(event));
}

std::vector<Frame> MessageDriver::take_frames() { return std::exchange(frames_, {}); }
std::vector<Event> MessageDriver::take_events() { return std::exchange(events_, {}); }

std::optional<Answer> MessageDriver::take_answer() {
  if (answers_.empty()) return std::nullopt;
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

}  // namespace photonrail::device
