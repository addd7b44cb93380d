// Byte streams over TCP: SCPI and TL1.
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <deque>

#include "carrier/links.h"
#include "carrier/tcp_tuning.h"

namespace photonrail::carrier {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Problem = boost::system::error_code;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& io, const LinkSpec& spec, LinkEvents events)
      : gate(std::move(events)),
        strand_(asio::make_strand(io)),
        resolver_(strand_),
        socket_(strand_),
        timer_(strand_),
        spec_(spec) {}

  void begin() {
    asio::post(strand_, [self = shared_from_this()] { self->open(); });
  }

  void open() {
    timer_.expires_after(spec_.connect_within);
    timer_.async_wait([self = shared_from_this()](const Problem& problem) {
      if (!problem && !self->open_) self->end("no connection within the time allowed");
    });
    resolver_.async_resolve(spec_.host, spec_.port, [self = shared_from_this()](const Problem& problem, auto found) {
      if (problem) return self->end(problem.message());
      asio::async_connect(self->socket_, found, [self](const Problem& failed, const tcp::endpoint&) {
        if (failed) return self->end(failed.message());
        self->opened();
      });
    });
  }

  void send(device::Frame frame) {
    asio::post(strand_, [self = shared_from_this(), bytes = std::move(frame.body)]() mutable {
      if (!self->open_) return;
      self->unsent_ += bytes.size();
      if (self->unsent_ > Link::kUnsentMost) return self->end("the switch does not read");
      self->frames_.push_back(std::move(bytes));
      if (self->frames_.size() == 1) self->write_on();
    });
  }

  void drop() {
    gate.shut();
    asio::post(strand_, [self = shared_from_this()] { self->close(); });
  }

  Gate gate;

 private:
  void opened() {
    if (closed_) return;
    open_ = true;
    timer_.cancel();
    tune_tcp(socket_.native_handle());
    gate.connected();
    read_on();
  }

  void read_on() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const Problem& problem, std::size_t size) {
                              if (problem) return self->end(problem.message());
                              device::Frame frame;
                              frame.body.assign(self->buffer_.data(), size);
                              self->gate.frame(std::move(frame));
                              self->read_on();
                            });
  }

  void write_on() {
    if (!gate.may_write()) return end(Gate::kMayNot);
    asio::async_write(socket_, asio::buffer(frames_.front()),
                      [self = shared_from_this()](const Problem& problem, std::size_t size) {
                        if (problem) return self->end(problem.message());
                        self->unsent_ -= size;
                        self->frames_.pop_front();
                        if (!self->frames_.empty()) self->write_on();
                      });
  }

  void end(const std::string& why) {
    close();
    gate.disconnected(why);
  }

  void close() {
    closed_ = true;
    open_ = false;
    Problem ignored;
    resolver_.cancel();
    timer_.cancel();
    socket_.close(ignored);
  }

  asio::strand<asio::io_context::executor_type> strand_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  const LinkSpec spec_;
  std::array<char, 16384> buffer_{};
  std::deque<std::string> frames_;
  std::size_t unsent_ = 0;
  bool open_ = false, closed_ = false;
};

}  // namespace

std::shared_ptr<Link> open_tcp_link(asio::io_context& io, const LinkSpec& spec, LinkEvents events) {
  auto connection = std::make_shared<Connection>(io, spec, std::move(events));
  connection->begin();
  return std::make_shared<HeldLink<Connection>>(std::move(connection));
}

}  // namespace photonrail::carrier
