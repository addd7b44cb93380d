#include "runtime/switch_links.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <future>

#include "base/check.h"
#include "runtime/clock.h"
#include "runtime/reactor.h"

namespace photonrail::runtime {
namespace {

using boost::asio::ip::tcp;
using ErrorCode_ = boost::system::error_code;

constexpr auto kConnectWithin = std::chrono::seconds(5);
constexpr int kIdleSeconds = 10, kProbeSeconds = 3, kProbes = 3;  // keepalive
constexpr int kUserTimeoutMs = 10'000;                            // unacknowledged bytes

void tune(tcp::socket& socket) {
  ErrorCode_ ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  };
  set(TCP_KEEPIDLE, kIdleSeconds);
  set(TCP_KEEPINTVL, kProbeSeconds);
  set(TCP_KEEPCNT, kProbes);
  set(TCP_USER_TIMEOUT, kUserTimeoutMs);
}

}  // namespace

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

bool is_loopback(const Endpoint& endpoint) {
  if (endpoint.host == "localhost") return true;
  ErrorCode_ problem;
  const auto address = boost::asio::ip::make_address(endpoint.host, problem);
  return !problem && address.is_loopback();
}

// One connection, from the wish for it to its end. Lives on the reactor's thread.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(boost::asio::io_context& io, CoreHost& host, Log& log, daemon::SwitchId ocs, std::uint64_t generation,
       std::string name, const std::atomic<Instant>& allowed_until)
      : host_(host),
        allowed_until_(allowed_until),
        log_(log),
        ocs_(ocs),
        generation_(generation),
        name_(std::move(name)),
        resolver_(io),
        socket_(io),
        timer_(io) {}

  std::uint64_t generation() const { return generation_; }

  void open(const Endpoint& to, Counter& connections) {
    timer_.expires_after(kConnectWithin);
    timer_.async_wait([self = shared_from_this()](const ErrorCode_& problem) {
      if (!problem && !self->open_) self->end("no connection within the time allowed");
    });
    resolver_.async_resolve(
        to.host, to.port, [self = shared_from_this(), &connections](const ErrorCode_& problem, const auto& found) {
          if (problem) return self->end(problem.message());
          if (self->ended_) return;
          boost::asio::async_connect(self->socket_, found, [self, &connections](const ErrorCode_& failed, const auto&) {
            if (failed) return self->end(failed.message());
            if (self->ended_) return;
            ++connections;
            self->opened();
          });
        });
  }

  void send(std::string bytes) {
    if (ended_ || !open_) return;
    unsent_ += bytes.size();
    if (unsent_ > SwitchLinks::kUnsentMost) return end("the switch does not read");
    frames_.push_back(std::move(bytes));
    if (frames_.size() == 1) write_on();
  }

  // Without a report: the core asked for another one.
  void drop() {
    ended_ = true;
    close();
  }

 private:
  void opened() {
    open_ = true;
    timer_.cancel();
    tune(socket_);
    log_.write(Log::Level::info, "switch connected", {{"switch", name_}});
    host_.switch_connected(ocs_, generation_);
    read_on();
  }

  void read_on() {
    socket_.async_read_some(boost::asio::buffer(buffer_),
                            [self = shared_from_this()](const ErrorCode_& problem, std::size_t size) {
                              if (self->ended_) return;
                              if (problem) return self->end(problem.message());
                              device::Frame frame;
                              frame.body.assign(self->buffer_.data(), size);
                              self->host_.switch_frame(self->ocs_, self->generation_, std::move(frame));
                              self->read_on();
                            });
  }

  // Looked at at the last moment: the process may have stood still since the core decided.
  void write_on() {
    if (now() >= allowed_until_.load()) return end("leadership is over");
    boost::asio::async_write(socket_, boost::asio::buffer(frames_.front()),
                             [self = shared_from_this()](const ErrorCode_& problem, std::size_t size) {
                               if (self->ended_) return;
                               if (problem) return self->end(problem.message());
                               self->unsent_ -= size;
                               self->frames_.pop_front();
                               if (!self->frames_.empty()) self->write_on();
                             });
  }

  void end(const std::string& why) {
    if (ended_) return;
    ended_ = true;
    close();
    log_.write(Log::Level::warning, "switch disconnected", {{"switch", name_}, {"detail", why}});
    host_.switch_disconnected(ocs_, generation_);
  }

  void close() {
    ErrorCode_ ignored;
    resolver_.cancel();
    timer_.cancel();
    socket_.close(ignored);
  }

  CoreHost& host_;
  const std::atomic<Instant>& allowed_until_;
  Log& log_;
  const daemon::SwitchId ocs_;
  const std::uint64_t generation_;
  const std::string name_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::array<char, 16384> buffer_{};
  std::deque<std::string> frames_;
  std::size_t unsent_ = 0;
  bool open_ = false, ended_ = false;
};

struct SwitchLinks::Impl {
  Reactor& reactor;
  const std::vector<Endpoint> endpoints;
  Metrics& metrics;
  Log& log;
  const std::vector<std::string> names;
  CoreHost* host = nullptr;
  std::atomic<Instant> allowed_until{kNever};
  std::vector<std::shared_ptr<Link>> links;  // of the reactor's thread
};

SwitchLinks::SwitchLinks(Reactor& reactor, std::vector<Endpoint> endpoints, Metrics& metrics, Log& log,
                         std::vector<std::string> names)
    : impl_(new Impl{reactor, std::move(endpoints), metrics, log, std::move(names), nullptr, kNever, {}}) {
  impl_->links.resize(impl_->endpoints.size());
}

SwitchLinks::~SwitchLinks() { close_all(); }

void SwitchLinks::attach(CoreHost* host) { impl_->host = host; }

void SwitchLinks::connect(daemon::SwitchId ocs, std::uint64_t generation) {
  PR_CHECK(impl_->host != nullptr && ocs < impl_->endpoints.size(), "a switch of the configuration");
  impl_->reactor.post([impl = impl_.get(), ocs, generation] {
    auto& link = impl->links[ocs];
    if (link) link->drop();
    link = std::make_shared<Link>(impl->reactor.io(), *impl->host, impl->log, ocs, generation, impl->names[ocs],
                                  impl->allowed_until);
    link->open(impl->endpoints[ocs], impl->metrics.switches[ocs].connections);
  });
}

void SwitchLinks::send(daemon::SwitchId ocs, std::uint64_t generation, device::Frame frame) {
  impl_->reactor.post([impl = impl_.get(), ocs, generation, body = std::move(frame.body)]() mutable {
    const auto& link = impl->links[ocs];
    if (link && link->generation() == generation) link->send(std::move(body));
  });
}

void SwitchLinks::allow_until(Instant until) {
  impl_->allowed_until = until;
  if (until > now()) return;
  impl_->reactor.post([impl = impl_.get()] {
    for (auto& link : impl->links) {
      if (link) link->drop();
      link.reset();
    }
  });
}

void SwitchLinks::close_all() {
  std::promise<void> done;
  impl_->reactor.post([this, &done] {
    for (auto& link : impl_->links) {
      if (link) link->drop();
      link.reset();
    }
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace photonrail::runtime
