#include "cli/record_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::cli {
namespace {

using namespace daemon;

constexpr std::size_t kPairsShown = 8;

std::string pairs(const std::vector<device::CrossConnect>& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < kPairsShown; ++i) {
    out += fmt::format("{}{}-{}", i == 0 ? "" : " ", all[i].in, all[i].out);
  }
  if (all.size() > kPairsShown) out += fmt::format(" and {} more", all.size() - kPairsShown);
  return out.empty() ? "none" : out;
}

std::string rank(const std::string& job, std::uint64_t job_epoch, control::Rank number) {
  return fmt::format("rank {} of job {} epoch {}", number, job, job_epoch);
}

const char* name(SetPort::State state) {
  using State = SetPort::State;
  return state == State::in_service ? "in service" : state == State::drained ? "drained" : "quarantined";
}

RecordText told(const EpochBegun& r) { return {"epoch_begun", fmt::format("controller epoch {}", r.epoch)}; }
RecordText told(const JobSubmitted& r) {
  return {"job_submitted", fmt::format("job {} epoch {}: {} ranks, {} ports", r.job.job, r.job.job_epoch,
                                       r.job.domain.size(), r.job.ports.size())};
}
RecordText told(const JobEnded& r) { return {"job_ended", fmt::format("job {} epoch {}", r.job, r.job_epoch)}; }
RecordText told(const JobRemoved& r) { return {"job_removed", fmt::format("job {} epoch {}", r.job, r.job_epoch)}; }
RecordText told(const JobFenced& r) {
  return {"job_fenced", fmt::format("job {} through epoch {}", r.job, r.job_epoch)};
}
RecordText told(const RankAttached& r) {
  return {"rank_attached", fmt::format("{}, incarnation {}, lease {:.3g} s", rank(r.job, r.job_epoch, r.rank),
                                       r.incarnation, std::chrono::duration<double>(r.lease).count())};
}
RecordText told(const RankDetached& r) {
  return {"rank_detached", fmt::format("{}, incarnation {}", rank(r.job, r.job_epoch, r.rank), r.incarnation)};
}
RecordText told(const GroupAdded& r) {
  return {"group_added", fmt::format("group {} of job {} epoch {}, {} members", r.group.key, r.job, r.job_epoch,
                                     r.group.members.size())};
}
RecordText told(const PortSet& r) {
  return {"port_set",
          fmt::format("switch {} position {}: {} {}", r.port.ocs, r.port.position, name(r.state), r.reason)};
}
RecordText told(const SwitchSet& r) {
  const bool serves = r.state == SetSwitch::State::in_service;
  return {"switch_set", fmt::format("switch {}: {} {}", r.ocs, serves ? "in service" : "maintenance", r.reason)};
}
RecordText told(const WriteIntended& r) {
  return {"write_intended", fmt::format("switch {} intent {} of job {}: remove {}; add {}", r.ocs, r.write.id, r.job,
                                        pairs(r.write.remove), pairs(r.write.add))};
}
RecordText told(const IntentEnded& r) {
  return {"intent_ended", fmt::format("switch {} intent {}: {}{}; up {}", r.ocs, r.id, r.done ? "done" : "failed, ",
                                      r.reason, pairs(r.up))};
}
RecordText told(const CircuitsMade& r) {
  return {"circuits_made", fmt::format("switch {}: {}", r.ocs, pairs(r.pairs))};
}
RecordText told(const IntentsUsed& r) { return {"intents_used", fmt::format("next intent {}", r.next)}; }

}  // namespace

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

RecordText describe_record(const Record& record) {
  return std::visit([](const auto& r) { return told(r); }, record);
}

}  // namespace photonrail::cli
