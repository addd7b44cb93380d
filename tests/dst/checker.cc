#include "checker.h"

#include <fmt/format.h>

#include "base/check.h"

namespace photonrail::dst {

void Checker::traffic_begins(std::size_t ocs, const std::vector<device::CrossConnect>& pairs, const std::string& who) {
  for (const device::CrossConnect& pair : pairs) {
    Use& use = in_use_[ocs][pair];
    ++use.members;
    use.who = who;
  }
}

void Checker::traffic_ends(std::size_t ocs, const std::vector<device::CrossConnect>& pairs) {
  for (const device::CrossConnect& pair : pairs) {
    const auto found = in_use_[ocs].find(pair);
    PR_CHECK(found != in_use_[ocs].end(), "traffic ends that did not begin");
    if (--found->second.members == 0) in_use_[ocs].erase(found);
  }
}

void Checker::removed(std::size_t ocs, const std::vector<device::CrossConnect>& pairs, Instant now) {
  for (const device::CrossConnect& pair : pairs) {
    const auto found = in_use_[ocs].find(pair);
    if (found == in_use_[ocs].end()) continue;
    violate("P1", fmt::format("{} us: switch {}: {} -> {} is taken away under {}",
                              now.time_since_epoch().count() / 1000, ocs, pair.in, pair.out, found->second.who));
  }
}

void Checker::written(std::size_t ocs, std::uint64_t epoch, Instant now) {
  if (epoch < last_epoch_[ocs]) {
    violate("P6", fmt::format("{} us: switch {}: a write of epoch {} after one of epoch {}",
                              now.time_since_epoch().count() / 1000, ocs, epoch, last_epoch_[ocs]));
  }
  last_epoch_[ocs] = std::max(last_epoch_[ocs], epoch);
}

}  // namespace photonrail::dst
