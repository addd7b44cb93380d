#include "operators/collective_curve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "operators/kernel_model.h"
#include "operators/tables.h"

namespace photonrail::operators {
namespace {

constexpr double kTreeShare = 0.92;  // collective_curve.h
constexpr double kPcieLatency = 1.0 / 0.6;
constexpr double kSlowestNvlink = 100e9;  // slower links are taken to be PCIe
constexpr double kMi300xPeer = 64e9;      // bytes/s to one peer

double& node(MessageTimes& times, int i) { return times.seconds[static_cast<std::size_t>(i)]; }
double node(const MessageTimes& times, int i) { return times.seconds[static_cast<std::size_t>(i)]; }
double latency(const MessageTimes& times) { return times.seconds.front(); }

double sent_share(Collective kind, double ranks) {
  switch (kind) {
    case Collective::all_reduce: return 2 * (ranks - 1) / ranks;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (ranks - 1) / ranks;
    case Collective::send: return 1;
  }
  return 0;
}

// A curve while it is made.
struct Draft {
  MessageTimes times;
  Basis basis = Basis::measured;
};

Draft mix(const CollectiveTable& a, const CollectiveTable& b, double share) {
  Draft draft{a.times, Basis::measured};
  for (int i = 0; i < MessageTimes::kNodes; ++i)
    node(draft.times, i) = node(a.times, i) + share * (node(b.times, i) - node(a.times, i));
  draft.times.first = std::max(a.times.first, b.times.first);
  draft.times.last = std::min(a.times.last, b.times.last);
  return draft;
}

// Makes curves of one GPU inside one domain.
class DomainTimes {
 public:
  DomainTimes(const CollectiveTables& tables, std::string gpu, const std::string& name, double scale_up, Basis basis)
      : tables_(tables), gpu_(std::move(gpu)), scale_up_(scale_up), basis_(basis), mi300x_(name == "MI300X") {}

  Draft times(Collective kind, double ranks, CollectiveLibrary library) const {
    const Draft nccl = of_library(kind, ranks, CollectiveLibrary::nccl);
    if (library == CollectiveLibrary::nccl || kind != Collective::all_reduce || pcie() || mi300x_) return nccl;
    Draft both = of_library(kind, ranks, library);
    for (int i = 0; i < MessageTimes::kNodes; ++i)
      node(both.times, i) = std::min(node(both.times, i), node(nccl.times, i));
    both.times.last = std::max(both.times.last, nccl.times.last);
    return both;
  }

 private:
  bool pcie() const { return scale_up_ < kSlowestNvlink; }
  bool sums_in_switch() const { return gpu_ != "a100" && !pcie() && !mi300x_; }

  std::vector<const CollectiveTable*> rows(const std::string& gpu, Collective kind, CollectiveLibrary library) const {
    std::vector<const CollectiveTable*> rows;
    for (const CollectiveTable& table : tables_.tables) {
      if (table.gpu == gpu && table.kind == kind && table.library == library) rows.push_back(&table);
    }
    return rows;
  }

  Draft of_library(Collective kind, double ranks, CollectiveLibrary library) const {
    // A table of its own, unless the links differ.
    const std::vector<const CollectiveTable*> own = rows(gpu_, kind, library);
    const bool same_links = !own.empty() && own.front()->rate == scale_up_ && !mi300x_;
    if (same_links && ranks <= own.back()->ranks) {
      Draft draft = by_ranks(own, ranks);
      draft.basis = basis_;
      return draft;
    }
    // GB200 was measured on up to 4 GPUs, B200, with the same links, on 8.
    const std::string near = gpu_ == "gb200" ? "b200" : gpu_;
    std::vector<const CollectiveTable*> lent = rows(near, kind, library);
    if (lent.empty() || mi300x_) lent = rows("h100", kind, library);
    PR_CHECK(!lent.empty(), "a collective without a table");
    Draft draft = kind == Collective::all_reduce && library == CollectiveLibrary::nccl && !sums_in_switch() &&
                          lent.front()->gpu != "a100"
                      ? ring_all_reduce(lent, ranks)
                      : by_ranks(lent, ranks);
    const bool same_gpu = lent.front()->gpu == gpu_ && lent.front()->rate == scale_up_;
    draft.basis = std::max({basis_, draft.basis, same_gpu ? Basis::measured : Basis::carried_over});
    scale(draft.times, ranks, *lent.front(), kind);
    return draft;
  }

