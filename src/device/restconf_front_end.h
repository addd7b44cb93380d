// Front end of an emulated Polatis switch: RESTCONF (RFC 8040) with the module optical-switch (polatis_yang.h), JSON
// only. A frame is one HTTP exchange. Resources: product-information, port-config, opm-power, cross-connects,
// cross-connects/ pair=N; operation port-set-state. PUT of the container replaces everything, as on the box.
#pragma once

#include "device/message_front_end.h"

namespace photonrail::device {

class RestconfFrontEnd final : public MessageFrontEnd {
 public:
  using MessageFrontEnd::MessageFrontEnd;

 protected:
  std::optional<Frame> greeting(const Session&) override { return std::nullopt; }
  Handled handle(Session& session, const Frame& request, Instant now) override;
  std::optional<Frame> notification(const Session&, const std::vector<Position>&, Instant) override {
    return std::nullopt;
  }

 private:
  Handled get(std::string_view resource, Instant now);
  Handled write_pairs(const Session& session, const Frame& request, std::string_view resource, Instant now);
  Handled remove_pair(const Session& session, Position in, Instant now);
  Handled set_ports(const Frame& request, Instant now);
};

}  // namespace photonrail::device
