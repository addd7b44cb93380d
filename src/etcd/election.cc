#include "etcd/election.h"

#include <algorithm>

namespace photonrail::etcd {

void Election::become(State state, Call call, Instant at) {
  state_ = state;
  next_ = {call, lease_, at};
}

std::optional<Election::Leadership> Election::leads() const {
  if (state_ != State::leading) return std::nullopt;
  return Leadership{epoch_, until_};
}

void Election::looked(const std::optional<KeyValue>& holder, Instant now) {
  if (state_ != State::following) return;
  leader_ = holder ? holder->value : std::string();
  if (holder && holder->value == spec_.name && holder->lease != 0) {
    // Ours, of a leadership that was given up while etcd did not answer: it is revoked before another one begins.
    lease_ = holder->lease;
    return become(State::revoking, Call::revoke, now);
  }
  if (holder) return become(State::following, Call::look, now + spec_.poll);
  become(State::granting, Call::grant, now);
}

void Election::granted(Lease lease, Duration ttl, Instant sent) {
  if (state_ != State::granting) return;
  lease_ = lease;
  ttl_ = ttl;
  until_ = sent + ttl - spec_.margin;
  become(State::campaigning, Call::campaign, sent);
}

void Election::campaigned(const KeyValue& holder, Instant now) {
  if (state_ != State::campaigning) return;
  leader_ = holder.value;
  if (holder.lease != lease_) return become(State::following, Call::look, now + spec_.poll);
  epoch_ = holder.created;
  leader_.clear();
  become(State::leading, Call::keep, now);
  tick(now);
}

void Election::kept(Duration ttl, Instant sent, Instant now) {
  if (state_ != State::leading) return;
  if (ttl <= Duration::zero()) return give_up(now);
  until_ = std::max(until_, sent + ttl - spec_.margin);
  next_.at = sent + spec_.keep;
  tick(now);
}

void Election::revoked(Instant now) {
  if (state_ != State::revoking) return;
  lease_ = 0;
  if (resigning_) return become(State::resigned, Call::none, kNever);
  // Others that wait for the key come first: whoever lost it once may well lose it again.
  become(State::following, Call::look, now + spec_.retry);
}

// A lease that was granted, or a key that was created, without our hearing of it ends by itself, or is found by
// looking.
void Election::failed(Instant now) {
  switch (state_) {
    case State::following:
    case State::granting: return become(State::following, Call::look, now + spec_.retry);
    case State::campaigning: return become(State::campaigning, Call::campaign, now + spec_.retry);
    case State::leading: next_.at = now + spec_.retry / 4; return tick(now);
    case State::revoking:
      if (resigning_) return become(State::resigned, Call::none, kNever);  // it ends by itself
      return become(State::following, Call::look, now + spec_.retry);
    case State::resigned: return;
  }
}

void Election::key_gone(Instant now) {
  if (state_ != State::following) return;
  leader_.clear();
  next_.at = std::min(next_.at, now);
}

void Election::abandon(Instant now) {
  if (state_ == State::leading) give_up(now);
}

void Election::resign(Instant now) {
  resigning_ = true;
  if (state_ == State::resigned || state_ == State::revoking) return;
  if (lease_ == 0) return become(State::resigned, Call::none, kNever);
  give_up(now);
}

void Election::tick(Instant now) {
  const bool over = now >= until_;
  if (state_ == State::leading && over) give_up(now);
  if (state_ == State::campaigning && over) give_up(now);  // what it would win ends before it begins
}

void Election::give_up(Instant now) {
  epoch_ = 0;
  become(State::revoking, Call::revoke, now);
}

}  // namespace photonrail::etcd
