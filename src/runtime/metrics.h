// What the daemon counts, and the page of it in Prometheus' text format (version 0.0.4).
// Counters and histograms may be written from any thread; render() reads them as they are.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "daemon/core.h"

namespace photonrail::runtime {

using Counter = std::atomic<std::uint64_t>;

// Durations by upper bounds, in nanoseconds, ascending; the last bucket has none.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = 24;
  explicit Histogram(std::span<const double> bounds_seconds);
  void add(Duration value);
  std::size_t bounds() const { return bounds_.size(); }
  double bound_seconds(std::size_t i) const { return bounds_[i]; }
  std::uint64_t count(std::size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  double sum_seconds() const;

 private:
  std::vector<double> bounds_;
  std::array<Counter, kBuckets + 1> counts_{};
  std::atomic<std::int64_t> sum_ns_{0};
};

struct SwitchMetrics {
  explicit SwitchMetrics(std::string switch_name);
  std::string name;
  Histogram switching;  // of intents, from wish to settled light
  Histogram settling;   // from the last frame of a write to settled light
  Counter intents_done{0}, intents_failed{0}, retries{0}, unknown_outcomes{0}, connections{0}, frames_sent{0};
};

struct Metrics {
  explicit Metrics(const std::vector<std::string>& switches);

  Histogram grant_announced;  // from receipt of the announcement that completed a gang to its last grant on a socket
  Histogram grant_switched;   // from receipt of the switch's word to the last grant on a socket
  Histogram journal_sync;     // of one group of records
  Histogram core_batch;       // time that the core's thread works without looking at its queue
  Counter grants_rail{0}, grants_management{0}, refusals{0}, stops{0};
  Counter rank_messages{0}, rank_frames{0}, malformed{0}, denied{0}, slow_clients{0}, streams_opened{0};
  Counter operator_calls{0}, operator_refused{0}, records{0}, audit_records{0}, compactions{0}, core_ticks{0};
  std::atomic<std::int64_t> streams{0}, ranks{0}, queue_depth{0}, journal_bytes{0}, lease_age_ns{0};
  std::deque<SwitchMetrics> switches;  // by SwitchId; a deque because atomics do not move
};

// `status`: jobs and switches as the core has them.
std::string render(const Metrics& metrics, const daemon::StatusReport& status, std::string_view version);

}  // namespace photonrail::runtime
