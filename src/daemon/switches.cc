#include "daemon/switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace photonrail::daemon {
namespace {

using device::CrossConnect;
using device::Position;

using Circuits = std::vector<std::pair<Position, Position>>;

std::vector<CrossConnect> both_ways(const Circuits& circuits) {
  std::vector<CrossConnect> pairs;
  pairs.reserve(2 * circuits.size());
  for (const auto& [a, b] : circuits) {
    pairs.push_back({a, b});
    pairs.push_back({b, a});
  }
  return pairs;
}

std::set<Position> ends(const Circuits& circuits) {
  std::set<Position> positions;
  for (const auto& [a, b] : circuits) positions.insert({a, b});
  return positions;
}

const char* level_of(device::Alarm::Kind kind) { return kind == device::Alarm::Kind::reachable ? "info" : "warning"; }

const char* name_of(device::Alarm::Kind kind) {
  using Kind = device::Alarm::Kind;
  switch (kind) {
    case Kind::wrong_identity: return "wrong identity";
    case Kind::drift: return "drift";
    case Kind::conflict: return "conflict";
    case Kind::port_failed: return "port failed";
    case Kind::unreachable: return "unreachable";
    case Kind::reachable: return "reachable";
    case Kind::rejected: return "rejected";
  }
  return "alarm";
}

std::unique_ptr<device::Driver> driver_of(const CoreSpec& spec, const SwitchSpec& ocs) {
  if (spec.make_driver) return spec.make_driver(ocs);
  return device::make_driver(ocs.dialect, ocs.credentials);
}

// Ports whose light did not come although the switch answered. Where it did not, it is not the ports' fault.
std::set<Position> ports_at_fault(const device::Intent& intent, const device::IntentResult& result) {
  std::set<Position> ports;
  if (result.fenced) return ports;
  for (std::size_t i = 0; i < std::min(intent.add.size(), result.add.size()); ++i) {
    const device::Outcome outcome = result.add[i];
    const bool at_fault = outcome == device::Outcome::failed || outcome == device::Outcome::rejected;
    if (at_fault) ports.insert({intent.add[i].in, intent.add[i].out});
  }
  return ports;
}

std::string outcomes(const device::Intent& intent, const device::IntentResult& result) {
  std::string out;
  const auto add = [&out](const char* verb, const auto& pairs, const auto& each) {
    for (std::size_t i = 0; i < std::min(pairs.size(), each.size()); ++i) {
      out +=
          fmt::format("{}{} {}>{} {}", out.empty() ? "" : ", ", verb, pairs[i].in, pairs[i].out, device::name(each[i]));
    }
  };
  add("remove", intent.remove, result.remove);
  add("add", intent.add, result.add);
  return out;
}

}  // namespace

std::string text(const std::vector<CrossConnect>& pairs) {
  std::string out;
  for (const CrossConnect pair : pairs) out += fmt::format("{}{}>{}", out.empty() ? "" : " ", pair.in, pair.out);
  return out;
}

Switches::Switches(const CoreSpec& spec, DurableState& state, Outbox& outbox, Instant now)
    : spec_(spec), state_(state), outbox_(outbox), switches_(spec.switches.size()), next_intent_(state.next_intent()) {
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    const SwitchSpec& ocs = spec.switches[i];
    switches_[i].reconciler = std::make_unique<device::Reconciler>(ocs.reconciler, driver_of(spec, ocs));
    switches_[i].reconciler->fence(state.epoch());
    switches_[i].unready_since = now;
  }
}

// ---- the carrier's events

void Switches::connected(SwitchId ocs, Instant now) {
  at(ocs).reconciler->connected(now);
  settle(ocs, now);
}

void Switches::frame(SwitchId ocs, const device::Frame& frame, Instant now) {
  at(ocs).reconciler->receive(frame, now);
  settle(ocs, now);
}

void Switches::disconnected(SwitchId ocs, Instant now) {
  outbox_.disconnected(ocs);
  at(ocs).reconciler->disconnected(now);
  settle(ocs, now);
}

void Switches::tick(Instant now) {
  for (SwitchId ocs = 0; ocs < switches_.size(); ++ocs) {
    Switch& entry = at(ocs);
    const bool recovers = entry.sick && entry.sick_until <= now;
    if (recovers) {
      entry.sick = false;
      entry.probing = true;
      restore(ocs);
    }
    const bool due = entry.reconciler->next_deadline() <= now;
    if (due) entry.reconciler->tick(now);
    if (due || recovers || !entry.waiting.empty()) settle(ocs, now);
  }
}

