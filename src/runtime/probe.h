// First contact with a switch, read-only: who it is, what it can do, what it holds. Only reading commands are sent.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "carrier/link.h"

namespace photonrail::runtime {

struct ProbeSpec {
  carrier::LinkSpec link;
  Duration within = std::chrono::seconds(5);  // for each answer
};

// Blocks; any thread. io where there is no connection, or no answer that can be understood.
Result<std::vector<std::string>> probe(const ProbeSpec& spec);

}  // namespace photonrail::runtime
