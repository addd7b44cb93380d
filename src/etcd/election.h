// Election: who leads, by one key that lives with its creator's lease. Sans-IO: the carrier (candidate.h) asks what to
// do next, does it, and says how it went.
//
//   look ─▶ the key is there: follow, and look again every `poll` or when a watch says that it went
//        └▶ it is not: grant a lease ─▶ campaign (create the key if it is still not there) ─▶ lead, keep the lease
//   lost, or resigned: revoke the lease, so that others need not wait for its end
//
// The epoch is the revision at which the key came into being: it grows with every leader, and a transaction guarded by
// it is refused for everyone else, however late it arrives.
//
// Safety: etcd ends a lease no earlier than its duration after the moment at which it last heard of it, and it hears of
// it no earlier than the message was sent. So we lead until (sent + duration - margin) of the last message that was
// answered; the margin is for clocks that run at different rates. What is not answered counts for nothing. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "etcd/kv.h"

namespace photonrail::etcd {

struct ElectionSpec {
  std::string name;                        // value of the key: who leads; other for each start of a process
  Duration ttl = std::chrono::seconds(1);  // etcd counts whole seconds, and at least 1.5 election timeouts
  Duration margin = std::chrono::milliseconds(100);
  Duration keep = std::chrono::milliseconds(200);   // between renewals
  Duration poll = std::chrono::milliseconds(500);   // of a follower
  Duration retry = std::chrono::milliseconds(100);  // after a failure
};

class Election {
 public:
  enum class Call : std::uint8_t { none, look, grant, campaign, keep, revoke };
  struct Next {
    Call call = Call::none;  // none: resigned, and nothing is left to do
    Lease lease = 0;         // campaign, keep, revoke
    Instant at{};            // not before
  };
  struct Leadership {
    Revision epoch = 0;
    Instant until{};
  };

  explicit Election(ElectionSpec spec) : spec_(std::move(spec)) {}

  Next next() const { return next_; }

  // ---- answers to the call of next(); `sent`: when it was made
  void looked(const std::optional<KeyValue>& holder, Instant now);
  void granted(Lease lease, Duration ttl, Instant sent);
  // `holder`: the key as it is after the campaign, whoever won.
  void campaigned(const KeyValue& holder, Instant now);
  void kept(Duration ttl, Instant sent, Instant now);  // not above zero: the lease is gone
  void revoked(Instant now);
  void failed(Instant now);

  // ---- what else happens
  void key_gone(Instant now);  // a watch says so; only makes us look earlier
  void abandon(Instant now);   // the store refused us, or cannot be written
  void resign(Instant now);    // for good
  void tick(Instant now);      // notices the end of the lease

  std::optional<Leadership> leads() const;               // as of the last event
  const std::string& leader() const { return leader_; }  // of another one, as last seen; "": none

 private:
  enum class State : std::uint8_t { following, granting, campaigning, leading, revoking, resigned };
  void become(State state, Call call, Instant at);
  void give_up(Instant now);

  ElectionSpec spec_;
  State state_ = State::following;
  Next next_{Call::look, 0, {}};
  Lease lease_ = 0;
  Duration ttl_{};
  Revision epoch_ = 0;
  Instant until_{};
  std::string leader_;
  bool resigning_ = false;
};

}  // namespace photonrail::etcd
