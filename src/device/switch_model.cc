#include "device/switch_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"

namespace photonrail::device {
namespace {

using std::chrono::seconds;

constexpr Duration kRevertsAfter = seconds(5);   // pairs POSTed to a candidate that nobody committed
constexpr Duration kWedgedFor = seconds(1);
constexpr double kDark = -60.0;                  // what detectors show without light, dBm
constexpr double kLossLeast = 0.3;               // dB; no draw of a loss goes below
constexpr std::int32_t kNone = -1;

enum Fault : std::uint8_t {
  kAppliedButError, kOkButNotApplied, kPartial, kReverts, kWrongOutput, kFailsToTune, kNoReply, kLateReply, kGarbage,
  kSplit, kDisconnects, kHalfOpen, kBusy, kMirrorStuck, kStaleEntry, kForeignChange, kPortFails, kRetunes, kFaults
};

struct FaultInfo {
  const char* name;
  double Faults::* probability;
};
constexpr FaultInfo kFaultTable[kFaults] = {
    {"applied_but_error", &Faults::applied_but_error},
    {"ok_but_not_applied", &Faults::ok_but_not_applied},
    {"partial", &Faults::partial},
    {"reverts", &Faults::reverts},
    {"wrong_output", &Faults::wrong_output},
    {"fails_to_tune", &Faults::fails_to_tune},
    {"no_reply", &Faults::no_reply},
    {"late_reply", &Faults::late_reply},
    {"garbage", &Faults::garbage},
    {"split", &Faults::split},
    {"disconnects", &Faults::disconnects},
    {"half_open", &Faults::half_open},
    {"busy", &Faults::busy},
    {"mirror_stuck", &Faults::mirror_stuck},
    {"stale_entry", &Faults::stale_entry},
    {"foreign_change", &Faults::foreign_change},
    {"port_fails", &Faults::port_fails},
    {"retunes", &Faults::retunes},
};

std::optional<Fault> fault_named(std::string_view name) {
  for (std::uint8_t i = 0; i < kFaults; ++i) {
    if (name == kFaultTable[i].name) return static_cast<Fault>(i);
  }
  return std::nullopt;
}

// At most a century, so that sums of instants never overflow.
Duration from_seconds(double value) {
  constexpr double kMost = 3e9;
  return Duration(static_cast<std::int64_t>(std::clamp(value, 0.0, kMost) * 1e9));
}

enum class Fate : std::uint8_t { lights, fails, misses };  // how the settling of a pair ends

struct OutputState {
  std::int32_t in = kNone;
  std::int32_t aims = kNone;      // where the light of a pair that misses goes
  std::int32_t stray_of = kNone;  // the output whose light may end here by mistake
  Fate fate = Fate::lights;
  bool enabled = true;
  bool failed = false;
  bool stuck = false;
  Instant made{};
  Instant ready{};
  std::uint64_t generation = 0;   // of the settling; an event of an older one is void
  std::uint64_t changed = 0;
  double loss_db = 0;
};

// Something at a known time: an output has settled, or a write is undone.
struct Timed {
  Instant at{};
  std::uint64_t order = 0;        // among equal times
  std::int32_t output = kNone;    // kNone: undo `number`
  std::uint64_t number = 0;       // generation of the output, or which write
};
bool later(const Timed& a, const Timed& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

struct Undo {
  std::uint64_t number = 0;
  std::vector<CrossConnect> removed, added;
};

}  // namespace

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const FaultInfo& fault : kFaultTable) result.emplace_back(fault.name);
    return result;
  }();
  return names;
}

bool set_fault(Faults& faults, std::string_view name, double probability) {
  const auto fault = fault_named(name);
  if (fault) faults.*kFaultTable[*fault].probability = probability;
  return fault.has_value();
}

struct SwitchModel::Impl {
  explicit Impl(SwitchModelSpec given)
      : spec(std::move(given)),
        outputs(spec.outputs),
        inputs(spec.inputs, kNone),
        going(spec.inputs, 0),
        used_in(spec.inputs, 0),
        used_out(spec.outputs, 0),
        settle(spec.seed, "ocs.settle"),
        noise(spec.seed, "ocs.noise") {}

