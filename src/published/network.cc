#include "published/network.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::published {

Message MessageQueue::pop() {
  const Message front = items_[head_++];
  if (head_ == items_.size()) {
    items_.clear();
    head_ = 0;
  }
  return front;
}

Network::Network(const Layout& layout, const LinkRates& rates, const NetworkRules& rules, EventQueue& queue)
    : layout_(layout), rates_(rates), rules_(rules), queue_(queue), links_of_(layout.ranks()) {
  const std::uint64_t n = layout.ranks();
  all_links_ = n * (n - 1);
}

LinkId Network::add_link(std::uint32_t from, std::uint32_t to) {
  for (const auto& [peer, id] : links_of_[from]) {
    if (peer == to) return id;
  }
  const auto id = static_cast<LinkId>(links_.size());
  Link link;
  link.from = from;
  link.to = to;
  link.kind = layout_.link_class(from, to);
  link.position = static_cast<std::uint64_t>(from) * (layout_.ranks() - 1) + to - (to > from ? 1 : 0);
  links_.push_back(std::move(link));
  links_of_[from].emplace_back(to, id);
  return id;
}

void Network::add_changing_links() {
  const std::uint32_t stage_size = layout_.dp * layout_.tp;
  for (std::uint32_t rank = 0; rank < layout_.ranks(); ++rank) {
    const std::uint32_t block = rank - rank % layout_.dp;
    for (const std::uint32_t step : {1U, layout_.dp - 1}) {
      const std::uint32_t to = block + (rank % layout_.dp + step) % layout_.dp;
      if (to != rank) add_link(rank, to);
    }
    for (const std::uint32_t step : {1U, layout_.pp - 1}) {
      const std::uint32_t to = (rank + step * stage_size) % layout_.ranks();
      if (to != rank) add_link(rank, to);
    }
  }
}

void Network::start(std::uint32_t topology) {
  topology_ = topology;
  if (topology != Layout::kEverything) add_changing_links();
  by_position_.resize(links_.size());
  for (LinkId id = 0; id < links_.size(); ++id) by_position_[id] = id;
  std::sort(by_position_.begin(), by_position_.end(),
            [this](LinkId x, LinkId y) { return links_[x].position < links_[y].position; });
  order_.resize(links_.size());
  for (std::uint32_t i = 0; i < by_position_.size(); ++i) order_[by_position_[i]] = i;
  for (Link& link : links_) link.rate = rate_of(link, topology);
  idle_pairs_ = all_links_ - links_.size();
  if (topology == Layout::kEverything) return;
  // The first topology is installed like every other, without time to switch: all links are free from 1 ns on.
  for (LinkId id = 0; id < links_.size(); ++id) mark_switching(id, 1);
  switch_links({by_position_, true, false}, {}, 1);
}

double Network::rate_of(const Link& link, std::uint32_t topology) const {
  if (!layout_.is_up(topology, link.from, link.to)) return 0;
  switch (link.kind) {
    case LinkClass::tensor: return rates_.tensor;
    case LinkClass::data: return rates_.data;
    case LinkClass::pipeline: return rates_.pipeline;
    case LinkClass::none: break;
  }
  return 0;
}

MessageTiming Network::timing(double rate, std::int64_t bytes) const {
  const double transfer = static_cast<double>(bytes) / rate;
  MessageTiming timing;
  timing.travel = static_cast<Nanoseconds>(rules_.latency_ns + transfer);
  timing.hold = static_cast<Nanoseconds>(transfer);
  if (rules_.held_for_twice_latency) timing.hold += static_cast<Nanoseconds>(2 * rules_.latency_ns);
  return timing;
}

void Network::send(LinkId id, const Message& message) {
  Link& link = links_[id];
  if (link.busy || link.rate == 0) {
    link.waiting.push(message);
    return;
  }
  transmit(id, message);
}

void Network::transmit(LinkId id, const Message& message) {
  if (message.first_of_collective && take_over && take_over(message)) return;
  Link& link = links_[id];
  const MessageTiming timing = this->timing(link.rate, message.bytes);
  queue_.push(queue_.now() + timing.travel, {message.arrival, message.target, 0});
  link.bytes_sent += message.bytes;
  restore_busy(id, queue_.now() + timing.hold);
}

