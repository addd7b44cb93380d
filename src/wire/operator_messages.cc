#include "wire/operator_messages.h"

#include <fmt/format.h>
#include <photonrail/control/v1/control.pb.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "wire/limits.h"

namespace photonrail::wire {
namespace {

namespace pb = control::v1;

tl::unexpected<Error> refused(std::string_view field, std::string_view why) {
  return fail(ErrorCode::invalid_input, fmt::format("{}: {}", field, why));
}

Status check_text(std::string_view field, const std::string& text, std::size_t most) {
  if (text.size() <= most) return {};
  return refused(field, fmt::format("{} bytes; {} is the limit", text.size(), most));
}

Status check_name(std::string_view field, const std::string& text) {
  if (text.empty()) return refused(field, "is empty");
  return check_text(field, text, kNameBytes);
}

Result<daemon::SwitchId> find_switch(const std::string& name, const SwitchNames& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<daemon::SwitchId>(found - names.begin());
  return refused("ocs",
                 fmt::format("no switch \"{}\"; there are: {}", name.substr(0, kNameBytes), fmt::join(names, ", ")));
}

const std::string& name_of(daemon::SwitchId ocs, const SwitchNames& names) {
  PR_CHECK(ocs < names.size(), "every switch has a name");
  return names[ocs];
}

Result<device::Position> read_position(std::string_view field, std::uint32_t value) {
  if (value > std::numeric_limits<device::Position>::max()) return refused(field, "no position of a switch");
  return static_cast<device::Position>(value);
}

Result<daemon::Attachment> read_attachment(const pb::Attachment& in, const SwitchNames& names) {
  PR_ASSIGN(const daemon::SwitchId ocs, find_switch(in.ocs(), names));
  PR_ASSIGN(const device::Position position, read_position("position", in.position()));
  return daemon::Attachment{ocs, position};
}

void write_attachment(const daemon::Attachment& in, const SwitchNames& names, pb::Attachment& out) {
  out.set_ocs(name_of(in.ocs, names));
  out.set_position(in.position);
}

Result<daemon::SubmitJob> read_job(const pb::Job& in, const SwitchNames& names) {
  PR_TRY(check_name("job", in.job()));
  if (in.ports_per_rank() == 0 || in.ports_per_rank() > kPortsPerRank) {
    return refused("ports_per_rank", fmt::format("{}; 1 to {} are allowed", in.ports_per_rank(), kPortsPerRank));
  }
  if (in.ports_size() > kPorts) return refused("ports", fmt::format("{} is the limit", kPorts));
  if (in.domains_size() > kPorts) return refused("domains", fmt::format("{} is the limit", kPorts));
  daemon::SubmitJob out;
  out.job = in.job();
  out.job_epoch = in.job_epoch();
  out.ports_per_rank = in.ports_per_rank();
  std::map<std::string, daemon::SwitchId> known;  // most ports are on few switches
  out.ports.reserve(static_cast<std::size_t>(in.ports_size()));
  for (const pb::Attachment& port : in.ports()) {
    auto found = known.find(port.ocs());
    if (found == known.end()) {
      PR_ASSIGN(const daemon::SwitchId ocs, find_switch(port.ocs(), names));
      found = known.emplace(port.ocs(), ocs).first;
    }
    PR_ASSIGN(const device::Position position, read_position("ports.position", port.position()));
    out.ports.push_back({found->second, position});
  }
  out.domain.assign(in.domains().begin(), in.domains().end());
  return out;
}

void write_job(const daemon::SubmitJob& in, const SwitchNames& names, pb::Job& out) {
  out.set_job(in.job);
  out.set_job_epoch(in.job_epoch);
  out.set_ports_per_rank(in.ports_per_rank);
  for (const daemon::Attachment& port : in.ports) write_attachment(port, names, *out.add_ports());
  out.mutable_domains()->Add(in.domain.begin(), in.domain.end());
}

struct LightPair {
  pb::Light wire;
  device::PortStatus light;
};
constexpr LightPair kLights[] = {
    {pb::LIGHT_UNKNOWN, device::PortStatus::unknown},   {pb::LIGHT_BLOCKED, device::PortStatus::blocked},
    {pb::LIGHT_TUNING, device::PortStatus::tuning},     {pb::LIGHT_TUNED, device::PortStatus::tuned},
    {pb::LIGHT_DISABLED, device::PortStatus::disabled}, {pb::LIGHT_FAILED, device::PortStatus::failed},
};

// Names of the members of CoordinatorCounts on the wire.
struct Count {
  const char* name;
  std::uint64_t control::CoordinatorCounts::* member;
};
constexpr Count kCounts[] = {
    {"operations", &control::CoordinatorCounts::operations},
    {"grants", &control::CoordinatorCounts::grants},
    {"batched", &control::CoordinatorCounts::batched},
    {"switches", &control::CoordinatorCounts::switches},
    {"switches_ahead", &control::CoordinatorCounts::switches_ahead},
    {"mispredictions", &control::CoordinatorCounts::mispredictions},
    {"guard_fired", &control::CoordinatorCounts::guard_fired},
    {"management", &control::CoordinatorCounts::management},
    {"failed", &control::CoordinatorCounts::failed},
    {"learnt", &control::CoordinatorCounts::learnt},
    {"forgotten", &control::CoordinatorCounts::forgotten},
};

void write_circuit(const daemon::CircuitStatus& in, const SwitchNames& names, pb::Circuit& out) {
  out.set_ocs(name_of(in.ocs, names));
  out.set_in(in.pair.in);
  out.set_out(in.pair.out);
  out.set_intended(in.intended);
  out.set_applied(in.applied);
  for (const LightPair& pair : kLights) {
    if (pair.light == in.light) out.set_light(pair.wire);
  }
  if (in.power_dbm) out.set_power_dbm(*in.power_dbm);
  out.set_job(in.job);
  out.set_holds(in.holds);
}

void write_job_status(const daemon::JobStatus& in, pb::JobStatus& out) {
  out.set_job(in.job);
  out.set_job_epoch(in.job_epoch);
  out.set_ranks(in.ranks);
  out.set_attached(in.attached);
  out.set_lost(in.lost);
  out.set_groups(in.groups);
  out.set_waiting(in.waiting);
  out.set_granted(in.granted);
  out.set_recovering(in.recovering);
  for (const Count& count : kCounts) (*out.mutable_counts())[count.name] = in.counts.*count.member;
}

void write_switch(const daemon::SwitchStatus& in, pb::SwitchStatus& out) {
  out.set_name(in.name);
  out.set_dialect(in.dialect);
  out.set_state(in.state);
  out.set_serial(in.serial);
  out.set_ready(in.ready);
  out.set_maintenance(in.maintenance);
  out.set_intents(in.intents);
  out.set_failed(in.failed);
  out.set_alarms(in.alarms);
  for (const auto& [position, why] : in.out_of_service) {
    pb::OutOfService& to = *out.add_out_of_service();
    to.set_position(position);
    to.set_why(why);
  }
}

daemon::SwitchId seen(const std::string& name, SwitchNames& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<daemon::SwitchId>(found - names.begin());
  names.push_back(name);
  return static_cast<daemon::SwitchId>(names.size() - 1);
}

Result<daemon::CircuitStatus> read_circuit(const pb::Circuit& in, SwitchNames& names) {
  daemon::CircuitStatus out;
  out.ocs = seen(in.ocs(), names);
  PR_ASSIGN(out.pair.in, read_position("circuits.in", in.in()));
  PR_ASSIGN(out.pair.out, read_position("circuits.out", in.out()));
  out.intended = in.intended();
  out.applied = in.applied();
  for (const LightPair& pair : kLights) {
    if (pair.wire == in.light()) out.light = pair.light;
  }
  if (in.has_power_dbm()) out.power_dbm = in.power_dbm();
  out.job = in.job();
  out.holds = in.holds();
  return out;
}

daemon::JobStatus read_job_status(const pb::JobStatus& in) {
  daemon::JobStatus out;
  out.job = in.job();
  out.job_epoch = in.job_epoch();
  out.ranks = in.ranks();
  out.attached = in.attached();
  out.lost = in.lost();
  out.groups = in.groups();
  out.waiting = in.waiting();
  out.granted = in.granted();
  out.recovering = in.recovering();
  for (const Count& count : kCounts) {
    const auto found = in.counts().find(count.name);
    if (found != in.counts().end()) out.counts.*count.member = found->second;
  }
  return out;
}

Result<daemon::SwitchStatus> read_switch(const pb::SwitchStatus& in, SwitchNames& names) {
  daemon::SwitchStatus out;
  out.ocs = seen(in.name(), names);
  out.name = in.name();
  out.dialect = in.dialect();
  out.state = in.state();
  out.serial = in.serial();
  out.ready = in.ready();
  out.maintenance = in.maintenance();
  out.intents = in.intents();
  out.failed = in.failed();
  out.alarms = in.alarms();
  for (const pb::OutOfService& port : in.out_of_service()) {
    PR_ASSIGN(const device::Position position, read_position("out_of_service.position", port.position()));
    out.out_of_service.emplace_back(position, port.why());
  }
  return out;
}

}  // namespace

// ---- reading

Result<daemon::SubmitJob> read(const pb::SubmitJobRequest& in, const SwitchNames& names) {
  return read_job(in.job(), names);
}

Result<daemon::EndJob> read(const pb::EndJobRequest& in) {
  PR_TRY(check_name("job", in.job()));
  return daemon::EndJob{in.job(), in.job_epoch()};
}

Result<daemon::SetPort> read(const pb::SetPortRequest& in, const SwitchNames& names) {
  daemon::SetPort out;
  PR_ASSIGN(out.port, read_attachment(in.port(), names));
  PR_TRY(check_text("reason", in.reason(), kTextBytes));
  out.reason = in.reason();
  switch (in.state()) {
    case pb::SetPortRequest::STATE_IN_SERVICE: out.state = daemon::SetPort::State::in_service; break;
    case pb::SetPortRequest::STATE_DRAINED: out.state = daemon::SetPort::State::drained; break;
    case pb::SetPortRequest::STATE_QUARANTINED: out.state = daemon::SetPort::State::quarantined; break;
    default: return refused("state", "unknown state of a port");
  }
  return out;
}

Result<daemon::SetSwitch> read(const pb::SetSwitchRequest& in, const SwitchNames& names) {
  daemon::SetSwitch out;
  PR_ASSIGN(out.ocs, find_switch(in.ocs(), names));
  PR_TRY(check_text("reason", in.reason(), kTextBytes));
  out.reason = in.reason();
  switch (in.state()) {
    case pb::SetSwitchRequest::STATE_IN_SERVICE: out.state = daemon::SetSwitch::State::in_service; break;
    case pb::SetSwitchRequest::STATE_MAINTENANCE: out.state = daemon::SetSwitch::State::maintenance; break;
    default: return refused("state", "unknown state of a switch");
  }
  return out;
}

Result<daemon::PlanJob> read(const pb::PlanJobRequest& in, const SwitchNames& names) {
  PR_ASSIGN(daemon::SubmitJob job, read_job(in.job(), names));
  return daemon::PlanJob{std::move(job)};
}

daemon::GetStatus read(const pb::GetStatusRequest& in) { return {in.circuits(), in.jobs(), in.switches()}; }

Result<HistoryQuery> read(const pb::HistoryRequest& in) {
  PR_TRY(check_text("job", in.job(), kNameBytes));
  PR_TRY(check_text("text", in.text(), kNameBytes));
  if (in.limit() > kHistory) return refused("limit", fmt::format("{} is the limit", kHistory));
  return HistoryQuery{in.job(), in.text(), in.limit() == 0 ? HistoryQuery{}.limit : in.limit()};
}

Result<Event> read(const pb::Event& in) {
  return Event{in.time(),
               in.level(),
               {in.who(), in.action(), in.job(), in.epoch(), in.request(), in.before(), in.after(), in.detail()}};
}

Result<daemon::StatusReport> read(const pb::GetStatusResponse& in, SwitchNames& names_seen) {
  daemon::StatusReport out;
  out.epoch = in.epoch();
  out.leading = in.leading();
  for (const pb::SwitchStatus& ocs : in.switches()) {
    PR_ASSIGN(daemon::SwitchStatus status, read_switch(ocs, names_seen));
    out.switches.push_back(std::move(status));
  }
  for (const pb::Circuit& circuit : in.circuits()) {
    PR_ASSIGN(daemon::CircuitStatus status, read_circuit(circuit, names_seen));
    out.circuits.push_back(std::move(status));
  }
  for (const pb::JobStatus& job : in.jobs()) out.jobs.push_back(read_job_status(job));
  return out;
}

// ---- writing

void write(const daemon::SubmitJob& in, const SwitchNames& names, pb::SubmitJobRequest& out) {
  write_job(in, names, *out.mutable_job());
}

void write(const daemon::EndJob& in, pb::EndJobRequest& out) {
  out.set_job(in.job);
  out.set_job_epoch(in.job_epoch);
}

void write(const daemon::SetPort& in, const SwitchNames& names, pb::SetPortRequest& out) {
  write_attachment(in.port, names, *out.mutable_port());
  out.set_reason(in.reason);
  switch (in.state) {
    case daemon::SetPort::State::in_service: out.set_state(pb::SetPortRequest::STATE_IN_SERVICE); break;
    case daemon::SetPort::State::drained: out.set_state(pb::SetPortRequest::STATE_DRAINED); break;
    case daemon::SetPort::State::quarantined: out.set_state(pb::SetPortRequest::STATE_QUARANTINED); break;
  }
}

void write(const daemon::SetSwitch& in, const SwitchNames& names, pb::SetSwitchRequest& out) {
  out.set_ocs(name_of(in.ocs, names));
  out.set_reason(in.reason);
  switch (in.state) {
    case daemon::SetSwitch::State::in_service: out.set_state(pb::SetSwitchRequest::STATE_IN_SERVICE); break;
    case daemon::SetSwitch::State::maintenance: out.set_state(pb::SetSwitchRequest::STATE_MAINTENANCE); break;
  }
}

void write(const daemon::PlanJob& in, const SwitchNames& names, pb::PlanJobRequest& out) {
  write_job(in.job, names, *out.mutable_job());
}

void write(const daemon::GetStatus& in, pb::GetStatusRequest& out) {
  out.set_circuits(in.circuits);
  out.set_jobs(in.jobs);
  out.set_switches(in.switches);
}

void write(const HistoryQuery& in, pb::HistoryRequest& out) {
  out.set_job(in.job);
  out.set_text(in.text);
  out.set_limit(in.limit);
}

void write(const Event& in, pb::Event& out) {
  out.set_time(in.time);
  out.set_level(in.level);
  out.set_who(in.record.who);
  out.set_action(in.record.action);
  out.set_job(in.record.job);
  out.set_epoch(in.record.epoch);
  out.set_request(in.record.request);
  out.set_before(in.record.before);
  out.set_after(in.record.after);
  out.set_detail(in.record.detail);
}

void write(const daemon::StatusReport& in, const SwitchNames& names, pb::GetStatusResponse& out) {
  out.set_epoch(in.epoch);
  out.set_leading(in.leading);
  for (const daemon::CircuitStatus& circuit : in.circuits) write_circuit(circuit, names, *out.add_circuits());
  for (const daemon::JobStatus& job : in.jobs) write_job_status(job, *out.add_jobs());
  for (const daemon::SwitchStatus& ocs : in.switches) write_switch(ocs, *out.add_switches());
}

}  // namespace photonrail::wire
