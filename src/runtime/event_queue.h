// A queue from many threads to one, bounded. `push` refuses where it is full (for what comes from outside and can be
// turned away); `push_always` never does (for what is bounded by other means: one event for each request of our own).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace photonrail::runtime {

template <class Event>
class EventQueue {
 public:
  explicit EventQueue(std::size_t capacity) : capacity_(capacity) {}

  bool push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      if (events_.size() >= capacity_) return false;
      events_.push_back(std::move(event));
      if (!waiting_) return true;
    }
    wake_.notify_one();
    return true;
  }

  void push_always(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
      if (!waiting_) return;
    }
    wake_.notify_one();
  }

  // All that is there, in order; waits for it up to `patience`. `into` is emptied first and its memory is used again.
  void take(std::vector<Event>& into, std::chrono::nanoseconds patience) {
    into.clear();
    std::unique_lock lock(mutex_);
    if (events_.empty() && patience.count() > 0) {
      waiting_ = true;
      wake_.wait_for(lock, patience, [this] { return !events_.empty(); });
      waiting_ = false;
    }
    std::swap(into, events_);
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Event> events_;
  bool waiting_ = false;
};

}  // namespace photonrail::runtime
