// Messages between ranks and daemon: protobuf to plain data and back.
// Reading fails (invalid_input) on what limits.h or the .proto does not allow; the text names the field.
// Pure functions; any thread.
#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "control/messages.h"

namespace photonrail::control::v1 {
class RankMessage;
class DaemonMessage;
}  // namespace photonrail::control::v1

namespace photonrail::wire {

// The daemon has done with the rank on this stream.
struct Closed {
  std::string reason;
};
using FromDaemon = std::variant<control::DaemonMessage, Closed>;

// Hello::rank is taken from the message around it.
Result<control::RankMessage> read(const control::v1::RankMessage& in);
void write(control::Rank rank, const control::RankMessage& message, control::v1::RankMessage& out);

Result<FromDaemon> read(const control::v1::DaemonMessage& in);
void write(control::Rank rank, const FromDaemon& message, control::v1::DaemonMessage& out);

}  // namespace photonrail::wire
