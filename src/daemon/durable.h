// DurableState: everything that the core may not forget, as the sum of its records. apply() is the only way in, for new
// records as for those of the journal, so that what a running core knows and what it would know after a crash are the
// same (tests: recovery from every prefix, recovery from a snapshot).
// apply() refuses what makes no sense (a damaged or foreign journal) and then changes nothing. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/records.h"

namespace photonrail::daemon {

struct DurableRank {
  enum class State : std::uint8_t { never, attached, gone } state = State::never;
  std::uint64_t incarnation = 0;    // of the attached one
  Duration lease{};                 // longest that was granted to it
  std::vector<std::uint64_t> past;  // incarnations that are over, at most kPastIncarnations
};
inline constexpr std::size_t kPastIncarnations = 8;

struct DurableGroup {
  control::RegisterGroup registration;
  std::vector<control::Rank> lost;                // members that have been lost since
  bool retired() const { return !lost.empty(); }  // no operation of it goes on; its key may be registered anew
};

struct DurableJob {
  SubmitJob job;
  bool ended = false;
  std::uint32_t attached = 0;  // ranks that may be alive
  std::vector<DurableRank> ranks;
  std::vector<DurableGroup> groups;  // by GroupId
};

struct OpenIntent {
  control::Epoch epoch = 0;
  std::string job;
  std::set<device::CrossConnect> named;  // removed or added by any of its writes
};
struct DurableSwitch {
  std::set<device::CrossConnect> made;  // by us, and possibly still up
  std::map<device::IntentId, OpenIntent> open;
};
struct OutOfService {
  SetPort::State state = SetPort::State::drained;
  std::string reason;
};

class DurableState {
 public:
  using JobKey = std::pair<std::string, std::uint64_t>;  // name, epoch

  DurableState() = default;
  DurableState(DurableState&&) = default;  // no copies: it points into itself
  DurableState& operator=(DurableState&&) = default;

  Status apply(const Record& record);
  std::vector<std::string> snapshot() const;
  std::uint64_t digest() const;

  control::Epoch epoch() const { return epoch_; }
  device::IntentId next_intent() const { return next_intent_; }
  const std::map<JobKey, DurableJob>& jobs() const { return jobs_; }
  const DurableJob* job(const std::string& name, std::uint64_t job_epoch) const;
  const DurableJob* running(const std::string& name) const;     // the life that has not ended
  std::uint64_t fenced_through(const std::string& name) const;  // lives up to this one are over
  const DurableJob* owner(Attachment port) const;               // running job that it belongs to, or null
  const DurableJob* lingering(Attachment port) const;           // ended job whose ranks may still use it, or null
  const std::map<Attachment, OutOfService>& ports_out() const { return ports_out_; }
  const std::map<SwitchId, std::string>& maintenance() const { return maintenance_; }
  const DurableSwitch& at(SwitchId ocs) const;
  const std::map<SwitchId, DurableSwitch>& switches() const { return switches_; }

 private:
  Status on(const EpochBegun& r);
  Status on(const JobSubmitted& r);
  Status on(const JobEnded& r);
  Status on(const JobRemoved& r);
  Status on(const JobFenced& r);
  Status on(const RankAttached& r);
  Status on(const RankDetached& r);
  Status on(const GroupAdded& r);
  Status on(const PortSet& r);
  Status on(const SwitchSet& r);
  Status on(const WriteIntended& r);
  Status on(const IntentEnded& r);
  Status on(const CircuitsMade& r);
  Status on(const IntentsUsed& r);
  DurableJob* find(const std::string& name, std::uint64_t job_epoch);
  void fence(const std::string& name, std::uint64_t job_epoch);

  control::Epoch epoch_ = 0;
  device::IntentId next_intent_ = 1;
  std::map<JobKey, DurableJob> jobs_;
  std::map<Attachment, const DurableJob*> owners_, lingering_;
  std::vector<std::pair<std::string, std::uint64_t>> fences_;  // oldest first, bounded
  std::map<Attachment, OutOfService> ports_out_;
  std::map<SwitchId, std::string> maintenance_;
  std::map<SwitchId, DurableSwitch> switches_;
  DurableSwitch untouched_;
};

// What is wrong with a job as such, whoever else is there; empty: nothing.
std::string malformed(const SubmitJob& job);
std::uint32_t rank_count(const SubmitJob& job);

}  // namespace photonrail::daemon
