#include "sim/switch_time.h"

#include <algorithm>
#include <cmath>

namespace photonrail::sim {

Time sample(const model::Distribution& d, RandomStream& stream) {
  const double typical = to_seconds(d.typical);
  double value = typical;
  switch (d.shape) {
    case model::Distribution::Shape::constant: return d.typical;
    case model::Distribution::Shape::uniform: value = stream.uniform(typical, to_seconds(d.high)); break;
    case model::Distribution::Shape::normal: value = typical * (1 + d.spread * stream.normal()); break;
    case model::Distribution::Shape::lognormal: value = typical * std::exp(d.spread * stream.normal()); break;
  }
  constexpr double kMostSeconds = 100.0 * 86400;
  if (!(value <= kMostSeconds)) return Time::max();
  return time_from_seconds(std::max(value, 0.0));
}

Time SwitchTimer::draw(const model::Distribution& distribution, Term term, std::uint32_t rail) {
  if (distribution.shape == model::Distribution::Shape::constant) return distribution.typical;
  static constexpr const char* kNames[] = {"switch.request", "switch.controller", "switch.command", "switch.dark",
                                           "switch.settle",  "switch.link_up",    "switch.relock"};
  auto found = streams_.find({term, rail});
  if (found == streams_.end()) {
    found = streams_.emplace(std::pair{static_cast<std::uint32_t>(term), rail}, RandomStream(seed_, kNames[term], rail))
                .first;
  }
  return sample(distribution, found->second);
}

Time SwitchTimer::message(std::uint32_t rail) {
  return sum_of_delays(draw(terms_.request, kRequest, rail), draw(terms_.controller, kController, rail));
}

Time SwitchTimer::accepted(std::uint32_t rail) { return draw(terms_.command, kCommand, rail); }

Time SwitchTimer::blind(std::uint32_t rail) {
  if (terms_.swept) return *terms_.swept;
  const Time light = sum_of_delays(draw(terms_.dark, kDark, rail), draw(terms_.settle, kSettle, rail));
  return sum_of_delays(light, sum_of_delays(draw(terms_.link_up, kLinkUp, rail), draw(terms_.relock, kRelock, rail)));
}

}  // namespace photonrail::sim