  // ---- draws. A stream is made when it is first needed; each has its own name, so that none moves another.
  RandomStream& stream(Fault fault) {
    auto& s = streams[fault];
    if (!s) s.emplace(spec.seed, kFaultTable[fault].name);
    return *s;
  }

  bool strikes(Fault fault) {
    if (forced[fault] > 0) {
      --forced[fault];
    } else {
      const double probability = spec.faults.*kFaultTable[fault].probability;
      if (probability <= 0 || stream(fault).uniform() >= probability) return false;
    }
    ++struck[kFaultTable[fault].name];
    return true;
  }

  Duration draw_settle() {
    return from_seconds(std::chrono::duration<double>(spec.settle_median).count() *
                        std::exp(spec.settle_sigma * settle.normal()));
  }

  double loss_of(std::int32_t in, std::int32_t out) const {
    const auto id = static_cast<std::uint64_t>(in) * 65536 + static_cast<std::uint64_t>(out);
    return std::max(kLossLeast, spec.loss_db + spec.loss_sigma * RandomStream(spec.seed, "ocs.loss", id).normal());
  }

  Instant next_of(Fault fault, Instant from) {
    const double rate = spec.faults.*kFaultTable[fault].probability;
    if (rate <= 0) return kNever;
    return from + Duration(1) + from_seconds(-std::log(1 - stream(fault).uniform()) / rate);
  }

  // ---- the matrix
  OutputState& at(std::int32_t output) { return outputs[static_cast<std::size_t>(output)]; }
  const OutputState& at(std::int32_t output) const { return outputs[static_cast<std::size_t>(output)]; }
  std::int32_t& output_of(std::int32_t input) { return inputs[static_cast<std::size_t>(input)]; }

  void mark_changed(std::int32_t output) { at(output).changed = ++changes; }

  void start_settling(std::int32_t output, Instant ready) {
    OutputState& o = at(output);
    o.ready = ready;
    ++o.generation;
    push({ready, ++order, output, o.generation});
    mark_changed(output);
  }

  void push(const Timed& event) {
    timed.push_back(event);
    std::push_heap(timed.begin(), timed.end(), later);
  }

  void disconnect(std::int32_t output) {
    OutputState& o = at(output);
    if (o.in == kNone) return;
    output_of(o.in) = kNone;
    o.in = kNone;
    o.aims = kNone;
    o.fate = Fate::lights;
    ++o.generation;
    mark_changed(output);
  }

  // Both ends are free.
  void connect(std::int32_t in, std::int32_t out, Instant made, Instant ready) {
    OutputState& o = at(out);
    PR_CHECK(o.in == kNone && output_of(in) == kNone, "an input and an output are in one cross-connect at most");
    o.in = in;
    o.fate = Fate::lights;
    o.made = made;
    o.loss_db = loss_of(in, out);
    output_of(in) = out;
    forget_stale(in, out);
    start_settling(out, ready);
  }

  void forget_stale(std::int32_t in, std::int32_t out) {
    std::erase_if(stale, [&](const CrossConnect& pair) { return pair.in == in || pair.out == out; });
  }

  // The input whose light leaves by `output`, or kNone.
  std::int32_t source(std::int32_t output, Instant now) const {
    const OutputState& o = at(output);
    if (o.failed || !o.enabled || o.stuck) return kNone;
    if (o.in != kNone) return now >= o.ready && o.fate == Fate::lights ? o.in : kNone;
    if (o.stray_of == kNone) return kNone;
    const OutputState& other = at(o.stray_of);
    const bool arrives = other.fate == Fate::misses && other.aims == output && now >= other.ready;
    return arrives ? other.in : kNone;
  }

