// Front ends of emulated switches that speak TL1 (tl1.h): one engine for all dialects, and what a dialect tells it.
//
// Sessions log in (ACT-USER, CANC-USER) where credentials are given: before that everything is denied with PLNA, after
// FrontEndOptions::max_sessions log-ins with SARB; without credentials, connections beyond max_sessions are closed at
// once. Changes of outputs go to every session that is logged in as autonomous messages. Firmware variants: "paging"
// (a page of 8 lines ends in >), "late-login" (a log-in counts from 0.5 s on, as seen on Calient switches).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/dialect_server.h"
#include "device/front_end.h"
#include "device/tl1.h"

namespace photonrail::device {

// What a box answers to a request.
struct Tl1Response {
  tl1::Completion completion = tl1::Completion::complete;
  std::string code;                // of DENY: IDNV, SROF, ...
  std::string comment;             // of DENY, for people
  std::vector<std::string> lines;  // data, without quotes
  Instant accepted = Instant::min();  // of its last write; min() where it wrote nothing
};
Tl1Response tl1_denied(std::string code, std::string comment = "");

struct Tl1Call {
  const tl1::Request& request;
  std::string writer;
  Instant now{};
};

// Server side of one dialect.
class Tl1Box {
 public:
  explicit Tl1Box(SwitchModel& model) : model_(model) {}
  virtual ~Tl1Box() = default;
  virtual Dialect dialect() const = 0;
  virtual std::string source() const = 0;                   // SID
  virtual std::string prompt() const = 0;                   // after the semicolon
  virtual std::optional<Tl1Response> answer(const Tl1Call& call) = 0;  // nothing: not one of its verbs
  virtual std::string access_of(Position output) const = 0;            // for autonomous messages
  virtual Duration idle_max() const { return Duration::max(); }        // of a session, before it is logged out

 protected:
  // Writes, and says how it went: applied COMPLD; refused SNVS (SARB where the box is busy); failed SROF, or PRTL.
  Tl1Response write(const Tl1Call& call, WriteRequest request);
  SwitchModel& model_;
};
std::unique_ptr<Tl1Box> make_polatis_tl1_box(SwitchModel& model);
std::unique_ptr<Tl1Box> make_calient_tl1_box(SwitchModel& model);
std::unique_ptr<Tl1Box> make_glimmerglass_tl1_box(SwitchModel& model);

class Tl1FrontEnd final : public FrontEnd {
 public:
  Tl1FrontEnd(std::unique_ptr<Tl1Box> box, SwitchModel& model, FrontEndOptions options);

  void opened(ConnectionId connection, Instant now) override;
  void closed(ConnectionId connection, Instant now) override;
  void receive(ConnectionId connection, const Frame& frame, Instant now) override;
  void advance(Instant now) override;
  std::vector<FrontEndReply> take_replies() override { return replies_.take(); }

 private:
  struct Session {
    ConnectionId id = 0;
    tl1::RequestReader reader;
    std::string user;
    bool logged_in = false;
    Instant logged_in_from{};
    Instant last_used{};
    bool silent = false;  // half open: the peer hears nothing any more
    bool closed = false;
  };

  bool active(const Session& session, Instant now) const;
  std::size_t sessions_open() const;
  void on_request(Session& session, const std::string& text, Instant now);
  Tl1Response respond(Session& session, const tl1::Request& request, Instant now);
  Tl1Response log_in(Session& session, const tl1::Request& request, Instant now);
  std::string header(Instant now) const;
  std::string response_text(const std::string& tag, const Tl1Response& response, Instant now) const;
  void announce_changes(Instant now);

  std::unique_ptr<Tl1Box> box_;
  SwitchModel& model_;
  FrontEndOptions options_;
  StreamReplies replies_;
  std::map<ConnectionId, Session> sessions_;
  std::uint64_t seen_changes_ = 0;
  std::uint32_t alarms_ = 0;
};

}  // namespace photonrail::device
