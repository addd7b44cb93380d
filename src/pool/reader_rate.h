// The rate at which an accelerator really reads from a pool.
//
// Theory. One reader gets  r = min(share of the smallest cut, O / L) : its max-min fair share of the links that it
// uses, and, by Little's law, the bytes O that it keeps in flight over the latency L of a load. 26.8 TB/s over 600 +
// 200 ns need 21.4 MB in flight; an H100 sustains 2.0 MB at 3.35 TB/s and 600 ns. Of its bytes a share h is found in
// the HBM tier, the rest comes from DDR. Times add, for a kernel that streams through both:  1 / r = h / r_hbm + (1 -
// h) / r_ddr. With perfect overlap of the two the rate is bounded by the links alone, each loaded with its part; that
// bound is `overlapped`. L of a load: local_latency + fabric_latency, + ddr_latency for a miss, + twice fabric_latency
// for the part that comes from another appliance (its own fabric and the spine).
//
// Weights that several replicas share are stored once and read once by *each* consumer: capacity counts once, traffic
// counts for every reader.
#pragma once

#include "pool/capacity_graph.h"

namespace photonrail::pool {

// Bytes in flight for a rate, and the rate that bytes in flight allow. Bytes per second.
double bytes_in_flight(double rate, Time latency);
double concurrency_rate(double bytes, Time latency);

// Of one load; `store` local: of the accelerator's own memory.
Time load_latency(const System& system, Store store, Spread spread);

struct Sharing {
  std::int64_t sharers = 1;  // accelerators that read at once, evenly over the appliances
  double hit_rate = 1;       // share of bytes found in the HBM tier
  Spread spread = Spread::appliance;
  std::optional<Bytes> outstanding{};  // of each; absent: resolved.outstanding
};

struct EffectiveRate {     // bytes/s of one accelerator
  double rate = 0;         // times of hits and misses added
  double overlapped = 0;   // bound with perfect overlap
  double hit = 0;          // of hits alone; 0 where the pool has no HBM tier
  double miss = 0;         // of misses alone
  double cut_share = 0;    // its share of the links, whatever is in flight
  double concurrency = 0;  // bytes in flight / mean latency
  double latency = 0;      // seconds, mean
  std::string limit;       // what bounds `overlapped`, in words
};

// Errors: infeasible where the pool has no room for the sharers.
Result<EffectiveRate> effective_rate(const Resolved& pool, const Sharing& sharing);

// The max-min fair rates of streams that all want as much as they can get, bit/s; Stream::rate is not looked at.
// A hit rate below 1 makes a reader two streams that advance together: give both parts in one `Mix`.
struct Mix {
  std::int64_t reader = 0;
  bool local = false;
  double hit_rate = 1;
  Spread spread = Spread::appliance;
};
struct MixRates {
  std::vector<double> rates;       // bit/s, by mix
  std::vector<std::string> limit;  // the full link with the least room, in words
};
MixRates fair_rates(const CapacityGraph& graph, std::span<const Mix> mixes);

}  // namespace photonrail::pool
