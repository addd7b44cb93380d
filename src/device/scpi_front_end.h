// Front end of an emulated Polatis / HUBER+SUHNER switch: SCPI (scpi.h) over a SwitchModel.
//
// Headers in any case, long or short, with or without the leading colon, relative to the one before (SCPI-99 volume 1,
// 6.2.4); several units in a line, one line of replies joined by semicolons. Errors go to a queue of 32 for each
// session; *CLS empties it. *OPC? answers when the commands before it are done. Sessions beyond max_sessions are closed
// at once. Firmware variant "stops-at-error": a line with an error is carried out up to there and not answered at all.
// Firmware variant "none-marker": lists as (@1),(@17);(@2),(@18), and <none> where there are none.
// A model without power detectors answers :PMON:POW? with -241. Input ports have no detector and no shutter.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/dialect_server.h"
#include "device/dialect_text.h"
#include "device/front_end.h"
#include "device/scpi.h"

namespace photonrail::device {

class ScpiFrontEnd final : public FrontEnd {
 public:
  ScpiFrontEnd(SwitchModel& model, FrontEndOptions options);

  void opened(ConnectionId connection, Instant now) override;
  void closed(ConnectionId connection, Instant now) override;
  void receive(ConnectionId connection, const Frame& frame, Instant now) override;
  void advance(Instant now) override;
  std::vector<FrontEndReply> take_replies() override { return replies_.take(); }

 private:
  struct Session {
    ConnectionId id = 0;
    LineReader reader{kLineMax};
    std::deque<scpi::ErrorEntry> errors;
    std::uint64_t errors_made = 0;
    unsigned event_status = 0;      // *ESR?, IEEE 488.2 bits
    bool silent = false;            // half open: the peer hears nothing any more
    bool closed = false;
  };
  // One unit while its line is carried out.
  struct Unit {
    Session& session;
    std::string_view parameters;
    std::vector<std::string> replies;  // of the line
    Instant now{};
    Instant done{};                    // when all that the line writes is accepted; min() where it writes nothing
  };
  using Handler = void (ScpiFrontEnd::*)(Unit&);
  struct Header {
    const char* pattern;  // "OXC:SWITch:SIZE?": capitals are the short form
    Handler handler;
  };
  static constexpr std::size_t kLineMax = 65536;
  static const std::vector<Header>& headers();
  static bool header_matches(std::string_view pattern, std::string_view header);

  void on_line(Session& session, const std::string& line, Instant now);
  void run_line(Unit& unit, std::string_view line);
  void run_unit(Unit& unit, std::string_view text, std::string& path);
  const Header* find(std::string_view header) const;

  void push_error(Session& session, int code, std::string text);
  std::string pop_error(Session& session);
  std::optional<std::vector<scpi::Port>> ports(Unit& unit);
  std::optional<std::vector<scpi::Patch>> patches(Unit& unit);
  std::optional<std::vector<CrossConnect>> pairs(Unit& unit);
  std::vector<scpi::Patch> held(Instant now);
  void write(Unit& unit, WriteRequest request);
  void set_ports(Unit& unit, bool enabled);

  void identity(Unit& unit);
  void clear(Unit& unit);
  void complete(Unit& unit);
  void complete_event(Unit& unit);
  void event_status(Unit& unit);
  void status_byte(Unit& unit);
  void wait(Unit& unit);
  void reset(Unit& unit);
  void size(Unit& unit);
  void add(Unit& unit);
  void only(Unit& unit);
  void subtract(Unit& unit);
  void disconnect_all(Unit& unit);
  void state(Unit& unit);
  void peer(Unit& unit);
  void enable(Unit& unit);
  void disable(Unit& unit);
  void port_states(Unit& unit);
  void boot_mode(Unit& unit);
  void power(Unit& unit);
  void next_error(Unit& unit);
  void all_errors(Unit& unit);
  void address(Unit& unit);

  SwitchModel& model_;
  FrontEndOptions options_;
  scpi::Numbering numbering_;
  StreamReplies replies_;
  std::map<ConnectionId, Session> sessions_;
};

}  // namespace photonrail::device
