// What operators see. Read-only, also while another controller leads (then from the journal alone).
#include <algorithm>
#include <map>

#include "daemon/core_impl.h"

namespace photonrail::daemon {

StatusReport Core::Impl::status(const GetStatus& wanted) const {
  StatusReport report;
  report.epoch = state.epoch();
  report.leading = leading.has_value();
  for (SwitchId ocs = 0; ocs < spec.switches.size(); ++ocs) {
    if (wanted.switches) report.switches.push_back(switch_status(ocs));
    if (!wanted.circuits || !leading) continue;
    std::vector<CircuitStatus> here = circuits(ocs);
    std::move(here.begin(), here.end(), std::back_inserter(report.circuits));
  }
  if (!wanted.jobs) return report;
  for (const auto& [key, durable] : state.jobs()) report.jobs.push_back(job_status(durable));
  return report;
}

std::vector<CircuitStatus> Core::Impl::circuits(SwitchId ocs) const {
  std::map<device::CrossConnect, CircuitStatus> rows;
  const device::Snapshot& snapshot = leading->switches.reconciler(ocs).snapshot();
  const auto row = [&](device::CrossConnect pair) -> CircuitStatus& {
    CircuitStatus& entry = rows[pair];
    entry.ocs = ocs;
    entry.pair = pair;
    return entry;
  };
  for (const device::CrossConnect pair : snapshot.connections) row(pair).applied = true;
  for (const auto& [serial, job] : leading->plane.jobs()) {
    if (!job->coordinator) continue;
    const std::vector<Attachment>& ports = job->durable->job.ports;
    for (control::PortId port = 0; port < ports.size(); ++port) {
      const control::PortId partner = job->coordinator->partner(port);
      if (partner == control::kNoPort || ports[port].ocs != ocs) continue;
      CircuitStatus& entry = row({ports[port].position, ports[partner].position});
      entry.intended = true;
      entry.job = job->durable->job.job;
      entry.holds = job->coordinator->holds(port);
    }
  }
  std::vector<CircuitStatus> out;
  for (auto& [pair, entry] : rows) {
    if (pair.out < snapshot.outputs.size()) {
      entry.light = snapshot.outputs[pair.out].status;
      entry.power_dbm = snapshot.outputs[pair.out].power_dbm;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

JobStatus Core::Impl::job_status(const DurableJob& durable) const {
  JobStatus status;
  status.job = durable.job.job;
  status.job_epoch = durable.job.job_epoch;
  status.ranks = rank_count(durable.job);
  status.attached = durable.attached;
  status.lost =
      static_cast<std::uint32_t>(std::count_if(durable.ranks.begin(), durable.ranks.end(), [](const auto& rank) {
        return rank.state == DurableRank::State::gone;
      }));
  status.groups = static_cast<std::uint32_t>(durable.groups.size());
  if (!leading) return status;
  for (const auto& [serial, job] : leading->plane.jobs()) {
    if (job->durable != &durable) continue;
    status.recovering = !job->coordinator || job->coordinator->recovering();
    if (!job->coordinator) continue;
    status.waiting = static_cast<std::uint32_t>(job->coordinator->waiting());
    status.granted = static_cast<std::uint32_t>(job->coordinator->running());
    status.counts = job->coordinator->counts();
  }
  return status;
}

SwitchStatus Core::Impl::switch_status(SwitchId ocs) const {
  SwitchStatus status;
  status.ocs = ocs;
  status.name = spec.switches[ocs].name;
  status.dialect = device::name(spec.switches[ocs].dialect);
  status.state = "not led";
  status.maintenance = state.maintenance().contains(ocs);
  if (leading) leading->switches.describe(ocs, status);
  for (auto it = state.ports_out().lower_bound({ocs, 0}); it != state.ports_out().end() && it->first.ocs == ocs; ++it) {
    const char* what = it->second.state == SetPort::State::drained ? "drained" : "quarantined";
    status.out_of_service.emplace_back(it->first.position, std::string(what) + ": " + it->second.reason);
  }
  return status;
}

}  // namespace photonrail::daemon
