#include "program.h"

#include <algorithm>

#include <fmt/format.h>

namespace photonrail::dst {
namespace {

using control::Rank;
using control::RegisterGroup;

constexpr Rank kColumns = 4;

void add_group(JobPlan& job, const char* kind, std::vector<Rank> members, RegisterGroup::Shape shape) {
  job.groups.push_back({fmt::format("{}-{}", kind, job.groups.size()), std::move(members), shape});
}

void make_groups(JobPlan& job, bool rings) {
  const Rank columns = job.ranks == 4 && !rings ? 2 : kColumns;
  for (Rank first = 0; first < job.ranks; first += columns) {
    if (rings) {
      std::vector<Rank> row;
      for (Rank i = 0; i < columns; ++i) row.push_back(first + i);
      add_group(job, "dp", std::move(row), RegisterGroup::Shape::ring);
    }
    for (Rank i = 0; i + 1 < columns; i += 2) {
      add_group(job, "tp", {first + i, first + i + 1}, RegisterGroup::Shape::pair);
    }
  }
  for (Rank i = 0; i + columns < job.ranks; ++i) add_group(job, "pp", {i, i + columns}, RegisterGroup::Shape::pair);
}

// The operations of one step as groups, in one order that every rank follows: runs of one group, as phases are.
std::vector<std::uint32_t> make_step(const JobPlan& job, RandomStream& random) {
  std::vector<std::uint32_t> order;
  const std::uint64_t phases = 2 + random.below(3);
  for (std::uint64_t phase = 0; phase < phases; ++phase) {
    std::vector<std::uint32_t> groups;
    for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
      if (random.below(3) > 0) groups.push_back(g);
    }
    for (std::size_t i = groups.size(); i > 1; --i) std::swap(groups[i - 1], groups[random.below(i)]);
    for (const std::uint32_t g : groups) order.insert(order.end(), 1 + random.below(4), g);
  }
  return order;
}

Duration microseconds(std::uint64_t n) { return std::chrono::microseconds(static_cast<std::int64_t>(n)); }

}  // namespace

JobPlan make_job(const std::string& name, std::uint64_t epoch, Rank ranks, bool rings, unsigned steps,
                 RandomStream& random) {
  JobPlan job{name, epoch, ranks, rings ? 2U : 1U, {}, {}, {}};
  make_groups(job, rings);
  job.programs.resize(ranks);
  job.durations.resize(job.groups.size());
  const std::vector<std::uint32_t> step = make_step(job, random);
  const bool overlaps = random.below(2) == 0;
  std::vector<std::uint64_t> count(job.groups.size(), 0);
  std::vector<std::vector<Instruction>> pending(ranks);  // waits owed
  for (unsigned s = 0; s < steps; ++s) {
    // Now and then a step is another one: a validation step, a changed schedule.
    const bool other = s > 0 && random.below(8) == 0;
    for (const std::uint32_t g : other ? make_step(job, random) : step) {
      const std::uint64_t number = ++count[g];
      job.durations[g].push_back(microseconds(200 + random.below(3000)));
      for (const Rank rank : job.groups[g].members) {
        auto& program = job.programs[rank];
        if (random.below(3) == 0)
          program.push_back({Instruction::Kind::compute, microseconds(random.below(3000)), 0, 0});
        program.push_back({Instruction::Kind::issue, {}, g, number});
        const Instruction wait{Instruction::Kind::wait, {}, g, number};
        if (overlaps && random.below(3) == 0)
          pending[rank].push_back(wait);
        else
          program.push_back(wait);
      }
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      auto& program = job.programs[rank];
      program.insert(program.end(), pending[rank].begin(), pending[rank].end());
      program.push_back({Instruction::Kind::compute, microseconds(500 + random.below(4000)), 0, 0});
      pending[rank].clear();
    }
  }
  return job;
}

}  // namespace photonrail::dst
