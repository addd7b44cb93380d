#include "carrier/bridge.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>

namespace photonrail::carrier {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Problem = boost::system::error_code;

// Copies from one stream to the other; `done` once it has ended.
template <class From, class To>
class Copy : public std::enable_shared_from_this<Copy<From, To>> {
 public:
  Copy(From& from, To& to, std::function<void()> done) : from_(from), to_(to), done_(std::move(done)) {}

  void go_on() {
    from_.async_read_some(
        asio::buffer(buffer_), [self = this->shared_from_this()](const Problem& problem, std::size_t size) {
          if (problem) return self->done_();
          asio::async_write(self->to_, asio::buffer(self->buffer_, size), [self](const Problem& failed, std::size_t) {
            if (failed) return self->done_();
            self->go_on();
          });
        });
  }

 private:
  From& from_;
  To& to_;
  const std::function<void()> done_;
  std::array<char, 16384> buffer_{};
};

}  // namespace

Status bridge_standard_streams(const std::string& host, const std::string& port) {
  asio::io_context io(1);
  tcp::socket socket(io);
  Problem problem;
  const auto found = tcp::resolver(io).resolve(host, port, problem);
  if (!problem) asio::connect(socket, found, problem);
  asio::posix::stream_descriptor input(io), output(io);
  if (!problem) input.assign(::dup(STDIN_FILENO), problem);
  if (!problem) output.assign(::dup(STDOUT_FILENO), problem);
  if (problem) return fail(ErrorCode::io, fmt::format("cannot bridge to {}:{}: {}", host, port, problem.message()));
  const auto stop = [&] { io.stop(); };
  std::make_shared<Copy<asio::posix::stream_descriptor, tcp::socket>>(input, socket, stop)->go_on();
  std::make_shared<Copy<tcp::socket, asio::posix::stream_descriptor>>(socket, output, stop)->go_on();
  io.run();
  return {};
}

}  // namespace photonrail::carrier
