#include "device/message_front_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace photonrail::device {

MessageFrontEnd::MessageFrontEnd(SwitchModel& model, FrontEndOptions options)
    : model_(model), options_(std::move(options)) {}

void MessageFrontEnd::opened(ConnectionId connection, Instant now) {
  const auto alive = std::count_if(sessions_.begin(), sessions_.end(), [](const auto& s) { return !s.second.closed; });
  Session& session = sessions_[connection];
  session.id = connection;
  if (!model_.up(now) || alive >= static_cast<std::ptrdiff_t>(options_.max_sessions)) {
    session.closed = true;
    return push(connection, {}, now, true);
  }
  if (auto hello = greeting(session)) push(connection, std::move(*hello), now, false);
}

void MessageFrontEnd::closed(ConnectionId connection, Instant) { sessions_.erase(connection); }

void MessageFrontEnd::advance(Instant now) {
  model_.advance(now);
  const bool listening =
      std::any_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s.second.subscribed; });
  const std::vector<Position> changed = listening ? model_.changed_outputs(cursor_) : std::vector<Position>{};
  for (auto& [id, session] : sessions_) {
    if (!model_.up(now) && !std::exchange(session.closed, true)) push(id, {}, now, true);
    if (!session.subscribed || session.closed || session.silent || changed.empty()) continue;
    if (auto frame = notification(session, changed, now)) push(id, std::move(*frame), now, false);
  }
}

void MessageFrontEnd::receive(ConnectionId connection, const Frame& frame, Instant now) {
  advance(now);
  const auto found = sessions_.find(connection);
  if (found == sessions_.end() || found->second.closed || found->second.silent) return;
  Session& session = found->second;
  if (model_.draw("half_open")) {
    session.silent = true;
    return;
  }
  const bool breaks = model_.draw("disconnects");
  const bool before = breaks && breaks_++ % 2 == 0;
  Handled handled;
  if (!before) handled = handle(session, frame, now);
  if (breaks) {
    session.closed = true;
    return push(connection, {}, std::max(now, handled.at), true);
  }
  for (Frame& part : handled.before) push(connection, std::move(part), std::max(now, handled.at), false);
  if (handled.reply) send(connection, std::move(*handled.reply), std::max(now, handled.at));
  if (!session.closing) return;
  session.closed = true;
  push(connection, {}, std::max(now, handled.at), true);
}

void MessageFrontEnd::send(ConnectionId connection, Frame frame, Instant at) {
  if (model_.draw("no_reply")) return;
  if (model_.draw("late_reply")) at += model_.spec().faults.late_by;
  if (model_.draw("garbage")) {
    Frame garbage = frame;
    garbage.status = 0;
    garbage.body = "\x07?\xff<\"{";
    push(connection, std::move(garbage), at, false);
  }
  push(connection, std::move(frame), at, false);
}

void MessageFrontEnd::push(ConnectionId connection, Frame frame, Instant at, bool close) {
  replies_.push_back({connection, at, std::move(frame), close});
}

std::vector<FrontEndReply> MessageFrontEnd::take_replies() {
  std::stable_sort(replies_.begin(), replies_.end(),
                   [](const FrontEndReply& a, const FrontEndReply& b) { return a.at < b.at; });
  return std::exchange(replies_, {});
}

WriteReply MessageFrontEnd::write(const Session& session, WriteRequest request, Instant now) {
  request.writer = fmt::format("{}@{}", session.user, session.id);
  return model_.write(request, now);
}

std::optional<CrossConnect> MessageFrontEnd::connection_of_input(Position in, Instant now) {
  for (const CrossConnect& pair : model_.connections(now)) {
    if (pair.in == in) return pair;
  }
  return std::nullopt;
}

}  // namespace photonrail::device
