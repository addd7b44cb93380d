#include "program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "base/check.h"
#include "base/random.h"

namespace photonrail::explore {
namespace {

using Form = std::vector<Step>;

bool is_member(const Group& group, control::Rank rank) {
  return std::find(group.members.begin(), group.members.end(), rank) != group.members.end();
}

// Every way to issue `operations` in this order: each is awaited at once, or after any later issue, or at the end.
std::vector<Form> forms(const std::vector<std::uint8_t>& operations) {
  const std::size_t n = operations.size();
  std::vector<Form> result;
  std::vector<std::size_t> awaited(n, 0);  // after which issue
  const auto add = [&](const auto& self, std::size_t i) -> void {
    if (i == n) {
      Form form;
      for (std::size_t k = 0; k < n; ++k) {
        form.push_back({false, operations[k]});
        if (awaited[k] == k) form.push_back({true, operations[k]});
        for (std::size_t j = 0; j < k; ++j) {
          if (awaited[j] == k) form.push_back({true, operations[j]});
        }
      }
      result.push_back(std::move(form));
      return;
    }
    for (std::size_t after = i; after < n; ++after) {
      awaited[i] = after;
      self(self, i + 1);
    }
  };
  add(add, 0);
  return result;
}

// Every order of a rank's operations that keeps the order within each group.
std::vector<std::vector<std::uint8_t>> orders(const Program& program, const Fabric& fabric, control::Rank rank) {
  std::vector<std::uint8_t> own;
  for (std::uint8_t i = 0; i < program.groups.size(); ++i) {
    if (is_member(fabric.groups[program.groups[i]], rank)) own.push_back(i);
  }
  std::vector<std::vector<std::uint8_t>> result;
  do {
    bool kept = true;
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t j = i + 1; j < own.size(); ++j) {
        kept = kept && (program.groups[own[i]] != program.groups[own[j]] || own[i] < own[j]);
      }
    }
    if (kept) result.push_back(own);
  } while (std::next_permutation(own.begin(), own.end()));
  return result;
}

std::vector<Form> rank_programs(const Program& program, const Fabric& fabric, control::Rank rank) {
  std::vector<Form> result;
  for (const auto& order : orders(program, fabric, rank)) {
    for (Form& form : forms(order)) result.push_back(std::move(form));
  }
  return result;
}

// How a fabric looks the same: permutations of ranks that map groups to groups.
struct Symmetry {
  std::array<control::Rank, kRanks> rank{};
  std::vector<std::uint8_t> group;
};

std::vector<Symmetry> symmetries(const Fabric& fabric) {
  std::vector<Symmetry> result;
  std::array<control::Rank, kRanks> order{};
  std::iota(order.begin(), order.end(), 0U);
  const auto port = [&](control::PortId p) {
    return order[p / fabric.ports_per_rank] * fabric.ports_per_rank + p % fabric.ports_per_rank;
  };
  const auto normal = [](std::vector<control::Circuit> circuits) {
    std::vector<std::pair<control::PortId, control::PortId>> ends;
    for (const control::Circuit& c : circuits) ends.push_back(std::minmax(c.a, c.b));
    std::sort(ends.begin(), ends.end());
    return ends;
  };
  do {
    Symmetry symmetry{order, {}};
    for (const Group& group : fabric.groups) {
      std::vector<control::Circuit> mapped;
      for (const control::Circuit& c : group.circuits) mapped.push_back({port(c.a), port(c.b)});
      for (std::uint8_t i = 0; i < fabric.groups.size(); ++i) {
        if (normal(fabric.groups[i].circuits) == normal(mapped)) symmetry.group.push_back(i);
      }
    }
    if (symmetry.group.size() == fabric.groups.size()) result.push_back(symmetry);
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

// The program under other names; operations are numbered group by group, so that their names do not matter.
Program renamed(const Program& program, const Symmetry& symmetry) {
  std::vector<std::uint8_t> order(program.groups.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  const auto group = [&](std::uint8_t op) { return symmetry.group[program.groups[op]]; };
  std::stable_sort(order.begin(), order.end(), [&](std::uint8_t a, std::uint8_t b) { return group(a) < group(b); });
  Program result;
  std::vector<std::uint8_t> name(order.size());
  for (std::uint8_t i = 0; i < order.size(); ++i) {
    name[order[i]] = i;
    result.groups.push_back(group(order[i]));
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    for (const Step& step : program.ranks[rank]) {
      result.ranks[symmetry.rank[rank]].push_back({step.wait, name[step.operation]});
    }
  }
  return result;
}

Program canonical(const Program& program, const std::vector<Symmetry>& names) {
  Program least = renamed(program, names[0]);
  for (std::size_t i = 1; i < names.size(); ++i) least = std::min(least, renamed(program, names[i]));
  return least;
}

}  // namespace

Fabric grid() {
  const auto pair = [](control::Rank a, control::Rank b) { return Group{{a, b}, {{a, b}}}; };
  return {1, {pair(0, 1), pair(2, 3), pair(0, 2), pair(1, 3), {{0, 1, 2, 3}, {}}}};
}

Fabric ring() {
  const auto right = [](control::Rank r) { return r * 2; };
  const auto left = [](control::Rank r) { return r % kRanks * 2 + 1; };
  Group all{{0, 1, 2, 3}, {}};
  for (control::Rank r = 0; r < kRanks; ++r) all.circuits.push_back({right(r), left(r + 1)});
  return {2, {all, {{0, 2}, {{right(0), right(2)}}}, {{1, 3}, {{right(1), right(3)}}}, {{0, 1, 2, 3}, {}}}};
}

control::Sequence Program::sequence(std::uint8_t operation) const {
  return static_cast<control::Sequence>(
      std::count(groups.begin(), groups.begin() + operation + 1, groups[operation]));
}

std::string Program::text() const {
  std::ostringstream out;
  out << "groups";
  for (const std::uint8_t group : groups) out << ' ' << int{group};
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    out << " | rank " << rank << ':';
    for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
      const Step& step = ranks[rank][i];
      const bool at_once = !step.wait && i + 1 < ranks[rank].size() && ranks[rank][i + 1] == Step{true, step.operation};
      out << ' ' << (step.wait ? 'w' : at_once ? 's' : 'i') << int{step.operation};
      if (at_once) ++i;
    }
  }
  return out.str();
}

