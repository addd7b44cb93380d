#include "fabric/photonic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "fabric/loads.h"

namespace photonrail::fabric {
namespace {

constexpr std::int64_t kMostPorts = 1024;

std::size_t index_of(Dimension dimension) { return static_cast<std::size_t>(dimension); }

class Photonic final : public Fabric {
 public:
  Photonic(const Layout& layout, const PhotonicOptions& options)
      : Fabric("photonic", layout, options.scale_up), options_(options) {
    ports_per_gpu_ = static_cast<std::uint32_t>(options.ports);
    if (!options.split.empty()) {
      split_ = options.split.front();
    } else {
      std::vector<std::uint32_t> all(ports_per_gpu_);
      std::iota(all.begin(), all.end(), 0U);
      split_.ports.fill(all);
    }
    first_port_link_ = static_cast<LinkId>(links().size());
    const auto rate = static_cast<double>(options.port_rate.bits_per_second);
    for (Rank rank = 0; rank < layout.gpus(); ++rank) {
      for (std::uint32_t port = 0; port < ports_per_gpu_; ++port) add_link(LinkKind::port_tx, rank, port, rate);
    }
  }

 private:
  using Indices = std::span<const std::uint32_t>;

  PortId port(Rank rank, std::uint32_t index) const { return rank * ports_per_gpu_ + index; }
  void send(Rank rank, std::uint32_t index, double bytes, Loads& loads) const {
    loads.add(first_port_link_ + port(rank, index), bytes);
  }
  Indices ports_of(Dimension dimension) const { return split_.ports[index_of(dimension)]; }

  Status too_few(Dimension dimension, std::size_t members, std::size_t have) const {
    const char* hint =
        options_.split.empty() ? "raise rail.ports" : "give the dimension a larger part of the static split";
    return fail(
        ErrorCode::infeasible,
        fmt::format("a {} ring of {} members needs 2 duplex ports per GPU, one for each neighbour; it has {}: {}",
                    model::to_text(dimension), members, have, hint));
  }
  Status no_ports(Dimension dimension) const {
    return fail(ErrorCode::infeasible,
                fmt::format("the static split gives no port to the {} dimension, which sends on a rail: "
                            "give it one, or use a policy that switches",
                            model::to_text(dimension)));
  }
  // Ports that a pair uses, the first ones.
  Indices pair_ports(Indices own) const {
    return options_.pair_ports == PairPorts::all ? own : own.first(std::max<std::size_t>(1, own.size() / 2));
  }

  void add_pair(Rank a, Rank b, Indices own, double a_to_b, double b_to_a, Loads& loads) const {
    const double count = static_cast<double>(own.size());
    for (const std::uint32_t index : own) {
      send(a, index, a_to_b / count, loads);
      send(b, index, b_to_a / count, loads);
      loads.add_circuit(port(a, index), port(b, index));
    }
  }

  // Both ways round at once; `bytes` is what one member sends, on 2w ports.
  void add_ring(Collective kind, std::span<const Rank> members, Indices own, double bytes, Loads& loads) const {
    const std::size_t w = own.size() / 2;
    const std::size_t n = members.size();
    const double each = bytes / static_cast<double>(2 * w);
    const bool open_ended = kind == Collective::broadcast;  // nothing returns to the root, members[0]
    for (std::size_t i = 0; i < n; ++i) {
      const Rank next = members[(i + 1) % n];
      for (std::size_t j = 0; j < w; ++j) {
        if (!open_ended || i + 1 < n) send(members[i], own[j], each, loads);
        if (!open_ended || i != 1) send(members[i], own[w + j], each, loads);
        loads.add_circuit(port(members[i], own[j]), port(next, own[w + j]));
      }
    }
  }

  Status add_rail(Collective kind, std::span<const Rank> members, Dimension dimension, double part,
                  Loads& loads) const override {
    const Indices own = ports_of(dimension);
    const std::size_t n = members.size();
    if (own.empty()) return no_ports(dimension);
    if (n > 2 && own.size() < 2) return too_few(dimension, n, own.size());
    double bytes = part * ring_bytes(kind, n);
    std::int64_t steps = ring_steps(kind, n);
    if (kind == Collective::all_to_all) {
      // Sum of the distances to all others on a ring of n, the shorter way: floor(n^2 / 4).
      bytes = part * static_cast<double>(n * n / 4) / static_cast<double>(n);
      steps = static_cast<std::int64_t>(n / 2);
    }
    if (n == 2) {
      add_pair(members[0], members[1], pair_ports(own), bytes, kind == Collective::broadcast ? 0 : bytes, loads);
    } else {
      add_ring(kind, members, own, bytes, loads);
    }
    loads.rail_steps(steps, options_.latency);
    return {};
  }

