// The event queue of a deterministic simulation: events come out in the total order (time, class, schedule order).
//
// Equal times are common in a symmetric training step, so the order among them is part of the model: the class says
// what kind of event goes first, and within a class the one scheduled first goes first. There is no cancellation;
// whoever may be outrun by later knowledge puts a version into the payload and ignores stale events.
//
// Events of one (time, class) share a bucket, first in first out; a binary heap orders the buckets. With n events at k
// different instants, push and pop cost O(1) and each new instant O(log k): thousands of ranks in step cost what one
// does. Not thread safe: one queue belongs to one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace photonrail::engine {

struct Event {
  Time at;
  std::uint32_t kind = 0;  // meaning is the owner's
  std::uint32_t a = 0;
  std::uint64_t b = 0;
};

class EventQueue {
 public:
  // Schedules an event; `at` must not lie before the last event taken.
  void push(Time at, std::uint8_t event_class, std::uint32_t kind, std::uint32_t a, std::uint64_t b) {
    bucket(at, event_class).payloads.push_back({b, kind, a});
    ++size_;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Time next_time() const { return buckets_[heap_.front()].at; }

  // The next event; the queue must not be empty.
  Event pop() {
    const std::uint32_t index = heap_.front();
    Bucket& first = buckets_[index];
    const Payload payload = first.payloads[first.taken++];
    const Event event{first.at, payload.kind, payload.a, payload.b};
    --size_;
    if (first.taken == first.payloads.size()) retire(index);
    return event;
  }

 private:
  struct Payload {
    std::uint64_t b;
    std::uint32_t kind;
    std::uint32_t a;
  };
  struct Bucket {
    Time at;
    std::uint8_t event_class = 0;
    std::size_t taken = 0;
    std::vector<Payload> payloads;
  };
  struct Key {
    std::int64_t at;
    std::uint8_t event_class;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = (static_cast<std::uint64_t>(key.at) * 4 + key.event_class) * 0x9e3779b97f4a7c15ULL;
      return static_cast<std::size_t>(h ^ (h >> 32));
    }
  };

  Bucket& bucket(Time at, std::uint8_t event_class) {
    const Key key{at.ps, event_class};
    if (last_ != kNone && key == last_key_) return buckets_[last_];
    auto [found, fresh] = index_.try_emplace(key, 0);
    if (fresh) found->second = open(at, event_class);
    last_ = found->second;
    last_key_ = key;
    return buckets_[last_];
  }

  std::uint32_t open(Time at, std::uint8_t event_class) {
    std::uint32_t index = static_cast<std::uint32_t>(buckets_.size());
    if (free_.empty()) {
      buckets_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    buckets_[index].at = at;
    buckets_[index].event_class = event_class;
    heap_.push_back(index);
    std::push_heap(heap_.begin(), heap_.end(), [this](auto x, auto y) { return later(x, y); });
    return index;
  }

  void retire(std::uint32_t index) {
    std::pop_heap(heap_.begin(), heap_.end(), [this](auto x, auto y) { return later(x, y); });
    heap_.pop_back();
    Bucket& bucket = buckets_[index];
    index_.erase({bucket.at.ps, bucket.event_class});
    bucket.payloads.clear();
    bucket.taken = 0;
    free_.push_back(index);
    if (last_ == index) last_ = kNone;
  }

  bool later(std::uint32_t x, std::uint32_t y) const {
    const Bucket& a = buckets_[x];
    const Bucket& b = buckets_[y];
    return a.at != b.at ? a.at > b.at : a.event_class > b.event_class;
  }

  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> heap_;
  std::unordered_map<Key, std::uint32_t, KeyHash> index_;  // looked up, never iterated
  std::uint32_t last_ = kNone;                             // bucket of the last push
  Key last_key_{0, 0};
  std::size_t size_ = 0;
};

}  // namespace photonrail::engine
