#include "runtime/switch_links.h"

#include <fmt/format.h>

#include <atomic>
#include <future>

#include "base/check.h"
#include "runtime/clock.h"
#include "runtime/reactor.h"

namespace photonrail::runtime {

Result<Endpoint> parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto bad = [&] {
    return fail(ErrorCode::invalid_input, fmt::format("\"{}\" is no address; write host:port or [address]:port", text));
  };
  if (colon == text.npos || colon == 0 || colon + 1 == text.size()) return bad();
  Endpoint out{text.substr(0, colon), text.substr(colon + 1)};
  if (out.host.front() == '[') {
    if (out.host.back() != ']' || out.host.size() < 3) return bad();
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != out.host.npos) {
    return bad();
  }
  const bool number = out.port.size() <= 5 && out.port.find_first_not_of("0123456789") == out.port.npos;
  if (!number || std::stoul(out.port) > 65535) return bad();
  return out;
}

bool is_loopback(const Endpoint& endpoint) { return carrier::is_loopback(endpoint.host); }

struct SwitchLinks::Impl {
  struct Connection {
    std::uint64_t generation = 0;
    std::shared_ptr<carrier::Link> link;
  };

  Reactor& reactor;
  const std::vector<carrier::LinkSpec> specs;
  Metrics& metrics;
  Log& log;
  const std::vector<std::string> names;
  CoreHost* host = nullptr;
  std::atomic<Instant> allowed_until{kNever};
  std::vector<Connection> connections;  // of the reactor's thread

  // Called on threads of the links.
  carrier::LinkEvents events_of(daemon::SwitchId ocs, std::uint64_t generation) {
    carrier::LinkEvents events;
    events.connected = [this, ocs, generation] {
      ++metrics.switches[ocs].connections;
      log.write(Log::Level::info, "switch connected", {{"switch", names[ocs]}});
      host->switch_connected(ocs, generation);
    };
    events.frame = [this, ocs, generation](device::Frame frame) {
      host->switch_frame(ocs, generation, std::move(frame));
    };
    events.disconnected = [this, ocs, generation](const std::string& why) {
      log.write(Log::Level::warning, "switch disconnected", {{"switch", names[ocs]}, {"detail", why}});
      host->switch_disconnected(ocs, generation);
    };
    events.may_write = [this] { return now() < allowed_until.load(); };
    return events;
  }

  void drop_all() {
    for (Connection& connection : connections) connection.link.reset();
  }
};

SwitchLinks::SwitchLinks(Reactor& reactor, std::vector<carrier::LinkSpec> specs, Metrics& metrics, Log& log,
                         std::vector<std::string> names)
    : impl_(new Impl{reactor, std::move(specs), metrics, log, std::move(names), nullptr, kNever, {}}) {
  impl_->connections.resize(impl_->specs.size());
}

SwitchLinks::~SwitchLinks() { close_all(); }

void SwitchLinks::attach(CoreHost* host) { impl_->host = host; }

void SwitchLinks::connect(daemon::SwitchId ocs, std::uint64_t generation) {
  PR_CHECK(impl_->host != nullptr && ocs < impl_->specs.size(), "a switch of the configuration");
  impl_->reactor.post([impl = impl_.get(), ocs, generation] {
    Impl::Connection& connection = impl->connections[ocs];
    connection.link.reset();
    connection.generation = generation;
    connection.link = carrier::open_link(impl->reactor.io(), impl->specs[ocs], impl->events_of(ocs, generation));
  });
}

void SwitchLinks::send(daemon::SwitchId ocs, std::uint64_t generation, device::Frame frame) {
  impl_->reactor.post([impl = impl_.get(), ocs, generation, frame = std::move(frame)]() mutable {
    const Impl::Connection& connection = impl->connections[ocs];
    if (connection.link && connection.generation == generation) connection.link->send(std::move(frame));
  });
}

void SwitchLinks::allow_until(Instant until) {
  impl_->allowed_until = until;
  if (until > now()) return;
  impl_->reactor.post([impl = impl_.get()] { impl->drop_all(); });
}

void SwitchLinks::close_all() {
  std::promise<void> done;
  impl_->reactor.post([this, &done] {
    impl_->drop_all();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace photonrail::runtime
