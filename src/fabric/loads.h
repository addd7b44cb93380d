// Collects what one operation puts on each link, in bytes per payload byte, and turns it into a Footprint. Internal to
// this folder: fabrics fill it, Fabric reads it out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fabric/fabric.h"

namespace photonrail::fabric {

class Fabric::Loads {
 public:
  void add(LinkId link, double bytes) {
    if (bytes <= 0) return;
    loads_.push_back({link, bytes});
    if (loads_.size() >= merge_at_) merge();
  }
  void add_circuit(PortId a, PortId b) { circuits_.push_back({std::min(a, b), std::max(a, b)}); }

  // Rails work side by side, so of several calls the slowest counts; the steps inside domains come on top.
  void rail_steps(std::int64_t steps, Time each) {
    if (each * steps > rail_latency_) rail_latency_ = each * steps;
    rail_steps_ = std::max(rail_steps_, steps);
    slowest_ = std::max(slowest_, each);
    left_domain_ = true;
  }
  void scale_up_steps(std::int64_t steps, Time each) {
    scale_up_latency_ += each * steps;
    scale_up_steps_ += steps;
    if (steps > 0) slowest_ = std::max(slowest_, each);
  }

  Footprint finish(const std::vector<Link>& links);

 private:
  void merge();

  std::vector<LinkUsage> loads_;
  std::size_t merge_at_ = 1 << 14;
  std::vector<CircuitDemand> circuits_;
  Time rail_latency_;
  Time scale_up_latency_;
  Time slowest_;
  std::int64_t rail_steps_ = 0;
  std::int64_t scale_up_steps_ = 0;
  bool left_domain_ = false;
};

}  // namespace photonrail::fabric
