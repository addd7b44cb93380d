// FrontEnd: the server side of one dialect over a SwitchModel, sans-IO. Several front ends may share one model: one
// optical matrix, many ways in. Replies carry the time at which they leave the box, so that latency, late replies and
// silence are the model's and not the carrier's.
#pragma once

#include <memory>
#include <vector>

#include "device/driver.h"
#include "device/switch_model.h"

namespace photonrail::device {

using ConnectionId = std::uint64_t;

struct FrontEndReply {
  ConnectionId connection = 0;
  Instant at{};
  Frame frame;
  bool close = false;   // the connection breaks at `at`, after the frame
};

struct FrontEndOptions {
  Credentials credentials;        // empty user: no login asked
  unsigned max_sessions = 5;
  std::string firmware_variant;   // dialect-specific: "pairs" (NETCONF before 2017-08), "none-marker" (SCPI), ...
};

class FrontEnd {
 public:
  virtual ~FrontEnd() = default;
  virtual void opened(ConnectionId connection, Instant now) = 0;
  virtual void closed(ConnectionId connection, Instant now) = 0;
  virtual void receive(ConnectionId connection, const Frame& frame, Instant now) = 0;
  virtual void advance(Instant now) = 0;                    // autonomous messages, events
  virtual std::vector<FrontEndReply> take_replies() = 0;    // in order of `at` within a connection
};

// Nothing for a dialect that this build has no codec for. The model outlives the front end.
std::unique_ptr<FrontEnd> make_front_end(Dialect dialect, SwitchModel& model, FrontEndOptions options);

}  // namespace photonrail::device
