#include "daemon/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "daemon/core_impl.h"

namespace photonrail::daemon {
namespace {

constexpr Duration kRetryElsewhere = std::chrono::milliseconds(100);

// Ports of jobs that are known must still be there.
Status check(const CoreSpec& spec, const DurableState& state) {
  for (const auto& [key, job] : state.jobs()) {
    for (const Attachment& port : job.job.ports) {
      if (port.ocs < spec.switches.size()) continue;
      return fail(ErrorCode::invalid_input,
                  fmt::format("job {} has a port on switch {}, but only {} switches are configured; configure them in "
                              "the same order as before",
                              key.first, port.ocs, spec.switches.size()));
    }
  }
  return {};
}

}  // namespace

// ---- leadership

void Core::Impl::lead(control::Epoch epoch, Instant ends, Instant now) {
  PR_CHECK(!led, "leads twice; what it knows may be out of date: recover a new one");
  led = true;
  if (epoch <= state.epoch()) {  // somebody has led since whoever elected us
    return outbox.notice("error", fmt::format("does not lead: epoch {} is not beyond {}", epoch, state.epoch()));
  }
  until = ends;
  outbox.append(state, EpochBegun{epoch});
  outbox.audit({"controller", "leads", {}, epoch, 0, {}, {}, {}});
  leading.emplace(*this, now);
  for (const ConnectionId connection : streams) leading->plane.opened(connection, identities.at(connection));
  identities.clear();
  leading->switches.tick(now);
  leading->plane.settle(now);
}

bool Core::Impl::leads(Instant now) {
  if (leading && now >= until) step_down(now, "the lease on leadership is over");
  return leading.has_value();
}

// From here on nothing is written: the reconcilers are gone with all that they had in mind.
void Core::Impl::step_down(Instant, const std::string& why) {
  if (!leading) return;
  outbox.drop_waiting();
  leading->plane.close_all({control::Refused::Code::not_leader, why, kRetryElsewhere});
  leading.reset();
  streams.clear();
  outbox.notice("warning", "steps down: " + why);
}

void Core::Impl::refuse_rank(ConnectionId connection) {
  outbox.to_rank(connection,
                 control::Refused{control::Refused::Code::not_leader, "another controller leads", kRetryElsewhere});
  outbox.close(connection, "another controller leads");
  streams.erase(connection);
  identities.erase(connection);
}

Instant Core::Impl::next_deadline() const {
  if (!leading) return kNever;
  return std::min({until, leading->switches.next_deadline(), leading->plane.next_deadline()});
}

void Core::Impl::tick(Instant now) {
  const Instant due = next_deadline();
  if (!leads(now)) return;
  // Woken late by more than the margin: the process stood still, and what ranks sent meanwhile has not been read.
  if (due != kNever && now - due > spec.margin) leading->plane.grace(now + spec.lease / 2);
  leading->switches.tick(now);
  leading->plane.tick(now);
  leading->plane.settle(now);
}

// ---- the carrier's events

Result<Core> Core::recover(CoreSpec spec, const std::vector<std::string>& records, Instant) {
  DurableState state;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto in_record = [i](Error error) {
      error.message = fmt::format("record {}: {}", i + 1, error.message);
      return photonrail::fail(std::move(error));
    };
    const Result<Record> record = decode(records[i]);
    if (!record) return in_record(record.error());
    if (const Status applied = state.apply(*record); !applied) return in_record(applied.error());
  }
  PR_TRY(check(spec, state));
  return Core(std::make_unique<Impl>(std::move(spec), std::move(state)));
}

Core::Core(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Core::Core(Core&&) noexcept = default;
Core& Core::operator=(Core&&) noexcept = default;
Core::~Core() = default;

void Core::lead(control::Epoch epoch, Instant until, Instant now) { impl_->lead(epoch, until, now); }

void Core::extend(Instant until, Instant now) {
  if (impl_->leads(now)) impl_->until = std::max(impl_->until, until);
}

void Core::step_down(Instant now) { impl_->step_down(now, "told to"); }

void Core::rank_opened(ConnectionId connection, const Identity& identity, Instant now) {
  impl_->outbox.open(connection);
  impl_->streams.insert(connection);
  if (impl_->leads(now))
    impl_->leading->plane.opened(connection, identity);
  else
    impl_->identities.insert_or_assign(connection, identity);
}

void Core::rank_message(ConnectionId connection, const control::RankMessage& message, Instant now) {
  if (!impl_->leads(now)) return impl_->refuse_rank(connection);
  impl_->leading->plane.message(connection, message, now);
  impl_->leading->plane.settle(now);
}

void Core::rank_closed(ConnectionId connection, Instant now) {
  impl_->outbox.close(connection);
  impl_->streams.erase(connection);
  impl_->identities.erase(connection);
  if (!impl_->leads(now)) return;
  impl_->leading->plane.closed(connection);
}

void Core::operator_call(RequestId request, const Identity& identity, const OperatorCall& call, Instant now) {
  impl_->call(request, identity, call, now);
}

void Core::switch_connected(SwitchId ocs, Instant now) {
  if (!impl_->leads(now) || !impl_->knows(ocs)) return;
  impl_->leading->switches.connected(ocs, now);
  impl_->leading->plane.settle(now);
}

void Core::switch_frame(SwitchId ocs, const device::Frame& frame, Instant now) {
  if (!impl_->leads(now) || !impl_->knows(ocs)) return;
  impl_->leading->switches.frame(ocs, frame, now);
  impl_->leading->plane.settle(now);
}

void Core::switch_disconnected(SwitchId ocs, Instant now) {
  if (!impl_->leads(now) || !impl_->knows(ocs)) return;
  impl_->leading->switches.disconnected(ocs, now);
  impl_->leading->plane.settle(now);
}

void Core::durable(RecordNumber through, Instant now) {
  if (impl_->leads(now)) impl_->outbox.durable(through);
}

void Core::tick(Instant now) { impl_->tick(now); }
Instant Core::next_deadline() const { return impl_->next_deadline(); }
std::vector<Action> Core::take_actions() { return impl_->outbox.take(); }
std::vector<std::string> Core::snapshot() const { return impl_->state.snapshot(); }
std::uint64_t Core::digest() const { return impl_->state.digest(); }

}  // namespace photonrail::daemon
