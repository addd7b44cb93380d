#include "device/tl1_front_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/dialect_text.h"

namespace photonrail::device {
namespace {

constexpr std::size_t kLinesPerPage = 8;  // of the variant "paging"
constexpr Duration kLateLogin = std::chrono::milliseconds(500);

// A box in software has no calendar: its day zero is 2026-01-01.
std::string time_stamp(Instant now) {
  using namespace std::chrono;
  const auto since = floor<seconds>(std::max(now, Instant{}).time_since_epoch());
  const sys_seconds at = sys_days{year{2026} / January / 1} + since;
  const sys_days day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss<seconds> clock{at - day};
  return fmt::format("{:02}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()) % 100,
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace

Tl1Response tl1_denied(std::string code, std::string comment) {
  Tl1Response response;
  response.completion = tl1::Completion::deny;
  response.code = std::move(code);
  response.comment = std::move(comment);
  return response;
}

Tl1Response Tl1Box::write(const Tl1Call& call, WriteRequest request) {
  request.writer = call.writer;
  const WriteReply reply = model_.write(request, call.now);
  Tl1Response response;
  const bool busy = contains_word(reply.text, "running");
  if (reply.outcome == Outcome::rejected) response = tl1_denied(busy ? "SARB" : "SNVS", reply.text);
  if (reply.outcome == Outcome::failed || reply.outcome == Outcome::unknown) response = tl1_denied("SROF", reply.text);
  const auto applied = [](Outcome outcome) { return outcome == Outcome::applied; };
  const bool some = std::any_of(reply.add.begin(), reply.add.end(), applied);
  const bool all = std::all_of(reply.add.begin(), reply.add.end(), applied);
  if (reply.outcome == Outcome::failed && some && !all) response.completion = tl1::Completion::partial;
  response.accepted = reply.accepted;
  return response;
}

Tl1FrontEnd::Tl1FrontEnd(std::unique_ptr<Tl1Box> box, SwitchModel& model, FrontEndOptions options)
    : box_(std::move(box)), model_(model), options_(std::move(options)), replies_(model) {}

std::size_t Tl1FrontEnd::sessions_open() const {
  const bool by_login = !options_.credentials.user.empty();
  return static_cast<std::size_t>(std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    return by_login ? entry.second.logged_in : !entry.second.closed;
  }));
}

void Tl1FrontEnd::opened(ConnectionId connection, Instant now) {
  const bool full = options_.credentials.user.empty() && sessions_open() >= options_.max_sessions;
  Session& session = sessions_[connection];
  session.id = connection;
  session.last_used = now;
  if (model_.up(now) && !full) return;
  session.closed = true;
  replies_.close(connection, now);
}

void Tl1FrontEnd::closed(ConnectionId connection, Instant) { sessions_.erase(connection); }

bool Tl1FrontEnd::active(const Session& session, Instant now) const {
  if (options_.credentials.user.empty()) return true;
  return session.logged_in && now >= session.logged_in_from;
}

void Tl1FrontEnd::advance(Instant now) {
  model_.advance(now);
  announce_changes(now);
  for (auto& [id, session] : sessions_) {
    if (!model_.up(now) && !std::exchange(session.closed, true)) replies_.close(id, now);
    if (now - session.last_used >= box_->idle_max()) session.logged_in = false;
  }
}

void Tl1FrontEnd::announce_changes(Instant now) {
  const std::vector<Position> changed = model_.changed_outputs(seen_changes_);
  if (changed.empty() || !model_.up(now)) return;
  std::vector<std::string> events, alarms;
  for (const Position output : changed) {
    const PortStatus status = model_.reading(output, now).status;
    const bool failed = status == PortStatus::failed;
    const char* what = failed ? "CR,FAILED,SA" : name(status);
    (failed ? alarms : events).push_back(fmt::format("{}:{}", box_->access_of(output), what));
  }
  const auto announce = [&](const char* kind, const char* verb, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    std::string text = fmt::format("{}{} {} {}", header(now), kind, ++alarms_, verb);
    for (const std::string& line : lines) text += fmt::format("\r\n   \"{}\"", line);
    text += fmt::format("\r\n;{}", box_->prompt());
    for (const auto& [id, session] : sessions_) {
      if (!session.closed && !session.silent && active(session, now)) replies_.send_plain(id, text, now);
    }
  };
  announce("*C", "REPT ALM PORT", alarms);
  announce("A ", "REPT EVT PORT", events);
}

void Tl1FrontEnd::receive(ConnectionId connection, const Frame& frame, Instant now) {
  advance(now);
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.reader.feed(frame.body);
  while (const auto text = session.reader.next()) {
    if (session.silent || session.closed) return;
    on_request(session, *text, now);
  }
}

void Tl1FrontEnd::on_request(Session& session, const std::string& text, Instant now) {
  const Fate fate = replies_.fate();
  session.silent = fate == Fate::fall_silent;
  if (fate == Fate::fall_silent) return;
  if (fate != Fate::break_before) {
    const auto request = tl1::parse_request(text);
    Tl1Response response = tl1_denied("IISP", "Input, Invalid Syntax or Punctuation");
    if (request) response = respond(session, *request, now);
    if (response.accepted == Instant::min()) response.accepted = model_.take_turn(now);
    const std::string reply = response_text(request ? request->tag : "0", response, response.accepted);
    if (fate == Fate::obey) replies_.send(session.id, reply, response.accepted);
  }
  session.last_used = now;
  if (fate == Fate::obey) return;
  session.closed = true;
  replies_.close(session.id, now);
}

Tl1Response Tl1FrontEnd::respond(Session& session, const tl1::Request& request, Instant now) {
  if (request.verb == "ACT-USER") return log_in(session, request, now);
  if (request.verb == "CANC-USER") return session.logged_in = false, Tl1Response{};
  if (!active(session, now)) return tl1_denied("PLNA", "Login Not Active");
  if (!request.target.empty() && request.target != box_->source()) {
    return tl1_denied("IITA", "Input, Invalid Target identifier");
  }
  if (request.verb == "RTRV-HDR") return {};
  const Tl1Call call{request, fmt::format("{}/{}", name(box_->dialect()), session.id), now};
  if (auto response = box_->answer(call)) return std::move(*response);
  return tl1_denied("IICM", "Input, Invalid Command");
}

Tl1Response Tl1FrontEnd::log_in(Session& session, const tl1::Request& request, Instant now) {
  constexpr std::size_t kPassword = 1;  // after the general block
  const Credentials& wanted = options_.credentials;
  if (wanted.user.empty()) return {};
  if (unquoted(request.access) != wanted.user || unquoted(request.block(kPassword)) != wanted.password) {
    return tl1_denied("PIUI", "Privilege, Illegal User Identity");
  }
  if (session.logged_in) return tl1_denied("SNVS", "Already logged in");
  if (sessions_open() >= options_.max_sessions) return tl1_denied("SARB", "Status, All Resources Busy");
  session.logged_in = true;
  session.user = wanted.user;
  session.logged_in_from = options_.firmware_variant == "late-login" ? now + kLateLogin : now;
  Tl1Response response;
  response.lines.push_back(fmt::format("{}:{},1", session.user, session.user));
  return response;
}

std::string Tl1FrontEnd::header(Instant now) const {
  return fmt::format("\r\n\n   {} {}\r\n", box_->source(), time_stamp(now));
}

std::string Tl1FrontEnd::response_text(const std::string& tag, const Tl1Response& response, Instant now) const {
  const std::string head = fmt::format("{}M  {} {}", header(now), tag, tl1::name(response.completion));
  std::string text = head;
  if (!response.code.empty()) text += fmt::format("\r\n   {}", response.code);
  if (!response.comment.empty()) text += fmt::format("\r\n   /* {} */", response.comment);
  const bool paging = options_.firmware_variant == "paging";
  for (std::size_t i = 0; i < response.lines.size(); ++i) {
    if (paging && i > 0 && i % kLinesPerPage == 0) text += "\r\n>" + head;
    text += fmt::format("\r\n   \"{}\"", response.lines[i]);
  }
  return text + "\r\n;" + box_->prompt();
}

}  // namespace photonrail::device
