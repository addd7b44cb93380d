// Driver: the client side of one dialect as a sans-IO state machine. No socket, clock or thread of its own; the runtime
// and the deterministic simulation carry its frames.
//
//   driver.connected();  send(driver.take_frames());  driver.receive(...) ...            until take_answer(): identify
//   driver.begin(command);  send(driver.take_frames());  driver.receive(...);            until take_answer()
//
// Rules: one command at a time; exactly one answer for each `begin` and for each `connected` (its answer is the
// identity, after login where there is one); `expire()` when the caller's deadline passed, `disconnected()` when the
// connection is lost: the command in flight then ends with Outcome::unknown. Late replies to an expired command are
// never taken for the reply to a later one (where the dialect cannot tell them apart, the driver asks for a new
// connection). Whatever a device sends is hostile: bounded buffers, no allocation by a length that it states, no crash.
// Never sent: commands that wipe circuits of others (`conn:only`, `*rst`, PUT of the container, `dlt-crs-all`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/types.h"

namespace photonrail::device {

enum class Dialect : std::uint8_t {
  polatis_scpi,
  polatis_tl1,
  calient_tl1,
  glimmerglass_tl1,  // byte streams over TCP
  polatis_netconf,   // one XML document a frame; the transport adds 1.0/1.1 framing
  polatis_restconf,  // one HTTP request or response a frame
  ocp_gnmi,
  sonic_gnmi,  // one serialised gNMI message a frame
};
const char* name(Dialect dialect);  // "polatis-scpi", ...
std::optional<Dialect> dialect_named(std::string_view name);

// What goes over the wire. Byte streams use `body` alone, cut anywhere. HTTP: verb "PUT", target "/api/data/...", body.
// NETCONF: body is one message. gNMI: verb is the method ("Get", "Set", "Subscribe", "Capabilities"), body the request.
// In replies `status` is the HTTP status or gRPC code (0 elsewhere), `verb` the method that it answers. gNMI: `target`
// is the number of the call, the same in request and replies; a reply with verb "end" ends a stream, without a message.
struct Frame {
  std::string verb;
  std::string target;
  int status = 0;
  std::string body;
  std::string authorization = {};  // HTTP: value of the header of that name
};

struct Command {
  enum class Kind : std::uint8_t {
    read,       // all cross-connects
    readings,   // status and power of `outputs` (all where empty)
    remove,     // `pairs`; those that are not there are no error
    add,        // `pairs`; both ends must be free by the caller's knowledge
    set_ports,  // enable or disable `outputs`
  };
  Kind kind = Kind::read;
  std::vector<CrossConnect> pairs;
  std::vector<Position> outputs;
  bool enable = true;
};

struct Answer {
  Outcome outcome = Outcome::unknown;
  Identity identity;           // of connected()
  Snapshot snapshot;           // of read and readings
  std::vector<Outcome> pairs;  // of remove and add where the device tells them apart; else empty
  std::string device_text;     // what the device said, verbatim, at most 4 KiB, for people
};

// Something that the device said unasked.
struct Event {
  enum class Kind : std::uint8_t { connections_changed, port_changed, alarm };
  Kind kind = Kind::alarm;
  std::vector<Position> outputs;
  std::string device_text;
};

struct Credentials {
  std::string user;
  std::string password;  // never logged, never in device_text or transcripts
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual Dialect dialect() const = 0;
  virtual const Capabilities& capabilities() const = 0;  // complete after the answer to connected()

  virtual void connected() = 0;
  virtual void disconnected() = 0;
  virtual void begin(const Command& command) = 0;
  virtual void receive(const Frame& frame) = 0;
  virtual void expire() = 0;

  virtual std::vector<Frame> take_frames() = 0;
  virtual std::optional<Answer> take_answer() = 0;
  virtual std::vector<Event> take_events() = 0;
  virtual bool wants_new_connection() const = 0;  // its view of the stream is beyond repair
};

// Nothing for a dialect that this build has no codec for. Credentials: unused by dialects without a login; with an
// empty user no login is tried.
std::unique_ptr<Driver> make_driver(Dialect dialect, Credentials credentials);

}  // namespace photonrail::device
