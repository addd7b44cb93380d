// What shims and the daemon say to each other, as plain data. proto/photonrail/control/v1/control.proto carries the
// same over gRPC; the deterministic simulation carries these structs. Every message may be repeated.
//
// A rank attaches with Hello on a stream of its own and is answered by Welcome. Its lease then lives by Renew; when the
// lease is over it must start nothing any more (it stops `margin` early), and the controller waits `margin` longer
// before it gives the rank's ports to others. After a break it attaches again, with the same incarnation, and says in
// Hello::groups where it stands.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "control/coordinator.h"

namespace photonrail::control {

using Epoch = std::uint64_t;  // of the leading controller; grows with every start and every hand-over

// ---- from a rank
struct Hello {
  std::string job;
  std::uint64_t job_epoch = 0;  // which life of the job; an older one is refused
  Rank rank = 0;
  std::uint64_t incarnation = 0;  // which life of the process; a new one drops what the old one held
  std::vector<ResumedGroup> groups;
  std::string shim_version;
};
// `key` is the same text on every member; `members` are ranks of the job, in the order of the group.
struct RegisterGroup {
  std::string key;
  std::vector<Rank> members;
  enum class Shape : std::uint8_t { pair, ring, any } shape = Shape::ring;  // any: more than circuits can serve
};
struct Announce {
  GroupId group = 0;
  Sequence sequence = 0;
  bool alone = false;
};
struct Complete {
  GroupId group = 0;
  Sequence through = 0;
};
// The rank's program waits for this operation (sent for operations that are announced and not yet granted).
struct Blocked {
  GroupId group = 0;
  Sequence sequence = 0;
};
struct Stopped {
  GroupId group = 0;
  Sequence granted_last = 0;
  Sequence highest_started = 0;
};
struct Renew {};
struct Goodbye {};
using RankMessage = std::variant<Hello, RegisterGroup, Announce, Complete, Blocked, Stopped, Renew, Goodbye>;

// ---- to a rank
struct Welcome {
  Epoch epoch = 0;
  Duration lease{};
  Duration margin{};
};
struct GroupReady {
  std::string key;
  GroupId group = 0;
  bool rail = false;
  std::string why;
};
struct Granted {
  GroupId group = 0;
  Sequence first = 0, last = 0;
  Path path = Path::rail;
};
struct Stop {
  GroupId group = 0;
  Sequence granted_last = 0;
};
struct Limit {
  GroupId group = 0;
  Sequence granted_last = 0, last = 0;
};
struct Failed {
  GroupId group = 0;
  Sequence sequence = 0;
  std::string reason;
};
struct Renewed {
  Duration lease{};
};
// Nothing of the message that it answers was done.
struct Refused {
  enum class Code : std::uint8_t {
    unknown_job,
    stale_epoch,
    not_yours,
    bad_request,
    overloaded,
    not_leader,
    recovering
  };
  Code code = Code::bad_request;
  std::string text;
  Duration retry_after{};  // zero: do not
};
using DaemonMessage = std::variant<Welcome, GroupReady, Granted, Stop, Limit, Failed, Renewed, Refused>;

}  // namespace photonrail::control
