// What operators and schedulers ask for. Each call is checked first and then done whole, or refused whole.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/core_impl.h"

namespace photonrail::daemon {
namespace {

bool may(Identity::Role role, const OperatorCall& call) {
  using Role = Identity::Role;
  const bool looks = std::holds_alternative<PlanJob>(call) || std::holds_alternative<GetStatus>(call);
  if (looks) return role != Role::rank;
  const bool of_jobs = std::holds_alternative<SubmitJob>(call) || std::holds_alternative<EndJob>(call);
  return role == Role::operator_ || (role == Role::scheduler && of_jobs);
}

const char* name_of(const OperatorCall& call) {
  constexpr const char* kNames[] = {"submit job", "end job", "set port", "set switch", "plan job", "get status"};
  return kNames[call.index()];
}

const char* name_of(SetPort::State state) {
  using State = SetPort::State;
  return state == State::in_service ? "in service" : state == State::drained ? "drained" : "quarantined";
}

bool same(const SubmitJob& a, const SubmitJob& b) {
  return a.ports_per_rank == b.ports_per_rank && a.ports == b.ports && a.domain == b.domain;
}

Reply refusal(ErrorCode code, std::string why) {
  Reply reply;
  reply.outcome = fail(code, std::move(why));
  return reply;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Core::Impl::audit(const Identity& who, RequestId request, std::string action, const std::string& job,
                       std::string before, std::string after, std::string detail) {
  outbox.audit({who.name, std::move(action), job, state.epoch(), request, std::move(before), std::move(after),
                std::move(detail)});
}

void Core::Impl::call(RequestId request, const Identity& who, const OperatorCall& wanted, Instant now) {
  const bool leads_now = leads(now);
  if (!may(who.role, wanted)) {
    audit(who, request, "refused", {}, {}, {}, fmt::format("{} is not for this role", name_of(wanted)));
    return outbox.to_operator(
        request, refusal(ErrorCode::usage, fmt::format("{} is not for the role of {}", name_of(wanted), who.name)));
  }
  if (!leads_now && !std::holds_alternative<GetStatus>(wanted)) {
    return outbox.to_operator(request, refusal(ErrorCode::io, "another controller leads; ask that one"));
  }
  std::visit([&](const auto& c) { on(request, who, c, now); }, wanted);
  if (leading) leading->plane.settle(now);
}

// ---- jobs

std::vector<std::string> Core::Impl::objections(const SubmitJob& job) const {
  std::vector<std::string> out;
  if (std::string why = malformed(job); !why.empty()) return {why};
  if (rank_count(job) > spec.max_ranks_per_job) {
    out.push_back(fmt::format("{} ranks; a job has at most {}", rank_count(job), spec.max_ranks_per_job));
  }
  const DurableJob* life = state.running(job.job);
  const auto running =
      std::count_if(state.jobs().begin(), state.jobs().end(), [](const auto& entry) { return !entry.second.ended; });
  if (life == nullptr && running >= spec.max_jobs)
    out.push_back(fmt::format("{} jobs run, which is the limit", running));
  if (life != nullptr && job.job_epoch <= life->job.job_epoch) {
    out.push_back(fmt::format("job {} lives in epoch {}; a new life needs a higher one", job.job, life->job.job_epoch));
  }
  if (job.job_epoch <= state.fenced_through(job.job)) {
    out.push_back(fmt::format("epoch {} of job {} is over; a new life needs a higher one than {}", job.job_epoch,
                              job.job, state.fenced_through(job.job)));
  }
  constexpr std::size_t kMost = 20;  // objections to single ports
  for (std::size_t i = 0; i < job.ports.size() && out.size() < kMost; ++i) {
    const Attachment& port = job.ports[i];
    if (!knows(port.ocs)) {
      out.push_back(fmt::format("rank {}: switch {} is not configured", i / job.ports_per_rank, port.ocs));
      continue;
    }
    const SwitchSpec& ocs = spec.switches[port.ocs];
    const device::Position size = std::min(ocs.reconciler.inputs, ocs.reconciler.outputs);
    if (size > 0 && port.position >= size) {
      out.push_back(fmt::format("rank {}: switch {} has positions 0 to {}, not {}", i / job.ports_per_rank, ocs.name,
                                size - 1, port.position));
    }
    const DurableJob* owner = state.owner(port);
    if (owner != nullptr && owner != life) {
      out.push_back(fmt::format("rank {}: position {} of switch {} belongs to job {}", i / job.ports_per_rank,
                                port.position, ocs.name, owner->job.job));
    }
  }
  return out;
}

void Core::Impl::end(const DurableJob& job, const std::string& why, Instant now) {
  outbox.append(state, JobEnded{job.job.job, job.job.job_epoch});
  leading->plane.ended(job, why, now);
}

void Core::Impl::on(RequestId request, const Identity& who, const SubmitJob& job, Instant now) {
  const DurableJob* life = state.running(job.job);
  if (life != nullptr && life->job.job_epoch == job.job_epoch && same(life->job, job)) {
    return outbox.to_operator(request, {}, outbox.appended());  // asked before
  }
  const std::vector<std::string> against = objections(job);
  if (!against.empty()) {
    audit(who, request, "refused", job.job, {}, {}, "submit job: " + against.front());
    return outbox.to_operator(
        request, refusal(ErrorCode::invalid_input, fmt::format("job {}: {}", job.job, fmt::join(against, "\n"))));
  }
  if (life != nullptr) end(*life, "a new life of the job has come", now);
  const RecordNumber record = outbox.append(state, JobSubmitted{job});
  audit(who, request, "submit job", job.job, {}, {},
        fmt::format("epoch {}, {} ranks, {} ports", job.job_epoch, rank_count(job), job.ports.size()));
  leading->plane.submitted(*state.job(job.job, job.job_epoch), now);
  outbox.to_operator(request, {}, record);
}

void Core::Impl::on(RequestId request, const Identity& who, const EndJob& call, Instant now) {
  const DurableJob* life = state.running(call.job);
  if (life == nullptr || life->job.job_epoch != call.job_epoch) {
    if (call.job_epoch <= state.fenced_through(call.job)) return outbox.to_operator(request, {}, outbox.appended());
    audit(who, request, "refused", call.job, {}, {}, "end job: unknown");
    return outbox.to_operator(request, refusal(ErrorCode::invalid_input,
                                               fmt::format("job {} epoch {} does not run", call.job, call.job_epoch)));
  }
  end(*life, "the job has been ended", now);
  audit(who, request, "end job", call.job, {}, {}, fmt::format("epoch {}", call.job_epoch));
  outbox.to_operator(request, {}, outbox.appended());
}

void Core::Impl::on(RequestId request, const Identity&, const PlanJob& call, Instant now) {
  Reply reply;
  for (const std::string& objection : objections(call.job)) reply.plan.push_back("refused: " + objection);
  if (reply.plan.empty()) reply.plan = consequences(call.job, now);
  outbox.to_operator(request, std::move(reply));
}

// What would follow from submitting a job that nothing speaks against.
std::vector<std::string> Core::Impl::consequences(const SubmitJob& job, Instant now) const {
  std::vector<std::string> lines{
      fmt::format("job {} epoch {}: {} ranks, {} ports", job.job, job.job_epoch, rank_count(job), job.ports.size())};
  if (const DurableJob* life = state.running(job.job)) {
    lines.push_back(
        fmt::format("ends: epoch {} of the job, with {} ranks attached", life->job.job_epoch, life->attached));
    const Duration wait = leading->plane.longest_wait(*life, now);
    if (life->attached > 0)
      lines.push_back(fmt::format("waits: up to {:.1f} s until none of them can be alive", seconds(wait)));
  }
  std::set<const DurableJob*> lingering;
  std::set<Attachment> ports(job.ports.begin(), job.ports.end());
  for (const Attachment& port : ports) {
    if (const DurableJob* before = state.lingering(port)) lingering.insert(before);
    const auto out = state.ports_out().find(port);
    if (out == state.ports_out().end()) continue;
    lines.push_back(fmt::format("management path: switch {} position {} is {}: {}", spec.switches[port.ocs].name,
                                port.position, name_of(out->second.state), out->second.reason));
  }
  std::vector<std::string> waits;
  for (const DurableJob* before : lingering) {
    waits.push_back(fmt::format("waits: up to {:.1f} s for ranks of job {} epoch {}",
                                seconds(leading->plane.longest_wait(*before, now)), before->job.job,
                                before->job.job_epoch));
  }
  std::sort(waits.begin(), waits.end());
  lines.insert(lines.end(), waits.begin(), waits.end());
  for (SwitchId ocs = 0; ocs < spec.switches.size(); ++ocs) {
    if (!leading->switches.ready(ocs)) continue;
    for (const device::CrossConnect pair : leading->switches.reconciler(ocs).snapshot().connections) {
      const bool in = ports.contains({ocs, pair.in}), out = ports.contains({ocs, pair.out});
      if (!in && !out) continue;
      lines.push_back(fmt::format("{}: switch {} input {} to output {}", in && out ? "keeps" : "drops on demand",
                                  spec.switches[ocs].name, pair.in, pair.out));
    }
  }
  return lines;
}

// ---- ports and switches

void Core::Impl::on(RequestId request, const Identity& who, const SetPort& call, Instant now) {
  const SwitchSpec* ocs = knows(call.port.ocs) ? &spec.switches[call.port.ocs] : nullptr;
  const device::Position size =
      ocs == nullptr ? device::Position{0} : std::min(ocs->reconciler.inputs, ocs->reconciler.outputs);
  if (ocs == nullptr || (size > 0 && call.port.position >= size)) {
    audit(who, request, "refused", {}, {}, {}, "set port: no such port");
    return outbox.to_operator(
        request, refusal(ErrorCode::invalid_input,
                         fmt::format("switch {} position {} does not exist", call.port.ocs, call.port.position)));
  }
  const auto found = state.ports_out().find(call.port);
  const std::string before =
      found == state.ports_out().end() ? name_of(SetPort::State::in_service) : name_of(found->second.state);
  const RecordNumber record = outbox.append(state, PortSet{call.port, call.state, call.reason});
  const DurableJob* owner = state.owner(call.port);
  audit(who, request, "set port", owner == nullptr ? std::string() : owner->job.job, before, name_of(call.state),
        fmt::format("switch {} position {}: {}", ocs->name, call.port.position, call.reason));
  leading->plane.forget_failures(call.port);
  leading->plane.refresh(call.port);
  if (call.state == SetPort::State::in_service) leading->plane.look_for_lost_circuits(call.port.ocs, now);
  outbox.to_operator(request, {}, record);
}

void Core::Impl::on(RequestId request, const Identity& who, const SetSwitch& call, Instant now) {
  if (!knows(call.ocs)) {
    audit(who, request, "refused", {}, {}, {}, "set switch: no such switch");
    return outbox.to_operator(request,
                              refusal(ErrorCode::invalid_input, fmt::format("switch {} does not exist", call.ocs)));
  }
  const bool maintenance = call.state == SetSwitch::State::maintenance;
  const bool before = state.maintenance().contains(call.ocs);
  const RecordNumber record = outbox.append(state, SwitchSet{call.ocs, call.state, call.reason});
  audit(who, request, "set switch", {}, before ? "maintenance" : "in service",
        maintenance ? "maintenance" : "in service",
        fmt::format("switch {}: {}", spec.switches[call.ocs].name, call.reason));
  leading->plane.refresh(call.ocs);
  if (!maintenance) leading->plane.look_for_lost_circuits(call.ocs, now);
  outbox.to_operator(request, {}, record);
}

void Core::Impl::on(RequestId request, const Identity&, const GetStatus& call, Instant) {
  Reply reply;
  reply.status = status(call);
  outbox.to_operator(request, std::move(reply));
}

}  // namespace photonrail::daemon
