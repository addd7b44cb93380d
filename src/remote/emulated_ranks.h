// EmulatedRanks: the ranks of a job, without a job: they announce operations, "run" each for a while and announce the
// next, over real streams. For a first look at circuits that move, and for load.
//
//   neighbours   ranks 2i and 2i+1 exchange, then 2i+1 and 2i+2, and so on: with one port each, every exchange switches
//   gangs        ranks g*i .. g*i+g-1 are one ring that never changes: after the first operation nothing switches
//
// Any thread for start and counts; one for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/messages.h"
#include "remote/channel.h"

namespace photonrail::remote {

struct EmulatedRanksSpec {
  ChannelSpec channel;
  std::string job;
  std::uint64_t job_epoch = 1;
  control::Rank ranks = 4;
  control::Rank gang = 0;                          // size of a ring; 0: neighbours
  control::Rank ranks_per_stream = 1;              // more: node agents
  Duration run = std::chrono::milliseconds(10);    // of one operation
  Duration pause = std::chrono::milliseconds(50);  // between two of a rank
  bool own_connections = false;                    // a connection for each stream
  std::uint64_t seed = 1;
};

struct EmulatedRanksCounts {
  std::uint64_t attached = 0, failed = 0;  // ranks, now
  std::uint64_t rail = 0, management = 0;  // operations that have started on every member
  std::uint64_t failed_operations = 0;
  std::vector<Duration> latencies;  // from the last announcement of an operation to its last start
  std::string trouble;              // of some stream
};

class EmulatedRanks {
 public:
  static Result<std::unique_ptr<EmulatedRanks>> start(const EmulatedRanksSpec& spec);
  ~EmulatedRanks();              // finish() and goodbye
  void finish();                 // begins nothing more; waits for what runs, up to 5 s
  EmulatedRanksCounts counts();  // latencies since the last call

 private:
  struct Impl;
  explicit EmulatedRanks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::remote
