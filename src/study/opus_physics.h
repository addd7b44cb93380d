// Why Photonrail's own physics gives another step time than the published simulator, reason by reason.
//
// A ladder: the first rung is the published rules; each further rung takes one of them away, keeping those before away
// too, so that the differences of neighbours add up to the whole difference. From the fourth rung on the time is
// Photonrail's (sim/simulate.h): fluid collectives that overlap with compute and use both directions of a ring,
// circuits by gang admission on four whole ports of a quarter of the rail rate each; static networks as an electrical
// rail-optimised fabric (static_eps) or as whole ports split by the root of traffic (static_ideal).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "published/published.h"
#include "workload/trace_set.h"

namespace photonrail::study {

struct Rung {
  std::string id;      // "published_rules", "members_woken", ...
  std::string reason;  // what this rung changes
  std::int64_t step_ns = 0;
  std::optional<Error> refused;  // why this rung cannot be run
};

// The published workload behind the traces, for the rungs that generate a step instead of reading one.
struct OpusJob {
  std::string model;  // catalog name
  std::int64_t layers = 96;
  std::int64_t sequence = 4096;
  std::int64_t global_batch = 256;
  std::int64_t microbatches = 16;  // of the last rung; the most up to this that the batch divides into
};

struct LadderOptions {
  bool own_physics_only = false;  // only the rung that is the same workload under Photonrail's own physics
  std::function<void(const Rung&)> done;
};

// Refuses what run_published and the importer refuse.
Result<std::vector<Rung>> physics_ladder(const workload::TraceSet& traces, const published::PublishedConfig& config,
                                         const OpusJob& job, const LadderOptions& options);

// The id of the rung "the same traces under Photonrail's own physics": true units, nothing added to the workload.
inline constexpr const char* kOwnPhysics = "operations_counted_twice";

}  // namespace photonrail::study
