// RESTCONF: requests over one connection of HTTP/1.1, with TLS or, to loopback, without.
#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <deque>
#include <optional>

#include "carrier/links.h"
#include "carrier/tcp_tuning.h"

namespace photonrail::carrier {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using Problem = boost::system::error_code;

constexpr std::uint32_t kHeaderMost = 65536;
constexpr std::size_t kRequestsMost = 64;  // that wait
constexpr const char* kYangJson = "application/yang-data+json";

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::io_context& io, const LinkSpec& spec, LinkEvents events)
      : gate(std::move(events)),
        strand_(asio::make_strand(io)),
        resolver_(strand_),
        tls_(ssl::context::tls_client),
        spec_(spec) {}

  void begin() {
    asio::post(strand_, [self = shared_from_this()] { self->open(); });
  }

  void open() {
    Problem problem;
    if (spec_.tls) problem = prepare_tls();
    if (problem) return end("TLS: " + problem.message());
    // The stream is made either way; without TLS only its lowest layer is used.
    stream_.emplace(strand_, tls_);
    lowest().expires_after(spec_.connect_within);
    resolver_.async_resolve(spec_.host, spec_.port, [self = shared_from_this()](const Problem& failed, auto found) {
      if (failed) return self->end(failed.message());
      self->lowest().async_connect(found, [self](const Problem& refused, const tcp::endpoint&) {
        if (refused) return self->end(refused.message());
        self->reached();
      });
    });
  }

  void send(device::Frame frame) {
    asio::post(strand_, [self = shared_from_this(), frame = std::move(frame)]() mutable {
      if (!self->open_) return;
      if (self->waiting_.size() >= kRequestsMost) return self->end("the switch does not answer");
      self->waiting_.push_back(std::move(frame));
      if (self->waiting_.size() == 1) self->ask();
    });
  }

  void drop() {
    gate.shut();
    asio::post(strand_, [self = shared_from_this()] { self->close(); });
  }

  Gate gate;

 private:
  beast::tcp_stream& lowest() { return stream_->next_layer(); }

  Problem prepare_tls() {
    Problem problem;
    const auto step = [&](auto&& act) {
      if (!problem) act();
    };
    step([&] {
      tls_.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, problem);
    });
    step([&] { tls_.set_verify_mode(ssl::verify_peer, problem); });
    step([&] { tls_.load_verify_file(spec_.authority_file, problem); });
    if (!spec_.certificate_file.empty()) {
      step([&] { tls_.use_certificate_chain_file(spec_.certificate_file, problem); });
      step([&] { tls_.use_private_key_file(spec_.key_file, ssl::context::pem, problem); });
    }
    step([&] { tls_.set_verify_callback(ssl::host_name_verification(expected_name()), problem); });
    return problem;
  }

  const std::string& expected_name() const { return spec_.server_name.empty() ? spec_.host : spec_.server_name; }

  void reached() {
    tune_tcp(lowest().socket().native_handle());
    if (!spec_.tls) return opened();
    ::SSL_set_tlsext_host_name(stream_->native_handle(), expected_name().c_str());
    stream_->async_handshake(ssl::stream_base::client, [self = shared_from_this()](const Problem& problem) {
      if (problem) return self->end("TLS: " + problem.message());
      self->opened();
    });
  }

  void opened() {
    if (closed_) return;
    open_ = true;
    lowest().expires_never();
    listen_for_response();
    gate.connected();
  }

  void ask() {
    if (!gate.may_write()) return end(Gate::kMayNot);
    const device::Frame& frame = waiting_.front();
    request_ = {};
    request_.method_string(frame.verb);
    request_.target(frame.target);
    request_.version(11);
    request_.set(http::field::host, fmt::format("{}:{}", spec_.host, spec_.port));
    request_.set(http::field::accept, kYangJson);
    request_.set(http::field::user_agent, "photonrail");
    if (!frame.authorization.empty()) request_.set(http::field::authorization, frame.authorization);
    if (!frame.body.empty()) request_.set(http::field::content_type, kYangJson);
    request_.body() = frame.body;
    if (frame.verb != "GET") request_.prepare_payload();
    const auto written = [self = shared_from_this()](const Problem& problem, std::size_t) {
      if (problem) self->end(problem.message());
    };
    if (spec_.tls)
      http::async_write(*stream_, request_, written);
    else
      http::async_write(lowest(), request_, written);
  }

  // Always: while nothing is asked, the only news is that the switch hangs up.
  void listen_for_response() {
    parser_.emplace();
    parser_->header_limit(kHeaderMost);
    parser_->body_limit(Link::kFrameMost);
    const auto read = [self = shared_from_this()](const Problem& problem, std::size_t) { self->on_response(problem); };
    if (spec_.tls)
      http::async_read(*stream_, buffer_, *parser_, read);
    else
      http::async_read(lowest(), buffer_, *parser_, read);
  }

  void on_response(const Problem& problem) {
    if (problem) return end(problem == http::error::end_of_stream ? "closed by the switch" : problem.message());
    if (waiting_.empty()) return end("the switch says more than it was asked");
    device::Frame answer;
    answer.verb = waiting_.front().verb;
    answer.status = static_cast<int>(parser_->get().result_int());
    const bool last = !parser_->keep_alive();
    answer.body = std::move(parser_->get().body());
    if (answer.status < 200) return listen_for_response();  // informational
    waiting_.pop_front();
    gate.frame(std::move(answer));
    if (closed_) return;
    if (last) return end("closed by the switch");
    if (!waiting_.empty()) ask();
    if (!closed_) listen_for_response();
  }

  void end(const std::string& why) {
    close();
    gate.disconnected(why);
  }

  void close() {
    closed_ = true;
    open_ = false;
    resolver_.cancel();
    if (stream_) lowest().close();
  }

  asio::strand<asio::io_context::executor_type> strand_;
  tcp::resolver resolver_;
  ssl::context tls_;
  const LinkSpec spec_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> stream_;
  beast::flat_buffer buffer_{kHeaderMost + Link::kFrameMost};
  std::optional<http::response_parser<http::string_body>> parser_;
  http::request<http::string_body> request_;
  std::deque<device::Frame> waiting_;  // the first one is on its way
  bool open_ = false, closed_ = false;
};

}  // namespace

std::shared_ptr<Link> open_http_link(asio::io_context& io, const LinkSpec& spec, LinkEvents events) {
  auto connection = std::make_shared<HttpConnection>(io, spec, std::move(events));
  connection->begin();
  return std::make_shared<HeldLink<HttpConnection>>(std::move(connection));
}

}  // namespace photonrail::carrier
