// The metrics of an inference report, each with its rule or formula. Private to report.cc.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "inference/metrics.h"
#include "report/report.h"

namespace photonrail::inference {

struct ReportMetric {
  report::Metric metric;
  std::function<std::optional<double>(const Deployment&, const Outcome&)> take;  // empty: derived by its formula
};

std::vector<ReportMetric> report_metrics();

}  // namespace photonrail::inference
