// Windows between phases of a run, as the simulate report wants them.
#pragma once

#include <optional>

#include "base/units.h"
#include "model/run_result.h"
#include "report/simulate_report.h"

namespace photonrail::cli {

// `switching_time`: what windows are compared with; without one, none counts as short.
report::WindowStats window_stats(const model::RunResult& run, std::optional<Time> switching_time);

}  // namespace photonrail::cli