  PortStatus status(std::int32_t output, Instant now) const {
    const OutputState& o = at(output);
    if (o.failed) return PortStatus::failed;
    if (!o.enabled) return PortStatus::disabled;
    if (o.in == kNone) return PortStatus::blocked;
    if (now < o.ready) return PortStatus::tuning;
    return o.fate == Fate::fails ? PortStatus::failed : PortStatus::tuned;
  }

  // ---- time
  void begin_time(Instant now) {
    if (started) return;
    started = true;
    clock = now;
    draw_times(now);
  }

  void draw_times(Instant now) {
    next_foreign = next_of(kForeignChange, now);
    next_failure = next_of(kPortFails, now);
    next_retune = next_of(kRetunes, now);
  }

  Instant next_timed() const { return timed.empty() ? kNever : timed.front().at; }
  Instant next() const { return std::min({next_timed(), next_foreign, next_failure, next_retune}); }

  void advance(Instant now) {
    begin_time(now);
    if (now <= clock) return;
    for (Instant at = next(); at <= now; at = next()) {
      clock = std::max(clock, at);
      if (at == next_timed()) run_timed();
      else if (at == next_foreign) change_by_foreigner(at);
      else if (at == next_failure) fail_some_port(at);
      else retune_some_output(at);
    }
    clock = now;
  }

  void run_timed() {
    std::pop_heap(timed.begin(), timed.end(), later);
    const Timed event = timed.back();
    timed.pop_back();
    if (event.output == kNone) return undo(event.number, event.at);
    if (at(event.output).generation == event.number) mark_changed(event.output);
  }

  void undo(std::uint64_t number, Instant now) {
    const auto found = std::find_if(undos.begin(), undos.end(), [&](const Undo& u) { return u.number == number; });
    if (found == undos.end()) return;
    WriterLogEntry entry{now, "device:revert", {}, {}};
    for (const CrossConnect& pair : found->added) {
      if (at(pair.out).in != pair.in) continue;
      disconnect(pair.out);
      entry.removed.push_back(pair);
    }
    for (const CrossConnect& pair : found->removed) {
      if (at(pair.out).in != kNone || output_of(pair.in) != kNone) continue;
      connect(pair.in, pair.out, now, now + draw_settle());
      entry.added.push_back(pair);
    }
    undos.erase(found);
    note(std::move(entry));
  }

  void note(WriterLogEntry entry) {
    if (!entry.removed.empty() || !entry.added.empty()) log.push_back(std::move(entry));
  }

  void change_by_foreigner(Instant now) {
    next_foreign = next_of(kForeignChange, now);
    if (spec.inputs == 0 || spec.outputs == 0) return;
    RandomStream& draw = stream(kForeignChange);
    const auto in = static_cast<std::int32_t>(draw.below(spec.inputs));
    const auto out = static_cast<std::int32_t>(draw.below(spec.outputs));
    WriteRequest request;
    request.writer = "foreign";
    request.conflict = WriteRequest::Conflict::steal;
    const CrossConnect there{static_cast<Position>(in), static_cast<Position>(std::max(output_of(in), 0))};
    if (output_of(in) != kNone && draw.uniform() < 0.5) request.remove = {there};
    else request.add = {{static_cast<Position>(in), static_cast<Position>(out)}};
    ++struck[kFaultTable[kForeignChange].name];
    apply(request, now, now, {});
  }

  void fail_some_port(Instant now) {
    next_failure = next_of(kPortFails, now);
    if (spec.outputs == 0) return;
    const auto output = static_cast<std::int32_t>(stream(kPortFails).below(spec.outputs));
    ++struck[kFaultTable[kPortFails].name];
    at(output).failed = true;
    mark_changed(output);
  }

  void retune_some_output(Instant now) {
    next_retune = next_of(kRetunes, now);
    if (spec.outputs == 0) return;
    const auto output = static_cast<std::int32_t>(stream(kRetunes).below(spec.outputs));
    if (at(output).in == kNone || now < at(output).ready) return;
    ++struck[kFaultTable[kRetunes].name];
    start_settling(output, now + draw_settle());
  }

