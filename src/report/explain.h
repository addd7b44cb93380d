// Where a number of a report comes from: its formula, the inputs with their values and sources, down to what was
// measured or given, and the assumptions on the way. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/render.h"
#include "report/report.h"

namespace photonrail::report {

// All metrics and constants of the report: id, unit, formula or rule.
std::string explain_list(const Report& report, const TextStyle& style);

// Explains metric or constant `id`; a heading of a table or a label does as well. With `case_id` the whole derivation
// of that one number; with "" the definition and the value in every case, and the derivation for the last case that has
// one. Unknown names are refused with the nearest.
Result<std::string> explain(const Report& report, std::string_view id, std::string_view case_id,
                            const TextStyle& style);

}  // namespace photonrail::report
