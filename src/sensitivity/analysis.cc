#include "sensitivity/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "algo/quantile.h"
#include "base/units_text.h"
#include "report/human.h"

namespace photonrail::sensitivity {
namespace {

constexpr std::size_t kMostEvaluations = 1'000'000;
constexpr std::size_t kMostSweepParameters = 2;
constexpr std::size_t kMostHints = 12;

using report::human;
using Sets = std::vector<std::string>;

bool ends_in(std::string_view whole, std::string_view name) {
  if (whole.size() <= name.size() || !whole.ends_with(name)) return false;
  const char before = whole[whole.size() - name.size() - 1];
  return before == '/' || before == '.';
}

std::string some_names(std::span<const Metric> metrics, std::string_view near) {
  std::vector<std::pair<std::size_t, std::string>> names;
  for (const Metric& m : metrics) {
    const std::size_t cut = m.name.find_last_of("/.");
    const std::string last = cut == m.name.npos ? m.name : m.name.substr(cut + 1);
    names.emplace_back(std::min(edit_distance(m.name, near), edit_distance(last, near)), m.name);
  }
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostHints); ++i) text += (i ? ", " : "") + names[i].second;
  return text;
}

Status ranges_only(std::span<const Parameter> parameters, const char* what) {
  for (const Parameter& p : parameters) {
    if (p.is_range()) continue;
    return fail(ErrorCode::usage, fmt::format("{} of {}: a range LOW..HIGH is wanted, not a list", what, p.path));
  }
  if (!parameters.empty()) return {};
  return fail(ErrorCode::usage, fmt::format("{}: no parameter is varied\n  hint: add --vary 'path=LOW..HIGH'", what));
}

// The base: the scenario with the bases that parameters have of their own.
Sets base_sets(std::span<const Parameter> parameters) {
  Sets sets;
  for (const Parameter& p : parameters) {
    if (p.base) sets.push_back(p.set(*p.base));
  }
  return sets;
}

// The base with one parameter at `value`.
Sets with(std::span<const Parameter> parameters, std::size_t which, double value) {
  Sets sets;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i == which)
      sets.push_back(parameters[i].set(value));
    else if (parameters[i].base)
      sets.push_back(parameters[i].set(*parameters[i].base));
  }
  return sets;
}

Result<std::vector<std::size_t>> find_all(std::span<const Metric> metrics, std::span<const std::string> names) {
  std::vector<std::size_t> found;
  for (const std::string& name : names) {
    PR_ASSIGN(const std::size_t index, find_metric(metrics, name));
    found.push_back(index);
  }
  return found;
}

// By name: an experiment may have other metrics at other points (a policy that cannot run there).
std::optional<double> value_of(const Outcome& outcome, const std::string& name) {
  if (!outcome) return std::nullopt;
  for (const Metric& m : *outcome) {
    if (m.name == name && std::isfinite(m.value)) return m.value;
  }
  return std::nullopt;
}

struct Step {
  double down = 0;
  double up = 0;
};
// Values on both sides of the base for a central difference.
Step step_of(const Parameter& p) {
  constexpr double kShare = 0.01;
  const double x = p.middle();
  if (!p.whole) return {x * (1 - kShare), x * (1 + kShare)};
  return {std::max(p.low, x - std::max(1.0, std::floor(x * kShare))), x + std::max(1.0, std::floor(x * kShare))};
}

std::optional<double> elasticity_of(double x0, double x1, std::optional<double> y0, std::optional<double> y1) {
  if (!y0 || !y1 || x0 <= 0 || x1 <= x0 || *y0 == 0 || *y1 / *y0 <= 0) return std::nullopt;
  return std::log(*y1 / *y0) / std::log(x1 / x0);
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

// Pearson's correlation; 0 where one side is constant.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) mean_a += a[i] / n, mean_b += b[i] / n;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void set_moments(Spread& spread, const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  for (const double v : values) spread.mean += v / n;
  double squares = 0;
  for (const double v : values) squares += (v - spread.mean) * (v - spread.mean);
  spread.deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  spread.p5 = algo::quantile(sorted, 0.05);
  spread.p25 = algo::quantile(sorted, 0.25);
  spread.p50 = algo::quantile(sorted, 0.50);
  spread.p75 = algo::quantile(sorted, 0.75);
  spread.p95 = algo::quantile(sorted, 0.95);
}

