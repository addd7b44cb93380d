// What the front ends of request-and-reply protocols (NETCONF, RESTCONF, gNMI) share: sessions, one reply for each
// request, and the faults of the model on its way. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "device/dialect_server.h"
#include "device/front_end.h"

namespace photonrail::device {

class MessageFrontEnd : public FrontEnd {
 public:
  MessageFrontEnd(SwitchModel& model, FrontEndOptions options);
  void opened(ConnectionId connection, Instant now) final;
  void closed(ConnectionId connection, Instant now) final;
  void receive(ConnectionId connection, const Frame& frame, Instant now) final;
  void advance(Instant now) final;
  std::vector<FrontEndReply> take_replies() final;

 protected:
  struct Session {
    ConnectionId id = 0;
    std::string user = "anonymous";
    bool greeted = false;          // has sent its hello, where there is one
    bool subscribed = false;
    std::string subscription;      // the call that subscribed
    bool silent = false, closed = false;
    bool closing = false;          // after the reply
  };
  struct Handled {
    std::optional<Frame> reply;
    Instant at{};
    std::vector<Frame> before = {};   // frames of the same call that go before the reply
  };

  virtual std::optional<Frame> greeting(const Session& session) = 0;
  virtual Handled handle(Session& session, const Frame& request, Instant now) = 0;
  // What a subscribed session is told about outputs that changed.
  virtual std::optional<Frame> notification(const Session& session, const std::vector<Position>& changed,
                                            Instant now) = 0;

  // A write with the session as its author.
  WriteReply write(const Session& session, WriteRequest request, Instant now);
  std::optional<CrossConnect> connection_of_input(Position in, Instant now);

  SwitchModel& model_;
  FrontEndOptions options_;

 private:
  void send(ConnectionId connection, Frame frame, Instant at);
  void push(ConnectionId connection, Frame frame, Instant at, bool close);

  std::map<ConnectionId, Session> sessions_;
  std::vector<FrontEndReply> replies_;
  std::uint64_t breaks_ = 0, cursor_ = 0;
};

}  // namespace photonrail::device