  Status add_irregular(Collective kind, std::span<const Rank> members, Dimension dimension, Loads&) const override {
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, members.size()); ++i) {
      some += fmt::format("{}rank {} (domain {}, rail {})", i == 0 ? "" : ", ", members[i],
                          layout().domain_of(members[i]), layout().local_of(members[i]));
    }
    if (members.size() > 4) some += ", ...";
    return fail(
        ErrorCode::infeasible,
        fmt::format(
            "{} over a {} group of {} on photonic rails: {}. No circuit leaves its rail, so members must share one "
            "local index, or be the same local indices of every domain; choose degrees that fill domains, or an "
            "electrical fabric",
            model::to_text(kind), model::to_text(dimension), members.size(), some));
  }

  Status add_message(Rank source, Rank destination, Dimension dimension, Loads& loads) const override {
    if (layout().local_of(source) != layout().local_of(destination)) {
      return fail(
          ErrorCode::infeasible,
          fmt::format(
              "a {} message from rank {} (rail {}) to rank {} (rail {}): no circuit leaves its rail; send between "
              "ranks of one local index, or use an electrical fabric",
              model::to_text(dimension), source, layout().local_of(source), destination,
              layout().local_of(destination)));
    }
    const Indices own = ports_of(dimension);
    if (own.empty()) return no_ports(dimension);
    if (dimension == Dimension::pipeline && options_.pipeline_stages != 2) {
      add_link_of_chain(source, destination, own, loads);
    } else {
      add_pair(source, destination, pair_ports(own), 1, 0, loads);
    }
    loads.rail_steps(1, options_.latency);
    return {};
  }

  void add_link_of_chain(Rank source, Rank destination, Indices own, Loads& loads) const {
    const std::size_t w = std::max<std::size_t>(1, own.size() / 2);
    const Indices to_next = own.first(w);
    const Indices to_previous = own.size() > 1 ? own.subspan(w, w) : own;
    const bool forward = source < destination;
    for (std::size_t j = 0; j < w; ++j) {
      const std::uint32_t from = forward ? to_next[j] : to_previous[j];
      const std::uint32_t into = forward ? to_previous[j] : to_next[j];
      send(source, from, 1 / static_cast<double>(w), loads);
      loads.add_circuit(port(source, from), port(destination, into));
    }
  }

  PhotonicOptions options_;
  PortSplit split_;
  LinkId first_port_link_ = 0;
};

Status check_split(const PortSplit& split, std::int64_t ports) {
  std::vector<bool> taken(static_cast<std::size_t>(ports), false);
  for (std::size_t d = 0; d < kDimensions; ++d) {
    for (const std::uint32_t index : split.ports[d]) {
      const char* name = model::to_text(static_cast<Dimension>(d));
      if (index >= ports) {
        return fail(ErrorCode::invalid_input,
                    fmt::format("the split gives port {} to {}: GPUs have ports 0 to {}", index, name, ports - 1));
      }
      if (taken[index]) {
        return fail(ErrorCode::invalid_input,
                    fmt::format("the split gives port {} twice, the second time to {}", index, name));
      }
      taken[index] = true;
    }
  }
  return {};
}

}  // namespace

PhotonicOptions photonic_options(const model::Scenario& scenario) {
  PhotonicOptions options;
  options.scale_up = scenario.scale_up;
  options.ports = scenario.rail.ports;
  options.port_rate = scenario.rail.port_rate;
  options.latency = scenario.rail.latency;
  options.pipeline_stages = scenario.workload.trace.empty() ? scenario.parallelism.pipeline : 0;
  return options;
}

Result<std::unique_ptr<Fabric>> make_photonic(const Layout& layout, const PhotonicOptions& options) {
  if (options.ports < 1 || options.ports > kMostPorts) {
    return fail(ErrorCode::invalid_input,
                fmt::format("rail.ports = {}: between 1 and {} duplex ports per GPU", options.ports, kMostPorts));
  }
  if (options.ports * static_cast<std::int64_t>(layout.gpus()) > (std::int64_t{1} << 28)) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{} GPUs of {} ports: more than 2^28 ports", layout.gpus(), options.ports));
  }
  if (options.port_rate.bits_per_second <= 0 || options.scale_up.rate.bits_per_second <= 0) {
    return fail(ErrorCode::invalid_input, "rail.port_rate and scale_up.rate must be above 0");
  }
  if (options.split.size() > 1) return fail(ErrorCode::invalid_input, "a photonic fabric has one port split at most");
  if (!options.split.empty()) PR_TRY(check_split(options.split.front(), options.ports));
  return std::unique_ptr<Fabric>(std::make_unique<Photonic>(layout, options));
}

}  // namespace photonrail::fabric
