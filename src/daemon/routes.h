// Which circuits a group needs, from where its members' ports end. Pure.
//
//   pair  (or a ring of two)   one duplex circuit
//   ring  of n > 2             n circuits, port 0 of each rank to port 1 of the next
// A pair of ranks with two ports each uses port 0 of its first member and port 1 of its second where these end at one
// switch, so that a middle pipeline stage, which is first in one pair and second in the other, can hold both
// neighbours. Whatever circuits cannot serve takes the management path, and `why` says why.
#pragma once

#include <optional>
#include <string>

#include "daemon/core.h"

namespace photonrail::daemon {

struct Route {
  std::optional<control::Demand> demand;  // of job-dense ports
  std::string why;                        // where there is none
};

// Members are distinct ranks of the job.
Route route(const SubmitJob& job, const control::RegisterGroup& group);

}  // namespace photonrail::daemon
