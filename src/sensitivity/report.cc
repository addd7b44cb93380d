#include "sensitivity/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/human.h"

namespace photonrail::sensitivity {
namespace {

using report::human;
using report::Report;

constexpr int kBarWidth = 40;

// Index of the metric, added where the report lacks it.
std::size_t metric_index(Report& report, const std::string& id, const std::string& unit, const std::string& rule) {
  if (const auto found = report::find_metric(report, id)) return *found;
  report.metrics.push_back({id, id, unit, "", rule, {}, ""});
  return report.metrics.size() - 1;
}

void put(Report& report, report::Case& c, const std::string& id, const std::string& unit, const std::string& rule,
         std::optional<double> value) {
  const std::size_t index = metric_index(report, id, unit, rule);
  if (c.values.size() <= index) c.values.resize(index + 1);
  c.values[index] = value;
}

report::Case new_case(std::string id, const char* kind) {
  report::Case c;
  c.name = id;
  c.id = std::move(id);
  c.kind = kind;
  return c;
}

void add_constant(Report& report, const std::string& id, const std::string& label, double value,
                  const std::string& unit) {
  report.constants.push_back({id, label, value, unit, "of this analysis"});
}

const char* kOfExperiment = "as the command computes it";

std::string joined(const std::vector<std::string>& sets) {
  std::string text;
  for (const std::string& set : sets) text += (text.empty() ? "" : ", ") + set;
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The span of a bar, '#' from one end to the other, with the base as '|'.
std::string bar_text(double from, double to, double base, double low, double high) {
  const double width = high > low ? high - low : 1;
  const auto column = [&](double v) { return static_cast<int>(std::lround((v - low) / width * (kBarWidth - 1))); };
  std::string text(kBarWidth, ' ');
  for (int i = column(std::min(from, to)); i <= column(std::max(from, to)); ++i)
    text[static_cast<std::size_t>(i)] = '#';
  text[static_cast<std::size_t>(column(base))] = '|';
  return text;
}

report::Table tornado_table(const Tornado& t) {
  report::Table table;
  table.title = fmt::format("Tornado of {}: base {}", t.metric, human(t.base, t.unit));
  table.columns = {{"Parameter", false}, {"Low", true},   {"High", true},       {"At low", true},
                   {"At high", true},    {"Swing", true}, {"Elasticity", true}, {"From lowest to highest", false}};
  double low = t.base, high = t.base;
  for (const TornadoBar& bar : t.bars) {
    for (const auto& end : {bar.at_low, bar.at_high}) {
      if (end) low = std::min(low, *end), high = std::max(high, *end);
    }
  }
  std::size_t still = 0;
  for (const TornadoBar& bar : t.bars) {
    if (bar.at_low && bar.at_high && bar.swing() == 0) {
      ++still;
      continue;
    }
    const double from = bar.at_low.value_or(t.base), to = bar.at_high.value_or(t.base);
    table.rows.push_back({bar.path, bar.low_text, bar.high_text, human(bar.at_low, t.unit), human(bar.at_high, t.unit),
                          human(bar.swing(), t.unit), bar.elasticity ? fmt::format("{:+.3f}", *bar.elasticity) : "-",
                          bar_text(from, to, t.base, low, high)});
    if (!bar.note.empty()) table.notes.push_back(fmt::format("{}: {}", bar.path, first_line(bar.note)));
  }
  if (still > 0)
    table.notes.push_back(
        fmt::format("{} not shown: they do not move it.", report::counted(static_cast<std::int64_t>(still), "other")));
  table.notes.push_back(
      "Each parameter alone, the others at their base. Elasticity: d ln metric / d ln parameter at the base.");
  return table;
}

report::Table spread_table(const MonteCarlo& mc) {
  report::Table table;
  table.title = fmt::format("Monte Carlo: {} samples, {} failed", mc.samples, mc.failed);
  table.columns = {{"Metric", false}, {"Base"}, {"Mean"}, {"Deviation"}, {"5 %"},
                   {"25 %"},          {"50 %"}, {"75 %"}, {"95 %"}};
  for (const Spread& s : mc.spreads) {
    const auto text = [&](double v) { return human(v, s.unit); };
    table.rows.push_back({s.metric, text(s.base), text(s.mean), text(s.deviation), text(s.p5), text(s.p25), text(s.p50),
                          text(s.p75), text(s.p95)});
  }
  if (mc.failed > 0) table.notes.push_back("first failure: " + first_line(mc.first_failure));
  return table;
}

report::Table correlation_table(const MonteCarlo& mc, std::span<const Parameter> parameters) {
  report::Table table;
  table.title = "Rank correlation (Spearman) of parameter and metric";
  table.columns = {{"Parameter", false}, {"Low"}, {"High"}};
  for (const Spread& s : mc.spreads) table.columns.push_back({s.metric, true});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    std::vector<std::string> row = {p.path, p.readable(p.low), p.readable(p.high)};
    for (const Spread& s : mc.spreads) row.push_back(fmt::format("{:+.2f}", s.correlation[i]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table rank_table(const RankTable& ranks) {
  report::Table table;
  table.title = fmt::format("Order under sampling: {} of the samples keep the whole order, mean Kendall tau {:.3f}",
                            human(ranks.same_order, "ratio"), ranks.mean_tau);
  table.columns = {{"In the order of the base", false}};
  for (std::size_t place = 1; place <= ranks.names.size(); ++place)
    table.columns.push_back({fmt::format("{}.", place), true});
  for (std::size_t i = 0; i < ranks.names.size(); ++i) {
    std::vector<std::string> row = {ranks.names[i]};
    for (const double share : ranks.share_at[i]) row.push_back(human(share, "ratio"));
    table.rows.push_back(std::move(row));
  }
  table.notes.push_back("Share of the samples in which each stood at each place, the largest first.");
  return table;
}

void put_spread(Report& report, const MonteCarlo& mc, const char* which, double Spread::* member) {
  report::Case c = new_case(fmt::format("monte_carlo/{}", which), "monte_carlo");
  for (const Spread& s : mc.spreads) put(report, c, s.metric, s.unit, kOfExperiment, s.*member);
  report.cases.push_back(std::move(c));
}

}  // namespace

void add_metrics(Report& report, std::span<const Metric> metrics) {
  report::Case c = new_case("base", "base");
  report::Table table;
  table.title = "Metrics of this command, at the scenario as it is";
  table.columns = {{"Metric", false}, {"Value", true}, {"Unit", false}};
  for (const Metric& m : metrics) {
    put(report, c, m.name, m.unit, kOfExperiment, m.value);
    table.rows.push_back({m.name, human(m.value, m.unit), m.unit});
  }
  table.notes.push_back("Choose with --metric, vary with --vary 'path=LOW..HIGH'.");
  report.cases.push_back(std::move(c));
  report.tables.push_back(std::move(table));
}

void add_sweep(Report& report, std::span<const SweepPoint> points, std::span<const std::string> metrics) {
  report::Table table;
  table.title = "Sweep";
  table.columns = {{"Values", false}};
  for (const std::string& name : metrics) table.columns.push_back({name, true});
  for (const SweepPoint& point : points) {
    report::Case c = new_case(joined(point.sets), "sweep");
    std::vector<std::string> readable;
    for (const std::string& set : point.sets) readable.push_back(readable_set(set));
    std::vector<std::string> row = {joined(readable)};
    if (!point.outcome) c.refusal = point.outcome.error().message;
    for (const std::string& name : metrics) {
      const auto index =
          point.outcome ? find_metric(*point.outcome, name) : Result<std::size_t>(fail(ErrorCode::usage, ""));
      if (!index) {
        row.push_back("-");
        continue;
      }
      const Metric& m = (*point.outcome)[*index];
      put(report, c, m.name, m.unit, kOfExperiment, m.value);
      row.push_back(human(m.value, m.unit));
    }
    if (!point.outcome) table.notes.push_back(fmt::format("{}: {}", row.front(), first_line(c.refusal)));
    table.rows.push_back(std::move(row));
    report.cases.push_back(std::move(c));
  }
  report.tables.push_back(std::move(table));
}

void add_tornado(Report& report, std::span<const Tornado> tornados) {
  for (const Tornado& t : tornados) {
    for (const TornadoBar& bar : t.bars) {
      for (const auto& [end, value, text] :
           {std::tuple("low", bar.at_low, bar.low_text), std::tuple("high", bar.at_high, bar.high_text)}) {
        const std::string id = fmt::format("tornado/{}/{}", bar.path, end);
        auto c =
            std::find_if(report.cases.begin(), report.cases.end(), [&](const report::Case& x) { return x.id == id; });
        if (c == report.cases.end()) c = report.cases.insert(c, new_case(id, "tornado"));
        c->name = fmt::format("{} = {}", bar.path, text);
        put(report, *c, t.metric, t.unit, kOfExperiment, value);
      }
      const std::string id = fmt::format("tornado/{}", bar.path);
      auto c =
          std::find_if(report.cases.begin(), report.cases.end(), [&](const report::Case& x) { return x.id == id; });
      if (c == report.cases.end()) c = report.cases.insert(c, new_case(id, "tornado"));
      put(report, *c, t.metric + ".swing", t.unit, "difference between the two ends", bar.swing());
      put(report, *c, t.metric + ".elasticity", "",
          "d ln metric / d ln parameter at the base, central difference of 1 %", bar.elasticity);
    }
    report.tables.push_back(tornado_table(t));
  }
}

void add_monte_carlo(Report& report, const MonteCarlo& mc, std::span<const Parameter> parameters,
                     const MonteCarloOptions& options) {
  report.seed = options.seed;
  add_constant(report, "samples", "Samples of the Monte Carlo", static_cast<double>(mc.samples), "count");
  add_constant(report, "failed_samples", "Samples at which the command refused", static_cast<double>(mc.failed),
               "count");
  put_spread(report, mc, "base", &Spread::base);
  put_spread(report, mc, "mean", &Spread::mean);
  put_spread(report, mc, "deviation", &Spread::deviation);
  put_spread(report, mc, "p5", &Spread::p5);
  put_spread(report, mc, "p25", &Spread::p25);
  put_spread(report, mc, "p50", &Spread::p50);
  put_spread(report, mc, "p75", &Spread::p75);
  put_spread(report, mc, "p95", &Spread::p95);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    report::Case c = new_case("correlation/" + parameters[i].path, "monte_carlo");
    for (const Spread& s : mc.spreads) {
      put(report, c, s.metric + ".correlation", "", "Spearman's rank correlation over the samples", s.correlation[i]);
    }
    report.cases.push_back(std::move(c));
  }
  report.tables.push_back(spread_table(mc));
  report.tables.push_back(correlation_table(mc, parameters));
  if (!mc.ranks) return;
  add_constant(report, "same_order", "Share of the samples with the order of the base", mc.ranks->same_order, "ratio");
  add_constant(report, "mean_tau", "Mean of Kendall's tau against the order of the base", mc.ranks->mean_tau, "");
  for (std::size_t i = 0; i < mc.ranks->names.size(); ++i) {
    report::Case c = new_case("rank/" + mc.ranks->names[i], "monte_carlo");
    for (std::size_t place = 0; place < mc.ranks->share_at[i].size(); ++place) {
      put(report, c, fmt::format("share_at_place_{}", place + 1), "ratio", "share of the samples",
          mc.ranks->share_at[i][place]);
    }
    report.cases.push_back(std::move(c));
  }
  report.tables.push_back(rank_table(*mc.ranks));
}

void add_break_even(Report& report, const Parameter& parameter, const BreakEven& b) {
  report::Case c = new_case("break_even/" + b.path, "break_even");
  if (!b.at) c.refusal = b.reading;
  const char* base_unit = parameter.quantity ? "in the base unit of the parameter" : "plain number";
  put(report, c, b.metric + ".parameter", "", fmt::format("value at which the target is met, {}", base_unit), b.at);
  put(report, c, b.metric + ".target", b.unit, "asked for", b.target);
  put(report, c, b.metric + ".value", b.unit, "at the value found", b.at ? std::optional(b.value_at) : std::nullopt);
  put(report, c, b.metric + ".value_low", b.unit, "at the low end of the range", b.value_low);
  put(report, c, b.metric + ".value_high", b.unit, "at the high end of the range", b.value_high);
  report.cases.push_back(std::move(c));
  report::Table table;
  table.title = fmt::format("Break-even of {}", b.path);
  table.columns = {{"", false}, {b.path, true}, {b.metric, true}};
  table.rows = {{"low end", parameter.readable(parameter.low), human(b.value_low, b.unit)},
                {"high end", parameter.readable(parameter.high), human(b.value_high, b.unit)},
                {"target", b.at ? b.text : "not in this range", human(b.target, b.unit)}};
  if (b.at) {
    table.notes.push_back(fmt::format("last bracket {} .. {}, {} evaluations", parameter.readable(b.bracket_low),
                                      parameter.readable(b.bracket_high), b.evaluations));
  }
  report.tables.push_back(std::move(table));
  report.reading.push_back(b.reading + ".");
}

void finish(Report& report) {
  for (report::Case& c : report.cases) c.values.resize(report.metrics.size());
}

}  // namespace photonrail::sensitivity
