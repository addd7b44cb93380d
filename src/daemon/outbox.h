// Outbox: the actions of the core, in order, each let out only when the record that it depends on is durable. What goes
// to one rank, or to one switch, stays in order: behind something that waits, everything waits.
// Records are numbered here. One thread.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "daemon/durable.h"

namespace photonrail::daemon {

class Outbox {
 public:
  // Numbers go on after `last`, which is durable, as are those before it.
  explicit Outbox(RecordNumber last = 0) : appended_(last), durable_(last) {}

  // Applies the record to `state` and appends it. One that does not apply is a bug of the caller.
  RecordNumber append(DurableState& state, const Record& record);
  RecordNumber appended() const { return appended_; }
  bool is_durable(RecordNumber number) const { return number <= durable_; }
  void durable(RecordNumber through);

  // Ranks: nothing goes out before open() and after close().
  void open(ConnectionId connection);
  void close(ConnectionId connection);                      // the stream is gone
  void close(ConnectionId connection, std::string reason);  // after what was sent before
  void to_rank(ConnectionId connection, control::DaemonMessage message, RecordNumber after = 0);
  void to_operator(RequestId request, Reply reply, RecordNumber after = 0);

  // Switches: frames of a connection that is gone are never sent on the next one.
  void connect(SwitchId ocs);
  void disconnected(SwitchId ocs);
  void to_switch(SwitchId ocs, device::Frame frame, RecordNumber after = 0);

  void audit(AuditRecord record);
  void notice(std::string level, std::string text);

  void measured(const IntentMeasured& measured);

  // Leadership is over: what waits will never be let out; operators who wait are told so.
  void drop_waiting();
  std::vector<Action> take() { return std::exchange(actions_, {}); }

 private:
  struct Waiting {
    Action action;
    bool to_rank = false, to_switch = false;
    std::uint64_t channel = 0;
    std::uint64_t life = 0;  // of the switch's connection
  };
  struct SwitchChannel {
    RecordNumber after = 0;
    std::uint64_t life = 0;
  };
  void hold(RecordNumber after, Waiting waiting);
  bool still_wanted(const Waiting& waiting) const;

  RecordNumber appended_, durable_;
  std::vector<Action> actions_;
  std::uint64_t order_ = 0;
  std::map<std::pair<RecordNumber, std::uint64_t>, Waiting> waiting_;  // by record, then by order of emission
  std::unordered_map<ConnectionId, RecordNumber> ranks_;               // open ones: the last record waited for
  std::map<SwitchId, SwitchChannel> switches_;
};

}  // namespace photonrail::daemon
