// Weighted max-min fair rates by progressive filling.
//
// Model. An activity (a flow, or a collective whose flows advance together) moves at one rate x and uses share[l] * x
// of every link l on its list. A feasible allocation keeps, on every link, sum(share * x) <= capacity. It is weighted
// max-min fair when no activity's x / weight can grow without shrinking that of one which has no more. Equivalently
// (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2): every activity has a bottleneck, a saturated link on
// which its x / weight is the largest. The allocation exists and is unique.
//
// Progressive filling. All unfrozen activities rise together, x = weight * level. Link l saturates at
//   level[l] = (capacity - load of frozen activities) / sum of weight * share of unfrozen ones,
// and an activity ends at the rate that it would have alone, alone = min over its links of capacity / share. The lowest
// level (ties: lowest link, then lowest id) freezes its activities, in order of id; repeat. level[l] only grows as
// others freeze, so a lazy heap finds the minimum: O(usages * log links) in all.
//
// Slack links. A link whose users could not overfill it if each had its alone rate, sum(share * alone) <= capacity, is
// implied by the alone rates and is left out. So the NICs and the spines of a network with full bisection do not tie
// everybody to everybody, and an activity that shares no tight link costs O(its links).
//
// Exactness. Every number depends only on the connected component (activities joined by tight links) and on ids, not
// on the order in which activities came: FairShare and max_min_rates agree bit for bit, on every compiler. The sum that
// finds slack links is kept in whole bit/s. Loads may exceed a capacity by rounding: half a bit/s for each user of the
// link, and a few parts in 1e15 for shares within six decades of each other.
//
// Units: capacities and rates in bit/s; shares and weights are plain numbers > 0. An activity without links has an
// infinite rate; one on a link of capacity 0 has rate 0. Misuse (unknown link, a link twice, share <= 0) is a bug and
// aborts. Not thread safe: one object, one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace photonrail::algo {

using LinkId = std::uint32_t;
using ActivityId = std::uint32_t;

struct LinkUsage {
  LinkId link = 0;
  double share = 1;  // part of the activity's rate that crosses the link; above 1 when several of its flows do
};

struct Activity {
  std::span<const LinkUsage> usage;  // each link at most once
  double weight = 1;
};

// The rate of each activity (bit/s), all solved at once. The index in `activities` is the id.
std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const Activity> activities);

// The same allocation kept up to date while activities come and go; only the components that changed are solved again.
class FairShare {
 public:
  explicit FairShare(std::vector<double> capacities);

  // Ids are the caller's; arrays are indexed by them, so keep them dense and reuse those of removed activities.
  void add(ActivityId id, std::span<const LinkUsage> usage, double weight = 1);
  void remove(ActivityId id);

  // Brings all rates up to date; call once per instant, after all adds and removes of that instant. Returns the
  // activities whose rate differs from before, new ones included, in order of id; valid until the next settle().
  std::span<const ActivityId> settle();

  double rate(ActivityId id) const { return activities_[id].rate; }  // as of the last settle()
  bool contains(ActivityId id) const { return id < activities_.size() && activities_[id].present; }
  double capacity(LinkId link) const { return links_[link].capacity; }
  double load(LinkId link) const;  // bit/s, as of the last settle()

 private:
  struct Usage {
    LinkId link;
    std::uint32_t position;  // of this activity in the link's users
    double share;
  };
  struct ActivityState {
    std::vector<Usage> usage;
    double weight = 1;
    double alone = 0;  // rate with nobody else there
    double rate = 0;
    std::uint32_t stamp = 0;  // visited in the pass of this number
    bool present = false;
    bool frozen = false;
    bool fresh = false;  // added since the last settle()
  };
  struct User {
    ActivityId activity;
    std::uint32_t usage;  // index into the activity's usage
  };
  struct LinkState {
    double capacity = 0;
    UInt128 room = 0;  // capacity in whole bit/s
    std::vector<User> users;
    UInt128 demand = 0;        // bit/s, if every user had its alone rate
    double load = 0;           // of frozen activities, while solving
    double active_weight = 0;  // sum of weight * share of unfrozen activities, while solving
    std::uint32_t active = 0;
    std::uint32_t stamp = 0;
  };
  // A link that saturates, or (no link) an activity that reaches its alone rate.
  struct HeapEntry {
    double level;
    LinkId link;
    ActivityId activity;
  };

  bool tight(const LinkState& link) const { return link.demand > link.room; }
  double level(const LinkState& link, double at_least) const;
  void solve_with(ActivityId id);
  void visit(ActivityId id);
  void visit_link(LinkId link);
  void solve_component();
  void saturate(LinkId link, double at);
  void freeze(ActivityId id, double rate);
  void set_rate(ActivityId id, double rate);

  std::vector<LinkState> links_;
  std::vector<ActivityState> activities_;
  std::vector<LinkId> dirty_links_;  // tight ones whose users came or went; repeats allowed
  std::vector<ActivityId> fresh_;
  std::vector<ActivityId> changed_;
  std::vector<ActivityId> component_;
  std::vector<LinkId> component_links_;
  std::vector<ActivityId> batch_;
  std::vector<HeapEntry> heap_;
  std::uint32_t pass_ = 0;
};

}  // namespace photonrail::algo
