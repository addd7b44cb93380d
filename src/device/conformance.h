// What conformance tests of the dialects need: a box with a front end, and carriers that join drivers to it in memory.
//
// Time is simulated: a carrier moves `now` to the next reply. Bytes on the way back from the box can be cut anywhere,
// lost, repeated, or preceded by noise; a lost or late reply makes the command expire. Everything is drawn from a seed.
// Not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "device/driver.h"
#include "device/front_end.h"
#include "device/switch_model.h"

namespace photonrail::device {

// Dialects that this build has both sides of.
std::vector<Dialect> built_in_dialects();
bool is_byte_stream(Dialect dialect);

// One emulated switch with one front end, for any number of carriers.
class EmulatedBox {
 public:
  EmulatedBox(Dialect dialect, SwitchModelSpec spec, FrontEndOptions options = {});

  Dialect dialect() const { return dialect_; }
  SwitchModel& model() { return model_; }
  FrontEnd& front_end() { return *front_end_; }

  ConnectionId open(Instant now);
  void close(ConnectionId connection, Instant now);
  void send(ConnectionId connection, const Frame& frame, Instant now);
  void advance(Instant now);
  // The next thing that leaves the box on this connection: when, and what.
  Instant next(ConnectionId connection) const;
  std::optional<FrontEndReply> take(ConnectionId connection, Instant now);

 private:
  void collect();

  Dialect dialect_;
  SwitchModel model_;
  std::unique_ptr<FrontEnd> front_end_;
  std::map<ConnectionId, std::deque<FrontEndReply>> leaving_;  // by time
  ConnectionId last_ = 0;
};

struct CarrierSpec {
  bool cut = false;     // byte streams arrive in random pieces
  double lost = 0;      // probability for each frame from the box
  double repeated = 0;  // comes once more, at once or just before the next frame
  double noise = 0;     // bytes that are no message come before it
  Duration latency = std::chrono::microseconds(100);
  std::uint64_t seed = 1;
};

// One driver and its connection to a box.
class Carrier {
 public:
  Carrier(EmulatedBox& box, Credentials credentials = {}, CarrierSpec spec = {});

  // (Re)connects, and runs until the answer.
  Answer connect();
  // Runs a command to its answer; it expires after `timeout`. The connection is renewed first where the driver wants
  // it, where the last one was not identified, and after three commands in a row without an answer.
  Answer run(const Command& command, Duration timeout = std::chrono::seconds(2));
  void begin(const Command& command);
  Answer finish(Duration timeout = std::chrono::seconds(2));
  // Time goes by without a command: what was under way arrives.
  void pass(Duration time);
  void hang_up();

  Answer read();
  Answer readings(std::vector<Position> outputs = {});
  Answer add(std::vector<CrossConnect> pairs);
  Answer remove(std::vector<CrossConnect> pairs);
  Answer set_ports(std::vector<Position> outputs, bool enable);

  Driver& driver() { return *driver_; }
  Instant now() const { return now_; }
  bool connected() const { return connected_; }
  std::size_t stray_answers() const { return stray_answers_; }  // that came without a command
  const std::string& sent() const { return sent_; }             // bodies of all frames to the box
  const std::string& heard() const { return heard_; }           // and from it, as it sent them

 private:
  void flush();
  void deliver(const FrontEndReply& reply);
  void hand_over(const Frame& frame);
  std::string noise();

  EmulatedBox& box_;
  CarrierSpec spec_;
  RandomStream random_;
  std::unique_ptr<Driver> driver_;
  ConnectionId connection_ = 0;
  bool connected_ = false;
  bool identified_ = false;
  unsigned silences_ = 0;  // commands in a row that expired
  Instant now_{};
  Instant heard_at_{};          // the last reply
  std::optional<Frame> again_;  // a repeated frame that is still to come
  std::size_t stray_answers_ = 0;
  std::string sent_, heard_;
};

}  // namespace photonrail::device
