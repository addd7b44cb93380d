// What the front ends of byte-stream dialects share: sessions, and replies with the faults of the model on their way.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/front_end.h"

namespace photonrail::device {

// How the box treats one command that has come in.
enum class Fate : std::uint8_t { obey, break_before, break_after, fall_silent };

class StreamReplies {
 public:
  explicit StreamReplies(SwitchModel& model) : model_(model) {}

  // Draws the faults that strike the connection: disconnects (before the command is applied and after it, in turn) and
  // half_open.
  Fate fate();
  // `text` leaves at `at`, unless a fault strikes: lost, late, in pieces, after garbage.
  void send(ConnectionId connection, std::string text, Instant at);
  // As it is: greetings, autonomous messages.
  void send_plain(ConnectionId connection, std::string text, Instant at);
  void close(ConnectionId connection, Instant at);

  // Sorted by time; what was queued first goes first.
  std::vector<FrontEndReply> take();

 private:
  SwitchModel& model_;
  std::vector<FrontEndReply> replies_;
  std::uint64_t breaks_ = 0;
};

}  // namespace photonrail::device