Instant Switches::next_deadline() const {
  Instant next = kNever;
  for (const Switch& entry : switches_) {
    next = std::min(next, entry.reconciler->next_deadline());
    if (entry.sick) next = std::min(next, entry.sick_until);
    if (!entry.ready && !entry.waiting.empty()) next = std::min(next, entry.unready_since + kPatience);
  }
  return next;
}

void Switches::submit(SwitchId ocs, Wish wish, Instant now) {
  Switch& entry = at(ocs);
  std::set<Position> positions = ends(wish.connect);
  positions.merge(ends(wish.disconnect));
  entry.busy.insert(positions.begin(), positions.end());
  entry.waiting.push_back({std::move(wish), std::move(positions)});
  settle(ocs, now);
}

void Switches::settle(SwitchId ocs, Instant now) {
  drain(ocs, now);
  refuse_waiting(ocs, now);
  start_waiting(ocs, now);
}

// ---- what comes out of the Reconciler: records before frames, results after both

void Switches::drain(SwitchId ocs, Instant now) {
  Switch& entry = at(ocs);
  device::Reconciler& reconciler = *entry.reconciler;
  RecordNumber after = 0;
  for (const device::WriteRecord& write : reconciler.take_records()) note_write(ocs, write, after, now);
  if (reconciler.take_connect_request()) outbox_.connect(ocs);
  for (device::Frame& frame : reconciler.take_frames()) outbox_.to_switch(ocs, std::move(frame), after);
  note_ready(ocs, reconciler.ready(), now);
  for (const device::IntentResult& result : reconciler.take_results()) note_result(ocs, result, now);
  for (const device::Alarm& alarm : reconciler.take_alarms()) note_alarm(ocs, alarm);
}

void Switches::note_write(SwitchId ocs, const device::WriteRecord& write, RecordNumber& after, Instant now) {
  const auto in_flight = at(ocs).in_flight.find(write.id);
  const std::string job = in_flight == at(ocs).in_flight.end() ? "" : in_flight->second.wish.job_name;
  if (in_flight != at(ocs).in_flight.end()) in_flight->second.written = now;
  after = outbox_.append(state_, WriteIntended{ocs, job, write});
  AuditRecord record{"controller", "write", job, write.epoch, write.id, text(write.before), {}, {}};
  record.after = fmt::format("remove [{}] add [{}]", text(write.remove), text(write.add));
  record.detail = fmt::format("switch {}: {}", spec_.switches[ocs].name, write.frames);
  outbox_.audit(std::move(record));
}

void Switches::note_result(SwitchId ocs, const device::IntentResult& result, Instant now) {
  Switch& entry = at(ocs);
  const auto found = entry.in_flight.find(result.id);
  if (found == entry.in_flight.end()) return;
  InFlight in_flight = std::move(found->second);
  entry.in_flight.erase(found);
  for (const Position position : in_flight.positions) entry.busy.erase(entry.busy.find(position));
  ++entry.intents;
  if (!result.done) ++entry.failed;
  const std::string& job = in_flight.wish.job_name;
  if (const auto& open = state_.at(ocs).open; open.contains(result.id)) {
    std::vector<CrossConnect> up = standing(ocs, open.at(result.id).named);
    AuditRecord record{"controller", result.done ? "circuits settled" : "circuits failed",
                       job,          in_flight.intent.epoch,
                       result.id,    {},
                       text(up),     {}};
    record.detail = fmt::format("switch {}: {}{}{}", spec_.switches[ocs].name, outcomes(in_flight.intent, result),
                                result.reason.empty() ? "" : "; ", result.reason);
    outbox_.append(state_, IntentEnded{ocs, result.id, result.done, std::move(up), result.reason});
    outbox_.audit(std::move(record));
  }
  measure(ocs, in_flight, result, now);
  if (result.done) {
    for (const Position position : in_flight.positions) entry.unsettled.erase(position);
  }
  judge(entry, result.done, now);
  endings_.push_back(
      {ocs, std::move(in_flight.wish), result.done, ports_at_fault(in_flight.intent, result), result.reason});
}

void Switches::measure(SwitchId ocs, const InFlight& in_flight, const device::IntentResult& result, Instant now) {
  IntentMeasured measured{ocs, result.done, result.writes, 0, now - in_flight.started, {}};
  for (const auto* each : {&result.add, &result.remove}) {
    measured.unknown_pairs +=
        static_cast<std::uint32_t>(std::count(each->begin(), each->end(), device::Outcome::unknown));
  }
  if (result.writes > 0) measured.settle = now - in_flight.written;
  outbox_.measured(measured);
}

