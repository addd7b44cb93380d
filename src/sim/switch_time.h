// Time of one switch, term by term (DESIGN: request + gang wait + controller + device command + dark + settle +
// NIC link-up + relock). The gang wait is simulated; every other term is sampled from a named stream of its own, one
// per rail, so that a draw in one term moves no other. A swept "switching time" replaces dark + settle + link-up +
// relock and leaves the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/random.h"
#include "base/units.h"
#include "model/scenario.h"

namespace photonrail::sim {

struct SwitchTerms {
  model::Distribution request;
  model::Distribution controller;
  model::Distribution command;
  model::Distribution dark;
  model::Distribution settle;
  model::Distribution link_up;
  model::Distribution relock;
  std::optional<Time> swept;  // in place of dark, settle, link_up, relock
};

// The sum of two delays, neither of them negative; at most Time::max().
constexpr Time sum_of_delays(Time a, Time b) { return a > Time::max() - b ? Time::max() : a + b; }

// One value of a distribution; never negative. Time::max() where it is more than 100 days, as from a wide lognormal.
Time sample(const model::Distribution& distribution, RandomStream& stream);

class SwitchTimer {
 public:
  SwitchTimer(const SwitchTerms& terms, std::uint64_t seed) : terms_(terms), seed_(seed) {}

  Time message(std::uint32_t rail);   // request + controller
  Time accepted(std::uint32_t rail);  // device command
  Time blind(std::uint32_t rail);     // from the first circuit dark to the last link usable

 private:
  enum Term : std::uint32_t { kRequest, kController, kCommand, kDark, kSettle, kLinkUp, kRelock };
  Time draw(const model::Distribution& distribution, Term term, std::uint32_t rail);

  SwitchTerms terms_;
  std::uint64_t seed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, RandomStream> streams_;
};

}  // namespace photonrail::sim