  // Straight in log2(ranks); beyond the last measured number by the rule of the header.
  static Draft by_ranks(const std::vector<const CollectiveTable*>& rows, double ranks) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (ranks == rows[i]->ranks) return {rows[i]->times, Basis::measured};
      if (i > 0 && ranks < rows[i]->ranks) {
        const double span = std::log2(static_cast<double>(rows[i]->ranks) / rows[i - 1]->ranks);
        return mix(*rows[i - 1], *rows[i], std::log2(ranks / rows[i - 1]->ranks) / span);
      }
    }
    const CollectiveTable& last = *rows.back();
    Draft draft{last.times, Basis::extended};
    if (rows.size() < 2) return draft;
    const CollectiveTable& before = *rows[rows.size() - 2];
    const double doublings = std::log2(ranks / last.ranks);
    const double hop = std::max(latency(last.times) - latency(before.times), 0.0);
    const double more = sent_share(last.kind, ranks) / sent_share(last.kind, last.ranks);
    for (int i = 0; i < MessageTimes::kNodes; ++i)
      node(draft.times, i) = latency(last.times) + doublings * hop + more * (node(last.times, i) - latency(last.times));
    return draft;
  }

  // Without a switch that sums: latency of the all-reduce, twice the transfer of an all-gather.
  Draft ring_all_reduce(const std::vector<const CollectiveTable*>& reduce, double ranks) const {
    const Draft latencies = by_ranks(reduce, ranks);
    Draft draft = by_ranks(rows(reduce.front()->gpu, Collective::all_gather, CollectiveLibrary::nccl), ranks);
    const double floor = latency(draft.times);
    for (double& seconds : draft.times.seconds) seconds = latency(latencies.times) + 2 * (seconds - floor);
    return draft;
  }

  void scale(MessageTimes& times, double ranks, const CollectiveTable& lent, Collective kind) const {
    double slower = lent.rate / scale_up_;
    double latencies = 1;
    if (pcie()) {
      latencies = kPcieLatency;
      slower = reached(times, ranks, kind) / (scale_up_ * tables_.network.pcie_share);
    } else if (mi300x_) {
      const double peers = std::min(scale_up_, kMi300xPeer * (ranks - 1));
      slower = reached(times, ranks, kind) / (peers * tables_.network.mi300x_share);
    }
    const double floor = latency(times);
    for (double& seconds : times.seconds) seconds = latencies * floor + slower * (seconds - floor);
  }

  // Bytes/s that each rank sends at the largest messages.
  static double reached(const MessageTimes& times, double ranks, Collective kind) {
    const int last = MessageTimes::kNodes - 1;
    return sent_share(kind, ranks) * (MessageTimes::bytes(last) - MessageTimes::bytes(last - 1)) /
           (node(times, last) - node(times, last - 1));
  }

  const CollectiveTables& tables_;
  std::string gpu_;
  double scale_up_;
  Basis basis_;
  bool mi300x_;
};

double all_to_all_share(const NetworkConstants& network, double ranks) {
  const double at = std::clamp(std::log2(ranks / 8), 0.0, static_cast<double>(network.all_to_all_share.size() - 1));
  const std::size_t low = std::min(static_cast<std::size_t>(at), network.all_to_all_share.size() - 2);
  const double share = at - static_cast<double>(low);
  return network.all_to_all_share[low] + share * (network.all_to_all_share[low + 1] - network.all_to_all_share[low]);
}

