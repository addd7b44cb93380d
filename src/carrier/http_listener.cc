// RESTCONF: HTTP/1.1, with TLS where it is asked for.
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <deque>

#include "carrier/acceptor.h"
#include "carrier/tcp_tuning.h"

namespace photonrail::carrier {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;

constexpr std::uint32_t kHeaderMost = 65536;
constexpr auto kHandshakeWithin = std::chrono::seconds(10);

class HttpPeer : public std::enable_shared_from_this<HttpPeer> {
 public:
  HttpPeer(Tcp::socket socket, PeerContext context, std::shared_ptr<ssl::context> tls, ssl::context& unused)
      : tls_(std::move(tls)), stream_(std::move(socket), tls_ ? *tls_ : unused), context_(std::move(context)) {}

  void begin() {
    tune_tcp(lowest().socket().native_handle());
    if (!tls_) return opened();
    lowest().expires_after(kHandshakeWithin);
    stream_.async_handshake(ssl::stream_base::server, [self = shared_from_this()](const Problem& problem) {
      if (self->closed_) return;
      if (problem) return self->end();
      self->opened();
    });
  }

  // Status 0: bytes that are no answer, as a broken box sends them.
  void send(device::Frame frame) {
    if (closed_ || closing_) return;
    unsent_ += frame.body.size();
    if (unsent_ > Listener::kUnsentMost) return end();
    writes_.push_back(std::move(frame));
    if (writes_.size() == 1) write_on();
  }

  void close_after_writes() {
    closing_ = true;
    if (writes_.empty()) end();
  }

  void close_now() {
    closed_ = true;
    lowest().close();
  }

 private:
  beast::tcp_stream& lowest() { return stream_.next_layer(); }

  void opened() {
    opened_ = true;
    lowest().expires_never();
    context_.events->opened(context_.id);
    read_on();
  }

  void read_on() {
    parser_.emplace();
    parser_->header_limit(kHeaderMost);
    parser_->body_limit(Listener::kFrameMost);
    const auto read = [self = shared_from_this()](const Problem& problem, std::size_t) {
      if (self->closed_) return;
      if (problem) return self->end();
      self->take();
      if (!self->closed_) self->read_on();
    };
    if (tls_)
      http::async_read(stream_, buffer_, *parser_, read);
    else
      http::async_read(lowest(), buffer_, *parser_, read);
  }

  void take() {
    auto request = parser_->release();
    if (!request.keep_alive()) last_ = true;
    device::Frame frame{std::string(request.method_string()), std::string(request.target()), 0,
                        std::move(request.body())};
    frame.authorization = std::string(request[http::field::authorization]);
    context_.events->frame(context_.id, std::move(frame));
  }

  void write_on() {
    device::Frame& frame = writes_.front();
    const auto written = [self = shared_from_this()](const Problem& problem, std::size_t) {
      self->on_written(problem);
    };
    if (frame.status == 0) {
      if (tls_)
        asio::async_write(stream_, asio::buffer(frame.body), written);
      else
        asio::async_write(lowest(), asio::buffer(frame.body), written);
      return;
    }
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(frame.status));
    response_.keep_alive(!last_);
    if (!frame.body.empty()) response_.set(http::field::content_type, "application/yang-data+json");
    if (frame.status == 401) response_.set(http::field::www_authenticate, "Basic realm=\"switch\"");
    response_.body() = frame.body;
    response_.prepare_payload();
    if (tls_)
      http::async_write(stream_, response_, written);
    else
      http::async_write(lowest(), response_, written);
  }

  void on_written(const Problem& problem) {
    if (closed_) return;
    if (problem) return end();
    unsent_ -= writes_.front().body.size();
    const bool answered = writes_.front().status != 0;
    writes_.pop_front();
    if (!writes_.empty()) return write_on();
    if (closing_ || (last_ && answered)) end();
  }

  void end() {
    if (closed_) return;
    close_now();
    context_.ended(context_.id, opened_);
  }

  const std::shared_ptr<ssl::context> tls_;  // none: plain
  beast::ssl_stream<beast::tcp_stream> stream_;
  const PeerContext context_;
  beast::flat_buffer buffer_{kHeaderMost + Listener::kFrameMost};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::deque<device::Frame> writes_;
  std::size_t unsent_ = 0;
  bool opened_ = false, last_ = false, closing_ = false, closed_ = false;
};

Result<std::shared_ptr<ssl::context>> tls_of(const ListenerSpec& spec) {
  if (!spec.tls) return std::shared_ptr<ssl::context>();
  auto tls = std::make_shared<ssl::context>(ssl::context::tls_server);
  Problem problem;
  const auto step = [&](auto&& act) {
    if (!problem) act();
  };
  step([&] {
    tls->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, problem);
  });
  step([&] { tls->use_certificate_chain_file(spec.certificate_file, problem); });
  step([&] { tls->use_private_key_file(spec.key_file, ssl::context::pem, problem); });
  if (!spec.authority_file.empty()) {
    step([&] { tls->load_verify_file(spec.authority_file, problem); });
    step([&] { tls->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, problem); });
  }
  if (problem) return fail(ErrorCode::invalid_input, fmt::format("TLS: {}", problem.message()));
  return tls;
}

}  // namespace

Result<std::unique_ptr<Listener>> listen_for_http(asio::io_context& io, const ListenerSpec& spec,
                                                  ListenerEvents events) {
  PR_ASSIGN(const auto tls, tls_of(spec));
  const auto strand = asio::make_strand(io);
  PR_ASSIGN(auto acceptor, open_acceptor(io, strand, spec));
  const auto plain = std::make_shared<ssl::context>(ssl::context::tls_server);
  const auto make = [tls, plain](Tcp::socket socket, PeerContext context) {
    return std::make_shared<HttpPeer>(std::move(socket), std::move(context), tls, *plain);
  };
  return std::make_unique<TcpListener<HttpPeer>>(std::move(acceptor), strand, std::move(events), make);
}

}  // namespace photonrail::carrier
