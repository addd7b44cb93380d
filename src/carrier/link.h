// Link: a connection to one switch, whatever it speaks. Carries device::Frame for a Driver; understands nothing of it
// but where messages begin and end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/driver.h"

namespace boost::asio {
class io_context;
}

namespace photonrail::carrier {

struct LinkSpec {
  device::Dialect dialect = device::Dialect::polatis_scpi;
  std::string host, port;
  device::Credentials credentials;  // NETCONF: of SSH. gNMI: metadata `username` and `password`. RESTCONF: see Frame
  bool tls = true;                  // gNMI and RESTCONF; without it only to loopback, see check()
  std::string authority_file;       // PEM: who signs the switch's certificate
  std::string certificate_file;     // PEM: ours; empty: none
  std::string key_file;             // PEM: of our certificate. NETCONF: private key of the user, instead of a password
  std::string server_name;          // expected in the switch's certificate; empty: `host`
  std::string host_key;             // NETCONF: "ssh-ed25519 AAAA...", or the path of a known_hosts file
  Duration connect_within = std::chrono::seconds(5);  // TCP, TLS and login together
};

// What happens on a link. Called one at a time, from a thread of the link's own; must not block.
struct LinkEvents {
  std::function<void()> connected;
  std::function<void(device::Frame frame)> frame;
  std::function<void(std::string why)> disconnected;  // once, and then nothing more; also when it never connected
  // Asked right before a frame goes out, since the process may have stood still after it was decided; false ends the
  // link. Absent: always.
  std::function<bool()> may_write = {};
};

// Thread rule: any thread.
class Link {
 public:
  static constexpr std::size_t kUnsentMost = std::size_t{16} << 20;  // bytes; beyond it the switch does not read
  static constexpr std::size_t kFrameMost = std::size_t{8} << 20;    // bytes of a message that comes in

  virtual ~Link() = default;                   // drop()s
  virtual void send(device::Frame frame) = 0;  // never blocks; lost where the link has ended
  virtual void drop() = 0;                     // nothing is reported after it has returned
};

// invalid_input where the link would be unsafe or lacks something: a secret or a write without protection beyond
// loopback, no host key, no authority, a file that cannot be read.
Status check(const LinkSpec& spec);

// Begins to connect; nothing is reported before it returns. SCPI, TL1 and RESTCONF live on `io`, which must run until
// the link is gone; the others have threads of their own. A spec that `check` refuses gives a link that is
// disconnected, with the reason.
std::shared_ptr<Link> open_link(boost::asio::io_context& io, const LinkSpec& spec, LinkEvents events);

// Of LinkSpec::host_key: a key itself ("ssh-ed25519 AAAA..."), not the path of a file.
bool is_host_key(const std::string& text);

// By address; of names only "localhost".
bool is_loopback(const std::string& host);

}  // namespace photonrail::carrier
