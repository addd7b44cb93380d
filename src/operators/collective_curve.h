// Time of collectives from calibrated tables: inside a scale-up domain measured, across domains by a stated rule.
//
// Inside a domain: measured time by ranks and bytes; between measured numbers of ranks straight in log2(ranks). More
// ranks than measured (8): the latency grows by what the last doubling added, the rest by the share (n - 1) / n that
// each rank sends; Basis::extended. `custom` are the one-shot and two-shot all-reduces of inference engines, where they
// are quicker than NCCL; they need NVLink.
//
// On links that were not measured the time above that of the smallest message scales with the rate, and an all-reduce
// without a switch that sums (A100, PCIe, MI300X) is twice the all-gather, as a ring is. PCIe: the share of the rate
// that copies reach, latency 5/3 of NVLink's (NCCL's own constants, src/graph/tuning.cc of 2.19: LL hops 1.0 and 0.6
// us). MI300X: 64 GB/s to each peer.
//
// Across D = ceil(ranks / g) domains of g GPUs, all NICs of a domain at work. NCCL pipelines chunks through both
// levels, so transfers overlap and latencies add. With x bytes that one rank sends (sent()), r = NIC rate * measured
// share, a the measured latency of a network hop, b = latency inside a domain per hop:
//   all_gather, reduce_scatter (ring): inside latency + (D - 1) (a + (g - 1) b) + max(x / (g r), transfer inside)
//   all_reduce: the quicker of the ring (twice those hops) and a tree: inside latency + 2 ceil(log2 D) a +
//     max(x / (0.92 g r), transfer inside)   (0.92: NCCL's own estimate of trees, ibid.)
//   all_to_all: a + the larger of the part inside and the part outside / (NIC rate * share measured with DeepEP)
//   send: measured latency and share of one NIC.
// With D = 1 network terms are absent. Networks were measured on other GPUs than most: Basis::carried_over at best. No
// table at hand gives what a collective costs while it overlaps with computation (the multiprocessors that it takes).
//
// Evaluating takes a few nanoseconds, allocates nothing; a curve is a value (250 bytes). Any thread.
#pragma once

#include <cstdint>

#include "operators/collective_tables.h"
#include "operators/kernel_time.h"

namespace photonrail::operators {

struct RankSpan {
  std::int64_t ranks = 1;
  std::int64_t per_domain = 1;  // of these ranks, how many share a scale-up domain; == ranks: all do
};

class CollectiveCurve {
 public:
  // `bytes`: all_reduce the vector of each rank; all_gather the gathered result; reduce_scatter the vector before;
  // all_to_all the vector of each rank, its own part included; send the message. 0 for one rank.
  KernelTime at(double bytes) const;
  double sent(double bytes) const { return bytes * sent_share_; }  // bytes that one rank sends

 private:
  friend class KernelModel;
  MessageTimes times_;
  double sent_share_ = 0;
  Basis basis_ = Basis::measured;
};

}  // namespace photonrail::operators
