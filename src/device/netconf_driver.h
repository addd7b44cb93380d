// Driver of Polatis / HUBER+SUHNER switches by NETCONF (RFC 6241), module optical-switch (polatis_yang.h).
//
// A frame is one XML document; the carrier adds the framing of RFC 6242 and SSH. On a new connection both sides say
// hello; the device's capabilities tell the revision of the module, and with it whether cross-connects are `pair` or
// `pairs`. Writes go to the running configuration; deletes by operation "remove", which is no error where nothing is.
// A reply belongs to the request with its message-id, so late ones are recognised. <ok/> means accepted: light comes
// later (Reconciler).
#pragma once

#include "device/message_driver.h"

namespace photonrail::device {

class NetconfDriver final : public MessageDriver {
 public:
  Dialect dialect() const override { return Dialect::polatis_netconf; }

 protected:
  std::vector<Request> greeting() override;
  std::vector<Request> requests_of(const Command& command) override;
  Verdict on_reply(const Request& request, const Frame& frame) override;
  bool on_unasked(const Frame& frame) override;
  bool replies_are_tagged() const override { return true; }
  void stamp(Request& request) override;

 private:
  enum Step { kHello, kProduct, kRead, kPorts, kPower, kWrite };
  Request edit(const Command& command, const std::vector<std::size_t>& pairs, const char* operation) const;

  std::uint64_t message_id_ = 0;      // of the last request
  bool old_names_ = false;            // `pairs`
};

}  // namespace photonrail::device
