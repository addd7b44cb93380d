// Client side of TL1 (tl1.h): one engine for all dialects, and what a dialect tells it.
//
// The engine logs in (a second try where the device says 'Login Not Active', 'Already logged in' is success), finds the
// target identifier, gives every command a correlation tag of its own, and takes only the response with that tag: late,
// repeated and foreign messages change nothing. Logged out while idle (PLNA): it logs in again and repeats the command,
// which was refused. Autonomous messages become events.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "device/driver.h"
#include "device/tl1.h"

namespace photonrail::device {

// One request. VERB:TID:access:CTAG<tail>;
struct Tl1Step {
  enum class Kind : std::uint8_t {
    login,
    header,  // asks who is there, for the target identifier
    query,   // denied: the command failed
    probe,   // denied: the device lacks something
    write,
  };
  Kind kind = Kind::query;
  int id = 0;                      // the dialect's own
  std::string verb, access;
  std::string tail = ":";
  std::vector<std::size_t> pairs;  // indices into the command's pairs that it writes
  std::vector<Position> outputs;   // that it asks for
};

// What a dialect may look at and change while a command is in progress.
struct Tl1Context {
  const Command& command;
  Answer& answer;
  Identity& identity;
  Capabilities& capabilities;
  std::deque<Tl1Step>& todo;  // what comes next; the step in question is no longer in it
};

// Client side of one dialect.
class Tl1Codec {
 public:
  virtual ~Tl1Codec() = default;
  virtual Dialect dialect() const = 0;
  virtual Capabilities capabilities() const = 0;           // before the device has told
  virtual bool addressed() const = 0;                      // requests carry the target identifier
  virtual void identify(Tl1Context& context) = 0;          // appends steps; their replies fill context.identity
  virtual void begin(Tl1Context& context) = 0;             // appends the steps of context.command
  // A query or probe was answered. False: the reply makes no sense.
  virtual bool on_reply(const Tl1Step& step, const tl1::Message& message, Tl1Context& context) = 0;
  virtual void on_denied(const Tl1Step& step, Tl1Context& context) = 0;  // probes only
  virtual void on_written(const Tl1Step& step, Outcome outcome, Tl1Context& context) = 0;
  virtual std::optional<Position> output_in(std::string_view access) const = 0;  // of an autonomous message
};
std::unique_ptr<Tl1Codec> make_polatis_tl1_codec();
std::unique_ptr<Tl1Codec> make_calient_tl1_codec();
std::unique_ptr<Tl1Codec> make_glimmerglass_tl1_codec();

class Tl1Driver final : public Driver {
 public:
  Tl1Driver(std::unique_ptr<Tl1Codec> codec, Credentials credentials);

  Dialect dialect() const override { return codec_->dialect(); }
  const Capabilities& capabilities() const override { return capabilities_; }
  void connected() override;
  void disconnected() override;
  void begin(const Command& command) override;
  void receive(const Frame& frame) override;
  void expire() override;
  std::vector<Frame> take_frames() override;
  std::optional<Answer> take_answer() override;
  std::vector<Event> take_events() override;
  bool wants_new_connection() const override { return wants_new_connection_; }

 private:
  bool idle() const { return todo_.empty(); }
  Tl1Context context();
  void send_next();
  void on_event(const tl1::Message& message);
  void on_response(const tl1::Message& message);
  void on_denied(const Tl1Step& step, const tl1::Message& message);
  void on_written(const Tl1Step& step, Outcome outcome);
  bool log_in_again(const Tl1Step& step, const tl1::Message& message);
  void quote(const tl1::Message& message);
  void advance();
  void finish(Outcome outcome);
  bool in_range() const;
  Tl1Step login_step() const;

  std::unique_ptr<Tl1Codec> codec_;
  Credentials credentials_;
  Capabilities capabilities_;
  Identity identity_;
  tl1::MessageReader reader_;
  std::vector<Frame> frames_;
  std::deque<Answer> answers_;
  std::vector<Event> events_;

  Command command_;            // in flight
  std::deque<Tl1Step> todo_;   // the first one is on the wire
  Answer answer_;              // being gathered
  Outcome writes_ = Outcome::applied;  // of the writes without pairs
  std::string target_;
  std::uint32_t tag_ = 0;      // of the request on the wire
  unsigned logins_ = 0;        // tries within this command
  unsigned deaf_ = 0;          // commands in a row that expired without any message
  bool heard_ = false;         // a message since the command began
  bool connected_ = false, greeting_ = false, identified_ = false, wants_new_connection_ = false;
};

}  // namespace photonrail::device
