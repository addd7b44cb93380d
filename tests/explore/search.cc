#include "search.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "base/random.h"

namespace photonrail::explore {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;
struct KeyHash {
  std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.first); }
};

struct Frame {
  World world;
  std::vector<Transition> next;
  std::size_t taken = 0;
  Key key;
};

// What is wrong with a state by itself; `next` are its transitions.
std::string judge(const World& world, bool progress) {
  if (!world.violation().empty()) return world.violation();
  if (!progress && !world.ended()) return "deadlock: nothing can happen and a program has not ended";
  return "";
}

// Drawn less often than what moves the programs: else runs end before they have begun.
bool is_fault(const Transition& transition) {
  using What = Transition::What;
  return transition.what == What::timer || transition.what == What::loss || transition.what == What::crash ||
         transition.what == What::repeat_up || transition.what == What::repeat_down ||
         transition.what == What::restart || transition.what == What::device_fails;
}

}  // namespace

Found search(const World& start, const Limits& limits) {
  Found found;
  std::unordered_set<Key, KeyHash> seen;
  std::unordered_set<Key, KeyHash> on_path;
  std::vector<Frame> path;
  const auto fail = [&](const std::string& what) {
    found.violation = what;
    for (const Frame& frame : path) {
      if (frame.taken > 0) found.trace.push_back(frame.world.text(frame.next[frame.taken - 1]));
    }
  };
  const auto enter = [&](World world, Key key) {
    bool progress = false;
    std::vector<Transition> next = world.transitions(progress);
    ++found.states;
    if (next.empty() && world.ended()) ++found.ends;
    const std::string wrong = judge(world, progress);
    if (!wrong.empty()) {
      fail(wrong);
      found.trace.push_back(world.text());
      return false;
    }
    on_path.insert(key);
    path.push_back({std::move(world), std::move(next), 0, key});
    found.depth = std::max(found.depth, path.size());
    return true;
  };
  seen.insert(start.digest());
  if (!enter(start, start.digest())) return found;
  while (!path.empty()) {
    Frame& top = path.back();
    if (top.taken == top.next.size()) {
      on_path.erase(top.key);
      path.pop_back();
      continue;
    }
    if (limits.states > 0 && found.states >= limits.states) {
      found.complete = false;
      return found;
    }
    const Transition transition = top.next[top.taken++];
    World child = top.world;
    const std::uint64_t used = child.counts().guard_fired;
    child.apply(transition);
    ++found.transitions;
    const Key key = child.digest();
    if (key == top.key) continue;
    const bool new_use = child.counts().guard_fired > used;
    found.guard_uses += new_use ? 1U : 0U;
    if (new_use && limits.guard_must_rest && transition.what != Transition::What::timer) {
      fail("the guard is used");
      found.trace.push_back(child.text());
      return found;
    }
    if (on_path.contains(key)) {
      fail("a cycle of states: it may go on for ever");
      return found;
    }
    if (!seen.insert(key).second) continue;
    if (!enter(std::move(child), key)) return found;
  }
  return found;
}

Found walk(const World& start, std::uint64_t seed, const Limits& limits) {
  RandomStream random(seed, "explore.walk");
  Found found;
  World world = start;
  for (;;) {
    bool progress = false;
    const std::vector<Transition> next = world.transitions(progress);
    ++found.states;
    found.violation = judge(world, progress);
    if (!found.violation.empty()) found.trace.push_back(world.text());
    if (next.empty() || !found.violation.empty() || found.states > 100000) break;
    Transition transition = next[random.below(next.size())];
    for (int again = 0; again < 3 && is_fault(transition); ++again) transition = next[random.below(next.size())];
    found.trace.push_back(world.text(transition));
    const std::uint64_t used = world.counts().guard_fired;
    world.apply(transition);
    ++found.transitions;
    const bool new_use = world.counts().guard_fired > used;
    found.guard_uses += new_use ? 1U : 0U;
    if (new_use && limits.guard_must_rest && transition.what != Transition::What::timer) {
      found.violation = "the guard is used";
      break;
    }
    if (!progress && world.ended()) break;
  }
  return found;
}

World learnt(const std::shared_ptr<const Setting>& setting, const Program& taught, int steps) {
  const auto barrier = static_cast<std::uint8_t>(setting->fabric.groups.size() - 1);
  Program program = taught;
  program.groups.push_back(barrier);
  const auto operation = static_cast<std::uint8_t>(program.groups.size() - 1);
  for (auto& steps_of_rank : program.ranks) {
    steps_of_rank.push_back({false, operation});
    steps_of_rank.push_back({true, operation});
  }
  Options calm;
  calm.spec = setting->options.spec;
  auto lesson = std::make_shared<Setting>(setting->fabric, program, calm);
  World world{std::shared_ptr<const Setting>(lesson)};
  for (int step = 0; step < steps; ++step) {
    for (;;) {
      bool progress = false;
      const std::vector<Transition> next = world.transitions(progress);
      if (!progress) break;
      world.apply(next[0]);
    }
    PR_CHECK(world.ended() && world.violation().empty(), "a lesson that does not end");
    auto after = std::make_shared<Setting>(*lesson);
    for (std::size_t group = 0; group < after->base.size(); ++group) {
      after->base[group] += after->operations[group].size();
    }
    lesson = after;
    world = World(std::shared_ptr<const Setting>(lesson), world);
  }
  auto begin = std::make_shared<Setting>(*setting);
  begin->base = lesson->base;
  return World(std::shared_ptr<const Setting>(begin), world);
}

}  // namespace photonrail::explore
