#include "algo/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace photonrail::algo {

std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const Activity> activities) {
  FairShare shares(std::vector<double>(capacities.begin(), capacities.end()));
  for (ActivityId id = 0; id < activities.size(); ++id) shares.add(id, activities[id].usage, activities[id].weight);
  shares.settle();
  std::vector<double> rates(activities.size());
  for (ActivityId id = 0; id < activities.size(); ++id) rates[id] = shares.rate(id);
  return rates;
}

FairShare::FairShare(std::vector<double> capacities) : links_(capacities.size()) {
  for (LinkId link = 0; link < links_.size(); ++link) set_capacity(link, capacities[link]);
  dirty_links_.clear();
}

void FairShare::add(ActivityId id, std::span<const LinkUsage> usage, double weight) {
  PR_CHECK(weight > 0 && std::isfinite(weight), "the weight of an activity must be positive and finite");
  if (id >= activities_.size()) activities_.resize(std::size_t{id} + 1);
  ActivityState& activity = activities_[id];
  PR_CHECK(!activity.present, "an activity of this id is there already");
  activity.present = true;
  activity.fresh = true;
  activity.weight = weight;
  activity.rate = 0;
  activity.usage.clear();
  activity.usage.reserve(usage.size());
  for (const LinkUsage& use : usage) {
    PR_CHECK(use.link < links_.size(), "an activity uses a link that does not exist");
    PR_CHECK(use.share > 0 && std::isfinite(use.share), "a share must be positive and finite");
    std::vector<User>& users = links_[use.link].users;
    PR_CHECK(users.empty() || users.back().activity != id, "an activity names a link twice");
    activity.usage.push_back({use.link, static_cast<std::uint32_t>(users.size()), use.share});
    users.push_back({id, static_cast<std::uint32_t>(activity.usage.size() - 1)});
    dirty_links_.push_back(use.link);
  }
  if (usage.empty()) linkless_.push_back(id);
}

void FairShare::remove(ActivityId id) {
  PR_CHECK(contains(id), "no activity of this id is there");
  ActivityState& activity = activities_[id];
  for (const Usage& use : activity.usage) {
    std::vector<User>& users = links_[use.link].users;
    const User moved = users.back();
    users[use.position] = moved;
    activities_[moved.activity].usage[moved.usage].position = use.position;
    users.pop_back();
    dirty_links_.push_back(use.link);
  }
  if (activity.usage.empty() && activity.fresh) std::erase(linkless_, id);
  activity.present = false;
  activity.usage.clear();
}

void FairShare::set_capacity(LinkId link, double capacity) {
  PR_CHECK(capacity >= 0 && std::isfinite(capacity), "a capacity must be finite and not negative");
  links_[link].capacity = capacity;
  dirty_links_.push_back(link);
}

std::span<const ActivityId> FairShare::settle() {
  changed_.clear();
  ++pass_;
  for (const ActivityId id : linkless_) set_rate(id, std::numeric_limits<double>::infinity());
  for (const LinkId link : dirty_links_) {
    if (links_[link].stamp == pass_ || links_[link].users.empty()) continue;
    collect_component(link);
    solve_component();
  }
  linkless_.clear();
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
  // Levels only rise; the guards keep rounding from turning that round.
  if (link.active_weight <= 0) return at_least;
  return std::max(at_least, (link.capacity - link.load) / link.active_weight);
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

void FairShare::collect_component(LinkId first) {
  component_.clear();
  component_links_.clear();
  visit_link(first);
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    for (const User& user : links_[component_links_[next]].users) {
      ActivityState& activity = activities_[user.activity];
      if (activity.stamp == pass_) continue;
      activity.stamp = pass_;
      component_.push_back(user.activity);
      for (const Usage& use : activity.usage) visit_link(use.link);
    }
  }
}

void FairShare::solve_component() {
  if (component_.size() == 1) {
    const ActivityState& only = activities_[component_.front()];
    double lowest = std::numeric_limits<double>::infinity();
    for (const Usage& use : only.usage) {
      lowest = std::min(lowest, links_[use.link].capacity / (only.weight * use.share));
    }
    set_rate(component_.front(), only.weight * lowest);
    return;
  }
  // Sums are made in order of id, so that they do not depend on who came first.
  std::sort(component_.begin(), component_.end());
  for (const ActivityId id : component_) {
    ActivityState& activity = activities_[id];
    activity.frozen = false;
    for (const Usage& use : activity.usage) {
      links_[use.link].active_weight += activity.weight * use.share;
      ++links_[use.link].active;
    }
  }
  const auto later = [](const HeapEntry& a, const HeapEntry& b) {
    return a.level != b.level ? a.level > b.level : a.link > b.link;
  };
  heap_.clear();
  for (const LinkId link : component_links_) heap_.push_back({level(links_[link], 0), link});
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    HeapEntry& lowest = heap_.back();
    const LinkState& link = links_[lowest.link];
    const double now = level(link, lowest.level);
    if (link.active > 0 && now > lowest.level) {
      lowest.level = now;
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    const LinkId saturated = lowest.link;
    heap_.pop_back();
    if (link.active > 0) saturate(saturated, now);
  }
}

void FairShare::saturate(LinkId link, double at) {
  batch_.clear();
  for (const User& user : links_[link].users) {
    if (!activities_[user.activity].frozen) batch_.push_back(user.activity);
  }
  std::sort(batch_.begin(), batch_.end());
  for (const ActivityId id : batch_) {
    freeze(activities_[id], at);
    set_rate(id, activities_[id].weight * at);
  }
}

void FairShare::freeze(ActivityState& activity, double at) {
  activity.frozen = true;
  for (const Usage& use : activity.usage) {
    LinkState& link = links_[use.link];
    link.load += use.share * (activity.weight * at);
    link.active_weight -= activity.weight * use.share;
    --link.active;
  }
}

void FairShare::set_rate(ActivityId id, double rate) {
  ActivityState& activity = activities_[id];
  if (activity.fresh || activity.rate != rate) changed_.push_back(id);
  activity.fresh = false;
  activity.rate = rate;
}

}  // namespace photonrail::algo
