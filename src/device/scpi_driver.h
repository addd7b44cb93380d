// Driver of Polatis / HUBER+SUHNER switches by SCPI (scpi.h). No login on this port: isolate the network.
//
// Writes have no reply of their own, and replies carry no tag. So every command is one line that ends in questions:
//   *CLS;<write>;*OPC?;...;:SYST:ERR?      reply: 1;...;0,"No error"
// The number of *OPC? questions (1 to 4) changes with every line; a repeated or late reply has the wrong number of ones
// and is ignored. A command without an answer in time makes the driver ask for a new connection.
// Completion means that the box has taken the command, not that light is there.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "device/dialect_text.h"
#include "device/driver.h"
#include "device/scpi.h"

namespace photonrail::device {

class ScpiDriver final : public Driver {
 public:
  ScpiDriver();

  Dialect dialect() const override { return Dialect::polatis_scpi; }
  const Capabilities& capabilities() const override { return capabilities_; }
  void connected() override;
  void disconnected() override;
  void begin(const Command& command) override;
  void receive(const Frame& frame) override;
  void expire() override;
  std::vector<Frame> take_frames() override;
  std::optional<Answer> take_answer() override;
  std::vector<Event> take_events() override { return {}; }
  bool wants_new_connection() const override { return wants_new_connection_; }

 private:
  enum class Step { identity, size, probe_power, probe_ports, read, port_states, power, write, errors };
  // One line of a command.
  struct Line {
    Step step = Step::read;
    std::string text;                     // between *CLS and the questions
    std::vector<std::size_t> pairs;       // indices into the command's pairs that this line writes
    std::vector<Position> outputs;        // that it asks for
  };
  // A reply that is the one to the line in flight.
  struct Reply {
    std::string_view payload;
    scpi::ErrorEntry error;
  };

  bool idle() const { return lines_.empty(); }
  void start(std::vector<Line> lines);
  void send_next();
  void on_line(std::string_view text);
  std::optional<Reply> match(std::string_view text) const;
  std::optional<std::string_view> after_ones(std::string_view text) const;
  void on_reply(const Reply& reply);
  void advance();
  void finish(Outcome outcome);
  void give_up();
  bool never_answered(Step step) const;

  bool on_identity(std::string_view payload);
  bool on_size(const Reply& reply);
  bool on_read(const Reply& reply);
  bool on_port_states(const Reply& reply);
  bool on_power(const Reply& reply);
  void on_write(const Reply& reply);
  void on_error(const Reply& reply);

  std::vector<Line> lines_of(const Command& command);
  std::vector<Line> write_lines(const Command& command);
  bool in_range(const Command& command) const;

  Capabilities capabilities_;
  scpi::Numbering numbering_;
  LineReader reader_;
  std::vector<Frame> frames_;
  std::deque<Answer> answers_;

  std::deque<Line> lines_;       // of the command in flight; the first one is on the wire
  Answer answer_;                // being gathered
  Outcome line_outcome_ = Outcome::applied;
  unsigned errors_read_ = 0;
  unsigned ones_ = 0;            // *OPC? questions in the line on the wire
  unsigned strangers_ = 0;       // lines that were no answer, since the command began
  std::map<Step, unsigned> unanswered_;  // on first contact, over connections
  bool connected_ = false;
  bool identified_ = false;
  bool wants_new_connection_ = false;
};

}  // namespace photonrail::device
