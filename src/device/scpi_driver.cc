#include "device/scpi_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace photonrail::device {
namespace {

using scpi::Patch;
using scpi::Port;

constexpr std::size_t kReplyMax = std::size_t{1} << 20;  // 32,767 pairs are 400 KB
constexpr std::size_t kPairsPerLine = 64;                // lines stay under 1 KiB; the device's limit is not published
constexpr std::size_t kPortsPerLine = scpi::kPowerPortsMax;
constexpr unsigned kOnesMax = 4;
constexpr int kUndefinedHeader = -113;  // SCPI-99 volume 1, 21.8.8
constexpr unsigned kErrorsMax = 16;     // entries read from the error queue after a failure
constexpr unsigned kStrangersMax = 64;  // lines that are no answer, before the stream is given up

// SCPI-99 volume 1, 21.8: -1xx command error and -2xx execution error mean that the command was not executed. With
// several pairs in a line what was done before the error is not known, and vendor codes are not published.
Outcome outcome_of(int code, std::size_t pairs) {
  if (code == 0) return Outcome::applied;
  const bool not_executed = code <= -100 && code > -300;
  return not_executed && pairs <= 1 ? Outcome::rejected : Outcome::failed;
}

}  // namespace

ScpiDriver::ScpiDriver() : reader_(kReplyMax) {
  using std::chrono::milliseconds;
  capabilities_.max_batch = kPairsPerLine;
  capabilities_.max_power_ports = kPortsPerLine;
  capabilities_.min_gap = milliseconds(20);          // "back-to-back commands" upset a firmware: FSlyne/tcd_dcu_optical
  capabilities_.settle_typical = milliseconds(200);  // power back on a Series 6000: Opus, arXiv 2602.12521
  capabilities_.settle_max = milliseconds(1000);     // assumption
}

void ScpiDriver::connected() {
  lines_.clear();
  frames_.clear();
  reader_.clear();
  connected_ = true;
  identified_ = false;
  wants_new_connection_ = false;
  start({{Step::identity, "", {}, {}}});
}

void ScpiDriver::disconnected() {
  if (!idle()) finish(Outcome::unknown);
  connected_ = false;
  frames_.clear();
  reader_.clear();
}

void ScpiDriver::expire() {
  if (idle()) return;
  if (!identified_) ++unanswered_[lines_.front().step];
  give_up();
}

// Some boxes drop a line that has an error in it, questions and all. What was asked often in vain on first contact is
// taken for missing.
bool ScpiDriver::never_answered(Step step) const {
  constexpr unsigned kTries = 6;   // fewer, and a few lost replies would blind the driver to light
  const auto found = unanswered_.find(step);
  return found != unanswered_.end() && found->second >= kTries;
}

// Nothing on this connection can be believed any more.
void ScpiDriver::give_up() {
  finish(Outcome::unknown);
  frames_.clear();
  wants_new_connection_ = true;
}

void ScpiDriver::begin(const Command& command) {
  PR_CHECK(idle(), "one command at a time");
  answer_ = Answer{};
  if (!connected_ || !identified_ || wants_new_connection_) return finish(Outcome::unknown);
  if (!in_range(command)) {
    answer_.device_text = "not sent: the switch has no such port";
    return finish(Outcome::rejected);
  }
  std::vector<Line> lines = lines_of(command);
  if (lines.empty()) return finish(Outcome::applied);
  start(std::move(lines));
}

bool ScpiDriver::in_range(const Command& command) const {
  for (const CrossConnect& pair : command.pairs) {
    if (pair.in >= numbering_.inputs || pair.out >= numbering_.outputs) return false;
    if (numbering_.symmetric && pair.in == pair.out) return false;
  }
  return std::all_of(command.outputs.begin(), command.outputs.end(),
                     [&](Position output) { return output < numbering_.outputs; });
}

