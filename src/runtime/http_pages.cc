#include "runtime/http_pages.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <future>

#include "runtime/reactor.h"

namespace photonrail::runtime {
namespace {

using boost::asio::ip::tcp;
using Problem = boost::system::error_code;

constexpr std::size_t kRequestMost = 8192;
constexpr auto kWithin = std::chrono::seconds(5);
constexpr int kConnectionsMost = 64;

const char* reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    default: return "Service Unavailable";
  }
}

}  // namespace

struct HttpPages::Impl : std::enable_shared_from_this<Impl> {
  Impl(Reactor& r, Handler h, Log& l) : reactor(r), acceptor(r.io()), handler(std::move(h)), log(l) {}
  void accept();
  Reactor& reactor;
  tcp::acceptor acceptor;
  const Handler handler;
  Log& log;
  int connections = 0;
};

namespace {

struct Visit : std::enable_shared_from_this<Visit> {
  Visit(tcp::socket s, std::function<void()> ended)
      : socket(std::move(s)), timer(socket.get_executor()), end(std::move(ended)) {}
  ~Visit() { end(); }

  void begin(const HttpPages::Handler& handler) {
    timer.expires_after(kWithin);
    timer.async_wait([self = weak_from_this()](const Problem& problem) {
      const auto held = self.lock();
      Problem ignored;
      if (!problem && held) held->socket.close(ignored);
    });
    boost::asio::async_read_until(socket, request, "\r\n\r\n",
                                  [self = shared_from_this(), &handler](const Problem& problem, std::size_t) {
                                    if (!problem) self->respond(handler);
                                  });
  }

  void respond(const HttpPages::Handler& handler) {
    std::istream in(&request);
    std::string method, target, version;
    in >> method >> target >> version;
    const bool http = version == "HTTP/1.1" || version == "HTTP/1.0";
    if (!http || target.empty() || target.front() != '/') return answer({400, "text/plain", "bad request\n"});
    head_only = method == "HEAD";
    if (method != "GET" && !head_only) return answer({405, "text/plain", "GET or HEAD\n"});
    handler(target.substr(0, target.find('?')), [self = shared_from_this()](Page page) {
      boost::asio::post(self->socket.get_executor(), [self, page = std::move(page)] { self->answer(page); });
    });
  }

  void answer(const Page& page) {
    text = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                       page.status, reason(page.status), page.type, page.body.size());
    if (!head_only) text += page.body;
    boost::asio::async_write(socket, boost::asio::buffer(text),
                             [self = shared_from_this()](const Problem&, std::size_t) {
                               Problem ignored;
                               self->socket.shutdown(tcp::socket::shutdown_send, ignored);
                             });
  }

  tcp::socket socket;
  boost::asio::steady_timer timer;
  const std::function<void()> end;
  boost::asio::streambuf request{kRequestMost};
  std::string text;
  bool head_only = false;
};

}  // namespace

void HttpPages::Impl::accept() {
  acceptor.async_accept([self = shared_from_this()](const Problem& problem, tcp::socket socket) {
    if (!self->acceptor.is_open()) return;
    if (!problem && self->connections < kConnectionsMost) {
      ++self->connections;
      std::make_shared<Visit>(std::move(socket), [self] { --self->connections; })->begin(self->handler);
    }
    self->accept();
  });
}

Result<std::unique_ptr<HttpPages>> HttpPages::listen(Reactor& reactor, const Endpoint& address, Handler handler,
                                                     Log& log) {
  auto impl = std::make_shared<Impl>(reactor, std::move(handler), log);
  Problem problem;
  const auto failed = [&] {
    return fail(ErrorCode::io,
                fmt::format("cannot listen on {}:{}: {}", address.host, address.port, problem.message()));
  };
  tcp::resolver resolver(reactor.io());
  const auto found = resolver.resolve(address.host, address.port, tcp::resolver::passive, problem);
  if (problem || found.empty()) return failed();
  const tcp::endpoint endpoint = found.begin()->endpoint();
  impl->acceptor.open(endpoint.protocol(), problem);
  if (problem) return failed();
  impl->acceptor.set_option(boost::asio::socket_base::reuse_address(true), problem);
  if (!problem) impl->acceptor.bind(endpoint, problem);
  if (!problem) impl->acceptor.listen(boost::asio::socket_base::max_listen_connections, problem);
  if (problem) return failed();
  reactor.post([impl] { impl->accept(); });
  return std::unique_ptr<HttpPages>(new HttpPages(std::move(impl)));
}

HttpPages::HttpPages(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpPages::~HttpPages() { close(); }

std::uint16_t HttpPages::port() const {
  Problem ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

void HttpPages::close() {
  if (!impl_) return;
  std::promise<void> done;
  impl_->reactor.post([this, &done] {
    Problem ignored;
    impl_->acceptor.close(ignored);
    done.set_value();
  });
  done.get_future().wait();
  impl_.reset();
}

}  // namespace photonrail::runtime
