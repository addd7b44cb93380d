// Driver of Polatis / HUBER+SUHNER switches by RESTCONF (RFC 8040), module optical-switch (polatis_yang.h).
//
// A frame is one HTTP exchange: verb and target with a JSON body, answered by a status and a body. Basic authentication
// in every request: TLS, or an isolated network, is the carrier's duty. Cross-connects are written one by one with PUT
// (201 or 204) and DELETE (204; 404 where nothing is), because those made with POST have been seen to vanish after five
// seconds, and because each then has an answer of its own.
// Replies carry no tag: after a deadline the connection is given up.
#pragma once

#include "device/message_driver.h"

namespace photonrail::device {

class RestconfDriver final : public MessageDriver {
 public:
  explicit RestconfDriver(Credentials credentials) : credentials_(std::move(credentials)) {}
  Dialect dialect() const override { return Dialect::polatis_restconf; }

 protected:
  std::vector<Request> greeting() override;
  std::vector<Request> requests_of(const Command& command) override;
  Verdict on_reply(const Request& request, const Frame& frame) override;
  bool on_unasked(const Frame&) override { return false; }
  bool replies_are_tagged() const override { return false; }
  void stamp(Request& request) override;

 private:
  enum Step { kProduct, kProbePower, kRead, kPorts, kPower, kPut, kDelete, kPost };
  bool on_body(Step step, const std::string& body);

  Credentials credentials_;
};

// Value of the Authorization header, RFC 7617.
std::string basic_authorization(const Credentials& credentials);

}  // namespace photonrail::device
