// Pending events in time order; events of one instant leave in the order in which they came.
//
// Published rule (ASTRA-sim's event queue): events at the same tick run in the order they were scheduled, also those
// scheduled for the current tick while it runs. Ranks work in lock-step, so one instant holds many events: they share
// a bucket, and only distinct instants are ordered.
//
// Thread rule: one queue belongs to one run.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace photonrail::published {

using Nanoseconds = std::int64_t;

enum class EventKind : std::uint8_t {
  npu_batch,       // a: rank; everything that the rank registered for this tick
  ring_arrival,    // a: member that receives
  peer_arrival,    // a: transfer
  link_free,       // a: link
  links_switched,  // a: entry of the list of links that become free together after a change of topology
  ring_receive,    // a: member; a receive that was posted after its message had come
  peer_receive,    // a: transfer; the same between pipeline stages
  ring_resume,     // a: member, b: epoch; the last message of a collective that was computed instead of stepped
  wake,            // a: rank; tries its ready operations again
};

struct Event {
  EventKind kind = EventKind::npu_batch;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

class EventQueue {
 public:
  EventQueue();
  void push(Nanoseconds time, Event event);
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return size_; }
  Nanoseconds next_time() const { return heap_.front().time; }  // needs !empty()
  Event pop();                                                  // needs !empty(); now() becomes the event's time
  Nanoseconds now() const { return now_; }
  std::uint64_t popped() const { return popped_; }

 private:
  struct Bucket {
    Nanoseconds time = 0;
    std::vector<Event> events;
    std::size_t next = 0;
  };
  struct HeapEntry {
    Nanoseconds time;
    std::uint32_t bucket;
  };
  struct CacheEntry {
    Nanoseconds time = -1;
    std::uint32_t bucket = 0;
  };

  std::uint32_t bucket_at(Nanoseconds time);
  void retire_front();

  Nanoseconds now_ = 0;
  std::uint64_t popped_ = 0;
  std::size_t size_ = 0;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> spare_;
  std::vector<HeapEntry> heap_;
  std::unordered_map<Nanoseconds, std::uint32_t> by_time_;  // looked up only, never iterated
  std::array<CacheEntry, 64> cache_;
};

}  // namespace photonrail::published
