// Links that carry one whole message at a time, and their common change of topology, by the published rules.
//
// Message (data/opus/README.md, rule 3): sent at t over a link of B bytes/ns it arrives at t + trunc(latency + m/B);
// the link is busy until t + trunc(m/B) + 2 latency (the artifact), or until t + trunc(m/B) (the stock simulator).
// A message that finds its link busy or down waits in the link's queue, first come first served.
//
// Change of topology (rule 8): every one of the N(N-1) ordered pairs of ranks counts as a link. Idle links are counted
// when the request is accepted, each other link whenever it becomes free with nothing that it can send; so a link
// that becomes free twice counts twice. At N(N-1) the new rates hold and every link is busy: one that keeps its rate
// for 1 ns, one that changes for delay + 1 ns. From then on the next request may be accepted, although links switch.
//
// Links between pairs of ranks that never carry a message and never change ("idle pairs") are counted, not stored:
// they become free one nanosecond after each change, in the order of (source, destination) as all others.
//
// Units: nanoseconds, bytes, bytes/ns. Thread rule: one network belongs to one run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "published/event_queue.h"
#include "published/layout.h"

namespace photonrail::published {

using LinkId = std::uint32_t;

struct Message {
  std::int64_t bytes = 0;
  EventKind arrival = EventKind::ring_arrival;
  bool first_of_collective = false;
  std::uint32_t target = 0;  // member (ring_arrival) or transfer (peer_arrival)
};

// First in, first out; keeps its storage.
class MessageQueue {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  void push(const Message& message) { items_.push_back(message); }
  Message pop();

 private:
  std::vector<Message> items_;
  std::size_t head_ = 0;
};

struct Link {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  LinkClass kind = LinkClass::none;
  bool busy = false;
  std::uint16_t frees_pending = 0;  // link_free events to come, those of a change of topology too
  double rate = 0;                  // bytes/ns now; 0: down
  Nanoseconds free_at = 0;          // of the latest link_free event
  std::uint64_t position = 0;       // among all N(N-1) links in the order (from, to)
  std::int64_t bytes_sent = 0;
  MessageQueue waiting;
};

// Timing of one message size on one rate.
struct MessageTiming {
  Nanoseconds travel = 0;  // sent to arrived
  Nanoseconds hold = 0;    // sent to link free
};

struct NetworkRules {
  double latency_ns = 936.25;
  double change_ns = 0;  // time to switch a link
  bool held_for_twice_latency = true;
};

class Network {
 public:
  Network(const Layout& layout, const LinkRates& rates, const NetworkRules& rules, EventQueue& queue);

  // Before the run: every ordered pair that will carry messages. A pair may be added twice.
  LinkId add_link(std::uint32_t from, std::uint32_t to);
  // Fixes the set of links; adds those that change between topologies. `topology` holds from the start.
  void start(std::uint32_t topology);

  void send(LinkId id, const Message& message);
  void transmit(LinkId id, const Message& message);  // needs an idle link that is up
  void on_link_free(LinkId id);
  void on_links_switched(std::uint32_t batch);

  // Rule 6. True when `topology` is the current or accepted one already, or is accepted now.
  enum class Answer : std::uint8_t { same, accepted, refused };
  Answer ask(std::uint32_t topology, std::int64_t collectives_in_flight);

  bool is_draining() const { return draining_; }
  const Link& link(LinkId id) const { return links_[id]; }
  std::size_t links() const { return links_.size(); }
  MessageTiming timing(double rate, std::int64_t bytes) const;

  // To put a link into the state that stepping would have left (see ring_plan.h).
  void restore_busy(LinkId id, Nanoseconds free_at);
  void restore_waiting(LinkId id, const Message& message) { links_[id].waiting.push(message); }
  void count_bytes(LinkId id, std::int64_t bytes) { links_[id].bytes_sent += bytes; }

  // Called with an idle link before its first message of a collective leaves; true: the caller takes it over.
  std::function<bool(const Message&)> take_over;
  std::function<void(std::uint32_t from, std::uint32_t to)> on_accepted;  // nothing is counted yet
  std::function<void(std::uint32_t topology)> on_applied;                 // the new rates hold

 private:
  struct SwitchedLinks {
    std::vector<LinkId> links;  // in order of position
    bool with_idle_pairs = false;
    bool done = true;
  };

  double rate_of(const Link& link, std::uint32_t topology) const;
  void add_changing_links();
  void drain();
  void switch_links(SwitchedLinks kept, SwitchedLinks changed, Nanoseconds changed_at);
  void count_drained(std::uint64_t links);
  void apply();
  void mark_switching(LinkId id, Nanoseconds free_at);
  std::uint32_t new_batch();
  void free_idle_pairs(std::uint64_t from, std::uint64_t to);
  std::uint64_t idle_pairs_before(LinkId id) const { return links_[id].position - order_[id]; }

  Layout layout_;
  LinkRates rates_;
  NetworkRules rules_;
  EventQueue& queue_;
  std::vector<Link> links_;
  std::vector<LinkId> by_position_;
  std::vector<std::uint32_t> order_;                                     // per link: its index in by_position_
  std::vector<std::vector<std::pair<std::uint32_t, LinkId>>> links_of_;  // per source rank

  std::uint64_t all_links_ = 0;  // N(N-1)
  std::uint64_t idle_pairs_ = 0;
  std::uint64_t idle_from_ = 0;  // idle pairs with this index or a higher one are free
  std::uint32_t topology_ = 0;
  bool draining_ = false;
  std::uint64_t drained_ = 0;
  std::uint64_t changes_ = 0;
  std::vector<SwitchedLinks> batches_;
};

}  // namespace photonrail::published
