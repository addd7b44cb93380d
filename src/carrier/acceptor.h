// Accepts TCP connections, numbers them and keeps them until they end. `Peer` is a class with begin(), send(Frame),
// close_after_writes() and close_now(), used on the acceptor's strand only. Internal to this folder.
#pragma once

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <future>
#include <map>
#include <memory>
#include <optional>

#include "carrier/listeners.h"

namespace photonrail::carrier {

using Tcp = boost::asio::ip::tcp;
using Problem = boost::system::error_code;
using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;

// What a peer is given: its number, its listener's events, and how to say that it has ended.
struct PeerContext {
  device::ConnectionId id = 0;
  std::shared_ptr<const ListenerEvents> events;
  std::function<void(device::ConnectionId id, bool was_opened)> ended;
};

// Bound and listening.
Result<Tcp::acceptor> open_acceptor(boost::asio::io_context& io, const Strand& strand, const ListenerSpec& spec);

template <class Peer>
class TcpListener final : public Listener {
 public:
  using MakePeer = std::function<std::shared_ptr<Peer>(Tcp::socket, PeerContext)>;

  TcpListener(Tcp::acceptor acceptor, Strand strand, ListenerEvents events, MakePeer make)
      : state_(std::make_shared<State>(std::move(acceptor), std::move(strand), std::move(events), std::move(make))),
        port_(state_->acceptor.local_endpoint().port()) {
    boost::asio::post(state_->strand, [state = state_] { accept(state); });
  }

  // Waits until no event is under way.
  ~TcpListener() override {
    std::promise<void> done;
    boost::asio::post(state_->strand, [&] {
      state_->stopped = true;
      Problem ignored;
      state_->acceptor.close(ignored);
      const auto peers = std::exchange(state_->peers, {});
      for (const auto& [id, peer] : peers) peer->close_now();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::uint16_t port() const override { return port_; }
  void send(device::ConnectionId connection, device::Frame frame) override {
    boost::asio::post(state_->strand, [state = state_, connection, frame = std::move(frame)]() mutable {
      if (const auto peer = state->find(connection)) peer->send(std::move(frame));
    });
  }
  void close(device::ConnectionId connection) override {
    boost::asio::post(state_->strand, [state = state_, connection] {
      if (const auto peer = state->find(connection)) peer->close_after_writes();
    });
  }

 private:
  struct State {
    State(Tcp::acceptor a, Strand s, ListenerEvents e, MakePeer m)
        : acceptor(std::move(a)), strand(std::move(s)), events(std::make_shared<const ListenerEvents>(std::move(e))),
          make(std::move(m)) {}
    std::shared_ptr<Peer> find(device::ConnectionId id) const {
      const auto found = peers.find(id);
      return found == peers.end() ? nullptr : found->second;
    }
    Tcp::acceptor acceptor;
    const Strand strand;
    const std::shared_ptr<const ListenerEvents> events;
    const MakePeer make;
    std::map<device::ConnectionId, std::shared_ptr<Peer>> peers;
    device::ConnectionId last = 0;
    bool stopped = false;
  };

  static void accept(const std::shared_ptr<State>& state) {
    state->acceptor.async_accept(state->strand, [state](const Problem& problem, Tcp::socket socket) {
      if (state->stopped) return;
      if (!problem && state->peers.size() < kConnectionsMost) add(state, std::move(socket));
      accept(state);
    });
  }

  static void add(const std::shared_ptr<State>& state, Tcp::socket socket) {
    PeerContext context{++state->last, state->events, {}};
    context.ended = [weak = std::weak_ptr<State>(state)](device::ConnectionId id, bool was_opened) {
      const auto alive = weak.lock();
      if (!alive || alive->stopped || alive->peers.erase(id) == 0) return;
      if (was_opened) alive->events->closed(id);
    };
    const auto peer = state->make(std::move(socket), context);
    state->peers[context.id] = peer;
    peer->begin();
  }

  const std::shared_ptr<State> state_;
  const std::uint16_t port_;
};

}  // namespace photonrail::carrier