  // ---- writes
  bool up(Instant now) const { return now >= down_until; }

  Instant take_turn(Instant now) {
    const bool too_soon = spec.min_gap > Duration{} && served && now >= wedged_until && now < busy_until + spec.min_gap;
    if (too_soon) {
      wedged_until = std::max(now, busy_until) + kWedgedFor;
      busy_until = wedged_until;
      ++struck["wedged"];
    }
    served = true;
    busy_until = std::max(now, busy_until) + spec.command_time;
    return busy_until;
  }

  bool in_range(const CrossConnect& pair) const { return pair.in < spec.inputs && pair.out < spec.outputs; }

  // Empty, or why the request makes no sense.
  std::string nonsense(const WriteRequest& request) {
    for (const CrossConnect& pair : request.remove) {
      if (!in_range(pair)) return "no such port";
    }
    bool twice = false;
    bool outside = false;
    for (const CrossConnect& pair : request.add) {
      if (!in_range(pair)) {
        outside = true;
        break;
      }
      twice = twice || used_in[pair.in] || used_out[pair.out];
      used_in[pair.in] = used_out[pair.out] = 1;
    }
    for (const CrossConnect& pair : request.add) {
      if (in_range(pair)) used_in[pair.in] = used_out[pair.out] = 0;
    }
    if (outside) return "no such port";
    return twice ? "a port is named twice" : "";
  }

  bool steals(const WriteRequest& request) const {
    if (request.conflict == WriteRequest::Conflict::steal) return true;
    return request.conflict == WriteRequest::Conflict::device_default && spec.on_conflict == OnConflict::steals;
  }

  // Is `pair` kept off by a pair that would stay?
  bool blocked(const CrossConnect& pair) {
    const std::int32_t out = output_of(pair.in);
    const std::int32_t in = at(pair.out).in;
    return (out != kNone && out != pair.out && !going[pair.in]) ||
           (in != kNone && in != pair.in && !going[static_cast<std::size_t>(in)]);
  }

  void mark_going(const WriteRequest& request, bool value) {
    for (const CrossConnect& pair : request.remove) {
      if (output_of(pair.in) == pair.out) going[pair.in] = value;
    }
  }

  bool conflicts(const WriteRequest& request) {
    if (request.replace_all || steals(request)) return false;
    mark_going(request, true);
    const bool result =
        std::any_of(request.add.begin(), request.add.end(), [&](const CrossConnect& pair) { return blocked(pair); });
    mark_going(request, false);
    return result;
  }

  static void report(WriteReply& reply, Outcome outcome) {
    reply.outcome = outcome;
    std::fill(reply.remove.begin(), reply.remove.end(), outcome);
    std::fill(reply.add.begin(), reply.add.end(), outcome);
  }

  static WriteReply refused(WriteReply reply, std::string text) {
    report(reply, Outcome::rejected);
    reply.text = std::move(text);
    return reply;
  }

  WriteReply write(const WriteRequest& request, Instant now) {
    advance(now);
    WriteReply reply;
    reply.remove.resize(request.remove.size());
    reply.add.resize(request.add.size());
    reply.accepted = now;
    if (!up(now)) return refused(std::move(reply), "the switch is starting");
    reply.accepted = take_turn(now);
    std::string why = nonsense(request);
    if (!why.empty()) return refused(std::move(reply), std::move(why));
    if (strikes(kBusy)) return refused(std::move(reply), "another operation is running");
    if (conflicts(request)) return refused(std::move(reply), "a port is in use");
    if (strikes(kOkButNotApplied)) return reply;
    return obey(request, now, std::move(reply));
  }

  // Which of `n` operations are left out; empty: none.
  std::vector<std::uint8_t> left_out(std::size_t n) {
    if (n < 2 || !strikes(kPartial)) return {};
    RandomStream& draw = stream(kPartial);
    std::vector<std::uint8_t> skip(n, 0);
    std::size_t wanted = 1 + draw.below(n - 1);
    for (std::size_t i = 0; i < n; ++i) {
      if (draw.below(n - i) >= wanted) continue;
      skip[i] = 1;
      --wanted;
    }
    return skip;
  }

