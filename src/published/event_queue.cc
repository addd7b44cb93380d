#include "published/event_queue.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::published {
namespace {

constexpr auto kLater = [](const auto& x, const auto& y) { return x.time > y.time; };

std::size_t cache_slot(Nanoseconds time) { return (static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15ULL) >> 58; }

}  // namespace

EventQueue::EventQueue() = default;

std::uint32_t EventQueue::bucket_at(Nanoseconds time) {
  CacheEntry& cached = cache_[cache_slot(time)];
  if (cached.time == time) return cached.bucket;
  const auto [found, fresh] = by_time_.try_emplace(time, 0);
  if (fresh) {
    if (spare_.empty()) {
      spare_.push_back(static_cast<std::uint32_t>(buckets_.size()));
      buckets_.emplace_back();
    }
    found->second = spare_.back();
    spare_.pop_back();
    buckets_[found->second].time = time;
    heap_.push_back({time, found->second});
    std::push_heap(heap_.begin(), heap_.end(), kLater);
  }
  cached = {time, found->second};
  return found->second;
}

void EventQueue::push(Nanoseconds time, Event event) {
  PR_CHECK(time >= now_, "an event in the past");
  buckets_[bucket_at(time)].events.push_back(event);
  ++size_;
}

void EventQueue::retire_front() {
  const HeapEntry front = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end(), kLater);
  heap_.pop_back();
  by_time_.erase(front.time);
  CacheEntry& cached = cache_[cache_slot(front.time)];
  if (cached.time == front.time) cached.time = -1;
  Bucket& bucket = buckets_[front.bucket];
  bucket.events.clear();
  bucket.next = 0;
  spare_.push_back(front.bucket);
}

// An instant is retired with its last event, before that event runs; what the event schedules for the same instant
// opens a new bucket, which is again the earliest, so the order is kept.
Event EventQueue::pop() {
  Bucket& bucket = buckets_[heap_.front().bucket];
  now_ = bucket.time;
  ++popped_;
  --size_;
  const Event event = bucket.events[bucket.next++];
  if (bucket.next == bucket.events.size()) retire_front();
  return event;
}

}  // namespace photonrail::published
