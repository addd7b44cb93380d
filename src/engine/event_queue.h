// The event queue of a deterministic simulation: events come out in the total order (time, class, schedule order).
//
// Equal times are common in a symmetric training step, so the order among them is part of the model: the class says
// what kind of event goes first, and within a class the one scheduled first goes first. There is no cancellation;
// whoever may be outrun by later knowledge puts a version into the payload and ignores stale events.
// A binary heap of 32-byte events; push and pop are O(log n). Not thread safe: one queue belongs to one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace photonrail::engine {

struct Event {
  Time at;
  std::uint64_t order = 0;  // class in the top byte, then the running number
  std::uint32_t kind = 0;   // meaning is the owner's
  std::uint32_t a = 0;
  std::uint64_t b = 0;
};

class EventQueue {
 public:
  // Schedules an event; `at` must not lie before the last event taken.
  void push(Time at, std::uint8_t event_class, std::uint32_t kind, std::uint32_t a, std::uint64_t b) {
    const std::uint64_t order = (static_cast<std::uint64_t>(event_class) << 56) | next_++;
    heap_.push_back({at, order, kind, a, b});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }

  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool later(const Event& x, const Event& y) {
    return x.at != y.at ? x.at > y.at : x.order > y.order;
  }
  std::vector<Event> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace photonrail::engine
