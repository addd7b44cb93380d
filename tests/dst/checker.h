// The history checker: what may never happen, judged from the switches' own side and from what the ranks did.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "device/types.h"

namespace photonrail::dst {

struct Violation {
  std::string promise;   // "P1", ... of the list, or "liveness"
  std::string text;
};

class Checker {
 public:
  explicit Checker(std::size_t switches) : in_use_(switches), last_epoch_(switches, 0) {}

  // Traffic of one member begins and ends on these cross-connects of a switch.
  void traffic_begins(std::size_t ocs, const std::vector<device::CrossConnect>& pairs, const std::string& who);
  void traffic_ends(std::size_t ocs, const std::vector<device::CrossConnect>& pairs);
  // P1: a controller's write took these away.
  void removed(std::size_t ocs, const std::vector<device::CrossConnect>& pairs, Instant now);
  // P6: a write by the controller of this epoch reaches the switch.
  void written(std::size_t ocs, std::uint64_t epoch, Instant now);
  void violate(const std::string& promise, const std::string& text) { violations_.push_back({promise, text}); }

  bool in_use(std::size_t ocs) const { return !in_use_[ocs].empty(); }
  const std::vector<Violation>& violations() const { return violations_; }

 private:
  struct Use {
    unsigned members = 0;
    std::string who;
  };
  std::vector<std::map<device::CrossConnect, Use>> in_use_;
  std::vector<std::uint64_t> last_epoch_;
  std::vector<Violation> violations_;
};

}  // namespace photonrail::dst
