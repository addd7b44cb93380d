#include "daemon/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace photonrail::daemon {

RecordNumber Outbox::append(DurableState& state, const Record& record) {
  const Status applied = state.apply(record);
  PR_CHECK(applied.has_value(), "a record of our own makes no sense");
  actions_.emplace_back(AppendRecord{++appended_, encode(record)});
  return appended_;
}

void Outbox::durable(RecordNumber through) {
  PR_CHECK(through <= appended_, "a record is durable that was never appended");
  durable_ = std::max(durable_, through);
  while (!waiting_.empty() && waiting_.begin()->first.first <= durable_) {
    Waiting waiting = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    if (!still_wanted(waiting)) continue;
    if (const auto* closed = std::get_if<CloseRank>(&waiting.action)) ranks_.erase(closed->connection);
    actions_.push_back(std::move(waiting.action));
  }
}

bool Outbox::still_wanted(const Waiting& waiting) const {
  if (waiting.to_rank) return ranks_.contains(waiting.channel);
  if (!waiting.to_switch) return true;
  const auto found = switches_.find(static_cast<SwitchId>(waiting.channel));
  return found != switches_.end() && found->second.life == waiting.life;
}

void Outbox::hold(RecordNumber after, Waiting waiting) {
  waiting_.emplace(std::pair{after, order_++}, std::move(waiting));
}

void Outbox::open(ConnectionId connection) { ranks_.emplace(connection, 0); }
void Outbox::close(ConnectionId connection) { ranks_.erase(connection); }

void Outbox::close(ConnectionId connection, std::string reason) {
  const auto channel = ranks_.find(connection);
  if (channel == ranks_.end()) return;
  CloseRank action{connection, std::move(reason)};
  if (!is_durable(channel->second)) return hold(channel->second, {std::move(action), true, false, connection, 0});
  ranks_.erase(channel);
  actions_.emplace_back(std::move(action));
}

void Outbox::to_rank(ConnectionId connection, control::DaemonMessage message, RecordNumber after) {
  const auto channel = ranks_.find(connection);
  if (channel == ranks_.end()) return;
  after = channel->second = std::max(channel->second, after);
  ToRank action{connection, std::move(message)};
  if (!is_durable(after)) return hold(after, {std::move(action), true, false, connection, 0});
  actions_.emplace_back(std::move(action));
}

void Outbox::to_operator(RequestId request, Reply reply, RecordNumber after) {
  ToOperator action{request, std::move(reply)};
  if (!is_durable(after)) return hold(after, {std::move(action), false, false, 0, 0});
  actions_.emplace_back(std::move(action));
}

void Outbox::connect(SwitchId ocs) {
  disconnected(ocs);
  actions_.emplace_back(ConnectSwitch{ocs});
}

void Outbox::disconnected(SwitchId ocs) { ++switches_[ocs].life; }

void Outbox::to_switch(SwitchId ocs, device::Frame frame, RecordNumber after) {
  SwitchChannel& channel = switches_[ocs];
  after = channel.after = std::max(channel.after, after);
  ToSwitch action{ocs, std::move(frame)};
  if (!is_durable(after)) return hold(after, {std::move(action), false, true, ocs, channel.life});
  actions_.emplace_back(std::move(action));
}

void Outbox::audit(AuditRecord record) { actions_.emplace_back(Audit{std::move(record)}); }

void Outbox::measured(const IntentMeasured& measured) { actions_.emplace_back(measured); }

void Outbox::notice(std::string level, std::string text) {
  actions_.emplace_back(Notice{std::move(level), std::move(text)});
}

void Outbox::drop_waiting() {
  for (auto& [key, waiting] : std::exchange(waiting_, {})) {
    auto* reply = std::get_if<ToOperator>(&waiting.action);
    if (reply == nullptr) continue;
    reply->reply = {};
    reply->reply.outcome = fail(ErrorCode::io, "leadership was lost before this was durable; ask whoever leads now");
    actions_.push_back(std::move(waiting.action));
  }
  for (auto& [connection, after] : ranks_) after = 0;
}

}  // namespace photonrail::daemon
