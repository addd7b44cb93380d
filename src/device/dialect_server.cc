#include "device/dialect_server.h"

#include <algorithm>
#include <utility>

namespace photonrail::device {
namespace {

// Nothing that any dialect would take for a reply: a truncated message, a control character, high bytes.
constexpr std::string_view kGarbage = "\x07\xff?#1;\x15 -9,\"\r\n";
constexpr Duration kPieceGap = std::chrono::microseconds(200);

}  // namespace

Fate StreamReplies::fate() {
  if (model_.draw("half_open")) return Fate::fall_silent;
  if (!model_.draw("disconnects")) return Fate::obey;
  return breaks_++ % 2 == 0 ? Fate::break_before : Fate::break_after;
}

void StreamReplies::send(ConnectionId connection, std::string text, Instant at) {
  if (model_.draw("no_reply")) return;
  if (model_.draw("late_reply")) at += model_.spec().faults.late_by;
  if (model_.draw("garbage")) send_plain(connection, std::string(kGarbage), at);
  if (text.size() < 2 || !model_.draw("split")) return send_plain(connection, std::move(text), at);
  const std::size_t half = text.size() / 2;
  send_plain(connection, text.substr(0, half), at);
  send_plain(connection, text.substr(half), at + kPieceGap);
}

void StreamReplies::send_plain(ConnectionId connection, std::string text, Instant at) {
  FrontEndReply reply;
  reply.connection = connection;
  reply.at = at;
  reply.frame.body = std::move(text);
  replies_.push_back(std::move(reply));
}

void StreamReplies::close(ConnectionId connection, Instant at) {
  FrontEndReply reply;
  reply.connection = connection;
  reply.at = at;
  reply.close = true;
  replies_.push_back(std::move(reply));
}

std::vector<FrontEndReply> StreamReplies::take() {
  std::stable_sort(replies_.begin(), replies_.end(),
                   [](const FrontEndReply& a, const FrontEndReply& b) { return a.at < b.at; });
  return std::exchange(replies_, {});
}

}  // namespace photonrail::device
