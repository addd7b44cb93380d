// What drivers of request-and-reply protocols (NETCONF, RESTCONF, gNMI) share: a command becomes a list of requests;
// each is sent when the one before was answered. Sans-IO, as driver.h says.
#pragma once

#include <deque>
#include <optional>

#include "device/driver.h"

namespace photonrail::device {

class MessageDriver : public Driver {
 public:
  const Capabilities& capabilities() const final { return capabilities_; }
  void connected() final;
  void disconnected() final;
  void begin(const Command& command) final;
  void receive(const Frame& frame) final;
  void expire() final;
  std::vector<Frame> take_frames() final;
  std::optional<Answer> take_answer() final;
  std::vector<Event> take_events() final;
  bool wants_new_connection() const final { return wants_new_connection_; }

 protected:
  struct Request {
    int step = 0;                    // of the protocol's own list
    Frame frame;                     // sent when it is its turn; empty verb and body: only waits for a reply
    std::vector<std::size_t> pairs;  // indices into the command's pairs that it writes
    std::vector<Position> outputs;   // that it asks for
  };
  struct Verdict {
    bool mine = false;                   // else the frame is something that was not asked for, or late
    Outcome outcome = Outcome::applied;  // of the request
    std::vector<Request> clean_up = {};  // sent instead of what was left; then the command ends with `outcome`
  };

  virtual std::vector<Request> greeting() = 0;  // its replies fill identity_ and capabilities_
  virtual std::vector<Request> requests_of(const Command& command) = 0;
  // Judges a frame while `request` waits; what was read goes to answer_.
  virtual Verdict on_reply(const Request& request, const Frame& frame) = 0;
  virtual bool on_unasked(const Frame& frame) = 0;  // an event, or false: a stranger
  virtual bool replies_are_tagged() const = 0;      // a late reply cannot be taken for another's
  // A request may be completed when it is sent (message ids).
  virtual void stamp(Request& request) = 0;

  void add_event(Event event);
  bool in_range(const Command& command) const;

  Capabilities capabilities_;
  Identity identity_;
  Answer answer_;

 private:
  void send_next();
  void finish(Outcome outcome);
  void remove_what_is_there();

  std::deque<Request> requests_;    // the first one is on the wire
  std::optional<Command> removal_;  // waits for the matrix: these protocols delete by port, whatever it holds
  std::optional<Outcome> ends_as_;  // while cleaning up
  std::vector<Frame> frames_;
  std::deque<Answer> answers_;
  std::vector<Event> events_;
  unsigned strangers_ = 0;
  bool connected_ = false, identified_ = false, greeting_ = false, wants_new_connection_ = false;
};

}  // namespace photonrail::device
