// What `photonrail check` prints of a pool: a report::Report. Cases: every read of the scenario, and a grid of sharers
// by hit rate ("sharers4@hit0.5"). Pure functions; any thread.
#pragma once

#include <string_view>

#include "pool/check.h"
#include "report/report.h"

namespace photonrail::pool {

// `doc`: for name, origin of values and hash.
Result<report::Report> pool_report(const PoolDocument& doc, const PoolCheck& check, std::string_view version);

// What every result rests on.
std::vector<std::string> assumptions_of(const PoolCheck& check);

}  // namespace photonrail::pool
