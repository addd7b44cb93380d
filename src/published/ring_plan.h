// Timing of a ring collective whose members all send their first message at the same instant.
//
// Ring rules (data/opus/README.md, rules 3 and 4). A collective is cut into chunks, one after the other. In a chunk
// each of N members sends `steps` messages of m bytes to its successor; a member sends again 10 ns after it received,
// and after the reduction where there is one; 10 ns after the last receipt of a chunk the next chunk starts, whose
// first message leaves 10 ns later. A link that is still busy delays the message until it is free.
//
// With equal starts every member does the same at the same times, so the times of all sends follow from one
// recurrence, with a = travel and h = hold of a message:
//   ready(i) = sent(i) + a + 10 + reduction(i)      (+ 10 at the end of a chunk)
//   sent(i+1) = max(ready(i), sent(i) + h)
// What remains is the order of members within an instant. A message that was ready when its link was free leaves in
// the order in which the messages before it came in, that is, turned by one place round the ring; a message that
// waited leaves when its own link becomes free, in the order in which the link was taken. turns[i] counts the turns.
#pragma once

#include <cstdint>
#include <vector>

#include "published/network.h"

namespace photonrail::published {

// One collective on one ring.
struct RingShape {
  std::int64_t message = 0;      // bytes
  std::uint32_t steps = 0;       // messages that each member sends per chunk
  std::uint32_t reductions = 0;  // receipts 1..reductions of a chunk are reduced before the next message
  std::uint32_t chunks = 0;
  Nanoseconds reduction = 0;  // time of one reduction

  friend bool operator==(const RingShape&, const RingShape&) = default;
};

struct RingPlan {
  MessageTiming timing;
  Nanoseconds endpoint = 0;
  std::vector<Nanoseconds> sent;     // of send i, counted over all chunks, after the first
  std::vector<Nanoseconds> ready;    // when send i+1 was ready
  std::vector<std::uint32_t> turns;  // of send i
};

RingPlan make_ring_plan(const RingShape& shape, const MessageTiming& timing, Nanoseconds endpoint);

}  // namespace photonrail::published
