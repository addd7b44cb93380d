// dst: many seeded runs of the deterministic simulation; status 1 when any promise was broken.
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "world.h"

namespace photonrail::dst {
namespace {

constexpr const char* kUsage = R"(usage: dst [OPTION...]
  --first N      first seed (default 1)
  --count N      number of runs (default 100)
  --threads N    (default: all cores)
  --large        4 jobs of 16 ranks in each run
  --no-faults    obedient devices, nobody dies
  --verbose      the whole history of each run, on standard error (use with --count 1)
  --twice        run each seed twice and compare the histories
  --seconds N    stop after this many seconds
  --list FILE    the seeds in FILE, one at the beginning of each line, instead
  --until-broken stop at the first seed that breaks a promise; says how many it took
)";

struct Options {
  std::uint64_t first = 1, count = 100, seconds = 0;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::uint64_t> list;
  bool large = false, faults = true, verbose = false, twice = false, until_broken = false;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_list(const char* file, Options& options) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto seed = number(std::string_view(line).substr(0, line.find(' ')));
    if (seed) options.list.push_back(*seed);
    else if (!line.empty() && line[0] != '#') return false;
  }
  options.count = options.list.size();
  return !options.list.empty();
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--large") options.large = true;
    else if (name == "--no-faults") options.faults = false;
    else if (name == "--verbose") options.verbose = true;
    else if (name == "--twice") options.twice = true;
    else if (name == "--until-broken") options.until_broken = true;
    else if (name == "--list") {
      if (i + 1 == argc || !read_list(argv[++i], options)) return std::nullopt;
    } else {
      const auto value = i + 1 < argc ? number(argv[++i]) : std::nullopt;
      if (!value) return std::nullopt;
      if (name == "--first") options.first = *value;
      else if (name == "--count") options.count = *value;
      else if (name == "--threads") options.threads = static_cast<unsigned>(std::max<std::uint64_t>(1, *value));
      else if (name == "--seconds") options.seconds = *value;
      else return std::nullopt;
    }
  }
  return options;
}

WorldSpec spec_of(const Options& options, std::uint64_t seed) {
  WorldSpec spec;
  spec.seed = seed;
  spec.faults = options.faults;
  spec.verbose = options.verbose;
  if (options.large) {
    spec.jobs = 4;
    spec.ranks = 16;
    return spec;
  }
  // Mostly small: more seeds find more than longer runs. One in 16 is larger.
  if (seed % 16 == 0) {
    spec.jobs = 1 + static_cast<unsigned>(seed / 16 % 3);
    spec.ranks = 16;
    return spec;
  }
  spec.ranks = seed % 4 == 1 ? 8 : 4;
  spec.jobs = seed % 8 == 2 ? 2 : 1;
  spec.steps = 2;
  return spec;
}

struct Totals {
  std::uint64_t runs = 0, broken = 0, small = 0;
  Outcome sum;
  double virtual_seconds = 0;
};

void add(Totals& totals, std::uint64_t seed, const Outcome& outcome, bool differs) {
  ++totals.runs;
  Outcome& sum = totals.sum;
  sum.grants += outcome.grants;
  sum.writes += outcome.writes;
  sum.events += outcome.events;
  sum.operations += outcome.operations;
  sum.restarts += outcome.restarts;
  sum.jobs_finished += outcome.jobs_finished;
  sum.jobs_ended_by_faults += outcome.jobs_ended_by_faults;
  for (const auto& [name, count] : outcome.faults) sum.faults[name] += count;
  totals.virtual_seconds += static_cast<double>(outcome.virtual_time.count()) * 1e-9;
  totals.small += outcome.grants < 20 || outcome.writes < 10 || outcome.faults.empty();
  if (outcome.violations.empty() && !differs) return;
  ++totals.broken;
  if (differs) fmt::print("seed {}: two runs differ\n", seed);
  if (totals.broken > 20) return;
  for (std::size_t i = 0; i < outcome.violations.size() && i < 3; ++i) {
    fmt::print("seed {}: {}: {}\n", seed, outcome.violations[i].promise, outcome.violations[i].text);
  }
}

int run_all(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Totals totals;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < options.count; i = next++) {
      if (options.seconds > 0 && seconds() > static_cast<double>(options.seconds)) return;
      if (options.until_broken && stop) return;
      const std::uint64_t seed = options.list.empty() ? options.first + i : options.list[i];
      if (options.until_broken) fmt::print(stderr, "seed {}\r", seed);   // the last one, should the process die of it
      const Outcome outcome = run(spec_of(options, seed));
      const bool differs = options.twice && run(spec_of(options, seed)).digest != outcome.digest;
      const std::lock_guard lock(mutex);
      add(totals, seed, outcome, differs);
      stop = totals.broken > 0;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  const Outcome& sum = totals.sum;
  fmt::print("{} runs from seed {} in {:.1f} s ({:.0f} virtual s), {} broken\n", totals.runs, options.first, seconds(),
             totals.virtual_seconds, totals.broken);
  fmt::print("{} grants, {} writes to switches, {} operations, {} events, {} restarts of the daemon\n", sum.grants,
             sum.writes, sum.operations, sum.events, sum.restarts);
  fmt::print("{} jobs finished, {} ended by faults; {} runs had at least 20 grants, 10 writes and one fault\n",
             sum.jobs_finished, sum.jobs_ended_by_faults, totals.runs - totals.small);
  for (const auto& [name, count] : sum.faults) fmt::print("  {:<32} {}\n", name, count);
  return totals.broken == 0 && totals.runs > 0 ? 0 : 1;
}

}  // namespace
}  // namespace photonrail::dst

int main(int argc, char** argv) {
  const auto options = photonrail::dst::parse(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}", photonrail::dst::kUsage);
    return 2;
  }
  return photonrail::dst::run_all(*options);
}
