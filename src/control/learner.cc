#include "control/learner.h"

#include <algorithm>

namespace photonrail::control {

Learner::Change Learner::append(Entry entry) {
  const bool before = trusted();
  const bool right = follow(entry);
  history_.push_back(entry);
  all_.add(entry);
  ++since_search_;
  if (!trusted() && since_search_ >= std::max<std::size_t>(2, history_.size() / 8)) search();
  trim();
  if (before && !right) return Change::forgotten;
  return !before && trusted() ? Change::learnt : Change::none;
}

// Whether the entry is the one that was foreseen.
bool Learner::follow(Entry entry) {
  if (distance_ == 0) return false;
  if (history_[history_.size() - distance_] == entry) {
    ++matched_;
    if (!trusted() || ++foreseen_right_ < 2 * needed_) return true;
    foreseen_right_ = 0;
    needed_ = std::max(least_, needed_ / 2);
    return true;
  }
  if (trusted()) {
    const std::size_t caution = std::max<std::size_t>(4 * distance_, kCaution);
    const auto failed = static_cast<std::uint32_t>(std::min(2 * matched_, caution));
    needed_ = std::min(std::max(2 * needed_, failed), kMostCautious);
  }
  distance_ = matched_ = foreseen_right_ = 0;
  return false;
}

void Learner::search() {
  since_search_ = 0;
  const std::size_t n = history_.size();
  const auto at = [&](std::size_t i) { return history_[n - 1 - i]; };  // backwards
  std::vector<std::size_t> z(n, 0);
  std::size_t best = 0;
  for (std::size_t i = 1, left = 0, right = 0; i < n; ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < n && at(z[i]) == at(i + z[i])) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
    if (z[i] > (best == 0 ? 0 : z[best])) best = i;
  }
  if (best == 0) return;
  if (distance_ > 0 && z[best] <= matched_) return;
  distance_ = best;
  matched_ = z[best];
  foreseen_right_ = 0;
}

void Learner::trim() {
  if (history_.size() < kHistory) return;
  const std::size_t keep = std::max(kHistory / 2, std::min(distance_, kHistory - 1));
  history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(keep));
}

void Learner::clear() {
  history_.clear();
  all_ = {};
  distance_ = matched_ = foreseen_right_ = since_search_ = 0;
}

std::optional<Learner::Entry> Learner::foreseen(std::size_t ahead) const {
  if (!trusted()) return std::nullopt;
  return history_[history_.size() - distance_ + ahead % distance_];
}

bool Learner::ends_with(Entry entry, std::size_t count) const {
  if (history_.size() < count) return false;
  return std::all_of(history_.end() - static_cast<std::ptrdiff_t>(count), history_.end(),
                     [&](Entry e) { return e == entry; });
}

void Learner::add_to(Digest& digest) const {
  digest.add(needed_);
  digest.add(distance_);
  digest.add(matched_);
  digest.add(foreseen_right_);
  digest.add(since_search_);
  digest.add(history_.size());
  digest.add(all_.value());
}

}  // namespace photonrail::control