void Network::restore_busy(LinkId id, Nanoseconds free_at) {
  Link& link = links_[id];
  link.busy = true;
  link.free_at = free_at;
  ++link.frees_pending;
  queue_.push(free_at, {EventKind::link_free, id, 0});
}

void Network::on_link_free(LinkId id) {
  Link& link = links_[id];
  --link.frees_pending;
  link.busy = false;
  if (link.waiting.empty() || link.rate == 0) {
    count_drained(1);
    return;
  }
  transmit(id, link.waiting.pop());
}

void Network::count_drained(std::uint64_t links) {
  if (!draining_) return;
  drained_ += links;
  if (drained_ >= all_links_) apply();
}

Network::Answer Network::ask(std::uint32_t topology, std::int64_t collectives_in_flight) {
  if (topology == topology_) return Answer::same;
  if (draining_ || collectives_in_flight > 0) return Answer::refused;
  if (on_accepted) on_accepted(topology_, topology);
  topology_ = topology;
  drain();
  return Answer::accepted;
}

void Network::drain() {
  draining_ = true;
  drained_ = 0;
  std::uint64_t idle = idle_pairs_ - idle_from_;
  for (const Link& link : links_) idle += link.busy ? 0 : 1;
  count_drained(idle);
}

std::uint32_t Network::new_batch() {
  for (std::uint32_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].done) return i;
  }
  batches_.emplace_back();
  return static_cast<std::uint32_t>(batches_.size() - 1);
}

void Network::mark_switching(LinkId id, Nanoseconds free_at) {
  Link& link = links_[id];
  link.busy = true;
  link.free_at = free_at;
  ++link.frees_pending;
}

void Network::apply() {
  draining_ = false;
  drained_ = 0;
  ++changes_;
  const Nanoseconds now = queue_.now();
  const auto changed_at = static_cast<Nanoseconds>(static_cast<double>(now) + rules_.change_ns + 1);
  SwitchedLinks kept, changed;
  for (const LinkId id : by_position_) {
    const double rate = rate_of(links_[id], topology_);
    const bool same = rate == links_[id].rate;
    links_[id].rate = rate;
    mark_switching(id, same ? now + 1 : changed_at);
    // With no time to switch, both kinds become free in one instant and in one order.
    (same || changed_at == now + 1 ? kept : changed).links.push_back(id);
  }
  switch_links(std::move(kept), std::move(changed), changed_at);
  if (on_applied) on_applied(topology_);
}

void Network::switch_links(SwitchedLinks kept, SwitchedLinks changed, Nanoseconds changed_at) {
  idle_from_ = idle_pairs_;
  kept.with_idle_pairs = true;
  kept.done = changed.done = false;
  const std::uint32_t slot = new_batch();
  batches_[slot] = std::move(kept);
  queue_.push(queue_.now() + 1, {EventKind::links_switched, slot, 0});
  if (changed.links.empty()) return;
  const std::uint32_t later = new_batch();
  batches_[later] = std::move(changed);
  queue_.push(changed_at, {EventKind::links_switched, later, 0});
}

// Idle pairs [from, to) become free one after the other. If the count is complete in the middle, the change of
// topology makes all of them busy, and those still to come become free at once by the events of the change before.
void Network::free_idle_pairs(std::uint64_t from, std::uint64_t to) {
  if (!draining_ || drained_ + (to - from) < all_links_) {
    if (draining_) drained_ += to - from;
    return;
  }
  const std::uint64_t completing = from + (all_links_ - drained_) - 1;
  apply();
  idle_from_ = completing + 1;
}

void Network::on_links_switched(std::uint32_t batch) {
  const SwitchedLinks switched = std::move(batches_[batch]);
  batches_[batch] = SwitchedLinks{};
  std::uint64_t next_idle = 0;
  std::uint64_t idle_from = 0;
  const auto free_up_to = [&](std::uint64_t end) {
    const std::uint64_t changes = changes_;
    free_idle_pairs(next_idle, end);
    if (changes_ != changes) idle_from = idle_from_;
    next_idle = end;
  };
  for (const LinkId id : switched.links) {
    if (switched.with_idle_pairs) free_up_to(idle_pairs_before(id));
    const std::uint64_t changes = changes_;
    on_link_free(id);
    if (changes_ != changes) idle_from = next_idle;
  }
  if (!switched.with_idle_pairs) return;
  free_up_to(idle_pairs_);
  idle_from_ = idle_from;
}

}  // namespace photonrail::published
