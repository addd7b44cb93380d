#include "runtime/reactor.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <vector>

namespace photonrail::runtime {
namespace {

struct Periodic : std::enable_shared_from_this<Periodic> {
  Periodic(boost::asio::io_context& io, Duration p, std::function<void()> w)
      : timer(io), period(p), work(std::move(w)) {}
  void arm() {
    timer.expires_after(period);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& problem) {
      if (problem) return;
      self->work();
      self->arm();
    });
  }
  boost::asio::steady_timer timer;
  Duration period;
  std::function<void()> work;
};

}  // namespace

struct Reactor::Impl {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{io.get_executor()};
  std::vector<std::shared_ptr<Periodic>> periodics;  // of the thread
  std::thread thread{[this] { io.run(); }};
};

Reactor::Reactor() : impl_(std::make_unique<Impl>()) {}
Reactor::~Reactor() { stop(); }

boost::asio::io_context& Reactor::io() { return impl_->io; }
void Reactor::post(std::function<void()> work) { boost::asio::post(impl_->io, std::move(work)); }

void Reactor::every(Duration period, std::function<void()> work) {
  auto periodic = std::make_shared<Periodic>(impl_->io, period, std::move(work));
  post([this, periodic] {
    impl_->periodics.push_back(periodic);
    periodic->arm();
  });
}

void Reactor::stop() {
  if (!impl_->thread.joinable()) return;
  post([this] {
    impl_->periodics.clear();
    impl_->io.stop();
  });
  impl_->thread.join();
}

}  // namespace photonrail::runtime
