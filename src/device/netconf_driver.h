// Driver of Polatis / HUBER+SUHNER switches by NETCONF (RFC 6241), module optical-switch (polatis_yang.h).
//
// A frame is one XML document; the carrier adds the framing of RFC 6242 and SSH. On a new connection both sides say
// hello; the device's capabilities tell the revision of the module, and with it whether cross-connects are `pair` or
// `pairs`. Deletes are by operation "remove", which is no error where nothing is. Writes go to the running
// configuration, or, where the device has only a candidate: lock, edit, commit, unlock, all or nothing; what others
// left unfinished in the candidate refuses the lock, so it is never committed by us. A reply belongs to the request
// with its message-id, so late ones are recognised. <ok/> means accepted: light comes later (Reconciler).
#pragma once

#include "device/message_driver.h"
#include "device/xml_text.h"

namespace photonrail::device {

class NetconfDriver final : public MessageDriver {
 public:
  Dialect dialect() const override { return Dialect::polatis_netconf; }

 protected:
  std::vector<Request> greeting() override;
  std::vector<Request> requests_of(const Command& command) override;
  Verdict on_reply(const Request& request, const Frame& frame) override;
  bool on_unasked(const Frame& frame) override;
  // A candidate that was left locked and changed is given back by ending the session (RFC 6241, 8.3.5.2).
  bool replies_are_tagged() const override { return !candidate_; }
  void stamp(Request& request) override;

 private:
  enum Step { kHello, kProduct, kProbePower, kRead, kPorts, kPower, kLock, kWrite, kUnlock };
  void read_hello(const XmlNode& hello);
  Verdict on_error(const Request& request, const XmlNode& error);
  bool read_product(const XmlNode& data);
  bool read_connections(const XmlNode& data);
  void read_ports(Step step, const XmlNode& list);
  static Request plain(int step, std::string body);
  Request edit(const Command& command, const std::vector<std::size_t>& pairs) const;
  std::vector<Request> edits(const Command& command) const;

  std::uint64_t message_id_ = 0;  // of the last request
  bool old_names_ = false;        // `pairs`
  bool candidate_ = false;        // running cannot be written
  bool rollback_ = false;         // rollback-on-error is known
};

}  // namespace photonrail::device
