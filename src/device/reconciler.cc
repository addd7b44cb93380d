#include "device/reconciler.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "device/reconciler_work.h"

namespace photonrail::device {
namespace {

using namespace reconciling;
using std::chrono::milliseconds;

constexpr unsigned kTries = 4;                 // writes of one pair before the intent gives it up
constexpr unsigned kTriesBeforeRevival = 2;    // removes of a pair that stays, before it is taken for a stale entry
constexpr unsigned kSilences = 2;              // commands without a usable answer before the connection is renewed
constexpr unsigned kDoublingsMax = 10;         // of the back-off
constexpr unsigned kPowerReadings = 2;         // above the floor, where the switch tells no status
constexpr Duration kPollAfterEvent = milliseconds(50);   // at most one read per so long, whatever the device sends
constexpr Duration kReadingEveryMin = milliseconds(1);
constexpr Duration kReadingEveryMax = milliseconds(100);
constexpr Duration kReadingEveryUnknown = milliseconds(10);

enum class Link : std::uint8_t { down, connecting, identifying, up };

}  // namespace

struct Reconciler::Impl {
  Impl(ReconcilerSpec given, std::unique_ptr<Driver> its_driver)
      : spec(std::move(given)), driver(std::move(its_driver)), jitter(spec.seed, "reconciler.jitter") {
    PR_CHECK(driver != nullptr, "a reconciler has a driver");
  }

  // ---- the connection
  Duration backoff(unsigned failures) {
    Duration delay = spec.backoff;
    for (unsigned i = 1; i < std::min(failures, kDoublingsMax) && delay < spec.backoff_max; ++i) delay *= 2;
    delay = std::min(delay, spec.backoff_max);
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(delay) * jitter.uniform(0.5, 1.5));
  }

  void ask_for_connection(Instant now) {
    link = Link::connecting;
    connect_request = true;
    link_until = now + 2 * spec.command_timeout;
  }

  // Nothing is known of the matrix until it has been read on a new connection.
  void lose_connection(Instant now, Duration wait) {
    link = Link::down;
    distrust_light(now);
    driver->disconnected();
    take_answers(now);
    PR_CHECK(!busy, "a driver answers its command when the connection is lost");
    frames.clear();
    ready = false;
    must_read = true;
    silences = 0;
    link_until = now + wait;
  }

  void reconnect_later(Instant now) {
    if (!unreachable_said) say(Alarm::Kind::unreachable, {}, "no connection");
    unreachable_said = true;
    ++link_failures;
    lose_connection(now, backoff(link_failures));
  }

  void connected(Instant now) {
    if (link == Link::identifying || link == Link::up) lose_connection(now, Duration{});
    link = Link::identifying;
    connect_request = false;
    ready = false;
    must_read = true;
    busy = identity_asked = true;
    command_until = now + spec.command_timeout;
    driver->connected();
    collect_frames();
    take_answers(now);
    step(now);
  }

  void disconnected(Instant now) {
    if (link != Link::down) reconnect_later(now);
    step(now);
  }

  std::string strangeness(const Identity& seen) const {
    const std::string& serial = spec.serial.empty() ? who.serial : spec.serial;
    if (!serial.empty() && seen.serial != serial) {
      return fmt::format("serial number {} where {} is expected", seen.serial, serial);
    }
    const Position inputs = spec.inputs != 0 ? spec.inputs : who.inputs;
    const Position outputs = spec.outputs != 0 ? spec.outputs : who.outputs;
    if ((inputs != 0 && seen.inputs != inputs) || (outputs != 0 && seen.outputs != outputs)) {
      return fmt::format("{}x{} ports where {}x{} are expected", seen.inputs, seen.outputs, inputs, outputs);
    }
    return {};
  }

  void on_identity(const Answer& answer, Instant now) {
    if (answer.outcome != Outcome::applied) return reconnect_later(now);
    const std::string strange = strangeness(answer.identity);
    if (!strange.empty()) {
      if (!wrong_said) say(Alarm::Kind::wrong_identity, {}, strange);
      wrong_said = true;
      return lose_connection(now, spec.backoff_max);
    }
    wrong_said = false;
    who = answer.identity;
    light_known = false;
    dark_until = now + settle_time();
    link = Link::up;
  }