// The rule of the header across domains. `inside`: the collective among the ranks of one domain.
struct Across {
  Collective kind = Collective::all_reduce;
  double ranks = 0;
  double domain = 0;  // ranks in one
  double domains = 0;
  double network = 0;   // bytes/s of one NIC
  MessageTimes inside;  // of one domain; of two ranks where there is one in a domain, for the launch alone
  const NetworkConstants* constants = nullptr;

  double start() const { return latency(inside); }
  double transfer_inside(int i) const { return domain > 1 ? node(inside, i) - latency(inside) : 0; }
  // Latency of one hop inside a domain, from a ring of all its ranks.
  double hop_inside() const {
    return domain > 1 ? latency(inside) / ((kind == Collective::all_reduce ? 2 : 1) * (domain - 1)) : 0;
  }

  double seconds(int i) const {
    const double bytes = MessageTimes::bytes(i);
    if (kind == Collective::send) return constants->send + bytes / (network * constants->send_share);
    if (kind == Collective::all_to_all) {
      const double outside = bytes * (ranks - domain) / ranks / (network * all_to_all_share(*constants, ranks));
      const double here = transfer_inside(i) * domain / ranks;
      return start() + constants->step + std::max(outside, here);
    }
    const double wire = bytes * sent_share(kind, ranks) / (domain * network * constants->ring_share);
    const double ring_steps = (domains - 1) * (constants->step + (domain - 1) * hop_inside());
    if (kind != Collective::all_reduce) return start() + ring_steps + std::max(wire, transfer_inside(i));
    const double ring = start() + 2 * ring_steps + std::max(wire, transfer_inside(i));
    const double tree =
        start() + 2 * std::ceil(std::log2(domains)) * constants->step + std::max(wire / kTreeShare, transfer_inside(i));
    return std::min(ring, tree);
  }
};

}  // namespace

KernelTime CollectiveCurve::at(double bytes) const {
  if (sent_share_ == 0 || !(bytes > 0)) return {0, basis_};
  const double units = bytes / MessageTimes::bytes(0);
  if (units <= 1) return {times_.seconds[0], basis_};
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(units) >> 52) - 1023;
  const int low = std::min(exponent, MessageTimes::kNodes - 2);
  const double share = units / std::bit_cast<double>(static_cast<std::uint64_t>(low + 1023) << 52) - 1;
  const double from = node(times_, low);
  const double seconds = from + share * (node(times_, low + 1) - from);
  const bool measured = low + (share > 0 ? 1 : 0) <= times_.last;
  return {seconds, measured ? basis_ : std::max(basis_, Basis::extended)};
}

CollectiveCurve KernelModel::collective(Collective kind, const RankSpan& span, CollectiveLibrary library) const {
  PR_CHECK(span.ranks > 0 && span.per_domain > 0, "a collective without ranks");
  CollectiveCurve curve;
  curve.basis_ = Basis::measured;
  if (span.ranks == 1) return curve;
  const auto ranks = static_cast<double>(span.ranks);
  const auto domain = static_cast<double>(std::min(span.per_domain, span.ranks));
  curve.sent_share_ = sent_share(kind, ranks);

  const CollectiveTables& tables = tables_->collectives;
  const DomainTimes inside(tables, own_->gpu, gpu_, rates_.scale_up, basis_);
  if (domain == ranks) {
    const Draft draft = inside.times(kind, ranks, library);
    curve.times_ = draft.times;
    curve.basis_ = draft.basis;
    return curve;
  }

  const Draft lone = inside.times(kind, std::max(domain, 2.0), CollectiveLibrary::nccl);
  Across across;
  across.kind = kind;
  across.ranks = ranks;
  across.domain = domain;
  across.domains = std::ceil(ranks / domain);
  across.network = rates_.network;
  across.inside = lone.times;
  across.constants = &tables.network;
  for (int i = 0; i < MessageTimes::kNodes; ++i) node(curve.times_, i) = across.seconds(i);
  curve.times_.last = MessageTimes::kNodes - 1;
  curve.basis_ = std::max(lone.basis, Basis::carried_over);
  return curve;
}

}  // namespace photonrail::operators
