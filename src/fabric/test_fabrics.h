// What the tests of this folder share: rates of operations on a fabric, and loads by kind of link.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "fabric/electrical.h"
#include "fabric/photonic.h"

namespace photonrail::fabric {

inline Footprint must(Result<Footprint> result) {
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result ? *result : Footprint{};
}

inline std::string error_of(const Result<Footprint>& result) { return result ? "(no error)" : result.error().message; }

// Max-min rates, in bit/s, of operations that run at once.
inline std::vector<double> rates(const Fabric& fabric, const std::vector<Footprint>& footprints) {
  std::vector<algo::Activity> activities;
  for (const Footprint& footprint : footprints) activities.push_back({footprint.usage});
  return algo::max_min_rates(fabric.capacities(), activities);
}

// Bytes per payload byte on all links of a kind together.
inline double bytes_on(const Fabric& fabric, const Footprint& footprint, LinkKind kind) {
  double sum = 0;
  for (const LinkUsage& use : footprint.usage) {
    if (fabric.links()[use.link].kind == kind) sum += use.share * footprint.bytes_per_payload;
  }
  return sum;
}

}  // namespace photonrail::fabric
