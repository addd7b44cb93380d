#include "faults.h"

namespace photonrail::dst {
namespace {

const std::vector<std::string> kTimed = {"daemon-crash",  "daemon-pause",   "rank-crash",        "rank-pause",
                                         "stream-break",  "rank-partition", "switch-disconnect", "switch-partition",
                                         "power-cycle",   "port-fails",     "foreign-change",    "operator-drain",
                                         "operator-quarantine", "operator-maintenance"};

Duration milliseconds(std::uint64_t n) { return std::chrono::milliseconds(static_cast<std::int64_t>(n)); }

void add_device_faults(device::Faults& faults, RandomStream& random) {
  double* const probabilities[] = {&faults.applied_but_error, &faults.ok_but_not_applied, &faults.partial,
                                   &faults.reverts,           &faults.wrong_output,       &faults.fails_to_tune,
                                   &faults.no_reply,          &faults.late_reply,         &faults.garbage,
                                   &faults.split,             &faults.disconnects,        &faults.half_open,
                                   &faults.busy};
  const std::uint64_t kinds = 1 + random.below(3);
  for (std::uint64_t i = 0; i < kinds; ++i) {
    *probabilities[random.below(std::size(probabilities))] = random.below(4) == 0 ? 0.3 : 0.05;
  }
  faults.partial_reported = random.below(2) == 0;
  faults.late_by = milliseconds(500 + random.below(4000));
}

}  // namespace

FaultPlan plan_faults(std::size_t switches, Instant quiet, RandomStream& random) {
  FaultPlan plan;
  plan.switches.resize(switches);
  const auto span = static_cast<std::uint64_t>(quiet.time_since_epoch().count());
  const std::uint64_t count = 1 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    switch (random.below(4)) {
      case 0:
        plan.kill_at[kFailPoints[random.below(kFailPoints.size())]] = random.below(40);
        break;
      case 1:
        add_device_faults(plan.switches[random.below(switches)], random);
        break;
      default: {
        TimedFault fault;
        fault.at = Instant(Duration(static_cast<std::int64_t>(random.below(span))));
        fault.name = kTimed[random.below(kTimed.size())];
        fault.length = milliseconds(random.below(4) == 0 ? random.below(20'000) : random.below(800));
        fault.pick = random.next();
        plan.timed.push_back(fault);
      }
    }
  }
  if (random.below(4) == 0) plan.repeat_message = 0.1;
  if (random.below(4) == 0) plan.late_message = 0.02;
  if (random.below(3) == 0) plan.clock_ppm = static_cast<std::int64_t>(random.below(20'000));
  plan.disk_fails = random.below(10) == 0;
  return plan;
}

}  // namespace photonrail::dst
