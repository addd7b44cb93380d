// Listener: the emulator's side of a dialect on a real socket. Carries device::Frame between clients and a FrontEnd.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/front_end.h"

namespace boost::asio {
class io_context;
}

namespace photonrail::carrier {

struct ListenerSpec {
  device::Dialect dialect = device::Dialect::polatis_scpi;
  std::string host = "127.0.0.1";
  std::string port = "0";  // 0: any that is free
  bool tls = false;        // gNMI and RESTCONF
  std::string certificate_file, key_file;
  std::string authority_file;  // PEM: who signs clients' certificates; empty (RESTCONF only): none is asked for
};

// What happens on a listener. Called one at a time, from a thread of the listener's own; must not block.
struct ListenerEvents {
  std::function<void(device::ConnectionId connection)> opened;
  std::function<void(device::ConnectionId connection, device::Frame frame)> frame;
  std::function<void(device::ConnectionId connection)> closed;
};

// Thread rule: any thread.
class Listener {
 public:
  static constexpr std::size_t kFrameMost = std::size_t{8} << 20;    // bytes of a message that comes in
  static constexpr std::size_t kUnsentMost = std::size_t{16} << 20;  // bytes to one client; beyond it, it is cut off
  static constexpr std::size_t kConnectionsMost = 1024;

  virtual ~Listener() = default;  // stops; nothing is reported afterwards
  virtual std::uint16_t port() const = 0;
  virtual void send(device::ConnectionId connection, device::Frame frame) = 0;  // lost where the connection has ended
  virtual void close(device::ConnectionId connection) = 0;                      // after what was sent before
};

// Binds and listens. `io` must run until the listener is gone. io where the address cannot be had; invalid_input where
// TLS lacks a file, or where NETCONF, or gNMI without TLS, would listen beyond loopback.
Result<std::unique_ptr<Listener>> listen(boost::asio::io_context& io, const ListenerSpec& spec, ListenerEvents events);

}  // namespace photonrail::carrier
