#include "device/types.h"

namespace photonrail::device {

const char* name(PortStatus status) {
  switch (status) {
    case PortStatus::unknown: return "unknown";
    case PortStatus::blocked: return "blocked";
    case PortStatus::tuning: return "tuning";
    case PortStatus::tuned: return "tuned";
    case PortStatus::disabled: return "disabled";
    case PortStatus::failed: return "failed";
  }
  return "unknown";
}

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::applied: return "applied";
    case Outcome::rejected: return "rejected";
    case Outcome::failed: return "failed";
    case Outcome::unknown: return "unknown";
  }
  return "unknown";
}

}  // namespace photonrail::device
