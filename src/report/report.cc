#include "report/report.h"

#include <algorithm>

#include "base/check.h"
#include "report/formula.h"

namespace photonrail::report {
namespace {

constexpr std::string_view kBaselinePrefix = "baseline.";
constexpr std::string_view kAtZeroPrefix = "at_zero.";

Reference metric_reference(const Report& report, const Case* c, std::string_view id) {
  Reference found;
  const std::optional<std::size_t> index = find_metric(report, id);
  if (!index || c == nullptr) return found;
  found.metric = &report.metrics[*index];
  found.unit = found.metric->unit;
  found.of = c;
  if (*index < c->values.size()) found.value = c->values[*index];
  return found;
}

void derive_metric(Report& report, std::size_t index) {
  const Metric& metric = report.metrics[index];
  PR_CHECK(formula_is_valid(metric.formula), "a metric's formula cannot be parsed");
  for (Case& c : report.cases) {
    if (!c.refusal.empty()) continue;
    c.values[index] = evaluate(metric.formula, [&](std::string_view name) { return resolve(report, c, name).value; });
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> declarations(const Report& report) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [what, text] : report.header) {
    const bool wanted = what == kOverride || what == kBasis || what == kAssumptions || what == kAsPublished;
    if (wanted) found.emplace_back(what, text);
  }
  for (const Metric& metric : report.metrics) {
    for (const std::string& assumption : metric.assumptions) {
      if (!assumption.starts_with(kOverride)) continue;
      const std::size_t colon = assumption.find(": ");
      const std::string text = colon == assumption.npos ? assumption : assumption.substr(colon + 2);
      const std::pair<std::string, std::string> line{kOverride, text};
      if (std::find(found.begin(), found.end(), line) == found.end()) found.push_back(line);
    }
  }
  return found;
}

std::optional<std::size_t> find_metric(const Report& report, std::string_view id) {
  const auto& all = report.metrics;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Metric& m) { return m.id == id; });
  if (at == all.end()) return std::nullopt;
  return static_cast<std::size_t>(at - all.begin());
}

const Constant* find_constant(const Report& report, std::string_view id) {
  const auto& all = report.constants;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Constant& c) { return c.id == id; });
  return at == all.end() ? nullptr : &*at;
}

const Case* find_case(const Report& report, std::string_view id) {
  const auto& all = report.cases;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Case& c) { return c.id == id; });
  return at == all.end() ? nullptr : &*at;
}

std::optional<double> value_of(const Report& report, const Case& c, std::string_view metric) {
  return metric_reference(report, &c, metric).value;
}

const Case* case_at_zero(const Report& report, const Case& c) {
  for (const Case& other : report.cases) {
    if (other.name == c.name && other.switching_time && other.switching_time->ps == 0) return &other;
  }
  return nullptr;
}

Reference resolve(const Report& report, const Case& c, std::string_view name) {
  if (name.starts_with(kBaselinePrefix)) {
    return metric_reference(report, find_case(report, report.baseline), name.substr(kBaselinePrefix.size()));
  }
  if (name.starts_with(kAtZeroPrefix)) {
    return metric_reference(report, case_at_zero(report, c), name.substr(kAtZeroPrefix.size()));
  }
  Reference found = metric_reference(report, &c, name);
  if (found.metric != nullptr) return found;
  found.constant = find_constant(report, name);
  if (found.constant == nullptr) return found;
  found.value = found.constant->value;
  found.unit = found.constant->unit;
  return found;
}

void derive(Report& report) {
  for (Case& c : report.cases) c.values.resize(report.metrics.size());
  for (std::size_t i = 0; i < report.metrics.size(); ++i) {
    if (!report.metrics[i].formula.empty()) derive_metric(report, i);
  }
}

}  // namespace photonrail::report
