// What the core writes to its journal, and how. A record is one byte of format version, one byte of kind, then its
// fields: integers little-endian in full width, texts and lists with a 32-bit length before them. A snapshot is a
// list of the same records, so that whoever reads one reads the other. Decoding trusts nothing: every length is
// checked against what is left, every enumeration against its range, and nothing may be left over. Values; no
// thread rule.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/core.h"

namespace photonrail::daemon {

inline constexpr std::uint8_t kRecordVersion = 1;

struct EpochBegun {
  control::Epoch epoch = 0;
};
struct JobSubmitted {
  SubmitJob job;
};
// No rank may attach any more; its ports stay taken until no rank of it can be alive.
struct JobEnded {
  std::string job;
  std::uint64_t job_epoch = 0;
};
struct JobRemoved {
  std::string job;
  std::uint64_t job_epoch = 0;
};
// Lives of the job up to this one are over, also those that nobody here remembers.
struct JobFenced {
  std::string job;
  std::uint64_t job_epoch = 0;
};
struct RankAttached {
  std::string job;
  std::uint64_t job_epoch = 0;
  control::Rank rank = 0;
  std::uint64_t incarnation = 0;
  Duration lease{};
};
// The incarnation is over; when it is the attached one, the groups of the rank are dead.
struct RankDetached {
  std::string job;
  std::uint64_t job_epoch = 0;
  control::Rank rank = 0;
  std::uint64_t incarnation = 0;
};
struct GroupAdded {
  std::string job;
  std::uint64_t job_epoch = 0;
  control::RegisterGroup group;
  std::vector<control::Rank> lost;  // in snapshots: members that have been lost since
};
struct PortSet {
  Attachment port;
  SetPort::State state = SetPort::State::in_service;
  std::string reason;
};
struct SwitchSet {
  SwitchId ocs = 0;
  SetSwitch::State state = SetSwitch::State::in_service;
  std::string reason;
};
// A write is about to be sent; its outcome is not known until IntentEnded, or a read after a restart.
struct WriteIntended {
  SwitchId ocs = 0;
  std::string job;  // on whose behalf
  device::WriteRecord write;
};
// `up`: what the switch holds at the ports of the intent, as read.
struct IntentEnded {
  SwitchId ocs = 0;
  device::IntentId id = 0;
  bool done = false;
  std::vector<device::CrossConnect> up;
  std::string reason;
};
// In snapshots: cross-connects that were made here and may still be up; the next free intent id.
struct CircuitsMade {
  SwitchId ocs = 0;
  std::vector<device::CrossConnect> pairs;
};
struct IntentsUsed {
  device::IntentId next = 0;
};

using Record = std::variant<EpochBegun, JobSubmitted, JobEnded, JobRemoved, JobFenced, RankAttached, RankDetached,
                            GroupAdded, PortSet, SwitchSet, WriteIntended, IntentEnded, CircuitsMade, IntentsUsed>;

std::string encode(const Record& record);
// The error says at which byte of the record what was wrong.
Result<Record> decode(std::string_view bytes);

}  // namespace photonrail::daemon
