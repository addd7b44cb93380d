// Operators' calls: protobuf to plain data and back. Switches have names on the wire and numbers inside; `SwitchNames`
// maps them. Reading fails (invalid_input) on what limits.h or the .proto does not allow, and on unknown switches.
// Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/core.h"

namespace photonrail::control::v1 {
class SubmitJobRequest;
class EndJobRequest;
class SetPortRequest;
class SetSwitchRequest;
class PlanJobRequest;
class PlanJobResponse;
class GetStatusRequest;
class GetStatusResponse;
class HistoryRequest;
class Event;
}  // namespace photonrail::control::v1

namespace photonrail::wire {

// In the order of SwitchId.
using SwitchNames = std::vector<std::string>;

// What History looks for.
struct HistoryQuery {
  std::string job;   // empty: all
  std::string text;  // empty: all
  std::uint32_t limit = 100;
};

// An audit record, or a notice (then all but `time`, `level` and `detail` is empty).
struct Event {
  std::string time;  // RFC 3339
  std::string level;
  daemon::AuditRecord record;
};

Result<daemon::SubmitJob> read(const control::v1::SubmitJobRequest& in, const SwitchNames& names);
Result<daemon::EndJob> read(const control::v1::EndJobRequest& in);
Result<daemon::SetPort> read(const control::v1::SetPortRequest& in, const SwitchNames& names);
Result<daemon::SetSwitch> read(const control::v1::SetSwitchRequest& in, const SwitchNames& names);
Result<daemon::PlanJob> read(const control::v1::PlanJobRequest& in, const SwitchNames& names);
daemon::GetStatus read(const control::v1::GetStatusRequest& in);
Result<HistoryQuery> read(const control::v1::HistoryRequest& in);
Result<Event> read(const control::v1::Event& in);
// Switch numbers are those of `names_seen`, which grows by the names in the answer in order of appearance.
Result<daemon::StatusReport> read(const control::v1::GetStatusResponse& in, SwitchNames& names_seen);

// `names` must hold every switch that `in` mentions.
void write(const daemon::SubmitJob& in, const SwitchNames& names, control::v1::SubmitJobRequest& out);
void write(const daemon::EndJob& in, control::v1::EndJobRequest& out);
void write(const daemon::SetPort& in, const SwitchNames& names, control::v1::SetPortRequest& out);
void write(const daemon::SetSwitch& in, const SwitchNames& names, control::v1::SetSwitchRequest& out);
void write(const daemon::PlanJob& in, const SwitchNames& names, control::v1::PlanJobRequest& out);
void write(const daemon::GetStatus& in, control::v1::GetStatusRequest& out);
void write(const HistoryQuery& in, control::v1::HistoryRequest& out);
void write(const Event& in, control::v1::Event& out);
void write(const daemon::StatusReport& in, const SwitchNames& names, control::v1::GetStatusResponse& out);

}  // namespace photonrail::wire
