// Says why a simulation that came to a stop can never go on: the cycle of operations that wait for each other.
//
// Edges: an operation waits for the one that holds, or stands first at, a port that it needs; for the one before it in
// its group; and, where a member has not issued it yet, for the operations that this member must finish first.
#pragma once

#include <string>

#include "control/controller.h"
#include "model/task_graph.h"
#include "sim/channels.h"
#include "sim/state.h"

namespace photonrail::sim {

std::string describe_deadlock(const model::TaskGraph& graph, const ChannelTable& table, const State& state,
                              const control::Controller* controller);

}  // namespace photonrail::sim
