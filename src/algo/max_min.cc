#include "algo/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace photonrail::algo {
namespace {

constexpr LinkId kNoLink = std::numeric_limits<LinkId>::max();

UInt128 whole_bits(double bits_per_second) { return static_cast<UInt128>(std::llround(bits_per_second)); }

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const Activity> activities) {
  FairShare shares(std::vector<double>(capacities.begin(), capacities.end()));
  for (ActivityId id = 0; id < activities.size(); ++id) shares.add(id, activities[id].usage, activities[id].weight);
  shares.settle();
  std::vector<double> rates(activities.size());
  for (ActivityId id = 0; id < activities.size(); ++id) rates[id] = shares.rate(id);
  return rates;
}

FairShare::FairShare(std::vector<double> capacities) : links_(capacities.size()) {
  for (LinkId link = 0; link < links_.size(); ++link) {
    const double capacity = capacities[link];
    PR_CHECK(capacity >= 0 && capacity < 1e18, "a capacity must not be negative and stay below 1e18 bit/s");
    links_[link].capacity = capacity;
    links_[link].room = whole_bits(capacity);
  }
}

void FairShare::add(ActivityId id, std::span<const LinkUsage> usage, double weight) {
  PR_CHECK(weight > 0 && std::isfinite(weight), "the weight of an activity must be positive and finite");
  if (id >= activities_.size()) activities_.resize(std::size_t{id} + 1);
  ActivityState& activity = activities_[id];
  PR_CHECK(!activity.present, "an activity of this id is there already");
  activity.present = true;
  activity.fresh = true;
  activity.weight = weight;
  activity.alone = std::numeric_limits<double>::infinity();
  activity.usage.clear();
  activity.usage.reserve(usage.size());
  for (const LinkUsage& use : usage) {
    PR_CHECK(use.link < links_.size(), "an activity uses a link that does not exist");
    PR_CHECK(use.share > 0 && std::isfinite(use.share), "a share must be positive and finite");
    LinkState& link = links_[use.link];
    PR_CHECK(link.users.empty() || link.users.back().activity != id, "an activity names a link twice");
    activity.alone = std::min(activity.alone, link.capacity / use.share);
    activity.usage.push_back({use.link, static_cast<std::uint32_t>(link.users.size()), use.share});
    link.users.push_back({id, static_cast<std::uint32_t>(activity.usage.size() - 1)});
  }
  for (const Usage& use : activity.usage) {
    LinkState& link = links_[use.link];
    link.demand += whole_bits(use.share * activity.alone);
    if (tight(link)) dirty_links_.push_back(use.link);
  }
  fresh_.push_back(id);
}

void FairShare::remove(ActivityId id) {
  PR_CHECK(contains(id), "no activity of this id is there");
  ActivityState& activity = activities_[id];
  for (const Usage& use : activity.usage) {
    LinkState& link = links_[use.link];
    if (tight(link)) dirty_links_.push_back(use.link);
    link.demand -= whole_bits(use.share * activity.alone);
    const User moved = link.users.back();
    link.users[use.position] = moved;
    activities_[moved.activity].usage[moved.usage].position = use.position;
    link.users.pop_back();
  }
  activity.present = false;
  activity.usage.clear();
}

std::span<const ActivityId> FairShare::settle() {
  changed_.clear();
  ++pass_;
  for (const ActivityId id : fresh_) {
    if (activities_[id].present) solve_with(id);
  }
  for (const LinkId link : dirty_links_) {
    for (const User& user : links_[link].users) solve_with(user.activity);
  }
  fresh_.clear();
  dirty_links_.clear();
  std::sort(changed_.begin(), changed_.end());
  return changed_;
}

double FairShare::load(LinkId link) const {
  double sum = 0;
  for (const User& user : links_[link].users) {
    const ActivityState& activity = activities_[user.activity];
    sum += activity.usage[user.usage].share * activity.rate;
  }
  return sum;
}

double FairShare::level(const LinkState& link, double at_least) const {
  if (link.active == 0) return at_least;
  // Levels only rise; the guards keep rounding from turning that round.
  if (link.active_weight <= 0) return at_least;
  return std::max(at_least, (link.capacity - link.load) / link.active_weight);
}

void FairShare::solve_with(ActivityId id) {
  if (activities_[id].stamp == pass_) return;
  component_.clear();
  component_links_.clear();
  visit(id);
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    for (const User& user : links_[component_links_[next]].users) visit(user.activity);
  }
  if (component_links_.empty()) {
    set_rate(id, activities_[id].alone);
  } else {
    solve_component();
  }
}

void FairShare::visit(ActivityId id) {
  ActivityState& activity = activities_[id];
  if (activity.stamp == pass_) return;
  activity.stamp = pass_;
  component_.push_back(id);
  for (const Usage& use : activity.usage) {
    if (tight(links_[use.link])) visit_link(use.link);
  }
}

void FairShare::visit_link(LinkId link) {
  LinkState& state = links_[link];
  if (state.stamp == pass_) return;
  state.stamp = pass_;
  state.load = 0;
  state.active_weight = 0;
  state.active = 0;
  component_links_.push_back(link);
}

void FairShare::solve_component() {
  heap_.clear();
  // Sums are made in order of id, so that they do not depend on who came first.
  std::sort(component_.begin(), component_.end());
  for (const ActivityId id : component_) {
    ActivityState& activity = activities_[id];
    activity.frozen = false;
    heap_.push_back({activity.alone / activity.weight, kNoLink, id});
    for (const Usage& use : activity.usage) {
      links_[use.link].active_weight += activity.weight * use.share;
      ++links_[use.link].active;
    }
  }
  for (const LinkId link : component_links_) heap_.push_back({level(links_[link], 0), link, 0});
  const auto later = [](const HeapEntry& a, const HeapEntry& b) {
    if (a.level != b.level) return a.level > b.level;
    return a.link != b.link ? a.link > b.link : a.activity > b.activity;
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    HeapEntry& lowest = heap_.back();
    const double now = lowest.link == kNoLink ? lowest.level : level(links_[lowest.link], lowest.level);
    if (now > lowest.level) {
      lowest.level = now;
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    const HeapEntry next = lowest;
    heap_.pop_back();
    if (next.link != kNoLink) {
      saturate(next.link, now);
    } else if (!activities_[next.activity].frozen) {
      freeze(next.activity, activities_[next.activity].alone);
    }
  }
}

void FairShare::saturate(LinkId link, double at) {
  if (links_[link].active == 0) return;
  batch_.clear();
  for (const User& user : links_[link].users) {
    if (!activities_[user.activity].frozen) batch_.push_back(user.activity);
  }
  std::sort(batch_.begin(), batch_.end());
  for (const ActivityId id : batch_) freeze(id, activities_[id].weight * at);
}

void FairShare::freeze(ActivityId id, double rate) {
  ActivityState& activity = activities_[id];
  activity.frozen = true;
  for (const Usage& use : activity.usage) {
    LinkState& link = links_[use.link];
    link.load += use.share * rate;
    link.active_weight -= activity.weight * use.share;
    --link.active;
  }
  set_rate(id, rate);
}

void FairShare::set_rate(ActivityId id, double rate) {
  ActivityState& activity = activities_[id];
  if (activity.fresh || activity.rate != rate) changed_.push_back(id);
  activity.fresh = false;
  activity.rate = rate;
}

}  // namespace photonrail::algo