  // ---- answers
  void collect_frames() {
    std::vector<Frame> more = driver->take_frames();
    const bool writes = busy && (kind == Command::Kind::remove || kind == Command::Kind::add);
    if (writes && !more.empty()) note_further_frames(more);
    frames.insert(frames.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  // A write that takes several messages, each after the answer to the one before: all of them are on record.
  void note_further_frames(const std::vector<Frame>& more) {
    WriteRecord record;
    record.id = written.front().first;
    const Active* a = find(record.id);
    if (a != nullptr) record.epoch = a->intent.epoch;
    record.frames = reconciling::frames_text(more);
    records.push_back(std::move(record));
  }

  void take_answers(Instant now) {
    while (std::optional<Answer> answer = driver->take_answer()) {
      if (!busy) continue;
      busy = false;
      next_command_at = now + driver->capabilities().min_gap;
      const bool is_identity = std::exchange(identity_asked, false);
      if (!is_identity) on_answer(*answer, now);
      else if (link == Link::identifying) on_identity(*answer, now);
    }
  }

  void on_answer(const Answer& answer, Instant now) {
    switch (kind) {
      case Command::Kind::read: return on_read(answer, now);
      case Command::Kind::readings: return on_readings(answer, now);
      case Command::Kind::remove:
      case Command::Kind::add: return on_write(answer, now);
      case Command::Kind::set_ports: return;
    }
  }

  // Light seen before a silence proves nothing after it: the box may have lost power, and holds the same matrix again.
  void distrust_light(Instant now) {
    for (Active& a : active) {
      for (Work& w : a.add) {
        if (!w.seen || w.final) continue;
        w.settled = false;
        w.readings = 0;
        a.reading_at = sees_light() ? std::min(a.reading_at, now) : now + settle_time();
      }
    }
  }

  void give_time_to_settle(Instant now) {
    for (Active& a : active) {
      for (Work& w : a.add) w.settle_by = std::max(w.settle_by, now + std::max(spec.settle_max, settle_time()));
    }
  }

  Duration settle_time() const {
    const Duration stated = driver->capabilities().settle_max;
    return stated > Duration{} ? stated : spec.settle_max;
  }

  void count_silence(Instant now) {
    distrust_light(now);
    ++silences;
    next_command_at = std::max(next_command_at, now + backoff(silences));
  }

  void on_read(const Answer& answer, Instant now) {
    if (answer.outcome != Outcome::applied) return count_silence(now);
    std::vector<CrossConnect> matrix = answer.snapshot.connections;
    std::sort(matrix.begin(), matrix.end());
    find_drift(matrix);
    held.connections = std::move(matrix);
    ++reads;
    silences = link_failures = 0;
    must_read = false;
    explained.clear();
    poll_at = now + spec.poll;
    if (!ready && unreachable_said) say(Alarm::Kind::reachable, {}, who.serial);
    unreachable_said = false;
    if (!ready) give_time_to_settle(now);
    ready = true;
  }

  // What changed since the last read and was not written here.
  void find_drift(const std::vector<CrossConnect>& matrix) {
    if (reads == 0) return;
    std::vector<CrossConnect> changed;
    std::set_symmetric_difference(matrix.begin(), matrix.end(), held.connections.begin(), held.connections.end(),
                                  std::back_inserter(changed));
    std::erase_if(changed, [&](const CrossConnect& pair) { return explained.contains(pair); });
    if (!changed.empty()) say(Alarm::Kind::drift, std::move(changed), "changed by somebody else");
  }

  void on_readings(const Answer& answer, Instant now) {
    if (answer.outcome != Outcome::applied) {
      for (Active& a : active) {
        if (a.reading_at <= now) a.reading_at = now + reading_every();
      }
      return count_silence(now);
    }
    silences = 0;
    const std::vector<OutputReading>& seen = answer.snapshot.outputs;
    for (const Position output : asked) {
      if (output < seen.size()) store_reading(output, seen[output]);
    }
    light_known = light_known || asked.size() == who.outputs;
    for (Active& a : active) judge_light(a, seen, now);
  }

  void store_reading(Position output, const OutputReading& reading) {
    if (held.outputs.size() <= output) held.outputs.resize(std::max<std::size_t>(who.outputs, output + std::size_t{1}));
    OutputReading& old = held.outputs[output];
    const bool fails = reading.status == PortStatus::failed && old.status != PortStatus::failed;
    if (fails) say(Alarm::Kind::port_failed, {}, fmt::format("output {} has failed", output));
    old = reading;
  }

  Duration reading_every() const {
    const Duration typical = driver->capabilities().settle_typical;
    return typical > Duration{} ? std::clamp(typical / 4, kReadingEveryMin, kReadingEveryMax) : kReadingEveryUnknown;
  }

  bool sees_light() const { return driver->capabilities().status || driver->capabilities().power; }

  void judge_light(Active& a, const std::vector<OutputReading>& seen, Instant now) {
    bool looked = false;
    bool waits = false;
    for (Work& w : a.add) {
      if (!w.seen || w.final) continue;
      if (std::binary_search(asked.begin(), asked.end(), w.pair.out)) {
        judge_light(w, w.pair.out < seen.size() ? seen[w.pair.out] : OutputReading{}, now);
        looked = true;
      }
      waits = waits || (!w.settled && !w.final);
    }
    if (looked) a.reading_at = waits ? now + reading_every() : kNever;
  }

  // Rule 4. Where the switch tells both, status and power have to agree: a mirror that points elsewhere is `tuned` too.
  void judge_light(Work& w, const OutputReading& reading, Instant now) {
    const Capabilities& can = driver->capabilities();
    const bool lost = reading.status == PortStatus::failed || reading.status == PortStatus::disabled;
    const bool tuned = !lost && (!can.status || reading.status == PortStatus::tuned);
    const bool bright = !can.power || (reading.power_dbm && *reading.power_dbm >= spec.power_floor_dbm);
    w.readings = tuned && bright ? w.readings + 1 : 0;
    w.settled = w.settled && w.readings > 0;
    const bool late = now >= w.settle_by;
    if (lost || (late && w.readings == 0)) {
      w.final = Outcome::failed;
      wants_confirmation(w);
      say(Alarm::Kind::port_failed, {w.pair},
          fmt::format("no light at output {}: {}", w.pair.out, name(reading.status)));
      return;
    }
    if (!w.settled && w.readings >= (can.status ? 1 : kPowerReadings)) settle(w);
  }

  void settle(Work& w) {
    w.settled = true;
    wants_confirmation(w);
  }

  // The matrix is read once more before the intent ends: the light may have come from another input.
  void wants_confirmation(Work& w) {
    w.judged_at_read = reads;
    must_read = true;
  }

  void on_write(const Answer& answer, Instant now) {
    for (std::size_t i = 0; i < written.size(); ++i) {
      const bool told = answer.pairs.size() == written.size();
      const Outcome outcome = told ? answer.pairs[i] : answer.outcome;
      Active* a = find(written[i].first);
      if (!a) continue;
      Work* w = reconciling::find(*a, written[i].second);
      if (!w) continue;
      w->last = outcome;
      if (outcome != Outcome::applied || w->tries > 1) a->not_before = std::max(a->not_before, now + backoff(w->tries));
      if (outcome == Outcome::rejected && w->tries == 1) say(Alarm::Kind::rejected, {w->pair}, answer.device_text);
      if (outcome != Outcome::applied && !answer.device_text.empty()) a->reason = answer.device_text;
    }
    if (answer.outcome == Outcome::unknown) count_silence(now);
    else silences = 0;
  }

  Active* find(IntentId id) {
    for (Active& a : active) {
      if (a.intent.id == id) return &a;
    }
    return nullptr;
  }

  // ---- intents
  void submit(Intent intent, Instant now) {
    const bool fenced = intent.epoch < fence_epoch;
    std::string why = fenced ? "fenced: a newer epoch rules" : nonsense(intent, spec.inputs, spec.outputs);
    Active a = make_active(std::move(intent));
    a.fenced = fenced;
    a.reason = std::move(why);
    if (!a.reason.empty()) return results.push_back(refused(a));
    waiting.push_back(std::move(a));
    step(now);
  }

  // An intent begins when no earlier one names a port of it.
  void start_waiting() {
    for (std::size_t i = 0; i < waiting.size();) {
      const auto clashes = [&](const Active& other) { return overlap(waiting[i], other); };
      const auto before = waiting.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::any_of(active.begin(), active.end(), clashes) || std::any_of(waiting.begin(), before, clashes)) {
        ++i;
        continue;
      }
      active.push_back(std::move(*before));
      waiting.erase(before);
    }
  }

  // Whether the last read says how the pair is: it was made after the last write of it.
  bool known(const Work& w) const { return reads > 0 && (w.tries == 0 ? ready : reads > w.sent_at_read); }

  Outcome remove_outcome(const Work& w) const {
    if (!known(w)) return w.tries == 0 && reads == 0 ? Outcome::rejected : Outcome::unknown;
    if (!contains(held.connections, w.pair)) return Outcome::applied;
    return w.tries == 0 || w.last == Outcome::rejected ? Outcome::rejected : Outcome::failed;
  }

  Outcome add_outcome(const Work& w) const {
    if (w.final) return *w.final;
    const bool confirmed = w.settled && reads > w.judged_at_read;
    if (confirmed && contains(held.connections, w.pair)) return Outcome::applied;
    if (w.settled && !ready) return Outcome::unknown;
    if (!known(w)) return w.tries == 0 ? Outcome::rejected : Outcome::unknown;
    if (contains(held.connections, w.pair)) return Outcome::failed;
    return w.tries == 0 || w.last == Outcome::rejected ? Outcome::rejected : Outcome::failed;
  }

  void finish(const Active& a, std::string reason) {
    IntentResult result;
    result.id = a.intent.id;
    result.fenced = a.fenced;
    result.writes = a.writes;
    for (const Work& w : a.remove) result.remove.push_back(remove_outcome(w));
    for (const Work& w : a.add) result.add.push_back(add_outcome(w));
    const auto good = [](Outcome outcome) { return outcome == Outcome::applied; };
    result.done = reason.empty() && std::all_of(result.remove.begin(), result.remove.end(), good) &&
                  std::all_of(result.add.begin(), result.add.end(), good);
    if (!result.done) {
      result.reason = reason.empty() ? "not all pairs could be made" : std::move(reason);
      if (!a.reason.empty()) result.reason += ": " + a.reason;
    }
    results.push_back(std::move(result));
  }

  void expire_intents(Instant now) {
    const auto over = [&](const Active& a) {
      if (now < a.intent.deadline) return false;
      finish(a, "its deadline has passed");
      return true;
    };
    std::erase_if(active, over);
    std::erase_if(waiting, over);
  }

  bool writing(const Active& a) const {
    if (!busy || (kind != Command::Kind::remove && kind != Command::Kind::add)) return false;
    return std::any_of(written.begin(), written.end(), [&](const auto& w) { return w.first == a.intent.id; });
  }

  static bool all_of(const Active& a, bool (*test)(const Impl&, const Work&), const Impl& impl) {
    const auto holds = [&](const Work& w) { return test(impl, w); };
    return std::all_of(a.remove.begin(), a.remove.end(), holds) && std::all_of(a.add.begin(), a.add.end(), holds);
  }

  void fence(Epoch epoch) {
    fence_epoch = std::max(fence_epoch, epoch);
    for (Active& a : waiting) a.fenced = a.fenced || a.intent.epoch < fence_epoch;
    for (Active& a : active) a.fenced = a.fenced || a.intent.epoch < fence_epoch;
    finish_fenced();
    stirred = true;  // others may begin now
  }

  // One whose write is on the wire, or whose outcome is not read yet, waits for that.
  void finish_fenced() {
    const auto told = [](const Impl& impl, const Work& w) { return w.tries == 0 || impl.known(w); };
    const auto over = [&](const Active& a) {
      if (!a.fenced || writing(a) || !all_of(a, told, *this)) return false;
      finish(a, "fenced: a newer epoch rules");
      return true;
    };
    std::erase_if(active, over);
    std::erase_if(waiting, over);
  }

  // ---- what an intent needs next. Called with a matrix that was read after the last write.
  struct Needs {
    std::vector<Work*> remove, add;   // may be written now
    bool waits = false;               // for time or light
  };

  Needs needs_of(Active& a, Instant now) {
    Needs needs;
    if (find_conflict(a)) return needs;
    bool removing = false;
    bool given_up = false;
    for (Work& w : a.remove) {
      if (!contains(held.connections, w.pair)) continue;
      if (w.tries >= kTries) {
        given_up = true;
        continue;
      }
      removing = true;
      if (now >= a.not_before) (must_revive(w) ? needs.add : needs.remove).push_back(&w);
    }
    if (removing && !given_up) {
      needs.waits = true;
      return needs;
    }
    needs.remove.clear();
    needs.add.clear();
    for (Work& w : a.add) look_at_add(a, w, given_up, now, needs);
    return needs;
  }

  // A pair that stays after removes may be an entry of its status table alone. Such an entry goes
  // when the pair is made once more, then removed (sonic-net/sonic-mgmt issue 25382). Its ports are this intent's.
  bool must_revive(const Work& w) const {
    if (w.tries != kTriesBeforeRevival) return false;
    return std::none_of(held.connections.begin(), held.connections.end(), [&](const CrossConnect& pair) {
      return pair != w.pair && share_port(pair, w.pair);
    });
  }

  // Rule 5: a port that is held by a pair which the intent does not remove.
  bool find_conflict(Active& a) {
    if (a.conflict) return true;
    std::vector<CrossConnect> blockers;
    for (const Work& w : a.add) {
      for (const CrossConnect& pair : held.connections) {
        if (pair == w.pair || !share_port(pair, w.pair)) continue;
        if (std::count(a.intent.remove.begin(), a.intent.remove.end(), pair) == 0) blockers.push_back(pair);
      }
    }
    if (blockers.empty()) return false;
    a.conflict = true;
    std::string text = "in use by " + text_of(blockers.front());
    if (a.reason.empty()) a.reason = text;
    say(Alarm::Kind::conflict, std::move(blockers), std::move(text));
    return true;
  }

  void look_at_add(Active& a, Work& w, bool given_up, Instant now, Needs& needs) {
    if (w.final) {
      needs.waits = needs.waits || reads <= w.judged_at_read;
      return;
    }
    if (!contains(held.connections, w.pair)) {
      if (w.seen) {  // rule 4: it vanished
        w.final = Outcome::failed;
        w.settled = false;
        return;
      }
      if (given_up || w.tries >= kTries) return;
      needs.waits = true;
      if (now >= a.not_before) needs.add.push_back(&w);
      return;
    }
    if (!w.seen) start_settling(a, w, now);
    if (!w.settled || reads <= w.judged_at_read) needs.waits = true;
  }

  // A pair that was there before this intent wrote it has had its time already; the readings show it at once.
  void start_settling(Active& a, Work& w, Instant now) {
    const Capabilities& can = driver->capabilities();
    w.seen = true;
    w.settle_by = now + std::max(spec.settle_max, settle_time());
    Instant look = w.tries == 0 ? now : now + can.settle_typical;
    if (!sees_light()) look = now + settle_time();
    a.reading_at = std::min(a.reading_at, look);
  }

  // ---- commands, one at a time
  void step(Instant now) {
    clock = now;
    stirred = false;
    expire_intents(now);
    if (link == Link::down && now >= link_until) ask_for_connection(now);
    if (link == Link::connecting && link_until == kNever) ask_for_connection(now);  // the first time
    if (link == Link::connecting && now >= link_until) reconnect_later(now);
    if (link == Link::up && !busy && needs_new_connection()) reconnect_later(now);
    start_waiting();
    while (link == Link::up && !busy && now >= next_command_at && begin_next(now)) {
      if (!busy && needs_new_connection()) reconnect_later(now);
    }
    finish_fenced();
  }

  bool needs_new_connection() const { return driver->wants_new_connection() || silences >= kSilences; }

  // False: there is nothing to do now.
  bool begin_next(Instant now) {
    // A matrix that is taken over says nothing of light: who relies on it needs the readings too, or, where the switch
    // shows none, the time that light takes.
    if (!ready && !light_known) {
      if (sees_light()) return ask_all(now);
      if (now < dark_until) return false;
      light_known = true;
    }
    if (must_read) return begin({Command::Kind::read, {}, {}, true}, now);
    finish_fenced();
    if (look_at_light(now)) return true;
    if (must_read) return begin({Command::Kind::read, {}, {}, true}, now);
    if (write_something(now)) return true;
    if (now < poll_at) return false;
    return poll(now);
  }

  bool poll(Instant now) {
    poll_at = now + spec.poll;
    must_read = true;   // the read follows the readings
    return sees_light() ? ask_all(now) : begin_next(now);
  }

  bool ask_all(Instant now) {
    asked.clear();
    for (Position out = 0; out < who.outputs; ++out) asked.push_back(out);
    return begin({Command::Kind::readings, {}, asked, true}, now);
  }

  bool look_at_light(Instant now) {
    if (!sees_light()) {
      for (Active& a : active) trust_time(a, now);
      return false;
    }
    asked.clear();
    for (Active& a : active) {
      if (now < a.reading_at) continue;
      const auto waits = [](const Work& w) { return w.seen && !w.settled && !w.final; };
      if (std::none_of(a.add.begin(), a.add.end(), waits)) {
        a.reading_at = kNever;
        continue;
      }
      for (const Work& w : a.add) {
        if (w.seen && !w.final) asked.push_back(w.pair.out);  // settled ones too: all have light at one time
      }
    }
    if (asked.empty()) return false;
    std::sort(asked.begin(), asked.end());
    return begin({Command::Kind::readings, {}, asked, true}, now);
  }

  // Rule 4, a switch that tells neither status nor power.
  void trust_time(Active& a, Instant now) {
    if (now < a.reading_at) return;
    a.reading_at = kNever;
    for (Work& w : a.add) {
      if (w.seen && !w.settled && !w.final) settle(w);
    }
  }

  bool write_something(Instant now) {
    std::vector<std::pair<Active*, Work*>> remove, add;
    std::set<IntentId> over;
    for (Active& a : active) {
      const Needs needs = needs_of(a, now);
      for (Work* w : needs.remove) remove.emplace_back(&a, w);
      for (Work* w : needs.add) add.emplace_back(&a, w);
      if (!needs.waits) over.insert(a.intent.id);
    }
    const bool removes = !remove.empty();
    if (removes) write(Command::Kind::remove, remove, now);
    else if (!add.empty()) write(Command::Kind::add, add, now);
    const bool wrote = removes || !add.empty();
    std::erase_if(active, [&](const Active& a) {
      if (!over.contains(a.intent.id)) return false;
      finish(a, a.conflict ? "conflict" : "");
      return true;
    });
    const bool another = !over.empty() && !waiting.empty();
    if (another) start_waiting();
    if (wrote) return true;
    return another ? begin_next(now) : look_again(now);
  }

  // A pair that was found in place is looked at without delay.
  bool look_again(Instant now) {
    const auto due = [&](const Active& a) { return a.reading_at <= now; };
    return std::any_of(active.begin(), active.end(), due) && begin_next(now);
  }

  void write(Command::Kind what, std::vector<std::pair<Active*, Work*>>& works, Instant now) {
    const std::size_t most = std::max<std::size_t>(1, driver->capabilities().max_batch);
    if (works.size() > most) works.resize(most);
    Command command{what, {}, {}, true};
    std::vector<WriteRecord> announced;
    written.clear();
    for (const auto& [a, w] : works) {
      ++w->tries;
      w->sent_at_read = reads;
      w->last = Outcome::unknown;
      command.pairs.push_back(w->pair);
      written.emplace_back(a->intent.id, w->pair);
      explained.insert(w->pair);
      if (announced.empty() || announced.back().id != a->intent.id) {
        announced.push_back(record_of(*a));
        ++a->writes;
      }
      (what == Command::Kind::remove ? announced.back().remove : announced.back().add).push_back(w->pair);
    }
    must_read = true;
    begin(command, now);
    const std::string text = reconciling::frames_text(last_frames);
    for (WriteRecord& record : announced) {
      reconciling::fill_before(record, held.connections);
      record.frames = text;
      records.push_back(std::move(record));
    }
  }

  static WriteRecord record_of(const Active& a) {
    WriteRecord record;
    record.id = a.intent.id;
    record.epoch = a.intent.epoch;
    return record;
  }

  bool begin(const Command& command, Instant now) {
    busy = true;
    kind = command.kind;
    command_until = now + spec.command_timeout;
    driver->begin(command);
    last_frames = driver->take_frames();
    frames.insert(frames.end(), last_frames.begin(), last_frames.end());
    take_answers(now);  // a driver may refuse at once
    return true;
  }

  void receive(const Frame& frame, Instant now) {
    if (link != Link::identifying && link != Link::up) return;
    driver->receive(frame);
    after_driver(now);
  }

  void after_driver(Instant now) {
    collect_frames();
    take_answers(now);
    if (link == Link::up) heed_events(now);
    step(now);
  }

  void heed_events(Instant now) {
    const std::vector<Event> events = driver->take_events();
    if (events.empty()) return;
    poll_at = std::min(poll_at, std::max(now, last_event_poll + kPollAfterEvent));
    last_event_poll = std::max(last_event_poll, poll_at);
    for (Active& a : active) {
      if (sees_light() && a.reading_at != kNever) a.reading_at = std::min(a.reading_at, now + kReadingEveryMin);
    }
  }

  void tick(Instant now) {
    if (busy && now >= command_until) {
      driver->expire();
      take_answers(now);
      PR_CHECK(!busy || command_until > now, "a driver answers a command that expired");
      collect_frames();
    }
    step(now);
  }

  Instant next_deadline() const {
    if (stirred) return Instant::min();
    Instant next = kNever;
    const auto at = [&](Instant when) { next = std::min(next, when); };
    for (const Active& a : waiting) at(a.intent.deadline);
    for (const Active& a : active) at(a.intent.deadline);
    if (busy) {
      at(command_until);
      return next;
    }
    if (link == Link::down || link == Link::connecting) {
      at(link_until == kNever ? Instant::min() : link_until);
      return next;
    }
    if (link != Link::up) return next;
    if (!ready && !light_known && !sees_light()) {  // nothing else is done before
      at(std::max(next_command_at, dark_until));
      return next;
    }
    at(must_read ? next_command_at : std::max(next_command_at, poll_at));
    for (const Active& a : active) {
      if (a.reading_at != kNever) at(std::max(next_command_at, a.reading_at));
      const Instant write_at = std::max(next_command_at, a.not_before);
      if (write_at > clock) at(write_at);
    }
    return next;
  }

  void say(Alarm::Kind what, std::vector<CrossConnect> pairs, std::string text) {
    alarms.push_back({what, std::move(pairs), std::move(text)});
  }

  ReconcilerSpec spec;
  std::unique_ptr<Driver> driver;
  RandomStream jitter;

  Link link = Link::connecting;
  bool connect_request = true;
  Instant link_until = kNever;        // down: when to ask again; connecting: when to give up
  unsigned link_failures = 0, silences = 0;
  bool unreachable_said = false, wrong_said = false;
  Identity who;

  bool ready = false;                 // identified and read on this connection
  bool light_known = false;           // readings of all outputs came on this connection, or dark_until has passed
  Instant dark_until{};               // of a switch that shows no light: what was being made before may still be dark
  bool must_read = true;              // nothing may be written before a read
  std::uint64_t reads = 0;
  Snapshot held;
  std::set<CrossConnect> explained;   // written since the last read
  Instant poll_at{}, last_event_poll{};

  bool busy = false;                  // a command is with the driver
  bool identity_asked = false;        // it is the identity
  Command::Kind kind = Command::Kind::read;
  Instant command_until{}, next_command_at{};
  std::vector<std::pair<IntentId, CrossConnect>> written;   // by the command
  std::vector<Position> asked;        // by the readings, sorted
  std::vector<Frame> last_frames;

  Instant clock{};                    // of the last step
  bool stirred = false;               // step as soon as possible
  Epoch fence_epoch = 0;
  std::vector<Active> active, waiting;

  std::vector<WriteRecord> records;
  std::vector<Frame> frames;
  std::vector<IntentResult> results;
  std::vector<Alarm> alarms;
};

Reconciler::Reconciler(ReconcilerSpec spec, std::unique_ptr<Driver> driver)
    : impl_(std::make_unique<Impl>(std::move(spec), std::move(driver))) {}
Reconciler::~Reconciler() = default;

void Reconciler::connected(Instant now) { impl_->connected(now); }
void Reconciler::disconnected(Instant now) { impl_->disconnected(now); }
void Reconciler::receive(const Frame& frame, Instant now) { impl_->receive(frame, now); }
void Reconciler::tick(Instant now) { impl_->tick(now); }
Instant Reconciler::next_deadline() const { return impl_->next_deadline(); }
void Reconciler::submit(Intent intent, Instant now) { impl_->submit(std::move(intent), now); }
void Reconciler::fence(Epoch epoch) { impl_->fence(epoch); }

std::vector<WriteRecord> Reconciler::take_records() { return std::exchange(impl_->records, {}); }
std::vector<Frame> Reconciler::take_frames() { return std::exchange(impl_->frames, {}); }
bool Reconciler::take_connect_request() { return std::exchange(impl_->connect_request, false); }
std::vector<IntentResult> Reconciler::take_results() { return std::exchange(impl_->results, {}); }
std::vector<Alarm> Reconciler::take_alarms() { return std::exchange(impl_->alarms, {}); }

bool Reconciler::ready() const { return impl_->ready; }
const Snapshot& Reconciler::snapshot() const { return impl_->held; }
bool Reconciler::doubtful(const CrossConnect& pair) const { return impl_->explained.contains(pair); }
const Identity& Reconciler::identity() const { return impl_->who; }

}  // namespace photonrail::device