bool ends_without_switching(const Program& program, const Fabric& fabric) {
  std::array<std::size_t, kRanks> at{};
  std::vector<std::size_t> issued(program.groups.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      while (at[rank] < program.ranks[rank].size()) {
        const Step step = program.ranks[rank][at[rank]];
        const std::size_t members = fabric.groups[program.groups[step.operation]].members.size();
        if (step.wait && issued[step.operation] < members) break;
        if (!step.wait) ++issued[step.operation];
        ++at[rank];
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (at[rank] < program.ranks[rank].size()) return false;
  }
  return true;
}

Program parse(const std::string& groups, const std::array<std::string, kRanks>& ranks) {
  Program program;
  std::istringstream in(groups);
  for (int group = 0; in >> group;) program.groups.push_back(static_cast<std::uint8_t>(group));
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    std::istringstream words(ranks[rank]);
    for (std::string word; words >> word;) {
      const auto operation = static_cast<std::uint8_t>(word[1] - '0');
      PR_CHECK(operation < program.groups.size(), "a program names an operation that it does not have");
      program.ranks[rank].push_back({word[0] == 'w', operation});
      if (word[0] == 's') program.ranks[rank].push_back({true, operation});
    }
  }
  return program;
}

std::vector<Program> all_programs(const Fabric& fabric, std::uint32_t operations) {
  const std::vector<Symmetry> names = symmetries(fabric);
  const auto kinds = static_cast<std::uint8_t>(fabric.groups.size() - 1);
  std::set<Program> result;
  std::vector<std::uint8_t> groups(operations, 0);
  const auto fill = [&](Program& program, const auto& self, control::Rank rank) -> void {
    if (rank == kRanks) {
      if (ends_without_switching(program, fabric)) result.insert(canonical(program, names));
      return;
    }
    for (Form& form : rank_programs(program, fabric, rank)) {
      program.ranks[rank] = std::move(form);
      self(program, self, rank + 1);
    }
  };
  const auto choose = [&](const auto& self, std::uint32_t i, std::uint8_t from) -> void {
    if (i < operations) {
      for (std::uint8_t group = from; group < kinds; ++group) {
        groups[i] = group;
        self(self, i + 1, group);
      }
      return;
    }
    Program program{groups, {}};
    // Of the multisets of groups that symmetry makes one, the least.
    for (const Symmetry& symmetry : names) {
      std::vector<std::uint8_t> other;
      for (const std::uint8_t group : groups) other.push_back(symmetry.group[group]);
      std::sort(other.begin(), other.end());
      if (other < groups) return;
    }
    fill(program, fill, 0);
  };
  choose(choose, 0, 0);
  return {result.begin(), result.end()};
}

Program random_program(const Fabric& fabric, std::uint32_t operations, std::uint64_t seed) {
  RandomStream random(seed, "explore.program");
  for (;;) {
    Program program;
    for (std::uint32_t i = 0; i < operations; ++i) {
      program.groups.push_back(static_cast<std::uint8_t>(random.below(fabric.groups.size() - 1)));
    }
    for (control::Rank rank = 0; rank < kRanks; ++rank) {
      std::vector<Form> choices = rank_programs(program, fabric, rank);
      program.ranks[rank] = std::move(choices[random.below(choices.size())]);
    }
    if (ends_without_switching(program, fabric)) return program;
  }
}

Program smallest_for_cached_grants() { return parse("0 2 0", {"s0 s1 s2", "s0 s2", "s1", ""}); }

Program smallest_for_naive_lock() { return parse("2 0 3 1", {"i0 s1 w0", "s1 s2", "s3 i0 w0", "s2 s3"}); }

}  // namespace photonrail::explore
