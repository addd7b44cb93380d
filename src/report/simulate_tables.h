// What a reader sees of a simulate report: tables, and one paragraph in words. Both are made from the report's numbers.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "report/simulate_report.h"

namespace photonrail::report {

std::vector<Table> simulate_tables(const Report& report, const std::vector<NetworkCost>& networks);
std::string simulate_reading(const Report& report);

}  // namespace photonrail::report