// Breaker. A switch that is probed is well after one success, and sick again after one failure.
void Switches::judge(Switch& entry, bool done, Instant now) {
  if (done) {
    entry.failures_in_a_row = 0;
    entry.backoff = kSickBackoff;
    entry.probing = false;
    return;
  }
  ++entry.failures_in_a_row;
  if (entry.sick || (entry.failures_in_a_row < kSickFailures && !entry.probing)) return;
  entry.sick = true;
  entry.probing = false;
  entry.sick_until = now + entry.backoff;
  entry.backoff = std::min(2 * entry.backoff, kSickBackoffMax);
}

void Switches::note_alarm(SwitchId ocs, const device::Alarm& alarm) {
  ++at(ocs).alarms;
  const std::string what =
      fmt::format("switch {}: {}: {} {}", spec_.switches[ocs].name, name_of(alarm.kind), text(alarm.pairs), alarm.text);
  outbox_.notice(level_of(alarm.kind), what);
  outbox_.audit({"controller", "alarm", {}, state_.epoch(), 0, {}, {}, what});
  using Kind = device::Alarm::Kind;
  if (alarm.kind != Kind::drift && alarm.kind != Kind::port_failed) return;
  Report report{alarm.kind == Kind::drift ? Report::Kind::changed : Report::Kind::port_failed, ocs, {}};
  for (const CrossConnect pair : alarm.pairs) report.positions.insert({pair.in, pair.out});
  reports_.push_back(std::move(report));
}

void Switches::note_ready(SwitchId ocs, bool ready, Instant now) {
  Switch& entry = at(ocs);
  if (ready == entry.ready) return;
  entry.ready = ready;
  if (!ready) {
    entry.unready_since = now;
    return;
  }
  close_unfinished(ocs);
  reports_.push_back({Report::Kind::read, ocs, {}});
  if (!entry.sick) restore(ocs);
}

// Intents of an earlier life of the core: what became of them has been read back now; demand decides anew.
void Switches::close_unfinished(SwitchId ocs) {
  std::vector<device::IntentId> ids;
  for (const auto& [id, intent] : state_.at(ocs).open) {
    if (!at(ocs).in_flight.contains(id)) ids.push_back(id);
  }
  for (const device::IntentId id : ids) {
    std::vector<CrossConnect> up = standing(ocs, state_.at(ocs).open.at(id).named);
    for (const CrossConnect pair : up) at(ocs).unsettled.insert({pair.in, pair.out});
    outbox_.append(state_, IntentEnded{ocs, id, false, std::move(up), "unfinished at a restart; read back"});
  }
}

void Switches::restore(SwitchId ocs) {
  Switch& entry = at(ocs);
  reports_.push_back({Report::Kind::restored, ocs, std::exchange(entry.suspended, {})});
}

// ---- from wishes to intents

bool Switches::refuses(const Switch& entry, Instant now) const {
  if (entry.sick || (entry.probing && !entry.in_flight.empty())) return true;
  return !entry.ready && now >= entry.unready_since + kPatience;
}

void Switches::refuse_waiting(SwitchId ocs, Instant now) {
  Switch& entry = at(ocs);
  if (entry.waiting.empty() || !refuses(entry, now)) return;
  const std::string reason = fmt::format("switch {} {}", spec_.switches[ocs].name,
                                         entry.ready ? "failed too often and is left alone" : "does not answer");
  for (Waiting& waiting : std::exchange(entry.waiting, {})) {
    for (const Position position : waiting.positions) entry.busy.erase(entry.busy.find(position));
    entry.suspended.insert(waiting.positions.begin(), waiting.positions.end());
    endings_.push_back({ocs, std::move(waiting.wish), false, {}, reason});
  }
}

// In order; a wish that must wait for a position reserves all of its own, so that none is overtaken for ever.
void Switches::start_waiting(SwitchId ocs, Instant now) {
  Switch& entry = at(ocs);
  if (!entry.ready || entry.waiting.empty()) return;
  std::set<Position> reserved;
  bool started = false;
  std::deque<Waiting> still;
  for (Waiting& waiting : entry.waiting) {
    const bool free = std::none_of(waiting.positions.begin(), waiting.positions.end(),
                                   [&reserved](Position p) { return reserved.contains(p); });
    if (free && !(entry.probing && !entry.in_flight.empty()) && start(ocs, waiting, now)) {
      started = true;
      continue;
    }
    reserved.insert(waiting.positions.begin(), waiting.positions.end());
    still.push_back(std::move(waiting));
  }
  entry.waiting = std::move(still);
  if (started) drain(ocs, now);
}