// Indices of `values`, largest first; equal ones in their order.
std::vector<std::size_t> order_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

// Kendall's tau of an order against 0, 1, 2, ...
double tau_of(const std::vector<std::size_t>& order) {
  if (order.size() < 2) return 1;
  double agree = 0, pairs = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t k = i + 1; k < order.size(); ++k, ++pairs) agree += order[i] < order[k] ? 1 : -1;
  }
  return agree / pairs;
}

struct Sampled {
  std::vector<std::vector<double>> inputs;  // [parameter][sample]
  std::vector<Sets> sets;                   // [sample]
};
Sampled draw(std::span<const Parameter> parameters, const MonteCarloOptions& what) {
  Sampled sampled{std::vector<std::vector<double>>(parameters.size()), std::vector<Sets>(what.samples)};
  for (std::size_t n = 0; n < what.samples; ++n) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      RandomStream stream(what.seed, parameters[i].path, n);
      const double value = parameters[i].rounded(sample(parameters[i], stream));
      sampled.inputs[i].push_back(value);
      sampled.sets[n].push_back(parameters[i].set(value));
    }
  }
  return sampled;
}

RankTable rank_table(std::span<const Metric> base, const std::vector<const Outcome*>& outcomes,
                     const std::string& prefix) {
  RankTable table;
  std::vector<std::pair<double, std::string>> named;
  for (const Metric& m : base) {
    if (m.name.starts_with(prefix)) named.emplace_back(m.value, m.name);
  }
  std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [value, name] : named) table.names.push_back(name);
  const std::size_t n = table.names.size();
  table.share_at.assign(n, std::vector<double>(n, 0));
  std::size_t counted = 0;
  for (const Outcome* outcome : outcomes) {
    std::vector<double> values;
    for (const std::string& name : table.names) values.push_back(value_of(*outcome, name).value_or(NAN));
    if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) continue;
    const std::vector<std::size_t> order = order_of(values);
    for (std::size_t place = 0; place < n; ++place) table.share_at[order[place]][place] += 1;
    const double tau = tau_of(order);
    table.mean_tau += tau;
    table.same_order += tau == 1 ? 1 : 0;
    ++counted;
  }
  if (counted == 0) return table;
  for (auto& row : table.share_at) {
    for (double& share : row) share /= static_cast<double>(counted);
  }
  table.mean_tau /= static_cast<double>(counted);
  table.same_order /= static_cast<double>(counted);
  return table;
}

std::string no_crossing(const BreakEven& b, const Parameter& p) {
  const bool above = b.value_low > b.target;
  return fmt::format(
      "{} does not reach {} for {} between {} and {}: it stays {}, {} at the low end and {} at the high end", b.metric,
      human(b.target, b.unit), b.path, p.readable(p.low), p.readable(p.high), above ? "above" : "below",
      human(b.value_low, b.unit), human(b.value_high, b.unit));
}

}  // namespace

Result<std::vector<Outcome>> evaluate_all(const Experiment& experiment, std::span<const Sets> sets,
                                          const RunOptions& options) {
  if (sets.size() > kMostEvaluations) {
    return fail(ErrorCode::usage, fmt::format("{} evaluations; at most {} are made", sets.size(), kMostEvaluations));
  }
  std::vector<Outcome> outcomes(sets.size());
  std::atomic<std::size_t> next = 0;
  std::mutex reporting;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < sets.size(); i = next++) {
      outcomes[i] = experiment(sets[i]);
      if (!options.progress) continue;
      const std::lock_guard lock(reporting);
      options.progress(++done, sets.size());
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::min<std::size_t>(std::max(1U, options.threads), sets.size());
  for (std::size_t t = 1; t < wanted; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

Result<std::size_t> find_metric(std::span<const Metric> metrics, std::string_view name) {
  std::vector<std::size_t> ending;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].name == name) return i;
    if (ends_in(metrics[i].name, name)) ending.push_back(i);
  }
  if (ending.size() == 1) return ending.front();
  const char* problem = ending.empty() ? "there is no metric" : "several metrics end in";
  return fail(ErrorCode::usage, fmt::format("{} '{}'\n  hint: {} metrics, for example {}", problem, name,
                                            metrics.size(), some_names(metrics, name)));
}