std::vector<ScpiDriver::Line> ScpiDriver::lines_of(const Command& command) {
  std::vector<Line> lines;
  const auto ports = [&](const std::vector<Position>& outputs) {
    std::vector<Port> result;
    for (const Position output : outputs) result.push_back(numbering_.egress(output));
    return scpi::list_text(result);
  };
  switch (command.kind) {
    case Command::Kind::read: return {{Step::read, ":oxc:swit:conn:stat?", {}, {}}};
    case Command::Kind::remove:
    case Command::Kind::add: return write_lines(command);
    case Command::Kind::set_ports:
      for_each_chunk(command.outputs, kPortsPerLine, [&](const std::vector<Position>& chunk) {
        const std::string verb = command.enable ? ":oxc:swit:port:enab " : ":oxc:swit:port:dis ";
        lines.push_back({Step::write, verb + ports(chunk), {}, chunk});
      });
      return lines;
    case Command::Kind::readings: break;
  }
  std::vector<Position> outputs = command.outputs;
  for (Position output = 0; command.outputs.empty() && output < numbering_.outputs; ++output) outputs.push_back(output);
  answer_.snapshot.outputs.resize(numbering_.outputs);
  for_each_chunk(outputs, kPortsPerLine, [&](const std::vector<Position>& chunk) {
    const std::string list = ports(chunk);
    if (capabilities_.port_control) lines.push_back({Step::port_states, ":oxc:swit:port:stat? " + list, {}, chunk});
    if (capabilities_.power) lines.push_back({Step::power, ":pmon:pow? " + list, {}, chunk});
  });
  return lines;
}

// Patches in the order of the pairs; on a symmetric box {a, b} and {b, a} are one patch.
std::vector<ScpiDriver::Line> ScpiDriver::write_lines(const Command& command) {
  std::map<Patch, std::vector<std::size_t>> users;
  std::vector<Patch> patches;
  for (std::size_t i = 0; i < command.pairs.size(); ++i) {
    const Patch patch = numbering_.patch(command.pairs[i]);
    if (users[patch].empty()) patches.push_back(patch);
    users[patch].push_back(i);
  }
  const std::string verb = command.kind == Command::Kind::add ? ":oxc:swit:conn:add " : ":oxc:swit:conn:sub ";
  std::vector<Line> lines;
  for_each_chunk(patches, kPairsPerLine, [&](const std::vector<Patch>& chunk) {
    Line line{Step::write, verb + scpi::patches_text(chunk), {}, {}};
    for (const Patch& patch : chunk) line.pairs.insert(line.pairs.end(), users[patch].begin(), users[patch].end());
    lines.push_back(std::move(line));
  });
  if (lines.size() > 1) answer_.pairs.assign(command.pairs.size(), Outcome::rejected);  // until its line is sent
  return lines;
}

