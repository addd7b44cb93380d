// SwitchLinks: connections to switches, by the links of src/carrier, whatever they speak.
// A connection that fails is reported once, as disconnected; when to try again is the reconciler's decision.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "carrier/link.h"
#include "runtime/core_host.h"

namespace photonrail::runtime {

struct Endpoint {
  std::string host;
  std::string port;
};
Result<Endpoint> parse_endpoint(const std::string& text);  // "host:port", "[::1]:5025"
bool is_loopback(const Endpoint& endpoint);                // by address; of names only "localhost"

class Reactor;  // the thread and its asio context

class SwitchLinks final : public SwitchOutlet {
 public:
  SwitchLinks(Reactor& reactor, std::vector<carrier::LinkSpec> specs, Metrics& metrics, Log& log,
              std::vector<std::string> names);
  ~SwitchLinks() override;

  void attach(CoreHost* host);  // before anything is connected
  void connect(daemon::SwitchId ocs, std::uint64_t generation) override;
  void send(daemon::SwitchId ocs, std::uint64_t generation, device::Frame frame) override;
  void allow_until(Instant until) override;
  void close_all();  // waits; nothing is reported afterwards

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::runtime