  WriteReply obey(const WriteRequest& request, Instant now, WriteReply reply) {
    const bool lies = strikes(kAppliedButError);
    const std::vector<std::uint8_t> skip = left_out(request.remove.size() + request.add.size());
    WriteReply truth = reply;
    apply(request, now, reply.accepted, skip, &truth);
    if (lies) {
      report(reply, Outcome::failed);
      reply.text = "internal error";
    } else if (!skip.empty() && spec.faults.partial_reported) {
      reply = std::move(truth);
      reply.outcome = Outcome::failed;
      reply.text = "some of the connections were not made";
    } else {
      reply.remove = std::move(truth.remove);
      if (!skip.empty()) report(reply, Outcome::applied);
    }
    return reply;
  }

  void apply(const WriteRequest& request, Instant now, Instant accepted, const std::vector<std::uint8_t>& skip,
             WriteReply* truth = nullptr) {
    WriterLogEntry entry{now, request.writer, {}, {}};
    const auto skipped = [&](std::size_t i) { return !skip.empty() && skip[i] != 0; };
    for (std::size_t i = 0; i < request.remove.size(); ++i) {
      const bool there = at(request.remove[i].out).in == request.remove[i].in;
      if (there && !skipped(i)) drop(request.remove[i].out, entry);
      if (truth) truth->remove[i] = !there ? Outcome::rejected : skipped(i) ? Outcome::failed : Outcome::applied;
    }
    if (request.replace_all) drop_others(request, entry);
    Instant start = accepted;
    for (std::size_t i = 0; i < request.add.size(); ++i) {
      const bool made = !skipped(request.remove.size() + i) && add(request, request.add[i], now, start, entry);
      if (truth) truth->add[i] = made ? Outcome::applied : Outcome::failed;
    }
    const bool is_foreign = truth == nullptr;
    if (!is_foreign) spoil(entry, now);
    note(std::move(entry));
  }

  void drop(std::int32_t output, WriterLogEntry& entry) {
    entry.removed.push_back({static_cast<Position>(at(output).in), static_cast<Position>(output)});
    disconnect(output);
  }

  void drop_others(const WriteRequest& request, WriterLogEntry& entry) {
    for (std::int32_t out = 0; out < static_cast<std::int32_t>(outputs.size()); ++out) {
      if (at(out).in == kNone) continue;
      const CrossConnect pair{static_cast<Position>(at(out).in), static_cast<Position>(out)};
      if (std::find(request.add.begin(), request.add.end(), pair) == request.add.end()) drop(out, entry);
    }
  }

  bool add(const WriteRequest& request, const CrossConnect& pair, Instant now, Instant& start, WriterLogEntry& entry) {
    if (at(pair.out).in == pair.in) return true;
    const std::int32_t other = output_of(pair.in);
    const bool busy = other != kNone || at(pair.out).in != kNone;
    if (busy && !steals(request) && !request.replace_all) return false;  // its remove was left out
    if (other != kNone) drop(other, entry);
    if (at(pair.out).in != kNone) drop(pair.out, entry);
    const Instant ready = start + draw_settle() + (busy ? spec.conflict_time : Duration{});
    connect(pair.in, pair.out, now, ready);
    if (spec.settles_in_turn) start = ready;
    entry.added.push_back(pair);
    return true;
  }

  // Misbehaviour of mirrors and memory after a write that was obeyed.
  void spoil(const WriterLogEntry& entry, Instant now) {
    if (!entry.added.empty()) {
      if (strikes(kFailsToTune)) at(some(entry.added, kFailsToTune).out).fate = Fate::fails;
      if (strikes(kWrongOutput)) miss(some(entry.added, kWrongOutput).out);
      if (strikes(kMirrorStuck)) at(some(entry.added, kMirrorStuck).out).stuck = true;
    }
    if (!entry.removed.empty() && strikes(kStaleEntry)) remember_stale(some(entry.removed, kStaleEntry));
    if (entry.removed.empty() && entry.added.empty()) return;
    if (!strikes(kReverts)) return;
    undos.push_back({++order, entry.removed, entry.added});
    push({now + kRevertsAfter, order, kNone, order});
  }