void ScpiDriver::start(std::vector<Line> lines) {
  lines_.assign(std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
  strangers_ = 0;
  send_next();
}

void ScpiDriver::send_next() {
  const Line& line = lines_.front();
  ones_ = 1 + ones_ % kOnesMax;
  std::string ones;
  for (unsigned i = 0; i < ones_; ++i) ones += i == 0 ? "*opc?" : ";*opc?";
  Frame frame;
  switch (line.step) {
    case Step::identity: frame.body = ones + ";*idn?\n"; break;  // IEEE 488.2, 10.14: *IDN? is the last in its line
    case Step::write:  // a write cannot be told done before it: the questions follow
      frame.body = "*cls;" + line.text + ";" + ones + ";:syst:err?\n";
      break;
    case Step::errors: frame.body = ones + ";:syst:err?\n"; break;
    default: frame.body = "*cls;" + ones + ";" + line.text + ";:syst:err?\n"; break;
  }
  frames_.push_back(std::move(frame));
}

void ScpiDriver::receive(const Frame& frame) {
  if (!connected_) return;
  reader_.feed(frame.body);
  while (const auto line = reader_.next()) on_line(*line);
  if (reader_.dropped() > 0 && !idle()) give_up();
}

void ScpiDriver::on_line(std::string_view text) {
  if (idle()) return;  // nobody asked: late, repeated, or noise
  if (const auto reply = match(text)) return on_reply(*reply);
  if (++strangers_ > kStrangersMax) give_up();
}

// What follows the right number of ones, or nothing.
std::optional<std::string_view> ScpiDriver::after_ones(std::string_view text) const {
  for (unsigned i = 0; i < ones_; ++i) {
    if (text.substr(0, 2) != "1;") return std::nullopt;
    text.remove_prefix(2);
  }
  if (text.substr(0, 2) == "1;") return std::nullopt;
  return text;
}

std::optional<ScpiDriver::Reply> ScpiDriver::match(std::string_view text) const {
  const auto rest = after_ones(trimmed(text));
  if (!rest) return std::nullopt;
  if (lines_.front().step == Step::identity) return Reply{*rest, {}};
  const auto parts = split_outside(*rest, ';', scpi::kPortsMax, true);
  if (!parts) return std::nullopt;
  const auto error = scpi::parse_error(parts->back());
  if (!error) return std::nullopt;
  const std::size_t payload = rest->size() - parts->back().size();
  return Reply{rest->substr(0, payload > 0 ? payload - 1 : 0), *error};
}

void ScpiDriver::on_reply(const Reply& reply) {
  unanswered_.erase(lines_.front().step);
  if (reply.error.code != 0) {
    append_text(answer_.device_text, fmt::format("{},\"{}\"", reply.error.code, reply.error.text));
  }
  bool understood = true;
  switch (lines_.front().step) {
    case Step::identity: understood = on_identity(reply.payload); break;
    case Step::size: understood = on_size(reply); break;
    case Step::probe_power: capabilities_.power = reply.error.code == 0 && !reply.payload.empty(); break;
    case Step::probe_ports: capabilities_.port_control = reply.error.code == 0; break;
    case Step::read: understood = on_read(reply); break;
    case Step::port_states: understood = on_port_states(reply); break;
    case Step::power: understood = on_power(reply); break;
    case Step::write: return on_write(reply);
    case Step::errors: return on_error(reply);
  }
  if (!understood) return finish(reply.error.code != 0 ? Outcome::failed : Outcome::unknown);
  advance();
}

void ScpiDriver::advance() {
  lines_.pop_front();
  if (!lines_.empty()) return send_next();
  if (!std::exchange(identified_, true)) answer_.device_text.clear();  // what the box has not is no news
  finish(answer_.pairs.empty() ? Outcome::applied : outcome_of_pairs(answer_.pairs));
}

void ScpiDriver::finish(Outcome outcome) {
  if (!idle() && lines_.front().step == Step::write) {
    for (const std::size_t pair : lines_.front().pairs) {
      if (!answer_.pairs.empty()) answer_.pairs[pair] = outcome;
    }
  }
  lines_.clear();
  answer_.outcome = outcome;
  if (outcome != Outcome::applied) answer_.snapshot = {};  // half a reading is none
  answers_.push_back(std::exchange(answer_, Answer{}));
}

// Polatis,I-OST-24x24-LU1-DMHNS,002414,6.5.2.18
bool ScpiDriver::on_identity(std::string_view payload) {
  constexpr std::size_t kFieldsMax = 8;
  const auto fields = split_outside(payload, ',', kFieldsMax);
  if (!fields || fields->size() < 4) return false;
  answer_.identity.maker = trimmed((*fields)[0]);
  answer_.identity.model = trimmed((*fields)[1]);
  answer_.identity.serial = trimmed((*fields)[2]);
  answer_.identity.firmware = trimmed((*fields)[3]);
  if (never_answered(Step::size)) return on_size({"", {kUndefinedHeader, "no answer"}});
  lines_.push_back({Step::size, ":oxc:swit:size?", {}, {}});
  return true;
}

// The box says its size; where it does not know the question, and for symmetric boxes, the model's name does.
bool ScpiDriver::on_size(const Reply& reply) {
  numbering_ = {};
  const auto by_name = size_in_model(answer_.identity.model);
  const auto fields = split_outside(reply.payload, ',', 3);
  if (by_name && by_name->symmetric) {
    numbering_ = {by_name->inputs, by_name->outputs, true};
  } else if (reply.error.code == 0 && fields && fields->size() == 2) {
    constexpr std::uint32_t kSideMax = 32767;
    const auto inputs = parse_natural(trimmed((*fields)[0]), kSideMax);
    const auto outputs = parse_natural(trimmed((*fields)[1]), kSideMax);
    if (!inputs || !outputs || *inputs == 0 || *outputs == 0) return false;
    numbering_ = {static_cast<Position>(*inputs), static_cast<Position>(*outputs), false};
  } else if (by_name) {
    numbering_ = {by_name->inputs, by_name->outputs, false};
  } else {
    return false;
  }
  answer_.identity.inputs = numbering_.inputs;
  answer_.identity.outputs = numbering_.outputs;
  const auto probe = [&](Step step, const char* question, bool& capability) {
    if (never_answered(step)) capability = false;
    else lines_.push_back({step, fmt::format("{} (@{})", question, numbering_.egress(0)), {}, {}});
  };
  probe(Step::probe_power, ":pmon:pow?", capabilities_.power);
  probe(Step::probe_ports, ":oxc:swit:port:stat?", capabilities_.port_control);
  return true;
}

bool ScpiDriver::on_read(const Reply& reply) {
  if (reply.error.code != 0) return false;
  const auto patches = scpi::parse_patches(reply.payload, numbering_.ports());
  if (!patches) return false;
  std::vector<CrossConnect>& connections = answer_.snapshot.connections;
  for (const Patch& patch : *patches) {
    const auto pairs = numbering_.pairs(patch);
    if (!pairs) return false;
    connections.insert(connections.end(), pairs->begin(), pairs->end());
  }
  std::sort(connections.begin(), connections.end());
  return true;
}

// (E,D,F)
bool ScpiDriver::on_port_states(const Reply& reply) {
  const std::vector<Position>& outputs = lines_.front().outputs;
  std::string_view text = trimmed(reply.payload);
  if (reply.error.code != 0 || text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  const auto states = split_outside(text.substr(1, text.size() - 2), ',', outputs.size() + 1);
  if (!states || states->size() != outputs.size()) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string_view state = trimmed((*states)[i]);
    PortStatus& status = answer_.snapshot.outputs[outputs[i]].status;
    if (equal_words(state, "D")) status = PortStatus::disabled;
    else if (equal_words(state, "F")) status = PortStatus::failed;
    else if (!equal_words(state, "E")) return false;
  }
  return true;
}

// (-3.21,-60.00)
bool ScpiDriver::on_power(const Reply& reply) {
  const std::vector<Position>& outputs = lines_.front().outputs;
  std::string_view text = trimmed(reply.payload);
  if (reply.error.code != 0 || text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  const auto powers = split_outside(text.substr(1, text.size() - 2), ',', outputs.size() + 1);
  if (!powers || powers->size() != outputs.size()) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto power = parse_decimal(trimmed((*powers)[i]));
    if (!power) return false;
    answer_.snapshot.outputs[outputs[i]].power_dbm = *power;
  }
  return true;
}

void ScpiDriver::on_write(const Reply& reply) {
  const Line& line = lines_.front();
  line_outcome_ = outcome_of(reply.error.code, std::max(line.pairs.size(), line.outputs.size()));
  for (const std::size_t pair : line.pairs) {
    if (!answer_.pairs.empty()) answer_.pairs[pair] = line_outcome_;
  }
  if (line_outcome_ == Outcome::applied) return advance();
  // The rest is not sent; what the error queue still holds is for people.
  errors_read_ = 0;
  lines_.assign(1, {Step::errors, "", {}, {}});
  send_next();
}

void ScpiDriver::on_error(const Reply& reply) {
  if (reply.error.code != 0 && ++errors_read_ < kErrorsMax) return send_next();
  finish(answer_.pairs.empty() ? line_outcome_ : outcome_of_pairs(answer_.pairs));
}

std::vector<Frame> ScpiDriver::take_frames() { return std::exchange(frames_, {}); }

std::optional<Answer> ScpiDriver::take_answer() {
  if (answers_.empty()) return std::nullopt;
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

}  // namespace photonrail::device