bool Switches::start(SwitchId ocs, Waiting& waiting, Instant now) {
  Switch& entry = at(ocs);
  InFlight next;
  next.intent.add = both_ways(waiting.wish.connect);
  next.intent.remove = in_the_way(ocs, waiting);
  next.positions = waiting.positions;
  for (const CrossConnect pair : next.intent.remove) next.positions.insert({pair.in, pair.out});
  for (const auto& [id, other] : entry.in_flight) {
    const bool apart = std::none_of(next.positions.begin(), next.positions.end(),
                                    [&other](Position p) { return other.positions.contains(p); });
    if (!apart) return false;
  }
  for (const Position position : next.positions) {
    if (!waiting.positions.contains(position)) entry.busy.insert(position);
  }
  next.intent.id = next_intent_++;
  next.intent.epoch = state_.epoch();
  next.intent.deadline = now + spec_.command_deadline;
  next.wish = std::move(waiting.wish);
  next.started = now;
  const device::Intent intent = next.intent;
  entry.in_flight.emplace(intent.id, std::move(next));
  entry.reconciler->submit(intent, now);
  return true;
}

// What the wish drops, and what else stands at its ports and may be dropped.
std::vector<CrossConnect> Switches::in_the_way(SwitchId ocs, const Waiting& waiting) const {
  std::vector<CrossConnect> wanted = both_ways(waiting.wish.connect);
  std::sort(wanted.begin(), wanted.end());
  std::vector<CrossConnect> remove = both_ways(waiting.wish.disconnect);
  for (const CrossConnect pair : at(ocs).reconciler->snapshot().connections) {
    const bool here = waiting.positions.contains(pair.in) || waiting.positions.contains(pair.out);
    if (!here || std::binary_search(wanted.begin(), wanted.end(), pair)) continue;
    if (ours(ocs, pair)) remove.push_back(pair);
  }
  std::sort(remove.begin(), remove.end());
  remove.erase(std::unique(remove.begin(), remove.end()), remove.end());
  return remove;
}

bool Switches::ours(SwitchId ocs, CrossConnect pair) const {
  if (state_.at(ocs).made.contains(pair)) return true;
  const auto known = [&](Position position) {
    const Attachment port{ocs, position};
    return state_.owner(port) != nullptr || state_.lingering(port) != nullptr;
  };
  return known(pair.in) && known(pair.out);
}

std::vector<CrossConnect> Switches::standing(SwitchId ocs, const std::set<CrossConnect>& named) const {
  std::vector<Position> positions;
  for (const CrossConnect pair : named) positions.insert(positions.end(), {pair.in, pair.out});
  std::sort(positions.begin(), positions.end());
  const auto concerned = [&positions](Position p) { return std::binary_search(positions.begin(), positions.end(), p); };
  std::vector<CrossConnect> up;
  for (const CrossConnect pair : at(ocs).reconciler->snapshot().connections) {
    if (concerned(pair.in) || concerned(pair.out)) up.push_back(pair);
  }
  return up;
}

// ---- questions

bool Switches::joined(SwitchId ocs, Position a, Position b) const {
  const auto& pairs = at(ocs).reconciler->snapshot().connections;
  return std::binary_search(pairs.begin(), pairs.end(), CrossConnect{a, b}) &&
         std::binary_search(pairs.begin(), pairs.end(), CrossConnect{b, a});
}

bool Switches::up(SwitchId ocs, Position a, Position b) const {
  const std::vector<device::OutputReading>& outputs = at(ocs).reconciler->snapshot().outputs;
  const double floor = spec_.switches[ocs].reconciler.power_floor_dbm;
  const auto lit = [&outputs, floor](Position output) {
    if (output >= outputs.size()) return true;  // the switch tells neither status nor power
    const device::OutputReading& reading = outputs[output];
    const bool tuned = reading.status == device::PortStatus::unknown || reading.status == device::PortStatus::tuned;
    return tuned && (!reading.power_dbm || *reading.power_dbm > floor);
  };
  const std::set<Position>& unsettled = at(ocs).unsettled;
  const device::Reconciler& reconciler = *at(ocs).reconciler;
  if (reconciler.doubtful({a, b}) || reconciler.doubtful({b, a})) return false;
  return joined(ocs, a, b) && lit(a) && lit(b) && !unsettled.contains(a) && !unsettled.contains(b);
}

void Switches::describe(SwitchId ocs, SwitchStatus& status) const {
  const Switch& entry = at(ocs);
  status.ready = entry.ready;
  status.serial = entry.reconciler->identity().serial;
  status.intents = entry.intents;
  status.failed = entry.failed;
  status.alarms = entry.alarms;
  status.state = entry.sick ? "sick" : entry.probing ? "probed" : entry.ready ? "ready" : "not reached";
}

}  // namespace photonrail::daemon
