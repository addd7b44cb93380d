// One training step by the published simulator's rules, to the nanosecond.
//
// The rules are those of the artifact of "Opus: Photonic Rail-Optimized Fabric in ML Datacenters" (opusfabric/Opus
// @795ee5b3, which extends ASTRA-sim's congestion-aware backend); docs/models/published-rules.md states all of them,
// layout.h, network.h, ring_plan.h and npu.h those that they implement. They are kept to compare with published
// numbers, not because they are right: the ablations `wake_members` and `link_held_for_twice_latency` and the
// comparison with Photonrail's own physics say what each costs.
//
// Units: nanoseconds, bytes; GB/s of links mean 2^30 bytes per second unless the configuration says otherwise.
// Thread rule: runs share nothing but the TraceSet, which they only read; any number may run at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/trace_set.h"

namespace photonrail::published {

enum class Mode : std::uint8_t {
  static_eps,    // all links at once, each at its class's full rate
  static_ideal,  // all links at once, one bandwidth budget split by the square root of traffic
  on_demand,     // circuits follow the operations
  provisioned,   // and are asked for after the last operation of the phase before
};

// GB/s per link (GB = 2^30).
struct ClassRates {
  double data = 0;
  double tensor = 0;
  double pipeline = 0;
};

struct PublishedConfig {
  std::uint32_t dp = 1;
  std::uint32_t pp = 1;
  std::uint32_t tp = 1;
  double scale_out_GBps = 50;
  double scale_up_GBps = 450;
  double latency_ns = 936.25;
  std::int64_t endpoint_delay_ns = 10;
  std::uint32_t splits = 4;  // chunks per collective
  double peak_tflops = 989;
  double local_memory_GBps = 4800;  // GB = 1e9
  Mode mode = Mode::static_eps;
  std::optional<ClassRates> split;  // static_ideal: given instead of computed
  double delay_ms = 0;              // time to switch a link

  // Conventions of the traces. The published ones count an element as a byte, a multiply-accumulate as an operation
  // and a GB/s of a link as 2^30 bytes per second.
  std::int64_t bytes_per_element = 1;
  std::int64_t operations_per_count = 1;
  double bytes_per_gigabyte = 1073741824.0;

  bool wake_members = false;                // true: a vote that completes wakes all members at once (ablation)
  bool link_held_for_twice_latency = true;  // false: the stock simulator's link rule (ablation)
  bool fast = true;                         // false: steps every ring message; same results, slower
  bool keep_log = false;                    // fill PublishedResult::log
  bool keep_nodes = false;                  // fill PublishedResult::nodes
};

// What happened, in the order of the simulation.
struct LogEntry {
  enum class Kind : std::uint8_t { communication, accepted, applied, leader } kind = Kind::communication;
  std::uint32_t rank = 0;  // communication, leader
  std::int32_t index = 0;  // communication: n-th of its rank; leader: group id; accepted: topology before
  std::int32_t what = 0;   // communication: -2 tensor, -1 data, else peer rank; accepted, applied: topology after
  std::int64_t at_ns = 0;
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

struct NodeTimes {
  std::uint32_t rank = 0;
  std::uint64_t node = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct RankResult {
  std::int64_t finish_ns = 0;
  std::int64_t exposed_ns = 0;  // finish - compute, the artifact's "exposed communication"
};

// A rank asks for a topology after its communication `index`: its own stage in data mode (target -1), or its own and
// the target rank's stage in pipeline mode.
struct ProvisionEntry {
  std::uint32_t rank = 0;
  std::int32_t target = 0;
  std::int32_t index = 0;
  friend bool operator==(const ProvisionEntry&, const ProvisionEntry&) = default;
};

struct RingTraffic {
  std::int64_t data = 0;  // bytes on all links of the class
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;
};

struct PublishedResult {
  std::vector<RankResult> ranks;
  std::int64_t first_rank_ns = 0;      // finish of rank 0 ("sys0")
  std::int64_t last_ns = 0;            // finish of the rank that finishes last: the step time
  std::int64_t last_exposed_ns = 0;    // of that rank
  std::uint64_t reconfigurations = 0;  // requests accepted
  std::uint64_t refused = 0;
  std::uint64_t same = 0;                 // requests for the topology that holds
  std::vector<std::uint32_t> topologies;  // ids, the first included
  std::vector<ProvisionEntry> provision;  // mode provisioned: the list that was used
  ClassRates rates;                       // used, GB/s
  RingTraffic traffic;
  std::uint64_t events = 0;
  std::vector<LogEntry> log;
  std::vector<NodeTimes> nodes;
};

// Refuses a configuration that does not fit the traces (ranks, groups that no topology joins), node types and sizes
// that the published simulator cannot run, and a run that can never finish (ErrorCode::deadlock, with the waiters).
Result<PublishedResult> run_published(const workload::TraceSet& traces, const PublishedConfig& config);

// Bytes that the ring collectives and the pipeline send, from the traces alone.
Result<RingTraffic> ring_traffic(const workload::TraceSet& traces, const PublishedConfig& config);

// Square-root split: budget = max(PP, DP links) x scale-out + TP links x scale-up per rank (2, 2 and tp - 1 links),
// class share ~ sqrt(traffic), per link = share / links. Source: reference to the artifact in published-rules.md.
ClassRates square_root_split(const RingTraffic& traffic, const PublishedConfig& config);

// The provisioning list that follows from a run without provisioning: for every change of kind among a rank's rail
// operations (in completion order), the index of the rail operation before the change; 0 before the first.
std::vector<ProvisionEntry> derive_provision(const std::vector<LogEntry>& log, std::uint32_t ranks);

}  // namespace photonrail::published
