// Virtual time: events in a total order of (instant, order of scheduling).
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/instant.h"

namespace photonrail::dst {

class Events {
 public:
  Instant now() const { return now_; }
  void at(Instant when, std::function<void()> act) {
    queue_.push({std::max(when, now_), next_++, std::move(act)});
  }
  void after(Duration delay, std::function<void()> act) { at(now_ + delay, std::move(act)); }

  // Runs the earliest event that is not later than `end`; false when there is none.
  bool step(Instant end) {
    if (queue_.empty() || queue_.top().when > end) return false;
    Event event = std::move(const_cast<Event&>(queue_.top()));
    queue_.pop();
    now_ = event.when;
    event.act();
    return true;
  }
  std::uint64_t count() const { return next_; }

 private:
  struct Event {
    Instant when{};
    std::uint64_t order = 0;
    std::function<void()> act;
    friend bool operator<(const Event& a, const Event& b) {
      return std::pair(a.when, a.order) > std::pair(b.when, b.order);
    }
  };
  std::priority_queue<Event> queue_;
  Instant now_{};
  std::uint64_t next_ = 0;
};

}  // namespace photonrail::dst
