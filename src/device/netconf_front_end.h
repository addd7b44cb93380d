// Front end of an emulated Polatis switch: NETCONF (RFC 6241) with the module optical-switch (polatis_yang.h).
//
// A frame is one XML document. Operations: get, get-config (of running), edit-config (running; merge, create, replace,
// delete, remove on cross-connects), port-set-state, close-session. No candidate, no locks: the box that these stand
// for writes to running. Firmware variant "pairs": names of revisions before 2017-08-04.
#pragma once

#include "device/message_front_end.h"
#include "device/xml_text.h"

namespace photonrail::device {

class NetconfFrontEnd final : public MessageFrontEnd {
 public:
  using MessageFrontEnd::MessageFrontEnd;

 protected:
  std::optional<Frame> greeting(const Session& session) override;
  Handled handle(Session& session, const Frame& request, Instant now) override;
  std::optional<Frame> notification(const Session&, const std::vector<Position>&, Instant) override {
    return std::nullopt;
  }

 private:
  struct Answered {
    std::string body;  // inside of <rpc-reply>
    Instant at{};
  };
  const char* list_name() const { return options_.firmware_variant == "pairs" ? "pairs" : "pair"; }
  Answered carry_out(Session& session, const XmlNode& rpc, Instant now);
  Answered get(const XmlNode& filter, Instant now);
  Answered edit(const Session& session, const XmlNode& operation, Instant now);
  Answered set_ports(const XmlNode& operation, Instant now);
  std::string container(std::string_view name, Instant now);
};

}  // namespace photonrail::device