Result<std::vector<SweepPoint>> sweep(const Experiment& experiment, std::span<const Parameter> parameters,
                                      const RunOptions& options) {
  if (parameters.empty() || parameters.size() > kMostSweepParameters) {
    return fail(ErrorCode::usage, fmt::format("a sweep has one or two parameters, not {}\n  hint: --tornado and "
                                              "--monte-carlo take any number",
                                              parameters.size()));
  }
  std::vector<Sets> all;
  const std::vector<std::string> first = sweep_sets(parameters[0]);
  const std::vector<std::string> second =
      parameters.size() > 1 ? sweep_sets(parameters[1]) : std::vector<std::string>{""};
  for (const std::string& a : first) {
    for (const std::string& b : second) all.push_back(b.empty() ? Sets{a} : Sets{a, b});
  }
  PR_ASSIGN(std::vector<Outcome> outcomes, evaluate_all(experiment, all, options));
  std::vector<SweepPoint> points;
  for (std::size_t i = 0; i < all.size(); ++i) points.push_back({std::move(all[i]), std::move(outcomes[i])});
  const auto ran = [](const SweepPoint& p) { return p.outcome.has_value(); };
  if (std::none_of(points.begin(), points.end(), ran)) return fail(points.front().outcome.error());
  return points;
}

double TornadoBar::swing() const { return at_low && at_high ? std::abs(*at_high - *at_low) : 0; }

Result<std::vector<Tornado>> tornado(const Experiment& experiment, std::span<const Parameter> parameters,
                                     std::span<const std::string> metrics, const RunOptions& options) {
  PR_TRY(ranges_only(parameters, "tornado"));
  constexpr std::size_t kEach = 4;  // low, high, one step down, one step up
  std::vector<Sets> sets{base_sets(parameters)};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Step step = step_of(parameters[i]);
    for (const double x : {parameters[i].low, parameters[i].high, step.down, step.up}) {
      sets.push_back(with(parameters, i, x));
    }
  }
  PR_ASSIGN(const std::vector<Outcome> outcomes, evaluate_all(experiment, sets, options));
  if (!outcomes[0]) return fail(outcomes[0].error());
  PR_ASSIGN(const std::vector<std::size_t> found, find_all(*outcomes[0], metrics));
  std::vector<Tornado> all;
  for (const std::size_t index : found) {
    const Metric& base = (*outcomes[0])[index];
    Tornado result{base.name, base.unit, base.value, {}};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& p = parameters[i];
      const Outcome* at = &outcomes[1 + kEach * i];
      const Step step = step_of(p);
      TornadoBar bar{p.path,
                     p.readable(p.low),
                     p.readable(p.high),
                     value_of(at[0], base.name),
                     value_of(at[1], base.name),
                     elasticity_of(p.rounded(step.down), p.rounded(step.up), value_of(at[2], base.name),
                                   value_of(at[3], base.name)),
                     {}};
      for (int end = 0; end < 2; ++end) {
        if (!at[end]) bar.note += fmt::format("{} end: {}; ", end == 0 ? "low" : "high", at[end].error().message);
      }
      result.bars.push_back(std::move(bar));
    }
    std::sort(result.bars.begin(), result.bars.end(), [](const TornadoBar& a, const TornadoBar& b) {
      return a.swing() != b.swing() ? a.swing() > b.swing() : a.path < b.path;
    });
    all.push_back(std::move(result));
  }
  return all;
}