  const CrossConnect& some(const std::vector<CrossConnect>& pairs, Fault fault) {
    return pairs[stream(fault).below(pairs.size())];
  }

  void remember_stale(const CrossConnect& pair) {
    const bool reused = at(pair.out).in != kNone || output_of(pair.in) != kNone;
    if (!reused && std::find(stale.begin(), stale.end(), pair) == stale.end()) stale.push_back(pair);
  }

  // Light of `output` goes to another output that is free, or nowhere.
  void miss(std::int32_t output) {
    OutputState& o = at(output);
    o.fate = Fate::misses;
    const auto n = static_cast<std::int32_t>(outputs.size());
    const auto from = static_cast<std::int32_t>(stream(kWrongOutput).below(outputs.size()));
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int32_t candidate = (from + i) % n;
      if (candidate == output || at(candidate).in != kNone) continue;
      o.aims = candidate;
      at(candidate).stray_of = output;
      mark_changed(candidate);
      return;
    }
  }

  // ---- power
  void power_cycle(Instant now, Duration off) {
    advance(now);
    restart_management(now, off);
    undos.clear();
    WriterLogEntry entry{now, "device:power", {}, {}};
    for (std::int32_t out = 0; out < static_cast<std::int32_t>(outputs.size()); ++out) {
      if (at(out).in == kNone || spec.cold_boot == ColdBoot::maintain) continue;
      if (spec.cold_boot == ColdBoot::remove) drop(out, entry);
      else start_settling(out, down_until + draw_settle());
    }
    note(std::move(entry));
  }

  void restart_management(Instant now, Duration off) {
    advance(now);
    down_until = std::max(down_until, now + off);
    busy_until = down_until;
    served = false;
  }

  SwitchModelSpec spec;
  std::vector<OutputState> outputs;
  std::vector<std::int32_t> inputs;                      // output of each input, or kNone
  std::vector<std::uint8_t> going, used_in, used_out;    // scratch of one write
  std::vector<CrossConnect> stale;                       // reported, but not there
  std::vector<Timed> timed;                              // heap, earliest first
  std::vector<Undo> undos;
  RandomStream settle, noise;
  std::array<std::optional<RandomStream>, kFaults> streams;
  std::array<unsigned, kFaults> forced{};
  std::map<std::string, std::uint64_t> struck;
  std::vector<WriterLogEntry> log;
  Instant clock{}, busy_until{}, wedged_until{}, down_until{};
  Instant next_foreign = kNever, next_failure = kNever, next_retune = kNever;
  std::uint64_t order = 0, changes = 0, seen = 0;
  bool started = false, served = false;
};

SwitchModel::SwitchModel(SwitchModelSpec spec) : impl_(std::make_shared<Impl>(std::move(spec))) {}

const SwitchModelSpec& SwitchModel::spec() const { return impl_->spec; }
void SwitchModel::advance(Instant now) { impl_->advance(now); }
Instant SwitchModel::next_change() const { return impl_->next(); }

WriteReply SwitchModel::write(const WriteRequest& request, Instant now) { return impl_->write(request, now); }

Instant SwitchModel::take_turn(Instant now) {
  impl_->advance(now);
  return impl_->take_turn(now);
}

std::vector<CrossConnect> SwitchModel::connections(Instant now) {
  impl_->advance(now);
  std::vector<CrossConnect> result = impl_->stale;
  for (std::size_t in = 0; in < impl_->inputs.size(); ++in) {
    if (impl_->inputs[in] == kNone) continue;
    result.push_back({static_cast<Position>(in), static_cast<Position>(impl_->inputs[in])});
  }
  if (!impl_->stale.empty()) std::sort(result.begin(), result.end());
  return result;
}

