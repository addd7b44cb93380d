// Byte streams over TCP (SCPI, TL1), and NETCONF with the framing of RFC 6242.
#include <array>
#include <boost/asio/write.hpp>
#include <deque>

#include "carrier/acceptor.h"
#include "carrier/tcp_tuning.h"
#include "device/netconf_framing.h"

namespace photonrail::carrier {
namespace {

namespace asio = boost::asio;

class StreamPeer : public std::enable_shared_from_this<StreamPeer> {
 public:
  StreamPeer(Tcp::socket socket, PeerContext context, bool framed)
      : socket_(std::move(socket)), context_(std::move(context)) {
    if (framed) framing_.emplace();
  }

  void begin() {
    tune_tcp(socket_.native_handle());
    context_.events->opened(context_.id);
    read_on();
  }

  void send(device::Frame frame) {
    if (closed_ || closing_ || frame.body.empty()) return;
    std::string bytes = framing_ ? framing_->frame(frame.body) : std::move(frame.body);
    unsent_ += bytes.size();
    if (unsent_ > Listener::kUnsentMost) return end();
    writes_.push_back(std::move(bytes));
    if (writes_.size() == 1) write_on();
  }

  void close_after_writes() {
    closing_ = true;
    if (writes_.empty()) end();
  }

  void close_now() {
    closed_ = true;
    Problem ignored;
    socket_.close(ignored);
  }

 private:
  void read_on() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const Problem& problem, std::size_t size) {
                              if (self->closed_) return;
                              if (problem) return self->end();
                              self->take({self->buffer_.data(), size});
                              if (!self->closed_) self->read_on();
                            });
  }

  void take(std::string_view bytes) {
    if (!framing_) return context_.events->frame(context_.id, {"", "", 0, std::string(bytes)});
    framing_->feed(bytes);
    while (auto message = framing_->next()) context_.events->frame(context_.id, {"", "", 0, std::move(*message)});
    if (framing_->broken()) end();
  }

  void write_on() {
    asio::async_write(socket_, asio::buffer(writes_.front()),
                      [self = shared_from_this()](const Problem& problem, std::size_t size) {
                        if (self->closed_) return;
                        if (problem) return self->end();
                        self->unsent_ -= size;
                        self->writes_.pop_front();
                        if (!self->writes_.empty()) return self->write_on();
                        if (self->closing_) self->end();
                      });
  }

  void end() {
    if (closed_) return;
    close_now();
    context_.ended(context_.id, true);
  }

  Tcp::socket socket_;
  const PeerContext context_;
  std::optional<device::NetconfFraming> framing_;
  std::array<char, 16384> buffer_{};
  std::deque<std::string> writes_;
  std::size_t unsent_ = 0;
  bool closing_ = false, closed_ = false;
};

}  // namespace

Result<std::unique_ptr<Listener>> listen_for_streams(asio::io_context& io, const ListenerSpec& spec,
                                                     ListenerEvents events) {
  const auto strand = asio::make_strand(io);
  PR_ASSIGN(auto acceptor, open_acceptor(io, strand, spec));
  const bool framed = spec.dialect == device::Dialect::polatis_netconf;
  const auto make = [framed](Tcp::socket socket, PeerContext context) {
    return std::make_shared<StreamPeer>(std::move(socket), std::move(context), framed);
  };
  return std::make_unique<TcpListener<StreamPeer>>(std::move(acceptor), strand, std::move(events), make);
}

}  // namespace photonrail::carrier