Result<MonteCarlo> monte_carlo(const Experiment& experiment, std::span<const Parameter> parameters,
                               std::span<const std::string> metrics, const MonteCarloOptions& what,
                               const RunOptions& options) {
  PR_TRY(ranges_only(parameters, "Monte Carlo"));
  const Outcome base = experiment(base_sets(parameters));
  if (!base) return fail(base.error());
  PR_ASSIGN(const std::vector<std::size_t> found, find_all(*base, metrics));
  const Sampled sampled = draw(parameters, what);
  PR_ASSIGN(const std::vector<Outcome> outcomes, evaluate_all(experiment, sampled.sets, options));
  MonteCarlo result;
  result.samples = what.samples;
  std::vector<std::size_t> ran;
  std::vector<const Outcome*> good;
  for (std::size_t n = 0; n < outcomes.size(); ++n) {
    const auto has = [&](std::size_t index) { return value_of(outcomes[n], (*base)[index].name).has_value(); };
    if (std::all_of(found.begin(), found.end(), has)) {
      ran.push_back(n);
      good.push_back(&outcomes[n]);
      continue;
    }
    ++result.failed;
    if (result.first_failure.empty()) {
      result.first_failure = outcomes[n] ? "a metric has no value" : outcomes[n].error().message;
    }
  }
  if (ran.empty()) return fail(ErrorCode::infeasible, "every sample failed: " + result.first_failure);
  for (const std::size_t index : found) {
    const Metric& m = (*base)[index];
    std::vector<double> values;
    for (const std::size_t n : ran) values.push_back(*value_of(outcomes[n], m.name));
    Spread spread;
    spread.metric = m.name;
    spread.unit = m.unit;
    spread.base = m.value;
    set_moments(spread, values);
    const std::vector<double> ranks = ranks_of(values);
    for (const std::vector<double>& input : sampled.inputs) {
      std::vector<double> of_ran;
      for (const std::size_t n : ran) of_ran.push_back(input[n]);
      spread.correlation.push_back(correlation(ranks_of(of_ran), ranks));
    }
    result.spreads.push_back(std::move(spread));
    result.values.push_back(std::move(values));
  }
  if (!what.rank_prefix.empty()) result.ranks = rank_table(*base, good, what.rank_prefix);
  return result;
}

Result<BreakEven> break_even(const Experiment& experiment, const Parameter& p, const std::string& metric,
                             double target) {
  PR_TRY(ranges_only(std::span(&p, 1), "break-even"));
  constexpr int kMost = 200;
  constexpr double kTolerance = 1e-9;
  BreakEven b;
  b.path = p.path;
  b.target = target;
  const auto at = [&](double x) -> Result<double> {
    ++b.evaluations;
    PR_ASSIGN(const std::vector<Metric> metrics, experiment({p.set(x)}));
    PR_ASSIGN(const std::size_t index, find_metric(metrics, metric));
    b.metric = metrics[index].name;
    b.unit = metrics[index].unit;
    return metrics[index].value;
  };
  PR_ASSIGN(b.value_low, at(p.low));
  PR_ASSIGN(b.value_high, at(p.high));
  double low = p.low, high = p.high, y_low = b.value_low;
  b.bracket_low = low;
  b.bracket_high = high;
  const double above_low = b.value_low - target, above_high = b.value_high - target;
  if ((above_low > 0) == (above_high > 0) && above_low != 0 && above_high != 0) {
    b.reading = no_crossing(b, p);
    return b;
  }
  if (above_low == 0) high = low;
  while (b.evaluations < kMost && high - low > (p.whole ? 1.0 : kTolerance * (p.high - p.low))) {
    const double middle = p.rounded(p.log ? std::sqrt(low) * std::sqrt(high) : (low + high) / 2);
    if (middle <= low || middle >= high) break;
    PR_ASSIGN(const double y, at(middle));
    const bool same_side = (y - target > 0) == (y_low - target > 0);
    (same_side ? low : high) = middle;
    if (same_side) y_low = y;
  }
  b.bracket_low = low;
  b.bracket_high = high;
  b.at = high;
  PR_ASSIGN(b.value_at, at(high));
  b.text = p.readable(high);
  b.reading =
      fmt::format("{} is {} at {} = {} ({} at {}, {} at {})", b.metric, human(b.value_at, b.unit), b.path, b.text,
                  human(b.value_low, b.unit), p.readable(p.low), human(b.value_high, b.unit), p.readable(p.high));
  return b;
}

}  // namespace photonrail::sensitivity