OutputReading SwitchModel::reading(Position output, Instant now) {
  PR_CHECK(output < impl_->spec.outputs, "the front end checks ports");
  impl_->advance(now);
  OutputReading result;
  result.status = impl_->status(output, now);
  if (!impl_->spec.has_power) return result;
  result.power_dbm = kDark;
  const std::int32_t in = impl_->source(output, now);
  if (in == kNone) return result;
  const OutputState& o = impl_->outputs[output];
  const double loss = o.in == in ? o.loss_db : impl_->loss_of(in, output);
  const double days = o.in == in ? std::chrono::duration<double>(now - o.made).count() / 86400 : 0;
  result.power_dbm = std::max(kDark, impl_->spec.input_dbm - loss - days * impl_->spec.drift_db_per_day +
                                         impl_->spec.noise_db * impl_->noise.normal());
  return result;
}

void SwitchModel::set_port(Position output, bool enabled, Instant now) {
  PR_CHECK(output < impl_->spec.outputs, "the front end checks ports");
  impl_->advance(now);
  OutputState& o = impl_->outputs[output];
  if (o.enabled == enabled) return;
  o.enabled = enabled;
  if (enabled && o.in != kNone) return impl_->start_settling(output, now + impl_->draw_settle());
  impl_->mark_changed(output);
}

void SwitchModel::force(const std::string& fault, unsigned times) {
  const auto known = fault_named(fault);
  PR_CHECK(known, "no such fault");
  impl_->forced[*known] += times;
}

void SwitchModel::set_faults(const Faults& faults, Instant now) {
  impl_->advance(now);
  impl_->spec.faults = faults;
  impl_->draw_times(now);
}

bool SwitchModel::draw(const std::string& fault) {
  const auto known = fault_named(fault);
  PR_CHECK(known, "no such fault");
  return impl_->strikes(*known);
}

void SwitchModel::fail_port(Position output, Instant now) {
  impl_->advance(now);
  impl_->outputs.at(output).failed = true;
  impl_->mark_changed(output);
}

void SwitchModel::repair_port(Position output, Instant now) {
  impl_->advance(now);
  OutputState& o = impl_->outputs.at(output);
  o.failed = o.stuck = false;
  if (o.in != kNone) return impl_->start_settling(output, now + impl_->draw_settle());
  impl_->mark_changed(output);
}

void SwitchModel::foreign_write(const WriteRequest& request, Instant now) {
  impl_->advance(now);
  PR_CHECK(impl_->nonsense(request).empty(), "a request that the switch can obey");
  impl_->apply(request, now, now, {});
}

void SwitchModel::power_cycle(Instant now, Duration off) { impl_->power_cycle(now, off); }
void SwitchModel::restart_management(Instant now, Duration off) { impl_->restart_management(now, off); }
bool SwitchModel::up(Instant now) const { return impl_->up(now); }

bool SwitchModel::lit(const CrossConnect& pair, Instant now) {
  impl_->advance(now);
  return pair.out < impl_->spec.outputs && impl_->source(pair.out, now) == pair.in;
}

const std::vector<WriterLogEntry>& SwitchModel::writer_log() const { return impl_->log; }
void SwitchModel::clear_writer_log() { impl_->log.clear(); }
const std::map<std::string, std::uint64_t>& SwitchModel::faults_struck() const { return impl_->struck; }

std::vector<Position> SwitchModel::changed_outputs() { return changed_outputs(impl_->seen); }

std::vector<Position> SwitchModel::changed_outputs(std::uint64_t& cursor) {
  std::vector<Position> result;
  if (cursor == impl_->changes) return result;
  for (std::size_t out = 0; out < impl_->outputs.size(); ++out) {
    if (impl_->outputs[out].changed > cursor) result.push_back(static_cast<Position>(out));
  }
  cursor = impl_->changes;
  return result;
}

}  // namespace photonrail::device
