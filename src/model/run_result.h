// RunResult: everything that one run of one step produced, whichever engine made it. Reports, windows and
// explanations are computed from it alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/task_graph.h"

namespace photonrail::model {

enum class Path : std::uint8_t { scale_up, rail, management };

// One communication operation: a collective, or a send with its receive.
struct CommRecord {
  Collective collective = Collective::none;  // none: point to point
  Dimension dimension = Dimension::none;
  Path path = Path::rail;
  std::uint32_t group = 0;      // GroupId, or for point to point the source rank
  Rank leader = 0;              // lowest member rank; for point to point the source
  Rank peer = 0;                // point to point: the destination; else equal to leader
  std::uint32_t ordinal = 0;
  std::uint32_t rail = 0;       // local index of the leader; meaningful for Path::rail
  std::uint32_t stage = 0;      // pipeline stage of the leader; a p2p belongs to this stage and to stage_peer
  std::uint32_t stage_peer = 0;
  Time issued_first;            // the first member issued it
  Time issued_last;             // the last member issued it ("slowest-rank start")
  Time started;                 // granted, circuits up
  Time finished;
  Bytes wire_bytes;             // sum over members of the bytes that they put on the wire
};

// One change of circuits on one rail.
struct SwitchRecord {
  std::uint32_t rail = 0;
  std::uint32_t ports = 0;      // GPU ports that changed partner
  bool ahead = false;           // done before any operation asked for it
  Time requested;               // command decided
  Time started;                 // light goes
  Time finished;                // link up again
  Time exposed;                 // part of [requested, finished] during which a fully issued operation waited for it
};

struct RankRecord {
  Time finished;
  Time compute;                 // sum of compute durations
  Time exposed_communication;   // finished - compute
};

struct RunResult {
  Time iteration_time;          // last rank's finish
  std::vector<RankRecord> ranks;
  std::vector<CommRecord> communications;  // rail and management; scale-up only when asked for
  std::vector<SwitchRecord> switches;
  double flops = 0;             // of all ranks
  std::int64_t wire_bytes[7] = {};         // by Dimension, of all ranks, scale-up and rails together
  std::uint64_t events = 0;
  std::uint64_t mispredictions = 0;
  std::uint64_t digest = 0;     // of every event in order
};

}  // namespace photonrail::model
