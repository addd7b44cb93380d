// explore: searches all interleavings of many small programs. See README.md for what was run.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/random.h"
#include "search.h"

namespace {

using namespace photonrail;
using namespace photonrail::explore;

constexpr const char* kUsage = R"(usage: explore [OPTION...]
  --fabric grid|ring     2 x 2 grid with one port a rank, or a ring of four with two ports each (grid)
  --operations N         operations of each program, 1 to 6 (3)
  --rule gang|batches|mispredicted|naive|blocking|cached (gang)
                         mispredicted: batches of another program with as many operations
  --no-guard  --timer    without the guard; with a timer that goes off at any moment
  --ahead                circuits are switched ahead of demand where members agree (with batches)
  --loss N  --repeat N  --crash N  --fail N  --restart N      faults of each kind in one run (0)
  --sample N             N programs drawn, instead of all up to symmetry
  --walks N              N random runs of each program, instead of all interleavings
  --states N             give up a program after N states (0: never)
  --programs FROM:TO     only these of the list
  --seed N  --jobs N  --quiet
)";

struct Command {
  std::string fabric = "grid", rule = "gang";
  std::uint32_t operations = 3;
  bool guard = true, timer = false, ahead = false, quiet = false;
  std::uint32_t losses = 0, repetitions = 0, crashes = 0, failures = 0, restarts = 0;
  std::uint64_t sample = 0, walks = 0, states = 0, seed = 1, from = 0, to = ~0ULL;
  unsigned jobs = 1;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_number(Command& c, const std::string& option, std::uint64_t value) {
  const auto small = static_cast<std::uint32_t>(value);
  if (option == "--operations") c.operations = small;
  else if (option == "--loss") c.losses = small;
  else if (option == "--repeat") c.repetitions = small;
  else if (option == "--crash") c.crashes = small;
  else if (option == "--fail") c.failures = small;
  else if (option == "--restart") c.restarts = small;
  else if (option == "--sample") c.sample = value;
  else if (option == "--walks") c.walks = value;
  else if (option == "--states") c.states = value;
  else if (option == "--seed") c.seed = value;
  else if (option == "--jobs") c.jobs = small;
  else return false;
  return true;
}

std::optional<Command> read(int argc, char** argv) {
  Command c;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--no-guard") c.guard = false;
    else if (option == "--timer") c.timer = true;
    else if (option == "--ahead") c.ahead = true;
    else if (option == "--quiet") c.quiet = true;
    else if (i + 1 == argc) return std::nullopt;
    else if (option == "--fabric") c.fabric = argv[++i];
    else if (option == "--rule") c.rule = argv[++i];
    else if (option == "--programs") {
      const std::string range = argv[++i];
      const std::size_t colon = range.find(':');
      if (colon == std::string::npos) return std::nullopt;
      const auto from = number(range.substr(0, colon)), to = number(range.substr(colon + 1));
      if (!from || !to) return std::nullopt;
      c.from = *from;
      c.to = *to;
    } else {
      const auto value = number(argv[++i]);
      if (!value || !read_number(c, option, *value)) return std::nullopt;
    }
  }
  if (c.operations == 0 || c.operations > 6 || c.jobs == 0) return std::nullopt;
  return c;
}

Options options_of(const Command& c) {
  Options o;
  o.spec.batches = c.rule == "batches" || c.rule == "mispredicted";
  o.spec.learn_after = 3;
  o.spec.guard = c.guard;
  o.spec.switch_ahead = c.ahead;
  o.spec.cached_grants = c.rule == "cached";
  if (c.rule == "naive") o.spec.rule = control::AdmissionRule::naive_lock;
  o.blocking_issue = c.rule == "blocking";
  o.guard_timer = c.timer;
  o.losses = static_cast<std::uint8_t>(c.losses);
  o.repetitions = static_cast<std::uint8_t>(c.repetitions);
  o.crashes = static_cast<std::uint8_t>(c.crashes);
  o.failures = static_cast<std::uint8_t>(c.failures);
  o.restarts = static_cast<std::uint8_t>(c.restarts);
  return o;
}

struct Total {
  std::mutex mutex;
  std::uint64_t programs = 0, states = 0, transitions = 0, most = 0, unfinished = 0, violations = 0, with_guard = 0;
  std::size_t depth = 0;
};

// What the coordinator has learnt before the program runs.
const Program& lesson_of(const Command& c, const std::vector<Program>& programs, std::size_t i) {
  if (c.rule != "mispredicted") return programs[i];
  RandomStream random(c.seed, "explore.lesson", i);
  return programs[random.below(programs.size())];
}

void explore_one(const Command& c, const Fabric& fabric, const std::vector<Program>& programs, std::size_t i,
                 Total& total) {
  const auto setting = std::make_shared<const Setting>(fabric, programs[i], options_of(c));
  const Program& lesson = lesson_of(c, programs, i);
  const World start = setting->options.spec.batches ? learnt(setting, lesson, 8) : World(setting);
  const bool faults = c.losses + c.repetitions + c.crashes + c.failures + c.restarts > 0;
  const Limits limits{c.states, c.rule == "gang" || (c.rule == "batches" && !faults)};
  Found found;
  if (c.walks == 0) found = search(start, limits);
  for (std::uint64_t w = 0; w < c.walks && found.violation.empty(); ++w) {
    Found one = walk(start, c.seed * 1000003 + w, limits);
    one.states += found.states;
    one.transitions += found.transitions;
    one.guard_uses += found.guard_uses;
    found = std::move(one);
  }
  const std::lock_guard lock(total.mutex);
  ++total.programs;
  total.states += found.states;
  total.transitions += found.transitions;
  total.depth = std::max(total.depth, found.depth);
  total.unfinished += found.complete ? 0U : 1U;
  total.with_guard += found.guard_uses > 0 ? 1U : 0U;
  if (!c.quiet && found.states > total.most) fmt::print("{}: {}: {} states\n", i, programs[i].text(), found.states);
  total.most = std::max(total.most, found.states);
  if (found.violation.empty()) return;
  if (++total.violations > 1) return;
  fmt::print("VIOLATION {}: {}\n  learnt {}\n  {}\n", i, programs[i].text(), lesson.text(), found.violation);
  for (const std::string& line : found.trace) fmt::print("    {}\n", line);
  std::fflush(stdout);
}

int run(const Command& c) {
  const Fabric fabric = c.fabric == "ring" ? ring() : grid();
  std::vector<Program> programs;
  if (c.sample == 0) programs = all_programs(fabric, c.operations);
  for (std::uint64_t i = 0; i < c.sample; ++i) {
    programs.push_back(random_program(fabric, c.operations, c.seed * 1000003 + i));
  }
  Total total;
  std::atomic<std::size_t> next = c.from;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < c.jobs; ++job) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < std::min<std::size_t>(programs.size(), c.to); i = next++) {
        explore_one(c, fabric, programs, i, total);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{} {} operations {}: {} programs, {} states (most {}), {} transitions, depth {}, {:.0f} s; "
             "guard used in {}, unfinished {}, violations {}\n",
             c.fabric, c.operations, c.rule, total.programs, total.states, total.most, total.transitions, total.depth,
             took.count(), total.with_guard, total.unfinished, total.violations);
  return total.violations == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Command> command = read(argc, argv);
  if (!command) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  return run(*command);
}
